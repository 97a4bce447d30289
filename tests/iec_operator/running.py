"""The emulated operator as a process of its own, and what it does to a cluster."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx

from emulators.operator.names import GROUP, PLURAL, SYSTEM
from scheduling.api import Api
from scheduling.processes import Processes

Json = dict[str, Any]
SMALL = {"requests": {"cpu": "10m", "memory": "16Mi"}}


class Operator:
    """One at a time: two would undo each other's work.

    Args:
        kubeconfig: of the cluster.
        logs: folder of its log files.
    """

    def __init__(self, kubeconfig: Path, logs: Path) -> None:
        self._kubeconfig, self._logs = kubeconfig, logs
        self._process: Processes | None = None
        self._arguments: tuple[str, ...] = ()
        self._number = 0

    def run(self, version: str, *arguments: str) -> None:
        """Have one with these arguments running; one that has other arguments is ended first."""
        if self._process is None or self._arguments != (version, *arguments):
            self.stop()
            self._arguments = (version, *arguments)
            self.start()

    def start(self) -> None:
        """Start it with the arguments of before."""
        version, *arguments = self._arguments
        self._number += 1
        self._process = Processes(self._logs)
        command = [sys.executable, "-m", "emulators.operator", "--kubeconfig", str(self._kubeconfig)]
        self._process.start(f"operator-{self._number}", [*command, "--version", version, *arguments])

    def stop(self) -> None:
        """End it without warning."""
        if self._process:
            self._process.stop()
        self._process = None

    def until(self, what: str, condition: Any, timeout_s: float = 300) -> None:
        """Poll until it holds.

        Raises:
            RuntimeError: the operator ended, or it did not hold in time; with the operator's last lines.
        """
        (self._process or Processes(self._logs)).wait_for(what, condition, timeout_s)


class Endpoint:
    """One IEC and what was made of it.

    Args:
        api: the cluster.
        namespace: of the IEC, which must be there.
        operator: whoever renders it.
    """

    NAME = "qwen"

    def __init__(self, api: Api, namespace: str, operator: Operator) -> None:
        self.api, self.namespace, self.operator = api, namespace, operator
        self.path = f"/apis/{GROUP}/v1/namespaces/{namespace}/{PLURAL}"
        self.deployment_path = f"/apis/apps/v1/namespaces/{namespace}/deployments/{self.NAME}"
        self.router_path = f"/apis/apps/v1/namespaces/{SYSTEM}/deployments/{self.NAME}-{namespace}-router"

    def create(self, iec: Json) -> None:
        """Make it, small enough for any node."""
        worker = {**iec["spec"]["worker"], "resources": SMALL}
        metadata = {"name": self.NAME, "namespace": self.namespace}
        self.api.create(self.path, {**iec, "metadata": metadata, "spec": {**iec["spec"], "worker": worker}})

    def iec(self) -> Json:
        return self.api.get(f"{self.path}/{self.NAME}")

    def edit(self, spec: Json) -> None:
        """A merge patch of its spec."""
        self.api.patch(f"{self.path}/{self.NAME}", {"spec": spec})

    def delete(self) -> None:
        self.api.delete(f"{self.path}/{self.NAME}")

    def deployment(self) -> Json | None:
        return self.found(self.deployment_path)

    def found(self, path: str) -> Json | None:
        """An object, or None."""
        try:
            return self.api.get(path)
        except httpx.HTTPStatusError as error:
            if error.response.status_code == httpx.codes.NOT_FOUND:
                return None
            raise

    def containers(self) -> Sequence[Json]:
        """The Deployment's; none while it is not there."""
        deployment = self.deployment()
        return deployment["spec"]["template"]["spec"]["containers"] if deployment else []

    def env(self) -> list[Json]:
        """The worker's."""
        return next((list(each.get("env", [])) for each in self.containers() if each["name"] == self.NAME), [])

    def value(self, name: str) -> list[str]:
        """Every value that a variable of the worker has."""
        return [each.get("value", "") for each in self.env() if each["name"] == name]

    def state(self) -> str:
        """The IEC's, of its newest generation."""
        iec = self.iec()
        status = iec.get("status") or {}
        return str(status["state"]) if status.get("observedGeneration") == iec["metadata"]["generation"] else ""

    def pods(self) -> list[Json]:
        """The worker's Pods that do not end."""
        listed = self.api.get(f"/api/v1/namespaces/{self.namespace}/pods", labelSelector=f"app={self.NAME}")
        return [each for each in listed["items"] if "deletionTimestamp" not in each["metadata"]]

    def complete(self) -> None:
        """Wait until it serves."""
        self.operator.until("DeploymentComplete", lambda: self.state() == "DeploymentComplete")

    def until(self, what: str, condition: Any) -> None:
        self.operator.until(what, condition)
