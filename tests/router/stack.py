"""Routers as the chart runs them, a Kubernetes API that knows their engines, and those engines."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

from chart.helm import Helm, Json, flag, model, overlay
from router.engine import Engine
from router.podapi import PodApi
from router.process import Router

NAMESPACE = "tiered-kv-cache"


class Stack:
    """One model of the chart with its router and engines.

    Args:
        program: vllm-router.
        helm: renders the chart, whose flags the router gets.
        folder: for logs and the kubeconfig.
        net: first three numbers of the engines' addresses, 127.x.y; no other stack may have it.
        routing: values of `routing`.
        engines: number of engines.
        of_model: further values of the model.
    """

    def __init__(
        self, program: Path, helm: Helm, folder: Path, *, net: str, routing: Json, engines: int = 2, **of_model: Any
    ) -> None:
        manifests = helm.template(overlay(model(routing=routing, **of_model)), namespace=NAMESPACE)
        container = manifests.container("router", "router")
        self.args: list[str] = list(container["args"])
        self.env = {each["name"]: each["value"] for each in container.get("env", []) if "value" in each}
        self._labels = dict(part.split("=", 1) for part in self.args[self.args.index("--selector") + 1 :])
        vllm = manifests.container("vllm")["args"]
        self.block_size = int(flag(vllm, "--block-size"))
        self._events = "--kv-events-config" in vllm
        self._program, self._folder, self._net = program, folder, net
        self.api = PodApi(NAMESPACE)
        self.engines: list[Engine] = []
        self._ready: dict[str, str] = {}
        for _ in range(engines):
            self.add_engine()
        self._routers: list[Router] = []
        self.router = self.add_router()

    def add_router(self) -> Router:
        """A further router; it knows all engines that are Ready."""
        kubeconfig = self.api.kubeconfig(self._folder / "kubeconfig")
        log = self._folder / f"router-{len(self._routers)}.log"
        router = Router(self._program, self.args, self.env, kubeconfig, log)
        self._routers.append(router)
        router.wait_workers(*self._ready.values())
        self._settle()
        return router

    def restart_router(self) -> None:
        """A new process in the place of the first router."""
        self.router.close()
        self.router = self.add_router()

    def close(self) -> None:
        """End everything."""
        for router in self._routers:
            router.close()
        self.api.close()
        for engine in self.engines:
            engine.stop()

    # The engines' Pods

    def add_engine(self, address: str = "") -> Engine:
        """A further engine in a Ready Pod, at an address that was never used."""
        own = address or f"{self._net}.{len(self.engines) + 1}"
        engine = Engine(own, self.block_size, self._events).start()
        self.engines.append(engine)
        self.set_ready(engine)
        return engine

    def set_ready(self, engine: Engine, ready: bool = True) -> None:
        """Change the condition Ready of an engine's Pod."""
        self.api.put(_pod(engine), engine.address, self._labels, ready)
        self._ready.pop(_pod(engine), None)
        if ready:
            self._ready[_pod(engine)] = engine.url

    def relabel(self, engine: Engine) -> None:
        """Take an engine's Pod out of the Service's selector."""
        self.api.put(_pod(engine), engine.address, {"debug": "true"})
        self._ready.pop(_pod(engine))

    def replace(self, engine: Engine) -> Engine:
        """Delete an engine's Pod; the new one has another address."""
        self.api.terminate(_pod(engine))
        self._ready.pop(_pod(engine))
        self.router.wait_workers(*self._ready.values())
        engine.stop()
        self.api.delete(_pod(engine))
        new = self.add_engine()
        self.wait_workers()
        return new

    def wait_workers(self) -> None:
        """Wait until the router knows the Ready engines and no other, and hears their events."""
        self.router.wait_workers(*self._ready.values())
        self._settle()

    def _settle(self) -> None:
        # A ZeroMQ subscriber misses what is published while it connects; nothing tells when it has.
        time.sleep(0.3 if self._events else 0)

    # Requests

    def post(self, path: str, body: Json, headers: dict[str, str] | None = None) -> httpx.Response:
        """One request through the first router."""
        return self.router.post(path, body, headers)

    def complete(
        self, prompt: Any, stream: bool = False, router: Router | None = None, headers: dict[str, str] | None = None
    ) -> Engine:
        """One completion, nothing else going on; the engine that got it.

        Raises:
            AssertionError: the answer is not 200, or the stream has no end.
        """
        before = self.counts()
        body = {"model": "tiny", "prompt": prompt, "max_tokens": 4, "stream": stream}
        answer = (router or self.router).post("/v1/completions", body, headers)
        assert answer.status_code == 200, answer.text
        assert not stream or answer.text.endswith("data: [DONE]\n\n")
        return self.grown(before)

    def grown(self, before: Sequence[int]) -> Engine:
        """The one engine that got a request since these counts were taken."""
        old = [*before, *[0] * (len(self.engines) - len(before))]
        (engine,) = [e for e, count in zip(self.engines, old, strict=True) if len(e.seen) > count]
        return engine

    def counts(self) -> list[int]:
        """Requests that each engine has got."""
        return [len(engine.seen) for engine in self.engines]


def _pod(engine: Engine) -> str:
    return "engine-" + engine.address.replace(".", "-").replace(":", "-") + "-0"
