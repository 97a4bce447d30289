"""Scripts that run in a Pod, as a client of a model's Service would."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .api import Api, PodTemplate, wait_for

TRAFFIC = Path(__file__).parent / "traffic.py"


class Script:
    """A Pod that runs one Python script. Its last line of output is JSON."""

    def __init__(self, api: Api, namespace: str, name: str) -> None:
        self.api, self.namespace, self.name = api, namespace, name

    def last_line(self) -> dict[str, Any]:
        """The newest line of output; nothing before the first one."""
        if self._phase() == "Pending":
            return {}
        line = self.api.core.read_namespaced_pod_log(
            self.name, self.namespace, tail_lines=1, _preload_content=False
        ).data
        return dict(json.loads(line)) if line.strip() else {}

    def ended(self) -> bool:
        """Whether it has ended by itself.

        Raises:
            AssertionError: it failed; shows its output.
        """
        phase = self._phase()
        assert phase != "Failed", self.api.core.read_namespaced_pod_log(self.name, self.namespace)
        return phase == "Succeeded"

    def _phase(self) -> str:
        return str(self.api.core.read_namespaced_pod(self.name, self.namespace).status.phase)


class Traffic(Script):
    """`traffic.py` at work."""

    def at_least(self, requests: int, timeout_s: float = 600) -> None:
        """Wait until this many requests have been answered."""
        wait_for(f"{requests} requests answered", lambda: self.last_line().get("ok", 0) >= requests, timeout_s)

    def unharmed(self) -> None:
        """Look for failures so far.

        Raises:
            AssertionError: a request has failed; shows each with its time.
        """
        self.at_least(int(self.last_line()["ok"]) + 5)
        failures = self.last_line()["failures"]
        assert not failures, "\n".join(json.dumps(failure) for failure in failures)

    def stop(self) -> dict[str, Any]:
        """Let the requests in flight end; the report."""
        self.api.run(self.namespace, self.name, "script", ["touch", "/tmp/stop"])
        wait_for("the end of the traffic", self.ended, 180)
        return self.last_line()


@contextmanager
def script(api: Api, namespace: str, path: Path, arguments: list[str], image: str) -> Iterator[Script]:
    """A script in a Pod of its own, named after it, for as long as the block lasts.

    Args:
        image: one with Python and httpx: the hooks'.
    """
    with script_pod(
        api, namespace, path, python_pod(_name(path), [f"/script/{path.name}", *arguments], image)
    ) as running:
        yield running


@contextmanager
def script_pod(api: Api, namespace: str, path: Path, pod: dict[str, Any]) -> Iterator[Script]:
    """This Pod, and the script in a ConfigMap of its name, for as long as the block lasts."""
    name = _name(path)
    api.core.create_namespaced_config_map(
        namespace, {"metadata": {"name": name}, "data": {path.name: path.read_text()}}
    )
    try:
        api.core.create_namespaced_pod(namespace, pod)
        try:
            yield Script(api, namespace, name)
        finally:
            api.remove_pod(namespace, name)
    finally:
        api.core.delete_namespaced_config_map(name, namespace)


def _name(path: Path) -> str:
    """The script's, as Kubernetes takes it."""
    return path.stem.replace("_", "-")


def engine_pod(template: PodTemplate, path: Path, container: dict[str, Any]) -> dict[str, Any]:
    """An engine's Pod with one container instead of its own, and a script below /script.

    Args:
        template: of the engine's Deployment; its init containers, volumes and security hold.
        container: without name; its mounts are what it has of the engine's.
    """
    spec = template["spec"]
    kept = {key: spec[key] for key in ("initContainers", "securityContext", "enableServiceLinks") if key in spec}
    scripts = {"name": "script", "configMap": {"name": _name(path)}}
    mounts = [*container["volumeMounts"], {"name": "script", "mountPath": "/script"}]
    return {
        "metadata": {"name": _name(path)},
        "spec": {
            **kept,
            "automountServiceAccountToken": False,
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 0,
            "containers": [{**container, "name": "script", "volumeMounts": mounts}],
            "volumes": [*spec["volumes"], scripts],
        },
    }


@contextmanager
def traffic(api: Api, namespace: str, url: str, model: str, image: str, *, clients: int = 6) -> Iterator[Traffic]:
    """Constant traffic to `url` inside the block."""
    with script(api, namespace, TRAFFIC, [url, model, f"--clients={clients}"], image) as pod:
        going = Traffic(api, namespace, pod.name)
        going.at_least(clients)
        yield going


def python_pod(name: str, command: list[str], image: str) -> dict[str, Any]:
    """A Pod that runs python with this command; its folder of scripts is the ConfigMap of its name."""
    container = {
        "name": "script", "image": image, "imagePullPolicy": "IfNotPresent", "command": ["python", *command],
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"memory": "256Mi"}},
        "securityContext": {
            "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "capabilities": {"drop": ["ALL"]},
        },
        "volumeMounts": [{"name": "script", "mountPath": "/script"}, {"name": "tmp", "mountPath": "/tmp"}],
    }  # fmt: skip
    return {
        "metadata": {"name": name},
        "spec": {
            "restartPolicy": "Never", "automountServiceAccountToken": False, "containers": [container],
            "terminationGracePeriodSeconds": 0,
            "securityContext": {"runAsNonRoot": True, "runAsUser": 10001, "seccompProfile": {"type": "RuntimeDefault"}},
            "volumes": [{"name": "script", "configMap": {"name": name}}, {"name": "tmp", "emptyDir": {}}],
        },
    }  # fmt: skip
