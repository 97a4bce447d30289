"""Bad input gets a message that names it and the fix, before anything is sent."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import httpx
import pytest

from tiered_kv_cache import __main__
from tiered_kv_cache.bench import replay
from tiered_kv_cache.bench.client import Client
from tiered_kv_cache.findings import UsageError

from .conftest import RELEASE, Release


def errors(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert __main__.main(["bench", *words]) == 2
    return capsys.readouterr().err


def test_all_faults_at_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    said = errors(
        capsys, "run", "--experiments", "sweep,fly", "--sizes", "a,b", "--shared", "1.5", "--repetitions", "0",
        "--concurrency", "1.5", "--variant", " ", "--budget", "nan", "--conversations", str(tmp_path / "none.json"),
    )  # fmt: skip
    for part in ("fly is no experiment", "nothing to measure. Fix: give --url", "--sizes a,b", "--shared is 1.5",
                 "--repetitions is 0", "--concurrency 1.5 has fractions", "--variant is empty", "--budget is nan",
                 "none.json is no file"):  # fmt: skip
        assert part in said
    assert said.count("Fix: ") == len(said.splitlines())


def test_a_url_that_is_none(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert "--url engine:8000 is no URL" in errors(capsys, "run", "--url", "engine:8000", "--out", str(tmp_path))


def test_nobody_answers(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    said = errors(capsys, "run", "--url", "http://127.0.0.1:1", "--out", str(tmp_path))
    assert "http://127.0.0.1:1/v1/models" in said and "Fix: " in said


def test_releases(connected: Release, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = ["--out", str(tmp_path)]
    assert "release demo has no engine Pod in namespace kv" in errors(capsys, "run", *RELEASE, *out)
    raw = connected.add("pod-a", key="secret")
    assert "asks for an API key. Fix: set VLLM_API_KEY" in errors(capsys, "run", *RELEASE, *out)
    assert "--model other: release demo has tiny" in errors(capsys, "run", *RELEASE, "--model", "other", *out)
    raw["status"]["conditions"] = []
    assert "no Pod of model tiny is Ready" in errors(capsys, "run", *RELEASE, *out)
    url = f"http://127.0.0.1:{connected.engines[0].vllm_port}"
    connected.engines[0].key = ""
    assert "serves tiny, not big" in errors(capsys, "run", "--url", url, "--served-name", "big", *out)


def test_results_that_are_none(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    for text, part in (
        ("{", "cannot be read"),
        ("[]", "is no result of bench"),
        ('{"kind": "tiered-kv-cache bench", "format": 9}', "has format 9, not 1"),
        ('{"kind": "tiered-kv-cache bench", "format": 1}', "is not whole"),
        ('{"kind": "tiered-kv-cache bench", "format": 1, "samples": [{"key": {"x": 1}}]}', "is not whole"),
    ):
        file.write_text(text)
        assert part in errors(capsys, "report", str(file))
    assert "one result only" in errors(capsys, "compare", str(file))


@pytest.mark.parametrize("raw", [{}, [], [1], [{"conversations": [{"from": "alien", "value": "x"}]}],
                                 [{"messages": [{"role": "user", "content": None}]}], [{"conversations": []}]])  # fmt: skip
def test_conversations_that_are_none(raw: object, tmp_path: Path) -> None:
    file = tmp_path / "talks.json"
    file.write_text(json.dumps(raw))
    with pytest.raises(UsageError, match=r"Fix: give a JSON list"):
        replay.read(str(file))


def test_both_forms_of_conversations(tmp_path: Path) -> None:
    file = tmp_path / "talks.json"
    file.write_text(json.dumps([
        {"id": "1", "conversations": [{"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}, {"from": "human", "value": "c"}]},
        {"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "q"}]},
    ]))  # fmt: skip
    one, two = replay.read(str(file))
    assert [len(t) for t in replay.turns(one)] == [1, 3]
    assert replay.turns(two) == [[{"role": "system", "content": "s"}, {"role": "user", "content": "q"}]]


def test_a_connection_that_the_server_had_just_ended_is_made_anew() -> None:
    """As vLLM ends idle ones; what computes nothing may be sent twice."""
    seen = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.url.path)
        if len(seen) == 1:
            raise httpx.RemoteProtocolError("Server disconnected without sending a response.")
        return httpx.Response(200)

    async def connect() -> list[float]:
        client = Client("http://engine", "tiny")
        client._client = httpx.AsyncClient(base_url="http://engine", transport=httpx.MockTransport(answer))
        return await client.connect()

    assert len(asyncio.run(connect())) == 1
    assert seen == ["/v1/models"] * 2
