"""helm, as the tools and the cluster tests call it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .host import gotools
from .settings import REPO

CHART = REPO / "charts" / "tiered-kv-cache"


@dataclass
class Result:
    """Exit status and output of one helm call."""

    ok: bool
    out: str
    errors: str

    @property
    def text(self) -> str:
        """Both streams, for people."""
        return (self.out + self.errors).strip()


@dataclass(frozen=True)
class Helm:
    """One release in one namespace.

    Args:
        kubeconfig: cluster to talk to.
        values: values files, lowest first.
        chart: folder or archive.
    """

    kubeconfig: Path
    namespace: str
    release: str
    values: Sequence[Path] = field(default_factory=tuple)
    chart: Path = CHART

    def call(self, *arguments: str, timeout_s: float = 900) -> Result:
        """Run helm and wait for its end."""
        helm = gotools.ensure_cli("helm")
        command = [str(helm), "--kubeconfig", str(self.kubeconfig), "-n", self.namespace, *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout_s, stdin=subprocess.DEVNULL, check=False
        )
        return Result(done.returncode == 0, done.stdout, done.stderr)

    def upgrade(self, *arguments: str, wait_s: int = 600) -> Result:
        """Install or upgrade, and wait until everything is ready (`wait_s` 0: do not wait)."""
        files = [word for path in self.values for word in ("-f", str(path))]
        wait = ["--wait", "--timeout", f"{wait_s}s"] if wait_s else []
        return self.call(
            "upgrade",
            "--install",
            self.release,
            str(self.chart),
            "--create-namespace",
            *files,
            *wait,
            *arguments,
            timeout_s=wait_s + 120,
        )

    def test(self, timeout_s: int = 900) -> Result:
        return self.call("test", self.release, "--logs", "--timeout", f"{timeout_s}s", timeout_s=timeout_s + 60)

    def uninstall(self) -> Result:
        return self.call("uninstall", self.release, "--wait", "--timeout", "300s", "--ignore-not-found")

    def state(self) -> str:
        """helm's word for the release: `deployed`, `failed`, `pending-install` …; empty when there is none."""
        status = self.call("status", self.release, "-o", "json")
        return str(json.loads(status.out)["info"]["status"]) if status.ok else ""

    def recover(self) -> str:
        """Clear the way after a helm that was killed: it left the release pending, and helm refuses to touch such a one.

        Returns:
            the state that was found; the release is uninstalled when it was pending.
        """
        state = self.state()
        if state.startswith("pending"):
            self.uninstall()
        return state

    def exists(self) -> bool:
        return self.call("status", self.release).ok
