"""Judge the rows of a model, and say why a tier gave less than it must."""

from __future__ import annotations

from dataclasses import dataclass

from ..findings import Finding, shorten
from ..metrics import Counters, full_chunks
from .config import ModelSpec, Settings
from .result import ModelResult, Row


@dataclass(frozen=True)
class Evidence:
    """What is known besides the rows.

    ``stored_chunks``: moved on the first Pod after the cold request, None when nobody looked. ``new_files``: chunk
    files that appeared in the L2 root as this Pod sees it, None when it cannot look. ``block_size``: vLLM's, in tokens,
    None when unknown.
    """

    stored_chunks: float | None
    new_files: int | None
    block_size: int | None


def judge(model: ModelSpec, settings: Settings, result: ModelResult, evidence: Evidence) -> list[Finding]:
    """All faults that the rows of ``result`` show."""
    found: list[Finding] = []
    want = full_chunks(settings.prompt_tokens, model.chunk_size) * model.chunk_size
    if model.l2 and result.cold:
        found += _cold(model, result.cold)
        found += _stored(model, settings, result.cold, evidence)
    for row in result.rows:
        if row.counters is None:
            continue
        if row.tier == "l2":
            found += _l2(model, result.cold, row, want, evidence)
        elif row.tier == "l0":
            found += _l0(model, settings, row, row.counters, evidence)
        elif row.tier == "l1":
            found += _l1(model, row, row.counters, want)
    found += _texts(model, result)
    found += _speedup(model, settings, result)
    return found


def _cold(model: ModelSpec, row: Row) -> list[Finding]:
    counters = row.counters
    if counters is None or row.busy or counters.l0 + counters.l1 + counters.l2 == 0:
        return []
    return [
        Finding(
            f"model {model.name}: a prompt that starts with random text hit the cache of Pod {row.pod} "
            f"(L0 {counters.l0:g}, L1 {counters.l1:g}, L2 {counters.l2:g} tokens)",
            f"the cache gives blocks of other prompts: stop using it and report it; empty {model.l2_root}",
        )
    ]


def _stored(model: ModelSpec, settings: Settings, cold: Row, evidence: Evidence) -> list[Finding]:
    want = full_chunks(settings.prompt_tokens, model.chunk_size)
    if evidence.stored_chunks is None or evidence.stored_chunks >= want:
        return []
    asked = cold.counters.requested if cold.counters else 0
    if evidence.stored_chunks == 0 and asked == 0:
        return [
            Finding(
                f"model {model.name}: vLLM of Pod {cold.pod} (node {cold.node}) never asked its LMCache server: "
                f"0 tokens looked up, 0 of {want} chunks stored",
                "check --kv-transfer-config in the Pod's arguments and vLLM's log for LMCacheMPConnector",
            )
        ]
    return [
        Finding(
            f"model {model.name}: Pod {cold.pod} (node {cold.node}) stored {evidence.stored_chunks:g} of {want} "
            f"chunks in L2 below {model.l2_root} in time",
            "see the log of its container lmcache: the L2 volume is full, read-only, slow or gone",
        )
    ]


