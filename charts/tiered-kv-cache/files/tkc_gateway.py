"""One URL for all models of a release: GET /v1/models, and requests passed on by the "model" in their body.

The packaged router cannot do it (docs/routing.md), and neither can a Gateway API HTTPRoute, which never sees a body. This
chooses among the routers of the models and does nothing else: bodies, headers and streams pass unchanged, retries are the
routers' work. What is not an inference path of vLLM's ends here, so that the routers' and engines' other paths (workers,
adapters, cache resets), which ask nobody for a password, are not reached through it.

Needs aiohttp, which the router image has. Run: python tkc_gateway.py CONFIG.json
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from aiohttp import ClientError, ClientSession, ClientTimeout, DummyCookieJar, TCPConnector, web

PATHS = (
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/responses",
    "/v1/embeddings",
    "/v1/messages",
    "/v1/rerank",
    "/v1/score",
)
HOP_BY_HOP = {
    "connection",
    "expect",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
}
RETRY_AFTER_SECONDS = "5"
TYPES = {400: "BadRequestError", 404: "NotFoundError", 413: "BadRequestError", 503: "ServiceUnavailableError"}


def failure(status: int, message: str) -> web.Response:
    """An error in the shape that OpenAI clients read."""
    headers = {"retry-after": RETRY_AFTER_SECONDS} if status == 503 else {}
    body = {"error": {"message": message, "type": TYPES[status], "param": None, "code": status}}
    return web.json_response(body, status=status, headers=headers)


def passed(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    """Headers that concern more than one connection (RFC 9110, 7.6.1)."""
    named = {name.strip().lower() for name in headers.get("connection", "").split(",")}
    return [(name, value) for name, value in headers.items() if name.lower() not in HOP_BY_HOP | named]


class Gateway:
    """Args:
    models: served name -> base URL of the model's router.
    timeout_s: longest silence of a router, in seconds.
    max_body: largest body in bytes.
    """

    def __init__(self, models: Mapping[str, str], timeout_s: float, max_body: int) -> None:
        self.models = dict(models)
        self.counts: Counter[tuple[str, int]] = Counter()
        self._max_body = max_body
        self._timeout = ClientTimeout(total=None, sock_connect=5, sock_read=timeout_s)
        self._client: ClientSession | None = None

    def application(self) -> web.Application:
        """What clients reach."""
        app = web.Application(client_max_size=self._max_body)
        app.cleanup_ctx.append(self._session)
        app.router.add_get("/health", self.health)
        app.router.add_get("/v1/models", self.list_models)
        app.router.add_get("/v1/models/{id:.+}", self.one_model)
        for path in PATHS:
            app.router.add_post(path, self.dispatch)
        app.router.add_route("*", "/{path:.*}", self.nothing)
        return app

    def metrics(self) -> web.Application:
        """What Prometheus reaches, on a port of its own."""
        app = web.Application()
        app.router.add_get("/metrics", self.scrape)
        return app

    async def _session(self, _: web.Application) -> Any:
        # Compressed bodies stay as they are; no cookie of one client reaches another.
        async with ClientSession(
            connector=TCPConnector(limit=0), timeout=self._timeout, auto_decompress=False, cookie_jar=DummyCookieJar()
        ) as self._client:
            yield

    async def health(self, _: web.Request) -> web.Response:
        return web.json_response({})

    async def nothing(self, request: web.Request) -> web.Response:
        return failure(404, f"no path {request.path} here; there are /v1/models, {', '.join(PATHS)}")

    def _model(self, name: str) -> dict[str, Any]:
        return {"id": name, "object": "model", "created": 0, "owned_by": "tiered-kv-cache"}

    async def list_models(self, _: web.Request) -> web.Response:
        return web.json_response({"object": "list", "data": [self._model(name) for name in sorted(self.models)]})

    async def one_model(self, request: web.Request) -> web.Response:
        name = request.match_info["id"]
        return web.json_response(self._model(name)) if name in self.models else self._unknown(name)

    def _unknown(self, name: object) -> web.Response:
        return failure(404, f"The model `{name}` does not exist. There are: {', '.join(sorted(self.models))}")

    async def dispatch(self, request: web.Request) -> web.StreamResponse:
        """Pass a request on to its model's router."""
        model = ""
        try:
            body = await request.read()
            named = json.loads(body)
            name = named.get("model") if isinstance(named, dict) else None
            if not name:
                answer: web.StreamResponse = failure(400, 'the body names no "model"')
            elif name not in self.models:
                answer = self._unknown(name)
            else:
                model = name
                answer = await self._pass_on(request, body, self.models[name])
        except web.HTTPRequestEntityTooLarge:
            answer = failure(413, f"the body is larger than {self._max_body} bytes")
        except ValueError:
            answer = failure(400, "the body is no JSON")
        self.counts[model, answer.status] += 1
        return answer

    async def _pass_on(self, request: web.Request, body: bytes, base: str) -> web.StreamResponse:
        assert self._client
        try:
            upstream = await self._client.post(base + request.path_qs, data=body, headers=passed(request.headers))
        except (ClientError, TimeoutError) as error:
            return failure(503, f"the model's router does not answer ({type(error).__name__})")
        async with upstream:
            answer = web.StreamResponse(status=upstream.status, reason=upstream.reason)
            for name, value in passed(upstream.headers):
                answer.headers.add(name, value)
            if upstream.status == 503:
                answer.headers.setdefault("retry-after", RETRY_AFTER_SECONDS)
            await answer.prepare(request)
            # A stream that breaks here breaks at the client too: it must not look as if it had ended.
            async for chunk in upstream.content.iter_any():
                await answer.write(chunk)
            await answer.write_eof()
            return answer

    async def scrape(self, _: web.Request) -> web.Response:
        lines = [
            "# HELP tkc_gateway_requests_total Requests by model and status.",
            "# TYPE tkc_gateway_requests_total counter",
        ]
        for (model, status), count in sorted(self.counts.items()):
            label = json.dumps(model)
            lines.append(f'tkc_gateway_requests_total{{model={label},status="{status}"}} {count}')
        return web.Response(text="\n".join([*lines, ""]))


async def serve(config: Mapping[str, Any]) -> None:
    """Serve until SIGTERM; requests that run then are finished."""
    gateway = Gateway(config["models"], config["timeoutSeconds"], config["maxBodyBytes"])
    # A client that hangs up ends its request at the engine too.
    runners = [
        web.AppRunner(app, handler_cancellation=True, access_log=None, shutdown_timeout=config["graceSeconds"])
        for app in (gateway.application(), gateway.metrics())
    ]
    for runner, port in zip(runners, (config["port"], config["metricsPort"]), strict=True):
        await runner.setup()
        # No host: every address, IPv4 and IPv6.
        await web.TCPSite(runner, config.get("host"), port).start()
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    await stop.wait()
    for runner in runners:
        await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(serve(json.loads(Path(sys.argv[1]).read_text())))
