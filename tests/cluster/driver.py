"""Runs `traffic.py` in a Pod of its own, as a client of a model's Service would."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .api import Api, wait_for

SCRIPT = Path(__file__).parent / "traffic.py"
NAME = "traffic"


@dataclass
class Traffic:
    """Traffic that is going on, or that has ended."""

    api: Api
    namespace: str
    result: dict[str, Any] = field(default_factory=dict)
    """traffic.py's report, once it has ended."""

    def at_least(self, requests: int, timeout_s: float = 300) -> None:
        """Wait until this many requests have been answered."""
        wait_for(f"{requests} requests answered", lambda: self._last_line().get("ok", 0) >= requests, timeout_s)

    def unharmed(self) -> None:
        """Look for failures so far.

        Raises:
            AssertionError: a request has failed; shows each with its time.
        """
        self.at_least(int(self._last_line()["ok"]) + 5)
        failures = self._last_line()["failures"]
        assert not failures, "\n".join(json.dumps(failure) for failure in failures)

    def _last_line(self) -> dict[str, Any]:
        line = self.api.core.read_namespaced_pod_log(NAME, self.namespace, tail_lines=1, _preload_content=False).data
        return dict(json.loads(line)) if line.strip() else {}

    def stop(self) -> None:
        """Let the requests in flight end, and read the report."""
        self.api.run(self.namespace, NAME, "traffic", ["touch", "/tmp/stop"])
        wait_for("the end of the traffic", lambda: self._phase() in ("Succeeded", "Failed"), 180)
        self.result = self._last_line()

    def _phase(self) -> str:
        return str(self.api.core.read_namespaced_pod(NAME, self.namespace).status.phase)


@contextmanager
def traffic(api: Api, namespace: str, url: str, model: str, image: str, *, clients: int = 6) -> Iterator[Traffic]:
    """Constant traffic to `url` inside the block.

    Args:
        image: the hooks' image, which has Python and httpx.
    """
    api.core.create_namespaced_config_map(
        namespace, {"metadata": {"name": NAME}, "data": {SCRIPT.name: SCRIPT.read_text()}}
    )
    api.core.create_namespaced_pod(namespace, _pod(url, model, image, clients))
    going = Traffic(api, namespace)
    try:
        going.at_least(clients)
        yield going
    finally:
        api.remove_pod(namespace, NAME)
        api.core.delete_namespaced_config_map(NAME, namespace)


def _pod(url: str, model: str, image: str, clients: int) -> dict[str, Any]:
    container = {
        "name": "traffic", "image": image, "imagePullPolicy": "IfNotPresent",
        "command": ["python", f"/script/{SCRIPT.name}", url, model, f"--clients={clients}"],
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "script", "mountPath": "/script"}, {"name": "tmp", "mountPath": "/tmp"}],
    }  # fmt: skip
    return {
        "metadata": {"name": NAME},
        "spec": {
            "restartPolicy": "Never", "automountServiceAccountToken": False, "containers": [container],
            "terminationGracePeriodSeconds": 0,
            "securityContext": {"runAsNonRoot": True, "runAsUser": 10001, "seccompProfile": {"type": "RuntimeDefault"}},
            "volumes": [{"name": "script", "configMap": {"name": NAME}}, {"name": "tmp", "emptyDir": {}}],
        },
    }  # fmt: skip
