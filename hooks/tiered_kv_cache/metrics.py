"""Counters from Prometheus text, and the ones of vLLM and LMCache that tell which tier a token came from.

Names were read from vLLM 0.32 and LMCache 0.5.6: ``lmcache_mp_`` from its server, ``lmcache:`` from LMCache inside vLLM's
process. All values are totals since the process started; only differences mean anything.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from prometheus_client.parser import text_string_to_metric_families

VLLM_PROMPT_TOKENS = "vllm:prompt_tokens_total"
VLLM_BY_SOURCE = "vllm:prompt_tokens_by_source_total"
"""By label source: local_compute, local_cache_hit or external_kv_transfer. Counted after loading, so that a block that
was found but could not be loaded is local_compute here and a hit below."""
VLLM_L0_HITS = "vllm:prefix_cache_hits_total"
VLLM_EXTERNAL_HITS = "vllm:external_prefix_cache_hits_total"
VLLM_EXTERNAL_QUERIES = "vllm:external_prefix_cache_queries_total"
VLLM_CACHE_CONFIG = "vllm:cache_config_info"
LMCACHE_REQUESTED = "lmcache_mp_lookup_requested_tokens_total"
LMCACHE_L1_HITS = "lmcache_mp_lookup_hit_l1_tokens_total"
LMCACHE_L2_HITS = "lmcache_mp_lookup_hit_l2_tokens_total"
LMCACHE_STORED_CHUNKS = "lmcache_mp_l2_store_completed_objects_chunks_total"
INPROCESS_PREFIX = "lmcache:"
INPROCESS_REMOTE_READS = "lmcache:num_remote_read_requests_total"
INPROCESS_REMOTE_WRITES = "lmcache:num_remote_write_requests_total"
"""LMCache inside vLLM's process: reads and writes of its remote backend, which is L2; one a chunk and rank."""
INPROCESS_LAG_SECONDS = 10.0
"""How late these are: LMCache hands its figures over so often."""


class MetricsError(Exception):
    """The text is not Prometheus exposition format."""


class Samples:
    """One scrape. Look up by full sample name, that is with ``_total``."""

    def __init__(self, text: str) -> None:
        """Parse ``text``; raises MetricsError when it is not Prometheus text (an HTML error page, say)."""
        self._samples: list[tuple[str, dict[str, str], float]] = []
        try:
            for family in text_string_to_metric_families(text):
                self._samples += [(s.name, dict(s.labels), float(s.value)) for s in family.samples]
        # The parser has no error type of its own: what a bad line raises depends on where it breaks.
        except (ValueError, KeyError, IndexError, TypeError, AttributeError) as err:
            raise MetricsError(f"not Prometheus text: {err}") from err

    def total(self, name: str, **labels: str) -> float:
        """Sum over all label sets that contain ``labels``; 0 when there is none (some counters start at first use)."""
        return sum(v for n, have, v in self._samples if n == name and labels.items() <= have.items())

    def has_prefix(self, prefix: str) -> bool:
        """Whether any sample's name starts with ``prefix``."""
        return any(name.startswith(prefix) for name, _, _ in self._samples)

    def label(self, name: str, label: str) -> str | None:
        """The value of ``label`` on the first sample called ``name`` that has it."""
        return next((have[label] for n, have, _ in self._samples if n == name and label in have), None)


@dataclass(frozen=True)
class Counters:
    """Totals of one Pod at one moment, or the difference of two moments. Tokens, but for the last two.

    ``computed`` and ``loaded``: prompt tokens that vLLM computed, and that it took from LMCache. ``requested``: looked
    up in LMCache. ``l1`` and ``l2``: what LMCache says it found there. ``stored_chunks``: written to L2, by each rank.
    ``remote_reads``: requests to L2 of an LMCache inside vLLM's process.
    """

    prompt: float = 0
    computed: float = 0
    l0: float = 0
    external: float = 0
    loaded: float = 0
    requested: float = 0
    l1: float = 0
    l2: float = 0
    stored_chunks: float = 0
    remote_reads: float = 0

    @classmethod
    def read(cls, vllm: Samples, lmcache: Samples | None, in_process: bool = False) -> Counters:
        """Counters of a Pod from its scrapes; without LMCache its counters are 0."""
        external, l0 = vllm.total(VLLM_EXTERNAL_HITS), vllm.total(VLLM_L0_HITS)
        prompt = vllm.total(VLLM_PROMPT_TOKENS)
        by_source = vllm.has_prefix(VLLM_BY_SOURCE)
        own = cls(
            prompt=prompt,
            # An older vLLM does not say what was computed; what its hits leave is the same but for failed loads.
            computed=vllm.total(VLLM_BY_SOURCE, source="local_compute") if by_source else prompt - l0 - external,
            l0=l0,
            external=external,
            loaded=vllm.total(VLLM_BY_SOURCE, source="external_kv_transfer") if by_source else external,
        )
        if in_process:
            # LMCache's own stand among vLLM's, where both share a metrics directory.
            return replace(
                own,
                requested=vllm.total(VLLM_EXTERNAL_QUERIES),
                stored_chunks=vllm.total(INPROCESS_REMOTE_WRITES),
                remote_reads=vllm.total(INPROCESS_REMOTE_READS),
            )
        if lmcache is None:
            return own
        return replace(
            own,
            requested=lmcache.total(LMCACHE_REQUESTED),
            l1=lmcache.total(LMCACHE_L1_HITS),
            l2=lmcache.total(LMCACHE_L2_HITS),
            stored_chunks=lmcache.total(LMCACHE_STORED_CHUNKS),
        )

    def since(self, before: Counters) -> Counters:
        """What happened after ``before``."""
        return Counters(**{f.name: getattr(self, f.name) - getattr(before, f.name) for f in fields(self)})

    def served(self) -> tuple[float, float, float]:
        """For a difference: tokens that L0, L1 and L2 gave, as far as LMCache's own counters tell.

        vLLM asks LMCache for blocks that L0 has already, and LMCache counts the hit; only vLLM's external hits tell what
        was loaded. Without L0 hits LMCache's count is exact, vLLM's may lack the last token, which it computes anew.
        """
        if not self.l0:
            return 0, self.l1, self.l2
        from_l1 = min(self.l1, self.external)
        return self.l0, from_l1, min(self.l2, self.external - from_l1)

    def went_back(self) -> bool:
        """For a difference: True when a counter fell, that is when a process restarted in between."""
        return any(getattr(self, f.name) < 0 for f in fields(self))


def full_chunks(tokens: int, size: int) -> int:
    """Number of whole chunks of ``size`` tokens in ``tokens``; a last part is never stored. ``size`` >= 1."""
    return tokens // size
