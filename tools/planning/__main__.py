"""`make plan LOB=values/assistant.yaml`: what a values file would make and change, before anything is installed.

From the environment: LOB (the file), NAMESPACE and RELEASE (the file's name), OVER (further files, over it), CONFIGS
(`<model>=<config.json or its folder>` by spaces), GPU_MEMORY, NODE, JSON=1, KUBECONFIG, HELM. Without KUBECONFIG nothing is
compared.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from local_cluster.helm import CHART
from local_cluster.host import gotools
from local_cluster.problem import Problem
from tiered_kv_cache.cluster import ClusterError, KubernetesCluster
from tiered_kv_cache.deadline import Deadline, DeadlinePassed
from tiered_kv_cache.objects import Denied, Objects
from tiered_kv_cache.plan.said import ENVIRONMENT

CLUSTER_SECONDS = 15
SAID = {
    "--config": "CONFIGS",
    "--gpu-memory": "GPU_MEMORY",
    "--node": "NODE",
    "--json": "JSON=1",
    "--release and --namespace, or --live": "KUBECONFIG",
}
"""What the verb's hints call its options here."""
LONGEST = {"RELEASE": 53, "NAMESPACE": 63}
"""Characters: Helm's bound for a release, Kubernetes' for a namespace."""
_PART = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
NAME = {"RELEASE": re.compile(rf"{_PART}(\.{_PART})*"), "NAMESPACE": re.compile(_PART)}
LETTERS = {"RELEASE": "a-z, 0-9, - and .", "NAMESPACE": "a-z, 0-9 and -"}


def settings(environment: Mapping[str, str]) -> tuple[list[Path], str, str]:
    """Files, release and namespace. Raises Problem."""
    name = environment.get("LOB", "")
    if not name:
        raise Problem("LOB is not set", "name a values file: make plan LOB=values/assistant.yaml")
    files = [Path(each) for each in [name, *environment.get("OVER", "").split()]]
    for each in files:
        if not each.is_file():
            raise Problem(f"{each} is no file", "name a values file, such as values/assistant.yaml")
    release = environment.get("RELEASE") or files[0].stem
    namespace = environment.get("NAMESPACE") or release
    _check("RELEASE", release, "" if environment.get("RELEASE") else f", by the name of {files[0]}")
    _check("NAMESPACE", namespace, "" if environment.get("NAMESPACE") else ", by the release's name")
    return files, release, namespace


def _check(variable: str, name: str, why: str = "") -> None:
    """Before Helm says it with a regular expression. Raises Problem."""
    if NAME[variable].fullmatch(name) and len(name) <= LONGEST[variable]:
        return
    legal = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[: LONGEST[variable]].rstrip("-") or "retail"
    raise Problem(
        f"{variable} is {name!r}{why}: a name has at most {LONGEST[variable]} of {LETTERS[variable]}, "
        "beginning and ending with a letter or digit",
        f"set {variable}={legal}",
    )


def verb(release: str, namespace: str, environment: Mapping[str, str]) -> list[str]:
    """Arguments of the verb plan."""
    found = ["plan", "-"]
    found += [word for each in environment.get("CONFIGS", "").split() for word in ("--config", each)]
    for option, name in (("--gpu-memory", "GPU_MEMORY"), ("--node", "NODE")):
        if environment.get(name):
            found += [option, environment[name]]
    if environment.get("JSON"):
        found.append("--json")
    if environment.get("KUBECONFIG"):
        found += ["--release", release, "--namespace", namespace, "--kubeconfig", environment["KUBECONFIG"]]
    return found


def cluster_options(environment: Mapping[str, str]) -> list[str]:
    """With a cluster that answers Helm renders what an install would: its version and kinds, and what the chart looks up."""
    if not environment.get("KUBECONFIG"):
        return []
    try:
        Objects(KubernetesCluster.connect(environment["KUBECONFIG"]), Deadline(CLUSTER_SECONDS)).path("/version")
    except (ClusterError, Denied, DeadlinePassed):
        # The verb says that nothing could be compared, and why.
        return []
    # As an upgrade: an install refuses objects that are there.
    return ["--dry-run=server", "--is-upgrade"]


def main(environment: Mapping[str, str]) -> int:
    """The verb's exit code, or helm's."""
    files, release, namespace = settings(environment)
    helm = environment.get("HELM") or str(gotools.ensure_cli("helm"))
    command = [helm, "template", release, str(CHART), "-n", namespace, *cluster_options(environment)]
    command += [word for each in files for word in ("-f", str(each))]
    rendered = subprocess.run(command, capture_output=True, text=True, check=False)
    if rendered.returncode:
        print(rendered.stderr, file=sys.stderr)
        return rendered.returncode
    say = sys.stderr if environment.get("JSON") else sys.stdout
    print(
        f"plan of release {release} in namespace {namespace}, from {', '.join(map(str, files))}\n", file=say, flush=True
    )
    told = [sys.executable, "-m", "tiered_kv_cache", *verb(release, namespace, environment)]
    # All of it: its own KUBECONFIG and proxies are in there.
    names = {**environment, ENVIRONMENT: json.dumps(SAID)}
    return subprocess.run(told, input=rendered.stdout, text=True, check=False, env=names).returncode


if __name__ == "__main__":
    try:
        sys.exit(main(os.environ))
    except Problem as problem:
        sys.exit(f"error: {problem}")
