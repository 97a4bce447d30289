"""Checks of Pod specs, which need no running Pod: what all Pods of a model must share to read each other's files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .. import names
from ..findings import Finding
from ..pods import Pod
from . import roots
from .config import ModelSpec

Value = str | None


def check(model: ModelSpec, pods: list[Pod]) -> list[Finding]:
    """All faults in the specs of a model's Pods, and in what their init containers found."""
    found = list(_images(model, pods))
    if model.l2:
        for part in (_seeds, _config_hashes, _base_paths, _chunk_sizes, _claims):
            found += part(model, pods)
        found += roots.check(model, pods)
    return found


def containers(model: ModelSpec) -> tuple[str, ...]:
    """The containers of an engine Pod that handle blocks."""
    return (names.CONTAINER_VLLM,) if model.in_process else (names.CONTAINER_VLLM, names.CONTAINER_LMCACHE)


def restart(model: ModelSpec, pods: Sequence[Pod]) -> tuple[str, ...]:
    """The command that restarts a model's Pods one after the other; those of other releases are left alone."""
    namespace = f" -n {pods[0].namespace}" if pods else ""
    return (f"kubectl rollout restart{namespace} deployment/{model.deployment}",)


def _seeds(model: ModelSpec, pods: list[Pod]) -> Iterable[Finding]:
    key = names.ENV_HASH_SEED
    fix = f"set models.{model.name}.cache.hashSeed once, remove {key} from whatever changes Pods, and restart the Pods"
    seeds: list[tuple[str, Value]] = []
    for pod in pods:
        for name in containers(model):
            container = pod.containers.get(name)
            if container is None:
                yield Finding(
                    f"model {model.name}: Pod {pod.name} has no container {name}",
                    "remove what changes the Deployment, run helm upgrade, and restart the Pods",
                    restart(model, pods),
                )
            else:
                seeds.append((f"container {name} of Pod {pod.name}", container.env.get(key)))
    unset = [who for who, seed in seeds if not seed]
    if unset:
        yield Finding(
            f"model {model.name}: {key} is not set in {some(unset)}, so that block hashes differ per process",
            fix,
            restart(model, pods),
        )
    values = [(who, seed) for who, seed in seeds if seed]
    if len({seed for _, seed in values}) > 1:
        yield Finding(f"model {model.name}: the hash seed ({key}) differs: {groups(values)}", fix, restart(model, pods))


def _config_hashes(model: ModelSpec, pods: list[Pod]) -> Iterable[Finding]:
    return _annotation(
        model,
        pods,
        names.ANNOTATION_CONFIG_HASH,
        title="the configuration",
        expected=model.config_hash,
        why="the Pods were rendered from different values, so that they use different L2 directories",
    )


def _chunk_sizes(model: ModelSpec, pods: list[Pod]) -> Iterable[Finding]:
    # Absent in Pods of other makers, where the fingerprint covers it.
    known = [p for p in pods if names.ANNOTATION_CHUNK_SIZE in p.annotations]
    return _annotation(
        model,
        known,
        names.ANNOTATION_CHUNK_SIZE,
        title="the chunk size",
        expected=str(model.chunk_size),
        why="chunks of different sizes have different keys",
    )


def _base_paths(model: ModelSpec, pods: list[Pod]) -> Iterable[Finding]:
    """The init container says which root is meant; the argument says what LMCache does."""
    for pod in pods:
        base, root = pod.l2_base_path(), (pod.l2_report() or {}).get("root")
        if base is not None and root and base.rstrip("/") not in (names.L2_LINK, root.rstrip("/")):
            yield Finding(
                f"model {model.name}: the LMCache server of Pod {pod.name} stores below {base}, "
                f"but the Pod's L2 root is {root} ({names.L2_LINK})",
                "remove what changes --l2-adapter, and restart the Pods",
                restart(model, pods),
            )


def _claims(model: ModelSpec, pods: list[Pod]) -> Iterable[Finding]:
    values = [(f"Pod {p.name}", p.claims.get(names.VOLUME_L2)) for p in pods]
    without = [who for who, claim in values if not claim]
    fix = "give all Pods the claim of l2.volume, and restart them"
    if without:
        yield Finding(
            f"model {model.name}: volume {names.VOLUME_L2} of {some(without)} is no PersistentVolumeClaim",
            fix,
            restart(model, pods),
        )
    given = [(who, claim) for who, claim in values if claim]
    if len({claim for _, claim in given}) > 1:
        yield Finding(
            f"model {model.name}: the claim of volume {names.VOLUME_L2} differs: {groups(given)}; "
            "no Pod finds what another one stored",
            fix,
            restart(model, pods),
        )


def _images(model: ModelSpec, pods: list[Pod]) -> Iterable[Finding]:
    for name in containers(model):
        values = [(f"Pod {p.name}", p.containers[name].image) for p in pods if name in p.containers]
        if len({image for _, image in values}) > 1:
            yield Finding(
                f"model {model.name}: the image of container {name} differs: {groups(values)}; "
                "versions may write different bytes under one key",
                "let the rollout end (kubectl rollout status), or restart the Pods",
                restart(model, pods),
            )


def _annotation(
    model: ModelSpec, pods: list[Pod], key: str, *, title: str, expected: str, why: str
) -> Iterable[Finding]:
    values = [(f"Pod {p.name}", p.annotations.get(key)) for p in pods]
    fix = "run helm upgrade with one set of values, and restart the Pods"
    if len({value for _, value in values}) > 1:
        yield Finding(
            f"model {model.name}: {title} ({key}) differs: {groups(values)}; expected {expected}; {why}",
            fix,
            restart(model, pods),
        )
    elif values and values[0][1] != expected:
        yield Finding(
            f"model {model.name}: {title} ({key}) of {some([w for w, _ in values])} is {values[0][1]}, "
            f"expected {expected}; the Pods are not those of this release's values",
            fix,
            restart(model, pods),
        )


def groups(values: Sequence[tuple[str, Value]]) -> str:
    """'Pod a has 0; Pod b has 1', grouped by value in order of appearance."""
    by_value: dict[Value, list[str]] = {}
    for who, value in values:
        by_value.setdefault(value, []).append(who)
    return "; ".join(
        f"{some(who)} {'have' if len(who) > 1 else 'has'} {value or 'none'}" for value, who in by_value.items()
    )


def some(who: list[str], limit: int = 3) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(who) - limit} more" if len(who) > limit else ""
    return ", ".join(who[:limit]) + more
