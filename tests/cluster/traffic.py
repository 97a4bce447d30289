"""Constant traffic to an OpenAI endpoint; every failure with its time and text. A script of its own: it runs in a Pod.

Each client sends one request after the other, streamed and not in turn, and keeps its connection as applications do.
Nothing is tried again. The last line printed is the report, one JSON object.

Between two requests a client rests for as long as the last one took, twice over: a machine whose processors never idle may
let a Pod that starts beside the busy ones wait for minutes (Linux 6.18 did, runnable all the time).

usage: traffic.py URL MODEL [--clients N] [--pause SECONDS] [--stop FILE]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

import httpx

TIMEOUT_S = 300
PROMPTS = [f"{letter} " * 40 + "and then" for letter in "abcdefgh"]


@dataclass
class Report:
    """What happened. Times in seconds since the start; `failures` holds time, kind and text of each failed request."""

    started: float = field(default_factory=time.time)
    ok: int = 0
    streamed: int = 0
    slowest: float = 0
    failures: list[dict[str, object]] = field(default_factory=list)
    texts: dict[str, list[str]] = field(default_factory=dict)
    """Prompt -> the different answers to it."""

    @property
    def sent(self) -> int:
        return self.ok + len(self.failures)


def body(model: str, prompt: str, stream: bool, tokens: int) -> dict[str, object]:
    """A greedy completion of exactly `tokens` tokens."""
    return {
        "model": model, "prompt": prompt, "max_tokens": tokens, "min_tokens": tokens, "temperature": 0,
        "ignore_eos": True, "stream": stream,
    }  # fmt: skip


async def plain(client: httpx.AsyncClient, request: dict[str, object]) -> str:
    """One answer; raises ValueError or httpx.HTTPError when it is not whole."""
    answer = await client.post("/v1/completions", json=request)
    if answer.status_code != 200:
        raise ValueError(f"{answer.status_code}: {answer.text[:500]}")
    whole = answer.json()
    if whole["usage"]["completion_tokens"] != request["max_tokens"]:
        raise ValueError(f"too short: {answer.text[:500]}")
    return str(whole["choices"][0]["text"])


async def streamed(client: httpx.AsyncClient, request: dict[str, object]) -> str:
    """One streamed answer; raises like `plain`, also when the stream ends early."""
    text, finished, done = "", False, False
    async with client.stream("POST", "/v1/completions", json=request) as answer:
        if answer.status_code != 200:
            raise ValueError(f"{answer.status_code}: {(await answer.aread()).decode(errors='replace')[:500]}")
        async for line in answer.aiter_lines():
            if not line.startswith("data: "):
                continue
            if line == "data: [DONE]":
                done = True
                continue
            event = json.loads(line.removeprefix("data: "))
            if "choices" not in event:
                raise ValueError(f"error in the stream: {line[:500]}")
            text += event["choices"][0]["text"]
            finished = finished or event["choices"][0]["finish_reason"] == "length"
    if not (done and finished):
        raise ValueError(f"the stream ended early, after {len(text)} characters")
    return text


async def one(client: httpx.AsyncClient, report: Report, model: str, number: int) -> None:
    """Send request `number` and write down how it went."""
    stream = number % 2 == 0
    # Every fourth answer is long, so that some are always under way.
    request = body(model, PROMPTS[number % len(PROMPTS)], stream, 96 if number % 8 < 2 else 8)
    begin = time.time()
    try:
        text = await (streamed if stream else plain)(client, request)
    except (httpx.HTTPError, ValueError, KeyError) as error:
        report.failures.append(
            {
                "at": round(begin - report.started, 2), "took": round(time.time() - begin, 2),
                "kind": "streamed" if stream else "plain", "text": f"{type(error).__name__}: {error}",
            }
        )  # fmt: skip
        return
    report.ok += 1
    report.streamed += stream
    report.slowest = max(report.slowest, round(time.time() - begin, 2))
    seen = report.texts.setdefault(f"{request['prompt']} +{request['max_tokens']}", [])
    if text not in seen:
        seen.append(text)


async def run(url: str, model: str, clients: int, pause: float, stop: Path) -> Report:
    """Traffic until the stop file is there."""
    report = Report()

    async def worker(index: int) -> None:
        limits = httpx.Limits(max_connections=1, max_keepalive_connections=index % 2)
        async with httpx.AsyncClient(base_url=url, timeout=TIMEOUT_S, limits=limits) as client:
            number = index
            while not stop.exists():
                begin = time.monotonic()
                await one(client, report, model, number)
                number += 3
                await asyncio.sleep(pause + 2 * (time.monotonic() - begin))

    async def progress() -> None:
        while True:
            await asyncio.sleep(1)
            line = {"at": round(time.time() - report.started), "ok": report.ok, "failures": report.failures}
            print(json.dumps(line), flush=True)

    shown = asyncio.create_task(progress())
    await asyncio.gather(*(worker(index) for index in range(clients)))
    shown.cancel()
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("model")
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--pause", type=float, default=0.3, help="least seconds between two requests of a client")
    parser.add_argument("--stop", type=Path, default=Path("/tmp/stop"), help="traffic ends when this file appears")
    given = parser.parse_args()
    report = asyncio.run(run(given.url, given.model, given.clients, given.pause, given.stop))
    print(json.dumps({"sent": report.sent, **asdict(report)}), flush=True)


if __name__ == "__main__":
    main()
