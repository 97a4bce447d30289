"""Streams that their clients leave: before the first token, at it, in the middle. A script of its own: it runs in a Pod.

usage: aborts.py URL MODEL PREFIX COUNT
"""

from __future__ import annotations

import asyncio
import json
import random
import sys

import httpx

AT_ONCE = 12


async def leave(client: httpx.AsyncClient, model: str, prompt: str, salt: str, patience: float) -> str:
    """Read a stream for at most `patience` seconds; what the client had seen when it left."""
    body = {
        "model": model, "prompt": prompt, "max_tokens": 400, "ignore_eos": True, "temperature": 0, "stream": True,
        "cache_salt": salt,
    }  # fmt: skip
    seen = "nothing"
    try:
        async with asyncio.timeout(patience), client.stream("POST", "/v1/completions", json=body) as answer:
            seen = "headers" if answer.status_code == 200 else f"status {answer.status_code}"
            async for line in answer.aiter_lines():
                if line.startswith("data: "):
                    seen = "tokens"
                if line == "data: [DONE]":
                    return "end"
    except TimeoutError:
        return seen
    except httpx.HTTPError as error:
        return f"error {type(error).__name__}: {error}"
    return "early end"


async def main(url: str, model: str, prefix: str, count: int) -> None:
    dice, gate = random.Random(3), asyncio.Semaphore(AT_ONCE)
    seen: dict[str, int] = {}

    async def one(number: int) -> None:
        prompt = " ".join(f"{prefix}{number % 20}w{index}" for index in range(240))
        async with gate, httpx.AsyncClient(base_url=url, timeout=120) as client:
            what = await leave(client, model, prompt, f"s{number % 7}", dice.choice([0.02, 0.1, 0.5, 1.5, 4.0]))
        seen[what] = seen.get(what, 0) + 1

    await asyncio.gather(*(one(number) for number in range(count)))
    print(json.dumps(seen), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
