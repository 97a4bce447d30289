"""An engine Pod on loopback: vLLM's API and an LMCache server's HTTP port, with real block arithmetic and real files.

L2 is a directory: two engines share it or they do not, and the hits follow from that. Every fault is a field of Faults.
Run by hand: ``python -m emulators.engine --l2 DIR`` (from tests/) prints both URLs and serves until Ctrl-C.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

CHARS_PER_TOKEN = 4
LATE_SECONDS = 0.4
"""How late the counters of an LMCache in vLLM's process are; 10 for the real one."""
WORDS = ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron")


@dataclass
class Faults:
    """What is broken. The defaults are a healthy engine."""

    lmcache_down: bool = False
    lmcache_bad_metrics: bool = False
    vllm_down: bool = False
    vllm_health: int = 200
    not_connected: bool = False
    """vLLM runs without its KV connector: nothing is looked up or stored."""
    dev_mode: bool = True
    reset_does_nothing: bool = False
    store: bool = True
    store_seconds: float = 0.0
    l2_prefix_only: int | None = None
    """Only so many leading chunks are found in L2 (a truncated file)."""
    wrong_blocks: bool = False
    """Loaded blocks give another text."""
    ms_per_token: float = 0.0
    """Time of a computed token; cached ones are free."""
    stream_error: bool = False
    """The first long completion streams an error."""
    drop_stream: bool = False
    """A long completion's connection is cut before the first token."""
    restart_in_long: bool = False
    """All counters fall to 0 with the first long completion."""
    foreign_tokens: int = 0
    """Prompt tokens of other requests, all computed, that appear beside each long completion."""
    l1_without_l2: bool = False
    """Another Pod's blocks are found in L1: a wrongly shared server."""
    load_fails: bool = False
    """LMCache finds blocks, but vLLM cannot load them and computes them anew."""
    near_tie: bool = False
    """The last generated token flips between two nearly equal candidates when blocks were loaded."""
    restless: bool = False
    """Each answer differs, cached or not: an engine that does not agree with itself."""
    load_seconds: float = 0.0
    """Time that loading blocks takes."""
    drift: float = 0.0
    """Added to the log probabilities of the second candidate when blocks were loaded."""
    no_logprobs: bool = False
    """vLLM runs with --max-logprobs 0."""
    no_salt: bool = False
    """cache_salt is refused, as by a vLLM without prefix caching."""
    ignores_salt: bool = False
    salted_keys: bool = False
    """An LMCache in vLLM's process that puts the salt into its keys, as later ones may."""
    per_request: bool = False
    """vLLM runs with --enable-prompt-tokens-details."""
    foreign_once: bool = False
    """foreign_tokens appear beside the first long completion only."""


