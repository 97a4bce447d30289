"""What each tier of a model holds: bytes, and tokens where the model's shape is known."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from .. import names
from ..cluster import JsonObject
from .quotas import Quota
from .said import said
from .shape import Engine, Shape, Unknown, token_bytes
from .workloads import ENDPOINT, Workload

GIB = 1 << 30
COMPONENTS = (names.COMPONENT_ENGINE, "endpoint")


@dataclass(frozen=True)
class Tier:
    """``bytes``: of one Pod (L0, L1) or of all (L2), None: not known; ``tokens`` as well; ``note``: why not, or what is meant."""

    name: str
    bytes: int | None
    tokens: int | None
    note: str = ""


@dataclass(frozen=True)
class Model:
    """``line``: of business; ``token_bytes``: None where the shape is not known, and ``why`` says why."""

    name: str
    line: str
    workload: Workload
    gpus: int
    max_model_len: int
    token_bytes: int | None
    why: str
    tiers: tuple[Tier, ...]


def models(
    workloads: Iterable[Workload], quotas: Iterable[Quota], shapes: Mapping[str, Shape], gpu_memory: int | None
) -> list[Model]:
    """Of all engines. ``gpu_memory``: bytes of one GPU."""
    quotas = list(quotas)
    return [
        _model(each, quotas, shapes.get(each.model), gpu_memory) for each in workloads if each.component in COMPONENTS
    ]


def _model(workload: Workload, quotas: list[Quota], shape: Shape | None, gpu_memory: int | None) -> Model:
    engine = _Engine(workload)
    per_token, why = None, f"give {said('--config', f'{workload.model}=<its config.json, or its folder>')}"
    if shape:
        try:
            per_token, why = token_bytes(shape.config, engine.of_shape), ""
        except Unknown as err:
            why = str(err)
    tiers = (
        _l0(engine, per_token, shape, gpu_memory),
        _l1(engine, per_token),
        _l2(engine, quotas, per_token),
    )
    return Model(
        workload.model, engine.line, workload, engine.gpus, engine.number("--max-model-len"), per_token, why, tiers
    )


def _l0(engine: _Engine, per_token: int | None, shape: Shape | None, gpu_memory: int | None) -> Tier:
    if "--no-enable-prefix-caching" in engine.args:
        return Tier("L0", 0, 0, "off")
    on_cpu = engine.env.get("VLLM_CPU_KVCACHE_SPACE")
    if on_cpu:
        return _tier("L0", int(Decimal(on_cpu) * GIB) * engine.ranks, 1, per_token)
    if not gpu_memory:
        return Tier("L0", None, None, f"give {said('--gpu-memory')}")
    if not shape or not shape.weights:
        return Tier("L0", None, None, f"give {said('--config', f'{engine.model}=<folder with the weights>')}")
    share = Decimal(engine.flag("--gpu-memory-utilization") or "0.9")
    left = int(share * gpu_memory) * engine.ranks - shape.weights
    if left <= 0:
        return Tier("L0", 0, 0, "the weights alone take more than the GPUs have")
    tier = _tier("L0", left, 1, per_token)
    return Tier("L0", tier.bytes, tier.tokens, "at most: less what activations take")


def _l1(engine: _Engine, per_token: int | None) -> Tier:
    if engine.l1 is None:
        return Tier("L1", None, None, "LMCache is a server of the operator's, which decides")
    return _tier("L1", engine.l1, engine.chunk, per_token)


def _l2(engine: _Engine, quotas: list[Quota], per_token: int | None) -> Tier:
    if not engine.l2:
        return Tier("L2", 0, 0, "off")
    line = next((each for each in quotas if each.line == engine.line), None)
    if line is None:
        return Tier("L2", None, None, "no keeper in this release: nothing holds it")
    own = line.models.get(engine.model)
    tier = _tier("L2", own or line.bytes, engine.chunk, per_token)
    note = "" if own else f"shared by all models of {line.line}"
    return Tier("L2", tier.bytes, tier.tokens, note)


def _tier(name: str, size: int | None, chunk: int, per_token: int | None) -> Tier:
    """``chunk``: tokens that are only held together."""
    if not size:
        return Tier(name, size, size, "off" if size == 0 else "")
    tokens = size // (per_token * chunk) * chunk if per_token else None
    return Tier(name, size, tokens)


class _Engine:
    """What a workload's containers are told."""

    def __init__(self, workload: Workload) -> None:
        pod = workload.pod
        containers: dict[str, JsonObject] = {each["name"]: each for each in pod.get("containers") or []}
        self.vllm = containers.get(names.CONTAINER_VLLM) or {}
        lmcache = containers.get(names.CONTAINER_LMCACHE) or {}
        inits = [each for each in pod.get("initContainers") or [] if "l2-root" in _texts(each.get("args"))]
        self.model = workload.model
        self.args = _texts(self.vllm.get("args"))
        self.env = {each["name"]: str(each.get("value") or "") for each in self.vllm.get("env") or []}
        self.ranks = (self.number("--tensor-parallel-size") or 1) * (self.number("--pipeline-parallel-size") or 1)
        limits = (self.vllm.get("resources") or {}).get("limits") or {}
        self.gpus = sum(int(value) for name, value in limits.items() if name.startswith("nvidia.com/"))
        self.l2 = bool(inits)
        parent = _flag(_texts(inits[0].get("args")), "--parent") if inits else ""
        # <mount path>/<version>/<line of business>/<model>
        self.line = parent.rstrip("/").split("/")[-2] if parent.count("/") > 1 else ""
        server = _texts(lmcache.get("args"))
        self.chunk = int(_flag(server, "--chunk-size") or self.env.get("LMCACHE_CHUNK_SIZE") or _hashed(inits) or 1)
        # An endpoint says whether it has L1; where LMCache is a server of the operator's, nobody says how large it is.
        self.l1 = self._l1(server, workload.kind == ENDPOINT and workload.l1)

    def _l1(self, server: list[str], endpoint: bool) -> int | None:
        """Bytes of a Pod; None where the operator decides."""
        if server:
            return int(Decimal(_flag(server, "--l1-size-gb") or 0) * GIB)
        each_rank = self.env.get("LMCACHE_MAX_LOCAL_CPU_SIZE")
        if each_rank and self.env.get("LMCACHE_LOCAL_CPU", "true") == "true":
            return int(Decimal(each_rank) * GIB) * self.ranks
        return None if endpoint else 0

    def flag(self, name: str) -> str:
        """Of vLLM; empty if it is not there."""
        return _flag(self.args, name)

    def number(self, name: str) -> int:
        """The same; 0 if it is not there."""
        return int(self.flag(name) or 0)

    @property
    def of_shape(self) -> Engine:
        """What of it counts for the size of a token."""
        overridden = any(each.partition("=")[0] == "--hf-overrides" for each in self.args)
        return Engine(
            self.flag("--dtype"), self.flag("--kv-cache-dtype"), self.number("--tensor-parallel-size") or 1, overridden
        )


def _texts(found: Any) -> list[str]:
    return [str(each) for each in found or []]


def _flag(args: list[str], name: str) -> str:
    """The last one wins, as in vLLM."""
    for index in range(len(args) - 1, -1, -1):
        if args[index] == name and index + 1 < len(args):
            return args[index + 1]
        if args[index].startswith(f"{name}="):
            return args[index].partition("=")[2]
    return ""


def _hashed(inits: list[JsonObject]) -> str:
    """Tokens of a chunk, from what enters the fingerprint."""
    for each in inits:
        for variable in each.get("env") or []:
            if variable.get("name") == names.ENV_L2_CONFIG and variable.get("value"):
                return str(json.loads(variable["value"]).get("chunkSize") or "")
    return ""
