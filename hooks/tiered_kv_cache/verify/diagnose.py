"""Judge the rows of a model, and say why a tier gave less than it must and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .. import names
from ..engine import Completion
from ..findings import Finding, shorten
from ..metrics import Counters, full_chunks
from . import texts
from .config import ModelSpec, Settings
from .result import (
    COLD,
    CONTROL,
    EQUAL,
    FAIL,
    L0,
    L1,
    L2,
    NEAR_TIE,
    PASS,
    SKIPPED,
    UNSURE,
    WARN,
    WRONG,
    ModelResult,
    Row,
)

ONE_POD, NO_RESET, RESET_OFF, IN_USE, NO_TIME = (
    "one Pod",
    "L0 is in the way",
    "resetL0 is never",
    "L0 is in use",
    "no time left",
)
"""Why a row was not measured, where something can be done about it."""
SLOWER = 0.8
"""A cache that is slower than computing by more than this ratio is told of, if it is more than SLOWER_MS."""
SLOWER_MS = 50.0


@dataclass(frozen=True)
class Evidence:
    """What is known besides the rows.

    ``stored_chunks``: moved on the first Pod after the cold request, None when nothing tells. ``new_files``: chunk
    files that appeared in the L2 root as this Pod sees it, None when it cannot look. ``block_size``: vLLM's, in tokens,
    None when unknown. ``root``: the L2 root.
    """

    stored_chunks: float | None
    new_files: int | None
    block_size: int | None
    namespace: str = ""
    root: str = ""


def judge(model: ModelSpec, settings: Settings, result: ModelResult, evidence: Evidence) -> None:
    """Give every row its verdict, and add what is wrong to the findings and warnings of ``result``."""
    _Judge(model, settings, result, evidence).all()


def unproven(model: ModelSpec, settings: Settings, result: ModelResult) -> bool:
    """Whether other requests hide what an L2 row proves: then the whole is worth another try with a new prompt."""
    want = full_chunks(settings.prompt_tokens, model.chunk_size) * model.chunk_size
    rows = [r for r in result.rows if r.tier == L2 and r.counters]
    return any(r.busy and given(r, settings.prompt_tokens) < want - 1 <= _seen(model, r) for r in rows)


def given(row: Row, prompt_tokens: int) -> float:
    """Tokens that this very request certainly took from a cache, whatever else ran on the Pod."""
    moved = row.counters or Counters()
    if row.answer and row.answer.cached_tokens is not None:
        return row.answer.cached_tokens
    if not row.busy:
        return moved.l0 + moved.loaded
    # All requests together computed so little that this one cannot have computed the rest.
    return max(0.0, prompt_tokens - moved.computed)


def _seen(model: ModelSpec, row: Row) -> float:
    moved = row.counters or Counters()
    return moved.loaded if model.in_process else moved.l2


class _Judge:
    def __init__(self, model: ModelSpec, settings: Settings, result: ModelResult, evidence: Evidence) -> None:
        self.model, self.settings, self.result, self.evidence = model, settings, result, evidence
        self.chunks = full_chunks(settings.prompt_tokens, model.chunk_size)
        self.want = self.chunks * model.chunk_size
        self.wrong: list[tuple[Row, texts.Comparison]] = []

    def all(self) -> None:
        cold = self.result.cold
        self._ratios()
        for row in self.result.rows:
            if row.counters is None or row.verdict == SKIPPED:
                continue
            if row.tier == COLD:
                self._cold(row)
                if row is cold and self.model.l2:
                    self._stored(row)
            elif row.tier == L2:
                self._l2(cold, row)
            elif row.tier == L0:
                self._l0(row)
            elif row.tier == L1:
                self._l1(row)
        for row in self.result.rows:
            if row.tier != COLD and row.verdict != SKIPPED and cold is not None:
                self._text(cold, row)
        if cold is not None:
            self._wrong_texts(cold)
        self._speed()
        self._one_node()
        for row in self.result.rows:
            if row.verdict == SKIPPED:
                self._skipped(row)

    def _skipped(self, row: Row) -> None:
        """How a tier that was not measured can be."""
        name, place = self.model.name, self.result.place(row)
        deployment = f"kubectl scale -n {self.evidence.namespace} deployment/{self.model.deployment} --replicas=2"
        one = f"models.{name}.autoscaling.minReplicas: 2" if self.model.autoscaled else f"models.{name}.replicas: 2"
        ways: dict[str, tuple[str, tuple[str, ...]]] = {
            ONE_POD: (f"for this test start a second Pod and run helm test again; for good set {one}", (deployment,)),
            NO_RESET: (
                f'on a test release, set models.{name}.engine.env.VLLM_SERVER_DEV_MODE: "1", which adds POST '
                "/reset_prefix_cache; not in production: the endpoint has no authentication",
                (),
            ),
            RESET_OFF: ("set hooks.verify.resetL0: auto; it empties L0 of one Pod", ()),
            IN_USE: ("run helm test when the model is quiet", ()),
            NO_TIME: ("raise hooks.verify.deadlineSeconds", ()),
        }
        if row.why in ways:
            fix, commands = ways[row.why]
            self.result.skips.append(Finding(f"model {name}: {place}: {row.note}", fix, commands))

    # What becomes of a row

    def _fail(self, row: Row, why: str, what: str, fix: str, commands: Sequence[str] = ()) -> None:
        if row.verdict != FAIL:
            row.verdict, row.why = FAIL, why
        self.result.findings.append(Finding(f"model {self.model.name}: {what}", fix, tuple(commands)))

    def _warn(self, row: Row, why: str, what: str, fix: str, commands: Sequence[str] = ()) -> None:
        if row.verdict == PASS:
            row.verdict, row.why = WARN, why
        self.result.warnings.append(Finding(f"model {self.model.name}: {what}", fix, tuple(commands)))

    def _logs(self, row: Row, container: str | None = None, grep: str = "") -> str:
        name = container or (names.CONTAINER_VLLM if self.model.in_process else names.CONTAINER_LMCACHE)
        if grep:
            return f"kubectl logs -n {self.evidence.namespace} {row.pod} -c {name} | grep -i {grep!r}"
        return f"kubectl logs -n {self.evidence.namespace} {row.pod} -c {name} --tail=50"

    def _look(self, row: Row, command: str) -> str:
        container = names.CONTAINER_VLLM if self.model.in_process else names.CONTAINER_LMCACHE
        return f"kubectl exec -n {self.evidence.namespace} {row.pod} -c {container} -- {command}"

    # The tiers

    def _cold(self, row: Row) -> None:
        moved = row.counters or Counters()
        cached = moved.l0 + moved.l1 + moved.l2 + moved.loaded
        if row.busy or not cached:
            return
        at = self.evidence.root or "the cache"
        if row is not self.result.cold:
            self._fail(
                row,
                "was cached",
                f"Pod {row.pod} took {moved.l0 + moved.loaded:g} tokens that only another Pod has computed, though L2 is off",
                "the Pods share one LMCache server or one /dev/shm, or have --l2-adapter from elsewhere: run helm "
                "upgrade and restart them",
                (f"kubectl rollout restart -n {self.evidence.namespace} deployment/{self.model.deployment}",),
            )
            return
        self._fail(
            row,
            "was cached",
            f"a prompt that starts with random text hit the cache of Pod {row.pod} "
            f"(L0 {moved.l0:g}, L1 {moved.l1:g}, L2 {moved.l2:g} tokens)",
            f"the cache gives blocks of other prompts: stop using it (models.{self.model.name}.cache.l2.enabled: false), "
            f"and report it with the content of {at}",
        )

    def _stored(self, cold: Row) -> None:
        stored = self.evidence.stored_chunks
        if stored is None or stored >= self.chunks:
            return
        asked = cold.counters.requested if cold.counters else 0
        if stored == 0 and asked == 0:
            self._not_connected(cold, f"0 tokens looked up, 0 of {self.chunks} chunks stored")
            return
        root = self.evidence.root
        self._fail(
            cold,
            "not stored",
            f"Pod {cold.pod} (node {cold.node}) stored {stored:g} of {self.chunks} chunks in L2 below {root} in time",
            "the L2 volume is full, read-only, slow or gone: see the log, and the space that is left",
            (self._logs(cold), self._look(cold, f"df -h {root}")),
        )

    def _not_connected(self, row: Row, numbers: str) -> None:
        mode = self.model.mode
        connector = "LMCacheConnectorV1" if self.model.in_process else "LMCacheMPConnector"
        self._fail(
            row,
            "LMCache not asked",
            f"vLLM of Pod {row.pod} (node {row.node}) never asked {self._cache()}: {numbers}",
            f"check --kv-transfer-config in the Pod's arguments, and vLLM's log for {connector} "
            f"(models.{self.model.name}.engine.lmcacheMode, here {mode})",
            (self._logs(row, names.CONTAINER_VLLM, "connector"),),
        )

    def _cache(self) -> str:
        return "the LMCache in its process" if self.model.in_process else "its LMCache server"

    def _l2(self, cold: Row | None, row: Row) -> None:
        moved = row.counters or Counters()
        if moved.l1 and not row.busy:
            self._fail(
                row,
                "found in L1",
                f"Pod {row.pod} had {moved.l1:g} tokens of a new prompt in its L1 before it saw it",
                "two Pods share one LMCache server or one /dev/shm: check lmcache.mp.host and the volume shm",
            )
        found, exact = _seen(self.model, row), not row.busy and not self.model.in_process
        # vLLM computes the last token anew: an LMCache that reports by vLLM's count may lack it.
        slack = 1 if self.model.in_process else 0
        if found >= self.want - slack and not (exact and found != self.want):
            self._served(row, found)
            return
        pair = f"Pod {cold.pod} (node {cold.node}) and Pod {row.pod} (node {row.node})" if cold else f"Pod {row.pod}"
        numbers = f"{found:g} of {self.want} L2 hit tokens on Pod {row.pod}"
        if found > 0:
            self._fail(
                row,
                "partial hit",
                f"partial hit: {numbers}, {moved.requested:g} looked up; {pair} see the volume differently, "
                "or files of the prompt are incomplete",
                "see LMCache's log for 'Incomplete read', and check the volume's capacity and eviction",
                (self._logs(row, grep="incomplete read"), self._look(row, f"df -h {self.evidence.root}")),
            )
        elif moved.requested == 0:
            self._not_connected(row, f"{numbers}, 0 tokens looked up")
        elif self.evidence.stored_chunks or (self.evidence.stored_chunks is None and self.evidence.new_files is None):
            self._no_hit(row, cold, pair, numbers)
        else:
            # Nothing was stored, which is said already.
            row.verdict, row.why = FAIL, "nothing was stored"

    def _served(self, row: Row, found: float) -> None:
        """LMCache found all; did this very request get it?"""
        moved = row.counters or Counters()
        got = given(row, self.settings.prompt_tokens)
        if got >= self.want - 1:
            return
        if row.busy:
            self._fail(
                row,
                "not proven",
                f"other requests ran on Pod {row.pod}, so that its {found:g} L2 hit tokens may be theirs: this one "
                f"certainly got {got:g} of {self.want}",
                "run helm test when the model is quiet; or let vLLM count by request: "
                f"models.{self.model.name}.engine.args [--enable-prompt-tokens-details]",
            )
            return
        self._fail(
            row,
            "found, not loaded",
            f"LMCache of Pod {row.pod} found {found:g} tokens in L2, but vLLM took {moved.loaded:g} and computed "
            f"{moved.computed:g}",
            "the blocks cannot be read or loaded: see both logs",
            (self._logs(row), self._logs(row, names.CONTAINER_VLLM, "kv load")),
        )

    def _no_hit(self, row: Row, cold: Row | None, pair: str, numbers: str) -> None:
        """The first Pod stored, the second asked and found nothing. Both have stored by now: the file names tell why."""
        new, root = self.evidence.new_files, self.evidence.root
        usual = self.chunks * self.model.ranks
        if new is not None and new > usual:
            self._fail(
                row,
                "keys differ",
                f"the keys of {pair} differ: {numbers}; the same prompt left {new} new files below {root} "
                f"instead of {usual}",
                "give all Pods one model path, one chunk size, one hash seed and one LMCache version, and restart them",
                (f"kubectl rollout restart -n {self.evidence.namespace} deployment/{self.model.deployment}",),
            )
            return
        seen = "this Pod cannot look" if new is None else f"this Pod sees {new} new files there"
        stored = "an unknown number of" if self.evidence.stored_chunks is None else f"{self.evidence.stored_chunks:g}"
        self._fail(
            row,
            "no hit",
            f"the L2 volume is not shared between {pair}: the first stored {stored} chunks below {root}, "
            f"{numbers}; {seen}",
            "use a volume with ReadWriteMany that really is the same storage on every node (l2.volume); for hostPath, "
            "mount shared storage at that path on all nodes. The number of files must be the same on both Pods",
            [self._look(each, f"sh -c 'ls {root} | wc -l'") for each in (cold, row) if each],
        )

    def _l0(self, row: Row) -> None:
        moved = row.counters or Counters()
        # vLLM always computes the last token anew, so that a prompt of whole blocks hits one block less.
        size = self.evidence.block_size
        want = full_chunks(self.settings.prompt_tokens - 1, size) * size if size else 1
        if moved.l0 >= want:
            self._local(row, want)
            return
        keys = f"models.{self.model.name}.engine"
        self._fail(
            row,
            "no hit" if not moved.l0 else "partial hit",
            f"Pod {row.pod} had {moved.l0:g} of {want} tokens in L0 right after the same prompt",
            "check that --no-enable-prefix-caching is not given, and that the KV cache holds the prompt "
            f"({keys}.cpu.kvCacheSpaceGiB on cpu, {keys}.gpuMemoryUtilization on cuda)",
            (self._logs(row, names.CONTAINER_VLLM, "kv cache size"),),
        )

    def _l1(self, row: Row) -> None:
        moved = row.counters or Counters()
        hits = row.hits
        if hits and hits.either >= self.want - 1:
            self._warn(
                row,
                "L1 or L2",
                f"Pod {row.pod} took {hits.either:g} tokens from LMCache, but an LMCache inside vLLM's process does not "
                "say whether from L1 or from L2",
                "nothing is broken. Compare the TTFT with that of L2; with "
                f"models.{self.model.name}.engine.lmcacheMode multiProcess both are counted",
            )
            return
        found = hits.l1 if self.model.in_process and hits else moved.l1
        slack = 1 if self.model.in_process else 0
        if self.want - slack <= found <= self.want or (row.busy and found > self.want):
            self._local(row, self.want - 1)
            return
        self._fail(
            row,
            "no hit" if not found else "partial hit",
            f"Pod {row.pod} had {found:g} of {self.want} tokens in L1 (L2 gave {moved.l2:g}) after the same prompt",
            f"raise models.{self.model.name}.cache.l1.memory, and check that LMCache runs with "
            "--l2-prefetch-policy retain",
            (self._logs(row),),
        )

    def _local(self, row: Row, want: float) -> None:
        """L0 and L1 right after L2: a busy Pod can hide a miss, but not cause damage; say so."""
        got = given(row, self.settings.prompt_tokens)
        if row.busy and got < want:
            if row.verdict == PASS:
                row.verdict, row.why = WARN, "not proven"
        elif not row.busy and got < want:
            self._fail(
                row,
                "found, not loaded",
                f"Pod {row.pod} found all in {row.tier.upper()}, but vLLM was given {got:g} of {want:g} tokens",
                "the blocks cannot be loaded: see both logs",
                (self._logs(row), self._logs(row, names.CONTAINER_VLLM, "kv load")),
            )

    # The answers

    def _text(self, cold: Row, row: Row) -> None:
        if cold.answer is None or row.answer is None:
            return
        if row.tier != CONTROL and not given(row, self.settings.prompt_tokens) and not row.busy:
            return  # Without a hit, an equal text says nothing about the cache.
        control = self.result.control
        found = texts.compare(cold.answer, row.answer)
        row.same = found.same
        if row is control:
            if found.same not in (EQUAL, NEAR_TIE):
                row.same = UNSURE
                self._control_differs(cold, row, found)
            return
        noise = texts.compare(cold.answer, control.answer) if control and control.answer else None
        if found.same != EQUAL and control and control.answer and control.pod == row.pod:
            # The cold text of the same Pod decides: another node may round differently.
            same_pod = texts.compare(control.answer, row.answer)
            if same_pod.same in (EQUAL, NEAR_TIE) or found.same == UNSURE:
                found = same_pod
                row.same = found.same
        if found.same == NEAR_TIE:
            row.note = (
                f"the text differs from token {found.at} on, where two candidates are nearly equal ({found.gap:.3f} "
                "apart): rounding, not the cache"
            )
        elif found.same in (WRONG, UNSURE):
            self._differs(cold, row, found, noise)
        elif found.drift is not None and found.drift > max(texts.DRIFT, 3 * ((noise and noise.drift) or 0.0)):
            self._warn(
                row,
                "text equal, odds are not",
                f"{self.result.place(row)}: the text is the cold one, but log probabilities differ by up to "
                f"{found.drift:.2f}",
                "cached blocks are less exact than computed ones (a quantised kvCacheDtype does that), or of another "
                f"dtype: compare {self.evidence.root}/config.json with the Pods",
            )

    def _differs(self, cold: Row, row: Row, found: texts.Comparison, noise: texts.Comparison | None) -> None:
        """A text that is neither the cold one nor a near tie."""
        if noise is not None and noise.same in (WRONG, UNSURE):
            # The engine does not agree with itself, so that nothing follows for the cache.
            row.same = UNSURE
            self._warn(
                row,
                "text unsure",
                f"{self.result.place(row)}: the text differs from the cold one, and so did the control's",
                "this engine gives different greedy texts without any cache, so that texts prove nothing; "
                "run helm test when the model is quiet, with all Pods on one kind of node",
            )
            return
        row.same = WRONG
        if row.verdict != FAIL:
            row.verdict, row.why = FAIL, "wrong text"
        self.wrong.append((row, found))

    def _wrong_texts(self, cold: Row) -> None:
        """One finding for each wrong text: L1 and L0 repeat what L2 gave."""
        for text in dict.fromkeys(row.text or "" for row, _ in self.wrong):
            same = [(row, found) for row, found in self.wrong if (row.text or "") == text]
            rows = [row for row, _ in same]
            gap = next((f", a gap of {found.gap:.2f}" for _, found in same if found.gap is not None), "")
            one = cold.text or ""
            at = next((i for i, (a, b) in enumerate(zip(one, text, strict=False)) if a != b), min(len(one), len(text)))
            known = self.result.control is not None
            tiers = ", ".join(r.tier.upper() for r in rows)
            where = ", ".join(dict.fromkeys(f"Pod {r.pod}" for r in rows))
            cause = "L2 holds blocks of another model, dtype or version"
            if rows[0].tier != L2:
                cause = f"{rows[0].tier.upper()} gives wrong blocks"
            self.result.findings.append(
                Finding(
                    f"model {self.model.name}: the greedy text differs: cold on Pod {cold.pod} gave {shorten(one, 80)!r}, "
                    f"{tiers} on {where} gave {shorten(text, 80)!r}, first at character {at + 1}{gap}; "
                    + ("the control's text was the cold one" if known else "there was no control"),
                    f"{cause}: set models.{self.model.name}.cache.l2.enabled: false until it is found, compare "
                    "config.json with the Pods' image and dtype, empty that directory, and test again",
                    (self._look(rows[0], f"cat {self.evidence.root}/config.json"),) if self.evidence.root else (),
                )
            )

    def _control_differs(self, cold: Row, row: Row, found: texts.Comparison) -> None:
        both: tuple[Completion | None, ...] = (cold.answer, row.answer)
        gave = " and ".join(repr(shorten(a.text, 60)) for a in both if a)
        self._warn(
            row,
            "engine differs",
            f"two answers without any cache differ: Pods {cold.pod} and {row.pod} gave {gave}",
            "no cache is at fault, but greedy texts of this engine cannot prove that a cache is right: look for nodes "
            "of different kinds, and for engine arguments that are not deterministic",
        )

    # Places and times

    def _one_node(self) -> None:
        nodes = {self.result.nodes.get(pod) for pod in self.result.pods}
        if len(nodes) == 1 and any(r.tier == L2 and r.verdict == PASS for r in self.result.rows):
            self.result.notes.append(
                f"all Pods run on node {nodes.pop()}: that other nodes see the volume is not proven"
            )

    def _ratios(self) -> None:
        cold = [r.ttft_ms for r in (self.result.cold, self.result.control) if r and r.ttft_ms]
        if not cold:
            return
        # The faster one: the first request of its length may have warmed something up.
        base = min(cold)
        for row in self.result.rows:
            row.ratio = base / row.ttft_ms if row.ttft_ms else None

    def _speed(self) -> None:
        least = self.settings.min_speedup
        for row in self.result.rows:
            if row.tier != L2 or row.ratio is None or row.ttft_ms is None or row.verdict == FAIL:
                continue
            times = f"{row.ttft_ms:.0f} ms, {row.ratio * row.ttft_ms:.0f} ms without a cache"
            if least and row.ratio < least:
                self._fail(
                    row,
                    "too slow",
                    f"L2 on Pod {row.pod} is {row.ratio:.2f} times as fast as cold ({times}), less than "
                    f"hooks.verify.minSpeedup {least:g}",
                    "use a longer hooks.verify.promptTokens, a faster volume, or a lower hooks.verify.minSpeedup",
                )
            elif row.ratio < SLOWER and (1 - row.ratio) * row.ttft_ms > SLOWER_MS:
                self._warn(
                    row,
                    "slower than cold",
                    f"L2 on Pod {row.pod} takes longer than computing the prompt anew ({times})",
                    "the volume is too slow for this model, or the prompt too short to gain: try a longer "
                    f"hooks.verify.promptTokens; if it stays so, set models.{self.model.name}.cache.l2.enabled: false",
                )
