"""The comparison: one release after the other, each with another L2, measured with the same prompts each time.

usage: PEERS=<names> OUT=<folder> BUDGET=<seconds> make bench-peers
"""

from __future__ import annotations

import contextlib
import json
import secrets
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import urllib3
import yaml
from kubernetes.client.exceptions import ApiException

from tiered_kv_cache.__main__ import main

from .. import demo, kube, volumes
from ..helm import Helm
from ..images import ImageRef
from ..pause import paused
from ..problem import Problem
from ..progress import every, phase, say
from ..providers import Provider
from ..providers.kind import Kind
from ..settings import PLACES
from ..watch import watching
from . import probe, redis
from .table import ABSENT, AGAIN, NONE, OURS, Peer, chosen, values

NAMESPACE = RELEASE = "peers"
MODEL = "smollm2-135m-instruct"
BUDGET_S = 870
"""For all of it but the cluster's and the images' making."""
START_S = 45.0
"""What one install takes at the least on two cores; no measurement is given less than LEAST_S beside it."""
LEAST_S = 40.0
GONE_S = 60.0
COLD_ONLY = 0.7
"""What a repetition without hits takes of one with them."""
SIZES = "300,800,1900"
"""One, three and seven chunks."""
REPETITIONS = 12
"""More than the ten that a figure needs: now and then one loses its race."""


def arguments(peer: Peer, kubeconfig: Path, out: Path, key: str, budget: float) -> list[str]:
    """The command line of `bench run` for one peer."""
    return [
        "bench", "run", "--namespace", NAMESPACE, "--release", RELEASE, "--kubeconfig", str(kubeconfig), "--via", "port-forward",
        "--variant", peer.name, "--out", str(out / peer.name), "--experiments", "sweep", "--tiers", peer.tiers, "--sizes", SIZES,
        "--repetitions", str(REPETITIONS), "--prompt-key", key, "--budget", f"{budget:.0f}",
    ]  # fmt: skip


def share(left_s: float, peers: Sequence[Peer]) -> float:
    """Seconds of measurement for the first of the peers, when so much is left for all of them and their starts."""
    weights = [COLD_ONLY if peer.tiers == "cold" else 1.0 for peer in peers]
    return max(LEAST_S, (left_s - START_S * len(peers)) * weights[0] / sum(weights))


def run(where: Provider, environment: Mapping[str, str]) -> int:
    """Measure all that are asked for, and print them side by side; 0 when what was measured is sound.

    Raises:
        Problem: a cluster that is not ours, a name that is none, or a step that failed; what was measured before it stays in files.
    """
    if not isinstance(where, Kind):
        raise Problem(
            "the comparison runs on the kind cluster only: it builds images and makes claims of its own",
            "leave PROVIDER out",
        )
    try:
        peers = chosen(environment.get("PEERS") or "")
    except ValueError as error:
        raise Problem(f"PEERS: {error}", f"PEERS={NONE},{OURS},redis make bench-peers, or leave it out") from error
    budget = _budget(environment.get("BUDGET") or str(BUDGET_S))
    out = Path(environment.get("OUT") or "bench-result/peers")
    references = demo.cluster(where)
    with paused(where.kubeconfig):
        try:
            results = _measure(where, peers, out, budget, references)
        finally:
            _clear(where, peers)
    return main([
        "bench", "peers", *map(str, results), "--ours", OURS, "--without", NONE, "--control", AGAIN,
        "--missing", str(out / "missing.json"), "--out", str(out),
    ])  # fmt: skip


def _budget(text: str) -> float:
    if not text.isdigit() or int(text) < 60:
        raise Problem(f"BUDGET={text!r} is no number of seconds from 60 up", f"BUDGET={BUDGET_S} make bench-peers")
    return float(text)


def _measure(
    where: Kind, peers: Sequence[Peer], out: Path, budget: float, references: dict[str, ImageRef]
) -> list[Path]:
    kubeconfig, key, results = where.kubeconfig, secrets.token_hex(8), []
    volumes.ensure_namespace(kubeconfig, NAMESPACE)
    volumes.ensure_models_claim(kubeconfig, NAMESPACE)
    address = ""
    if any(peer.redis for peer in peers):
        image = redis.image(where.engine)
        where.load({image.name: image.archive})
        address = redis.start(kubeconfig, NAMESPACE, image.name)
    out.mkdir(parents=True, exist_ok=True)
    begin = time.monotonic()
    for at, peer in enumerate(peers):
        left = budget - (time.monotonic() - begin)
        say(f"peer {at + 1} of {len(peers)}: {peer.name}, {peer.what}")
        _install(where, peer, address, references)
        main(arguments(peer, kubeconfig, out, key, share(left, peers[at:])))
        if at == len(peers) - 1:
            _ask_for_reasons(kubeconfig, out)
        _remove(where)
        result = out / peer.name / "result.json"
        if not result.exists():
            raise Problem(f"nothing was measured of {peer.name}", "see the message above")
        results.append(result)
        _forget(peer)
    return results


def _ask_for_reasons(kubeconfig: Path, out: Path) -> None:
    with phase("what cannot be measured here", "asks an engine Pod"):
        reasons = probe.reasons(kubeconfig, NAMESPACE, RELEASE, ABSENT)
    (out / "missing.json").write_text(json.dumps(reasons, indent=1))


def _install(where: Kind, peer: Peer, address: str, references: dict[str, ImageRef]) -> None:
    base = yaml.safe_load(demo.VALUES.read_text())
    file = PLACES.state / "peers.yaml"
    file.write_text(yaml.safe_dump(values(peer, MODEL, address, base)))
    result = Helm(where.kubeconfig, NAMESPACE, RELEASE, [demo.VALUES, *demo.image_values(references), file])
    with phase(f"release {peer.name}", "two engines"), watching(where.kubeconfig, NAMESPACE):
        done = result.upgrade(wait_s=420)
    if not done.ok:
        raise Problem(f"helm could not install {peer.name}: {done.text[-1500:]}", f"kubectl get pods -n {NAMESPACE}")


def _remove(where: Kind) -> None:
    """Uninstall. Nobody is served, so that no Pod needs its time to end: with it each change would take half a minute more."""
    core = kube.core(where.kubeconfig)

    def end() -> None:
        with contextlib.suppress(ApiException, urllib3.exceptions.HTTPError, OSError):
            for pod in core.list_namespaced_pod(NAMESPACE, _request_timeout=5).items:
                if pod.metadata.deletion_timestamp:
                    core.delete_namespaced_pod(pod.metadata.name, NAMESPACE, grace_period_seconds=0)

    with every(1.0, end):
        Helm(where.kubeconfig, NAMESPACE, RELEASE).uninstall()


def _forget(peer: Peer) -> None:
    """Remove its blocks from the volume: all peers together would fill a small disk."""
    place = PLACES.state / "shared" / "l2" / "v1" / values(peer, MODEL, "", {"l2": {"volume": {}}})["lineOfBusiness"]
    shutil.rmtree(place, ignore_errors=True)


def _clear(where: Kind, peers: Sequence[Peer]) -> None:
    with phase("remove the comparison's release and namespace"):
        _remove(where)
        volumes.remove_namespace(where.kubeconfig, NAMESPACE)
        core, until = kube.core(where.kubeconfig), time.monotonic() + GONE_S
        # The next run would find a namespace that takes nothing new.
        while time.monotonic() < until and NAMESPACE in {each.metadata.name for each in core.list_namespace().items}:
            time.sleep(1)
        for peer in peers:
            _forget(peer)
