"""`python -m local_cluster up | down | status | bench | texts | peers | images | cluster`."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from . import bench, demo, progress
from .machine_lock import machine_lock
from .peers import run as peers
from .problem import Problem
from .providers import provider
from .settings import CLUSTER


def main() -> int:
    parser = argparse.ArgumentParser(prog="local_cluster", description=__doc__)
    verbs = {
        "up": "a cluster with the demo, tested",
        "down": "remove the cluster; caches stay",
        "status": "what runs, and the URL",
        "images": "build the container images",
        "bench": "measure the demo's tiers",
        "texts": "ask whether each tier of the demo gives the same text",
        "peers": "compare the bundle's L2 with LMCache's others",
        "cluster": "a cluster with the images in its nodes, nothing installed",
    }
    parser.add_argument("verb", choices=verbs, help="; ".join(f"{verb}: {text}" for verb, text in verbs.items()))
    parser.add_argument("--provider", default=os.environ.get("PROVIDER", "kind"), help="kind (default) or existing")
    parser.add_argument(
        "--context", default=os.environ.get("CONTEXT", ""), help="kubeconfig context, for --provider existing"
    )
    parser.add_argument("--values", default=os.environ.get("VALUES", ""), help="values file of the release, for up")
    arguments = parser.parse_args()
    try:
        values = _values_file(arguments.values)
        return _run(arguments.verb, arguments.provider, arguments.context, values)
    except Problem as problem:
        print(f"\nerror: {problem}", file=sys.stderr)
    except KeyboardInterrupt:
        print("\nstopped; run the same command again to go on from here", file=sys.stderr)
    return 1


def _values_file(name: str) -> Path | None:
    """The user's values file, if one is named.

    Raises:
        Problem: there is no such file.
    """
    if not name:
        return None
    if not Path(name).is_file():
        raise Problem(f"VALUES={name!r} is no file", "name a values file, such as values/local.yaml")
    return Path(name)


def _run(verb: str, provider_name: str, context: str, values: Path | None) -> int:
    if verb != "status":
        _need_root(verb, provider_name)
    where = provider(provider_name, context)
    if verb == "status":
        return demo.status(where)
    with machine_lock(f"make {verb}"):
        if verb == "up":
            demo.up(where, values)
        elif verb == "down":
            demo.down(where)
            where.down()
            print(f"cluster {CLUSTER} is gone; caches stay" if where.local_images else "the release is gone")
        elif verb in ("bench", "texts"):
            return bench.run(where, bench.arguments if verb == "bench" else bench.text_arguments)
        elif verb == "peers":
            return peers.run(where, os.environ)
        elif verb == "cluster":
            demo.cluster(where)
        else:
            demo.build_images()
    if verb != "down":
        print(progress.table())
    return 0


def _need_root(verb: str, provider_name: str) -> None:
    """Containers' networks and file systems need root. Run again under sudo where that works without a password.

    Raises:
        Problem: neither root nor sudo without a password.
    """
    if os.geteuid() == 0 or provider_name != "kind":
        return
    keep = [
        f"{name}={value}"
        for name, value in os.environ.items()
        if name.startswith(("PIP_", "TKC_", "GO", "PYTHON", "XDG_CACHE", "PATH"))
    ]
    if os.system("sudo -n true 2>/dev/null") == 0:
        print("not root: running again under sudo")
        sys.stdout.flush()
        os.execvp("sudo", ["sudo", "-n", "env", *keep, sys.executable, "-m", "local_cluster", verb])
    raise Problem(
        "the local cluster needs root (containers, networks, mounts)",
        "run `sudo make up`, or allow sudo without a password",
    )


if __name__ == "__main__":
    sys.exit(main())