@dataclass
class Engine:
    """One engine. Sizes in tokens. ``hash_seed`` is part of every key, as is the model's path in LMCache.

    ``in_process``: LMCache runs inside vLLM: no server of its own, no counters by tier, and no salt in its keys;
    ``lmcache_metrics``: its own counters appear among vLLM's, ``LATE_SECONDS`` late at most. ``key``: the API key, empty for none.
    """

    l2_dir: Path
    model: str = "tiny"
    chunk_size: int = 256
    block_size: int = 128
    max_model_len: int = 4096
    hash_seed: str = "0"
    l0: bool = True
    l2: bool = True
    in_process: bool = False
    lmcache_metrics: bool = False
    key: str = ""
    faults: Faults = field(default_factory=Faults)

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._l0: set[str] = set()
        self._l1: set[str] = set()
        self._count: Counter[str] = Counter()
        self._number = 0
        self._remote: list[tuple[float, str, int]] = []
        self._servers: list[ThreadingHTTPServer] = []
        self.requests: list[dict[str, Any]] = []
        self.keyed: list[str] = []
        self.dropped = 0

    # Life

    def start(self) -> Engine:
        """Listen on two free loopback ports; a server that is down has a port on which nothing listens."""
        self.vllm_port = self._serve(self._vllm, self.faults.vllm_down)
        self.lmcache_port = self._serve(self._lmcache, self.faults.lmcache_down or self.in_process)
        return self

    def stop(self) -> None:
        """Stop both servers."""
        for server in self._servers:
            server.shutdown()
            server.server_close()

    def _serve(self, answer: Callable[[BaseHTTPRequestHandler], None], down: bool) -> int:
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True  # Headers and body are two writes; 40 ms each otherwise.

            def do_GET(self) -> None:
                answer(self)

            def do_POST(self) -> None:
                answer(self)

            def log_message(self, *_: object) -> None:
                """Silent."""

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        server.daemon_threads = True
        port = int(server.server_address[1])
        if down:
            server.server_close()
            return port
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        self._servers.append(server)
        return port

    # The cache

    def _keys(self, ids: list[int], size: int, salt: str = "") -> list[str]:
        """A key for each full block of ``size``; like the real ones, it depends on all tokens before."""
        keys, digest = [], hashlib.sha256(f"{self.hash_seed}/{self.model}/{size}/{salt}".encode())
        for end in range(size, len(ids) + 1, size):
            digest.update(json.dumps(ids[end - size : end]).encode())
            keys.append(digest.hexdigest()[:32])
        return keys

    def _file(self, key: str) -> Path:
        return self.l2_dir / f"-models-{self.model}@{key}.data"

    def _salts(self, body: dict[str, Any]) -> tuple[str, str]:
        """What a request adds to the keys of L0 and of LMCache."""
        salt = "" if self.faults.ignores_salt else body.get("cache_salt", "")
        tag = (body.get("kv_transfer_params") or {}).get("lmcache.tag.verify", "")
        return salt, tag + (salt if self.faults.salted_keys else "") if self.in_process else salt

    def _lookup(self, ids: list[int], salts: tuple[str, str]) -> int:
        """Count a request through L0, L1 and L2; returns its cached tokens."""
        blocks = self._keys(ids, self.block_size, salts[0])[: (len(ids) - 1) // self.block_size]
        hits0 = _leading(blocks, lambda k: self.l0 and k in self._l0) * self.block_size
        self._count["l0"] += hits0
        if self.faults.not_connected:
            return hits0
        chunks = self._keys(ids, self.chunk_size, salts[1])
        self._count["requested"] += len(chunks) * self.chunk_size
        in_l1 = len(chunks) if self.faults.l1_without_l2 else _leading(chunks, lambda k: k in self._l1)
        most = self.faults.l2_prefix_only if self.l2 else 0
        in_l2 = _leading(chunks[in_l1 : in_l1 if most == 0 else most], lambda k: self._file(k).exists())
        self._l1.update(chunks[: in_l1 + in_l2])
        self._count["l1"] += in_l1 * self.chunk_size
        self._count["l2"] += in_l2 * self.chunk_size
        self._remote.append((time.monotonic(), "read", in_l2))
        found = max(0, (in_l1 + in_l2) * self.chunk_size - hits0)
        self._count["external"] += found
        loaded = 0 if self.faults.load_fails else found
        self._count["loaded"] += loaded
        return hits0 + loaded

    def _store(self, ids: list[int], body: dict[str, Any]) -> None:
        salts = self._salts(body)
        self._l0.update(self._keys(ids, self.block_size, salts[0]))
        if self.faults.not_connected or (body.get("kv_transfer_params") or {}).get("lmcache.skip_save"):
            return
        chunks = self._keys(ids, self.chunk_size, salts[1])
        new = [k for k in chunks if not self._file(k).exists()]
        self._l1.update(chunks)
        if self.faults.store and self.l2:
            threading.Timer(self.faults.store_seconds, self._write, (new,)).start()

    def _write(self, keys: list[str]) -> None:
        for key in keys:
            self._file(key).write_bytes(b"kv")
            with self._lock:
                self._count["stored"] += 1
                self._remote.append((time.monotonic(), "write", 1))

    # vLLM

    def _vllm(self, http: BaseHTTPRequestHandler) -> None:
        path, body = http.path.partition("?")[0], _body(http)
        if http.headers.get("Authorization"):
            self.keyed.append(path)
        if path.startswith("/v1") and self.key and http.headers.get("Authorization") != f"Bearer {self.key}":
            _send(http, 401, '{"error":"Unauthorized"}')
        elif path == "/health":
            _send(http, self.faults.vllm_health, "")
        elif path == "/metrics":
            _send(http, 200, self._vllm_metrics(), "text/plain; version=0.0.4")
        elif path == "/v1/models":
            _send(http, 200, json.dumps({"object": "list", "data": [{"id": self.model, "object": "model"}]}))
        elif path == "/reset_prefix_cache" and self.faults.dev_mode:
            with self._lock:
                if not self.faults.reset_does_nothing:
                    self._l0.clear()
            _send(http, 200, "")
        elif path in ("/tokenize", "/v1/completions") and body.get("model") != self.model:
            error = {
                "message": f"The model `{body.get('model')}` does not exist.",
                "type": "NotFoundError",
                "code": 404,
            }
            _send(http, 404, json.dumps({"error": error}))
        elif path == "/tokenize":
            ids = tokens(body["prompt"])
            _send(http, 200, json.dumps({"count": len(ids), "max_model_len": self.max_model_len, "tokens": ids}))
        elif path == "/v1/completions":
            self._complete(http, body)
        else:
            _send(http, 404, json.dumps({"detail": "Not Found"}))

    def _complete(self, http: BaseHTTPRequestHandler, body: dict[str, Any]) -> None:
        ids = body["prompt"] if isinstance(body["prompt"], list) else tokens(body["prompt"])
        long = len(ids) >= self.chunk_size
        refused = self._refused(body)
        if refused:
            _send(http, 400, json.dumps({"error": {"message": refused, "type": "BadRequestError", "code": 400}}))
            return
        if long and self.faults.drop_stream:
            self.dropped += 1
            http.connection.shutdown(socket.SHUT_RDWR)
            http.close_connection = True
            return
        with self._lock:
            self.requests.append(body)
            if long and self.faults.restart_in_long:
                self._count.clear()
            cached = self._lookup(ids, self._salts(body))
            foreign = self.faults.foreign_tokens if long else 0
            if long and self.faults.foreign_once:
                self.faults.foreign_tokens = 0
            self._count["prompt"] += len(ids) + foreign
            self._count["computed"] += len(ids) - cached + foreign
            self._number += 1
        time.sleep((len(ids) - cached) * self.faults.ms_per_token / 1000 + (self.faults.load_seconds if cached else 0))
        number = int(hashlib.sha256(json.dumps(ids).encode()).hexdigest(), 16)
        number += (1 if self.faults.wrong_blocks and cached else 0) + (
            self._number + self.vllm_port if self.faults.restless else 0
        )
        if long and self.faults.stream_error:
            _stream(http, iter([{"error": {"message": "EngineCore died", "code": 500}}]))
            return
        _stream(http, self._events(number, body, len(ids), cached))
        with self._lock:
            self._store(ids, body)

    def _refused(self, body: dict[str, Any]) -> str:
        """Text of a 400, or nothing."""
        if self.faults.no_logprobs and body.get("logprobs"):
            return f"Requested sample logprobs of {body['logprobs']}, which is greater than max allowed: 0"
        if self.faults.no_salt and body.get("cache_salt"):
            return "Parameter 'cache_salt' is not supported"
        return ""

    def _events(self, number: int, body: dict[str, Any], prompt_tokens: int, cached: int) -> Iterator[dict[str, Any]]:
        base = {"id": "cmpl-1", "object": "text_completion", "model": self.model}
        most = body["max_tokens"]
        for i in range(most):
            best = (number >> (3 * i)) % len(WORDS)
            top = {f"token_id:{(best + k) % len(WORDS)}": -0.5 - 2.0 * k for k in range(5)}
            if self.faults.near_tie and i == most - 1:
                second = (best + 1) % len(WORDS)
                top[f"token_id:{second}"] = -0.51
                if cached:
                    best, top[f"token_id:{second}"] = second, -0.49
            elif cached:
                top[f"token_id:{(best + 1) % len(WORDS)}"] += self.faults.drift
            choice: dict[str, Any] = {"index": 0, "text": f" {WORDS[best]}", "finish_reason": None}
            if body.get("logprobs"):
                name = f"token_id:{best}"
                choice["logprobs"] = {"tokens": [name], "token_logprobs": [top[name]], "top_logprobs": [top]}
            yield {**base, "choices": [choice]}
        usage: dict[str, Any] = {"prompt_tokens": prompt_tokens, "completion_tokens": most}
        if self.faults.per_request:
            usage["prompt_tokens_details"] = {"cached_tokens": cached}
        yield {**base, "choices": [], "usage": usage}

    def _vllm_metrics(self) -> str:
        label = f'{{engine="0",model_name="{self.model}"}}'
        with self._lock:
            c = Counter(self._count)
        lines = [
            "# HELP vllm:cache_config_info Information of the LLMEngine CacheConfig",
            "# TYPE vllm:cache_config_info gauge",
            f'vllm:cache_config_info{{block_size="{self.block_size}",engine="0"}} 1.0',
        ]
        for name, value in (
            ("prompt_tokens", c["prompt"]),
            ("prefix_cache_hits", c["l0"]),
            ("external_prefix_cache_queries", c["requested"]),
            ("external_prefix_cache_hits", c["external"]),
        ):
            lines += [f"# HELP vllm:{name}_total x", f"# TYPE vllm:{name}_total counter"]
            lines += [f"vllm:{name}_total{label} {float(value)}", f"vllm:{name}_created{label} 1.7e+09"]
        lines += ["# TYPE vllm:prompt_tokens_by_source_total counter"]
        for source, value in (
            ("local_compute", c["computed"]),
            ("local_cache_hit", c["l0"]),
            ("external_kv_transfer", c["loaded"]),
        ):
            lines += [f'vllm:prompt_tokens_by_source_total{{engine="0",source="{source}"}} {float(value)}']
        if self.lmcache_metrics:
            # Handed over at fixed moments, whenever somebody asks.
            until = time.monotonic() // LATE_SECONDS * LATE_SECONDS
            for kind in ("read", "write"):
                number = sum(n for at, k, n in list(self._remote) if k == kind and at <= until)
                lines += [f"# TYPE lmcache:num_remote_{kind}_requests_total counter"]
                lines += [f'lmcache:num_remote_{kind}_requests_total{{role="worker",worker_id="0"}} {float(number)}']
        return "\n".join(lines) + "\n"

    # LMCache

    def _lmcache(self, http: BaseHTTPRequestHandler) -> None:
        if http.path == "/healthcheck":
            _send(http, 200, json.dumps({"status": "healthy"}))
        elif http.path == "/cache/clear" and _body(http) == {"tier": "l1"}:
            with self._lock:
                self._l1.clear()
            _send(http, 200, json.dumps({"status": "ok", "cleared": {"tier": "l1"}}))
        elif http.path == "/metrics" and self.faults.lmcache_bad_metrics:
            _send(http, 200, "<html>no metrics</html>")
        elif http.path == "/metrics":
            _send(http, 200, self._lmcache_metrics(), "text/plain; version=0.0.4")
        else:
            _send(http, 404, json.dumps({"detail": "Not Found"}))

    def _lmcache_metrics(self) -> str:
        with self._lock:
            c = Counter(self._count)
        names = {
            "lmcache_mp_lookup_requested_tokens_total": c["requested"],
            "lmcache_mp_lookup_hit_l1_tokens_total": c["l1"],
            "lmcache_mp_lookup_hit_l2_tokens_total": c["l2"],
            "lmcache_mp_l2_store_completed_objects_chunks_total": c["stored"],
        }
        # As OpenTelemetry does it, a counter shows only after its first use.
        lines = [
            f'# TYPE {name} counter\n{name}{{otel_scope_name="lmcache"}} {float(v)}' for name, v in names.items() if v
        ]
        return "\n".join(lines) + "\n"


def tokens(text: str) -> list[int]:
    """Token ids: one for each four characters."""
    parts = (text[i : i + CHARS_PER_TOKEN] for i in range(0, len(text), CHARS_PER_TOKEN))
    return [int.from_bytes(hashlib.sha256(p.encode()).digest()[:2], "big") for p in parts]


def _leading(keys: list[str], known: Callable[[str], bool]) -> int:
    """How many of the first keys are known without a gap."""
    count = 0
    for key in keys:
        if not known(key):
            break
        count += 1
    return count


def _body(http: BaseHTTPRequestHandler) -> dict[str, Any]:
    length = int(http.headers.get("Content-Length") or 0)
    return dict(json.loads(http.rfile.read(length))) if length else {}


def _send(http: BaseHTTPRequestHandler, status: int, text: str, kind: str = "application/json") -> None:
    data = text.encode()
    http.send_response(status)
    http.send_header("Content-Type", kind)
    http.send_header("Content-Length", str(len(data)))
    http.end_headers()
    http.wfile.write(data)


def _stream(http: BaseHTTPRequestHandler, events: Iterator[dict[str, Any]]) -> None:
    http.send_response(200)
    http.send_header("Content-Type", "text/event-stream; charset=utf-8")
    http.send_header("Connection", "close")
    http.end_headers()
    for event in events:
        http.wfile.write(f"data: {json.dumps(event)}\n\n".encode())
    http.wfile.write(b"data: [DONE]\n\n")
    http.close_connection = True


def main() -> None:
    """Serve one engine by hand."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--l2", type=Path, required=True, metavar="DIR")
    parser.add_argument("--model", default="tiny")
    args = parser.parse_args()
    engine = Engine(args.l2, args.model).start()
    print(f"vLLM http://127.0.0.1:{engine.vllm_port}  LMCache http://127.0.0.1:{engine.lmcache_port}", flush=True)
    try:
        threading.Event().wait()
    except KeyboardInterrupt:
        engine.stop()


if __name__ == "__main__":
    main()
