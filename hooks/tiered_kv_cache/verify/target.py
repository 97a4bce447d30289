"""One engine Pod as verify talks to it: vLLM, its LMCache server, and their counters together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .. import names
from ..deadline import Deadline
from ..engine import Engine, EngineError
from ..findings import Finding
from ..http import BadAnswer, Unreachable
from ..lmcache import LMCache
from ..metrics import Counters, MetricsError
from ..pods import Pod
from .config import ModelSpec
from .reach import Reach


@dataclass
class Target:
    """A Pod and its clients. ``cache`` is None when the model uses no LMCache tier."""

    pod: Pod
    engine: Engine
    cache: LMCache | None

    @classmethod
    def connect(cls, model: ModelSpec, pod: Pod, reach: Reach, deadline: Deadline) -> Target:
        """Make clients; nothing is sent yet, but a port may be forwarded."""
        vllm = reach.url(pod, pod.port(names.CONTAINER_VLLM, names.PORT_VLLM))
        cache = None
        if (model.l1 or model.l2) and names.CONTAINER_LMCACHE in pod.containers:
            cache = LMCache(reach.url(pod, pod.port(names.CONTAINER_LMCACHE, names.PORT_LMCACHE)), deadline)
        return cls(pod, Engine(vllm, model.served_name, deadline), cache)

    def close(self) -> None:
        """Close the clients."""
        self.engine.close()
        if self.cache:
            self.cache.close()

    def counters(self) -> Counters:
        """Both scrapes, now."""
        return Counters.read(self.engine.metrics(), self.cache.metrics() if self.cache else None)


def check(model: ModelSpec, target: Target) -> list[Finding]:
    """Whether both servers of a Pod answer as they must before anything is measured; all faults."""
    who = f"model {model.name}: Pod {target.pod.name}"
    found: list[Finding] = []
    logs = f"kubectl -n {target.pod.namespace} logs {target.pod.name} -c"

    def ask(call: Callable[[], object], what: str, fix: str) -> bool:
        try:
            call()
        except (Unreachable, BadAnswer, EngineError, MetricsError) as err:
            found.append(Finding(f"{who}: {what}: {err}", fix))
            return False
        return True

    vllm_fix = f"see {logs} {names.CONTAINER_VLLM}; and that a NetworkPolicy lets verify reach it"
    if ask(target.engine.health, "vLLM does not answer", vllm_fix):
        ask(target.engine.metrics, "vLLM's /metrics cannot be read", vllm_fix)
        served: list[str] = []
        readable = ask(
            lambda: served.extend(target.engine.served_models()), "vLLM's /v1/models cannot be read", vllm_fix
        )
        if readable and model.served_name not in served:
            found.append(
                Finding(
                    f"{who}: vLLM serves {', '.join(served) or 'nothing'}, not {model.served_name}",
                    f"set models.{model.name}.servedName to the name that clients use, and restart the Pods",
                )
            )
    if target.cache:
        fix = (
            f"see {logs} {names.CONTAINER_LMCACHE}; vLLM goes on without a cache meanwhile; "
            "and that a NetworkPolicy lets verify reach the port"
        )
        if ask(target.cache.health, "the LMCache server is down", fix):
            ask(target.cache.metrics, "the LMCache server's /metrics cannot be read", fix)
    return found
