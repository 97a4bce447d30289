"""Whether each tier gave what it must, and if not, why."""

from __future__ import annotations

from .. import names
from ..metrics import Counters, full_chunks
from .judgement import Judgement, found
from .result import FAIL, PASS, WARN, Row


def cold(case: Judgement, row: Row) -> None:
    """Nothing may be cached of a prompt that nobody has seen."""
    moved = row.counters or Counters()
    cached = moved.l0 + moved.l1 + moved.l2 + moved.loaded
    if row.busy or not cached:
        return
    at = case.evidence.root or "the cache"
    if row is not case.result.cold:
        case.fail(
            row,
            "was cached",
            f"Pod {row.pod} took {moved.l0 + moved.loaded:g} tokens that only another Pod has computed, though L2 is off",
            "the Pods share one LMCache server or one /dev/shm, or have --l2-adapter from elsewhere: run helm "
            "upgrade and restart them",
            case.restart(),
        )
        return
    case.fail(
        row,
        "was cached",
        f"a prompt that starts with random text hit the cache of Pod {row.pod} "
        f"(L0 {moved.l0:g}, L1 {moved.l1:g}, L2 {moved.l2:g} tokens)",
        f"the cache gives blocks of other prompts: stop using it (models.{case.model.name}.cache.l2.enabled: false), "
        f"and report it with the content of {at}",
    )


def stored(case: Judgement, cold: Row) -> None:
    """The first Pod must have written all chunks to L2."""
    chunks = case.evidence.stored_chunks
    if chunks is None or chunks >= case.chunks:
        return
    asked = cold.counters.requested if cold.counters else 0
    if chunks == 0 and asked == 0:
        _not_connected(case, cold, f"0 tokens looked up, 0 of {case.chunks} chunks stored")
        return
    root = case.evidence.root
    case.fail(
        cold,
        "not stored",
        f"Pod {cold.pod} (node {cold.node}) stored {chunks:g} of {case.chunks} chunks in L2 below {root} in time",
        "the L2 volume is full, read-only, slow or gone: see the log, and the space that is left",
        (case.logs(cold), case.look(cold, f"df -h {root}")),
    )


def _not_connected(case: Judgement, row: Row, numbers: str) -> None:
    mode = case.model.mode
    connector = "LMCacheConnectorV1" if case.model.in_process else "LMCacheMPConnector"
    case.fail(
        row,
        "LMCache not asked",
        f"vLLM of Pod {row.pod} (node {row.node}) never asked {_cache(case)}: {numbers}",
        f"check --kv-transfer-config in the Pod's arguments, and vLLM's log for {connector} "
        f"(models.{case.model.name}.engine.lmcacheMode, here {mode})",
        (case.logs(row, names.CONTAINER_VLLM, "connector"),),
    )


def _cache(case: Judgement) -> str:
    return "the LMCache in its process" if case.model.in_process else "its LMCache server"


def l2(case: Judgement, cold: Row | None, row: Row) -> None:
    """A Pod that never saw the prompt must get all chunks from L2."""
    moved = row.counters or Counters()
    if moved.l1 and not row.busy:
        case.fail(
            row,
            "found in L1",
            f"Pod {row.pod} had {moved.l1:g} tokens of a new prompt in its L1 before it saw it",
            "two Pods share one LMCache server or one /dev/shm: check lmcache.mp.host and the volume shm",
        )
    seen, exact = found(case.model, row), not row.busy and not case.model.in_process
    # vLLM computes the last token anew: an LMCache that reports by vLLM's count may lack it.
    slack = 1 if case.model.in_process else 0
    if seen >= case.want - slack and not (exact and seen != case.want):
        _served(case, row, seen)
        return
    pair = f"Pod {cold.pod} (node {cold.node}) and Pod {row.pod} (node {row.node})" if cold else f"Pod {row.pod}"
    numbers = f"{seen:g} of {case.want} L2 hit tokens on Pod {row.pod}"
    if seen > 0:
        case.fail(
            row,
            "partial hit",
            f"partial hit: {numbers}, {moved.requested:g} looked up; {pair} see the volume differently, "
            "or files of the prompt are incomplete",
            "see LMCache's log for 'Incomplete read', and check the volume's capacity and eviction",
            (case.logs(row, grep="incomplete read"), case.look(row, f"df -h {case.evidence.root}")),
        )
    elif moved.requested == 0:
        _not_connected(case, row, f"{numbers}, 0 tokens looked up")
    elif case.evidence.stored_chunks or (case.evidence.stored_chunks is None and case.evidence.new_files is None):
        _no_hit(case, row, cold, pair, numbers)
    else:
        # Nothing was stored, which is said already.
        row.verdict, row.why = FAIL, "nothing was stored"