def _l2(model: ModelSpec, cold: Row | None, row: Row, want: int, evidence: Evidence) -> list[Finding]:
    found: list[Finding] = []
    moved = row.counters or Counters()
    if moved.l1 and not row.busy:
        found.append(
            Finding(
                f"model {model.name}: Pod {row.pod} had {moved.l1:g} tokens of a new prompt in its L1 before it saw it",
                "two Pods share one LMCache server or one /dev/shm: check lmcache.mp.host and the volume shm",
            )
        )
    if moved.l2 == want or (row.busy and moved.l2 > want):
        return found
    pair = f"Pod {cold.pod} (node {cold.node}) and Pod {row.pod} (node {row.node})" if cold else f"Pod {row.pod}"
    numbers = f"{moved.l2:g} of {want} L2 hit tokens on Pod {row.pod}"
    if moved.l2 > 0:
        found.append(
            Finding(
                f"model {model.name}: partial hit: {numbers}, {moved.requested:g} looked up; {pair} see the volume "
                "differently, or files of the prompt are incomplete",
                f"see LMCache's log in Pod {row.pod} for 'Incomplete read'; check the volume's capacity and eviction",
            )
        )
    elif moved.requested == 0:
        found.append(
            Finding(
                f"model {model.name}: vLLM of Pod {row.pod} (node {row.node}) never asked its LMCache server: "
                f"{numbers}, 0 tokens looked up",
                "check --kv-transfer-config in the Pod's arguments and vLLM's log for LMCacheMPConnector",
            )
        )
    elif evidence.stored_chunks:
        found.append(_no_hit(model, pair, numbers, want // model.chunk_size, evidence))
    return found


def _no_hit(model: ModelSpec, pair: str, numbers: str, chunks: int, evidence: Evidence) -> Finding:
    """The first Pod stored, the second asked and found nothing. Both have stored by now: the file names tell why."""
    files = evidence.new_files
    if files is not None and files > chunks:
        return Finding(
            f"model {model.name}: the keys of {pair} differ: {numbers}; the same prompt left {files} new files below "
            f"{model.l2_root} instead of {chunks}",
            "give all Pods one model path, one chunk size, one hash seed and one LMCache version, and restart them",
        )
    seen = "this Pod cannot look" if files is None else f"this Pod sees {files} new files there"
    return Finding(
        f"model {model.name}: the L2 volume is not shared between {pair}: the first stored "
        f"{evidence.stored_chunks:g} chunks below {model.l2_root}, {numbers}; {seen}",
        "use a volume with ReadWriteMany that really is the same storage on every node (l2.volume); for hostPath, "
        "mount shared storage at that path on all nodes",
    )


def _l0(model: ModelSpec, settings: Settings, row: Row, moved: Counters, evidence: Evidence) -> list[Finding]:
    # vLLM always computes the last token anew, so that a prompt of whole blocks hits one block less.
    size = evidence.block_size
    want = full_chunks(settings.prompt_tokens - 1, size) * size if size else 1
    if moved.l0 >= want:
        return []
    return [
        Finding(
            f"model {model.name}: Pod {row.pod} had {moved.l0:g} of {want} tokens in L0 right after the same prompt",
            "check that --no-enable-prefix-caching is not given, and that the KV cache holds the prompt "
            f"(models.{model.name}.engine.cpu.kvCacheSpaceGiB)",
        )
    ]


def _l1(model: ModelSpec, row: Row, moved: Counters, want: int) -> list[Finding]:
    if moved.l1 == want or (row.busy and moved.l1 > want):
        return []
    return [
        Finding(
            f"model {model.name}: Pod {row.pod} had {moved.l1:g} of {want} tokens in L1 (L2 gave {moved.l2:g}) "
            "after the same prompt",
            f"raise models.{model.name}.cache.l1.memory, and check that LMCache runs with --l2-prefetch-policy retain",
        )
    ]


def _texts(model: ModelSpec, result: ModelResult) -> list[Finding]:
    cold = result.cold
    if cold is None or cold.text is None:
        return []
    found = []
    for row in result.rows:
        if row.text is None or row.text == cold.text:
            continue
        at = next((i for i, (a, b) in enumerate(zip(cold.text, row.text, strict=False)) if a != b), 0)
        cause = (
            "L2 holds blocks of another model, dtype or version" if row.tier == "l2" else "the tier gives wrong blocks"
        )
        found.append(
            Finding(
                f"model {model.name}: the greedy text differs: cold on Pod {cold.pod} gave {shorten(cold.text, 80)!r}, "
                f"{row.tier.upper()} on Pod {row.pod} gave {shorten(row.text, 80)!r}, first at character {at + 1}",
                f"{cause}: compare {model.l2_root}/config.json with the Pods' image and dtype, empty that directory, "
                "and test again",
            )
        )
    return found


def _speedup(model: ModelSpec, settings: Settings, result: ModelResult) -> list[Finding]:
    cold = result.cold
    if not settings.min_speedup or cold is None or not cold.ttft_ms:
        return []
    found = []
    for row in result.rows:
        if row.tier == "l2" and row.ttft_ms and cold.ttft_ms / row.ttft_ms < settings.min_speedup:
            found.append(
                Finding(
                    f"model {model.name}: L2 on Pod {row.pod} is {cold.ttft_ms / row.ttft_ms:.2f} times as fast as "
                    f"cold on Pod {cold.pod} ({row.ttft_ms:.0f} ms, {cold.ttft_ms:.0f} ms), less than "
                    f"hooks.verify.minSpeedup {settings.min_speedup:g}",
                    "use a longer promptTokens, a faster volume, or a lower minSpeedup",
                )
            )
    return found
