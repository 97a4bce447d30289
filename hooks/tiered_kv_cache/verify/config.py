"""What verify is told: the models as the chart rendered them, and its own limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .. import told
from ..findings import UsageError
from ..reader import Reader

MAX_TOKENS = 16
"""Tokens that each measured request generates."""
MULTI_PROCESS, IN_PROCESS = "multiProcess", "inProcess"


@dataclass(frozen=True)
class ModelSpec:
    """One model as the chart rendered it. ``chunk_size`` in tokens; ``l0``..``l2`` say which tiers are on.

    ``replicas``: None when an autoscaler decides; it keeps at least ``min_replicas``. ``ranks``: processes of a Pod that
    each hold a part of every block. ``deployment``: the engine's. ``l2_parent``: directory of the model's L2 roots, each
    of which is named by a fingerprint that the Pods found at their start; ``config_hash``: of what the chart knows of it.
    """

    name: str
    served_name: str
    replicas: int | None
    chunk_size: int
    l0: bool
    l1: bool
    l2: bool
    deployment: str
    l2_parent: str = ""
    config_hash: str = ""
    min_replicas: int = 1
    mode: str = MULTI_PROCESS
    ranks: int = 1
    strategy: str = ""
    dtype: str = "auto"

    @property
    def in_process(self) -> bool:
        """LMCache runs inside vLLM's process: no server of its own, and no counters by tier."""
        return self.mode == IN_PROCESS

    @property
    def autoscaled(self) -> bool:
        """The number of Pods is not the release's to say."""
        return self.replicas is None


@dataclass(frozen=True)
class Settings:
    """A run. ``deadline_seconds`` is for all of it; ``min_speedup`` is that of L2 over cold, 0 for none.

    ``api_key_secret``: name and key of the Secret, for messages; empty when the engines ask for no key.
    """

    models: tuple[ModelSpec, ...]
    prompt_tokens: int
    deadline_seconds: float
    min_speedup: float
    reset_l0: str
    api_key_secret: str = ""


def parse(text: str, source: str) -> Settings:
    """Read what the chart gives in TKC_VERIFY; raises UsageError with every fault, each naming ``source``."""
    reader = Reader(told.read(text, source), source)
    models = reader.take("models", list, [])
    settings = Settings(
        models=tuple(_model(reader, entry, i) for i, entry in enumerate(models)),
        prompt_tokens=reader.whole("promptTokens", 1900, least=1),
        deadline_seconds=reader.number("deadlineSeconds", 600, least=1),
        min_speedup=reader.number("minSpeedup", 0, least=0),
        reset_l0=reader.take("resetL0", str, "auto"),
        api_key_secret=reader.take("apiKeySecret", str, ""),
    )
    if settings.reset_l0 not in ("auto", "never"):
        reader.fault("resetL0", settings.reset_l0, "auto or never")
    reader.unknown()
    for model in settings.models:
        if (model.l1 or model.l2) and settings.prompt_tokens < model.chunk_size:
            reader.faults.append(
                f"{source}: promptTokens {settings.prompt_tokens} is less than one chunk of model {model.name} "
                f"({model.chunk_size} tokens), so that nothing would be cached. "
                f"Fix: set hooks.verify.promptTokens to at least {model.chunk_size + 1}"
            )
    if reader.faults:
        raise UsageError("\n".join(reader.faults))
    return settings


def _model(parent: Reader, raw: Any, index: int) -> ModelSpec:
    where = f"models[{index}]"
    if not isinstance(raw, dict):
        parent.fault(where, raw, "an object")
        raw = {}
    reader = Reader(raw, f"{parent.source}: {where}", parent.faults)
    name = reader.take("name", str)
    model = ModelSpec(
        name=name,
        served_name=reader.take("servedName", str, name) or name,
        replicas=reader.whole_or_null("replicas", least=1),
        min_replicas=reader.whole("minReplicas", 1),
        chunk_size=reader.whole("chunkSize", 256, least=1),
        l0=reader.take("l0", bool, True),
        l1=reader.take("l1", bool, True),
        l2=reader.take("l2", bool, True),
        deployment=reader.take("deployment", str, f"{name}-engine"),
        l2_parent=reader.take("l2Parent", str, ""),
        config_hash=reader.take("configHash", str, ""),
        mode=reader.take("mode", str, MULTI_PROCESS),
        ranks=reader.whole("ranks", 1, least=1),
        strategy=reader.take("strategy", str, ""),
        dtype=reader.take("dtype", str, "auto"),
    )
    if model.mode not in (MULTI_PROCESS, IN_PROCESS):
        reader.fault("mode", model.mode, f"{MULTI_PROCESS} or {IN_PROCESS}")
    if not name:
        reader.fault("name", name, "the key in models")
    if model.l2:
        for key, value in (("l2Parent", model.l2_parent), ("configHash", model.config_hash)):
            if not value:
                reader.fault(key, value, "what the chart rendered, since l2 is true")
    reader.unknown()
    return model