def _served(case: Judgement, row: Row, seen: float) -> None:
    """LMCache found all; did this very request get it?"""
    moved = row.counters or Counters()
    got = case.given(row)
    if got >= case.want - 1:
        return
    if row.busy:
        case.fail(
            row,
            "not proven",
            f"other requests ran on Pod {row.pod}, so that its {seen:g} L2 hit tokens may be theirs: this one "
            f"certainly got {got:g} of {case.want}",
            "run helm test when the model is quiet; or let vLLM count by request: "
            f"models.{case.model.name}.engine.args [--enable-prompt-tokens-details]",
        )
        return
    case.fail(
        row,
        "found, not loaded",
        f"LMCache of Pod {row.pod} found {seen:g} tokens in L2, but vLLM took {moved.loaded:g} and computed "
        f"{moved.computed:g}",
        "the blocks cannot be read or loaded: see both logs",
        (case.logs(row), case.logs(row, names.CONTAINER_VLLM, "kv load")),
    )


def _no_hit(case: Judgement, row: Row, cold: Row | None, pair: str, numbers: str) -> None:
    """The first Pod stored, the second asked and found nothing. Both have stored by now: the file names tell why."""
    new, root = case.evidence.new_files, case.evidence.root
    usual = case.chunks * case.model.ranks
    if new is not None and new > usual:
        case.fail(
            row,
            "keys differ",
            f"the keys of {pair} differ: {numbers}; the same prompt left {new} new files below {root} "
            f"instead of {usual}",
            "give all Pods one model path, one chunk size, one hash seed and one LMCache version, and restart them",
            case.restart(),
        )
        return
    looked = "this Pod cannot look" if new is None else f"this Pod sees {new} new files there"
    many = "an unknown number of" if case.evidence.stored_chunks is None else f"{case.evidence.stored_chunks:g}"
    case.fail(
        row,
        "no hit",
        f"the L2 volume is not shared between {pair}: the first stored {many} chunks below {root}, {numbers}; {looked}",
        "use a volume with ReadWriteMany that really is the same storage on every node (l2.volume); for hostPath, "
        "mount shared storage at that path on all nodes. The number of files must be the same on both Pods",
        [case.look(each, f"sh -c 'ls {root} | wc -l'") for each in (cold, row) if each],
    )


def l0(case: Judgement, row: Row) -> None:
    """The same Pod, at once again."""
    moved = row.counters or Counters()
    # vLLM always computes the last token anew, so that a prompt of whole blocks hits one block less.
    size = case.evidence.block_size
    want = full_chunks(case.settings.prompt_tokens - 1, size) * size if size else 1
    if moved.l0 >= want:
        _local(case, row, want)
        return
    keys = f"models.{case.model.name}.engine"
    case.fail(
        row,
        "no hit" if not moved.l0 else "partial hit",
        f"Pod {row.pod} had {moved.l0:g} of {want} tokens in L0 right after the same prompt",
        "check that --no-enable-prefix-caching is not given, and that the KV cache holds the prompt "
        f"({keys}.cpu.kvCacheSpaceGiB on cpu, {keys}.gpuMemoryUtilization on cuda)",
        (case.logs(row, names.CONTAINER_VLLM, "kv cache size"),),
    )


def l1(case: Judgement, row: Row) -> None:
    """The same Pod, with L0 out of the way."""
    moved = row.counters or Counters()
    hits = row.hits
    if hits and hits.either >= case.want - 1:
        case.warn(
            row,
            "L1 or L2",
            f"Pod {row.pod} took {hits.either:g} tokens from LMCache, but an LMCache inside vLLM's process does not "
            "say whether from L1 or from L2",
            "nothing is broken. Compare the TTFT with that of L2; with "
            f"models.{case.model.name}.engine.lmcacheMode multiProcess both are counted",
        )
        return
    tokens = hits.l1 if case.model.in_process and hits else moved.l1
    slack = 1 if case.model.in_process else 0
    if case.want - slack <= tokens <= case.want or (row.busy and tokens > case.want):
        _local(case, row, case.want - 1)
        return
    case.fail(
        row,
        "no hit" if not tokens else "partial hit",
        f"Pod {row.pod} had {tokens:g} of {case.want} tokens in L1 (L2 gave {moved.l2:g}) after the same prompt",
        f"raise models.{case.model.name}.cache.l1.memory, and check that LMCache runs with --l2-prefetch-policy retain",
        (case.logs(row),),
    )


def _local(case: Judgement, row: Row, want: float) -> None:
    """L0 and L1 right after L2: a busy Pod can hide a miss, but not cause damage; say so."""
    got = case.given(row)
    if row.busy and got < want:
        if row.verdict == PASS:
            row.verdict, row.why = WARN, "not proven"
    elif not row.busy and got < want:
        case.fail(
            row,
            "found, not loaded",
            f"Pod {row.pod} found all in {row.tier.upper()}, but vLLM was given {got:g} of {want:g} tokens",
            "the blocks cannot be loaded: see both logs",
            (case.logs(row), case.logs(row, names.CONTAINER_VLLM, "kv load")),
        )
