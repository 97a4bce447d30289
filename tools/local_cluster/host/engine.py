"""The container engine under kind: docker when its daemon answers, else podman in a network of its own."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ..run import output
from . import netns, packages, podman


@dataclass(frozen=True)
class Engine:
    """How to call the container engine.

    Args:
        name: `docker` or `podman`.
        env: process environment of its and kind's calls.
    """

    name: str
    env: dict[str, str]

    @property
    def isolated(self) -> bool:
        """Whether nodes live in a network namespace without uplink."""
        return self.name == "podman"

    def words(self, *arguments: str) -> list[str]:
        return podman.podman(*arguments) if self.isolated else ["docker", *arguments]

    def inside(self, command: list[str]) -> list[str]:
        """A command line that runs where the nodes' network is."""
        return netns.enter(command) if self.isolated else command


def find() -> Engine:
    """The engine to use; installs podman's packages where no docker daemon answers.

    Raises:
        Problem: no engine, and packages cannot be installed.
    """
    if os.environ.get("TKC_ENGINE", "docker") == "docker" and output(
        ["docker", "info", "-f", "{{.ServerVersion}}"], check=False, timeout_s=15
    ):
        return Engine("docker", dict(os.environ))
    packages.ensure(packages.PODMAN, "no docker daemon answers; kind runs on podman")
    return Engine("podman", podman.environment())
