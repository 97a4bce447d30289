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


def _row(tier: str, ttft: float | None, hits: tuple[int, int, int], **more: str) -> dict[str, Any]:
    return {
        "tier": tier,
        "pod": f"pod-{tier}",
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
            _row("cold", 9000.0, (0, 0, 0)), _row("l2", 900.0, (0, 0, 1792)),
            _row("l0", 450.0, (1792, 0, 0)), _row("l1", None, (0, 0, 0), note="no dev mode"),
        ],
    }],
}  # fmt: skip


def test_rows_speed_up_and_notes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(report, "measured", lambda *_: RESULT)
    monkeypatch.setattr(report, "served_name", lambda *_: "m")
    where = Existing.__new__(Existing)
    text = report.table(where, Helm(tmp_path, "ns", "r"))
    lines = {line.strip()[:2]: " ".join(line.split()) for line in text.splitlines()}
    assert lines["L2"] == "L2, the other Pod 900 10.0x 0 0 1792 pod-l2 on n"
    assert lines["L0"] == "L0, same Pod 450 20.0x 1792 0 0 pod-l0 on n"
    assert "no dev mode" in lines["L1"]
    assert "kubectl -n ns port-forward svc/r-m 18080:80" in text  # a cluster of the user's own has no local URL


def test_curl_line_survives_the_shell() -> None:
    words = shlex.split(report.curl("http://127.0.0.1:8080", "m"))
    assert words[0] == "curl"
    body = json.loads(words[words.index("-d") + 1])
    assert body["model"] == "m"
    assert body["messages"][0]["role"] == "user"
