"""Checks of Pod specs, which need no running Pod: what all Pods of a model must share to read each other's files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .. import names
from ..findings import Finding
from ..pods import Pod
from .config import ModelSpec

Value = str | None


def check(model: ModelSpec, pods: list[Pod]) -> list[Finding]:
    """All faults in the specs of a model's Pods."""
    found = list(_images(model, pods))
    if model.l2:
        for part in (_seeds, _fingerprints, _roots, _base_paths, _chunk_sizes, _claims):
            found += part(model, pods)
    return found


def _seeds(model: ModelSpec, pods: list[Pod]) -> Iterable[Finding]:
    key = names.ENV_HASH_SEED
    fix = (
        f"set models.{model.name}.cache.hashSeed once, remove {key} from whatever changes Pods, "
        f"and restart the Pods: {_restart(model)}"
    )
    seeds: list[tuple[str, Value]] = []
    for pod in pods:
        for name in (names.CONTAINER_VLLM, names.CONTAINER_LMCACHE):
            container = pod.containers.get(name)
            if container is None:
                yield Finding(
                    f"model {model.name}: Pod {pod.name} has no container {name}",
                    f"remove what changes the Deployment, and run helm upgrade ({_restart(model)})",
                )
            else:
                seeds.append((f"container {name} of Pod {pod.name}", container.env.get(key)))
    unset = [who for who, seed in seeds if not seed]
    if unset:
        yield Finding(
            f"model {model.name}: {key} is not set in {_some(unset)}, so that block hashes differ per process", fix
        )
    values = [(who, seed) for who, seed in seeds if seed]
    if len({seed for _, seed in values}) > 1:
        yield Finding(f"model {model.name}: the hash seed ({key}) differs: {_groups(values)}", fix)


def _fingerprints(model: ModelSpec, pods: list[Pod]) -> Iterable[Finding]:
    return _annotation(
        model,
        pods,
        names.ANNOTATION_FINGERPRINT,
        title="the fingerprint",
        expected=model.fingerprint,
        why="the Pods were rendered from different values, so that they use different L2 directories",
    )


def _roots(model: ModelSpec, pods: list[Pod]) -> Iterable[Finding]:
    return _annotation(
        model,
        pods,
        names.ANNOTATION_L2_ROOT,
        title="the L2 root",
        expected=model.l2_root,
        why="no Pod finds what another one stored",
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
    """The annotation says what the chart meant; the argument says what LMCache does."""
    for pod in pods:
        base, root = pod.l2_base_path(), pod.annotations.get(names.ANNOTATION_L2_ROOT)
        if base is not None and root and base.rstrip("/") != root.rstrip("/"):
            yield Finding(
                f"model {model.name}: the LMCache server of Pod {pod.name} stores below {base}, "
                f"but the Pod's annotation {names.ANNOTATION_L2_ROOT} is {root}",
                f"remove what changes --l2-adapter, and restart the Pods: {_restart(model)}",
            )


def _claims(model: ModelSpec, pods: list[Pod]) -> Iterable[Finding]:
    values = [(f"Pod {p.name}", p.claims.get(names.VOLUME_L2)) for p in pods]
    without = [who for who, claim in values if not claim]
    fix = f"give all Pods the claim of l2.volume, and restart them: {_restart(model)}"
    if without:
        yield Finding(
            f"model {model.name}: volume {names.VOLUME_L2} of {_some(without)} is no PersistentVolumeClaim", fix
        )
    given = [(who, claim) for who, claim in values if claim]
    if len({claim for _, claim in given}) > 1:
        yield Finding(
            f"model {model.name}: the claim of volume {names.VOLUME_L2} differs: {_groups(given)}; "
            "no Pod finds what another one stored",
            fix,
        )


def _images(model: ModelSpec, pods: list[Pod]) -> Iterable[Finding]:
    for name in (names.CONTAINER_VLLM, names.CONTAINER_LMCACHE):
        values = [(f"Pod {p.name}", p.containers[name].image) for p in pods if name in p.containers]
        if len({image for _, image in values}) > 1:
            yield Finding(
                f"model {model.name}: the image of container {name} differs: {_groups(values)}; "
                "versions may write different bytes under one key",
                f"let the rollout end (kubectl rollout status) or restart the Pods: {_restart(model)}",
            )


def _annotation(
    model: ModelSpec, pods: list[Pod], key: str, *, title: str, expected: str, why: str
) -> Iterable[Finding]:
    values = [(f"Pod {p.name}", p.annotations.get(key)) for p in pods]
    fix = f"run helm upgrade with one set of values, and restart the Pods: {_restart(model)}"
    if len({value for _, value in values}) > 1:
        yield Finding(
            f"model {model.name}: {title} ({key}) differs: {_groups(values)}; expected {expected}; {why}", fix
        )
    elif values and values[0][1] != expected:
        yield Finding(
            f"model {model.name}: {title} ({key}) of {_some([w for w, _ in values])} is {values[0][1]}, "
            f"expected {expected}; the Pods are not those of this release's values",
            fix,
        )


def _groups(values: Sequence[tuple[str, Value]]) -> str:
    """'Pod a has 0; Pod b has 1', grouped by value in order of appearance."""
    by_value: dict[Value, list[str]] = {}
    for who, value in values:
        by_value.setdefault(value, []).append(who)
    return "; ".join(
        f"{_some(who)} {'have' if len(who) > 1 else 'has'} {value or 'none'}" for value, who in by_value.items()
    )


def _some(who: list[str], limit: int = 3) -> str:
    more = f" and {len(who) - limit} more" if len(who) > limit else ""
    return ", ".join(who[:limit]) + more


def _restart(model: ModelSpec) -> str:
    return f"kubectl rollout restart deployment -l {names.LABEL_MODEL}={model.name},{names.LABEL_COMPONENT}=engine"
