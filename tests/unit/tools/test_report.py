"""The table at the end of `make up`."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from local_cluster import report
from local_cluster.helm import Helm
from local_cluster.providers.existing import Existing


def _row(tier: str, ttft: float | None, hits: tuple[int, int, int], **more: object) -> dict[str, Any]:
    return {
        "tier": tier,
        "pod": f"a-pod-{tier}",
        "node": "n",
        "ttftMs": ttft,
        "hitTokens": dict(zip(("l0", "l1", "l2"), hits, strict=True)),
        **more,
    }


RESULT = {
    "ok": True,
    "models": [{
        "model": "m", "pods": ["a", "b"], "promptTokens": 1900, "text": "x",
        "tiers": [
            _row("cold", 9000.0, (0, 0, 0), ratio=0.9), _row("l2", 900.0, (0, 0, 1792), ratio=9.0),
            _row("l0", 450.0, (1792, 0, 0), ratio=18.0), _row("l1", None, (0, 0, 0), note="no dev mode"),
        ],
        "control": _row("control", 8100.0, (0, 0, 0), ratio=1.0),
    }],
}  # fmt: skip


def test_rows_speed_up_and_notes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(report, "measured", lambda *_: RESULT)
    monkeypatch.setattr(report, "served_name", lambda *_: "m")
    where = Existing.__new__(Existing)
    text = report.table(where, Helm(tmp_path, "ns", "r"))
    lines = {line.strip()[:2]: " ".join(line.split()) for line in text.splitlines()}
    assert lines["L2"] == "L2, from another Pod 900 9.0x 0 0 1792 …-l2 n"
    assert lines["L0"] == "L0, vLLM's own 450 18.0x 1792 0 0 …-l0 n"
    assert "cold, nothing cached 9000 0.90x 0 0 0 …-cold n" in " ".join(text.split())
    assert "cold again, control 8100 1.0x 0 0 0 …-control n" in " ".join(text.split())
    assert "no dev mode" in lines["L1"]
    assert "kubectl -n ns port-forward svc/r-m 18080:80" in text  # a cluster of the user's own has no local URL


def test_curl_line_survives_the_shell() -> None:
    words = shlex.split(report.curl("http://127.0.0.1:8080", "m"))
    assert words[0] == "curl"
    body = json.loads(words[words.index("-d") + 1])
    assert body["model"] == "m"
    assert body["messages"][0]["role"] == "user"
