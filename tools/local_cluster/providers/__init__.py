"""Where the release is installed: one interface, two ways to have a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from ..problem import Problem
from .existing import Existing
from .kind import Kind


class Provider(Protocol):
    """A cluster that the tools can use."""

    kubeconfig: Path
    local_images: bool
    """Whether images are built here and put into the nodes; else the cluster pulls what the values name."""

    def up(self, archives: dict[str, Path]) -> None:
        """Bring the cluster up with these images (reference -> archive) in its nodes; nothing to do when it runs."""

    def down(self) -> None:
        """Remove what `up` made."""

    def url(self) -> str:
        """Base URL of the demo's NodePort as seen from this machine; empty when there is none."""


def provider(name: str, context: str) -> Provider:
    """The provider of that name.

    Raises:
        Problem: unknown name, or `existing` without a context.
    """
    if name == "kind":
        return Kind()
    if name == "existing":
        return Existing(context)
    raise Problem(
        f"unknown cluster provider {name!r}", "use PROVIDER=kind or PROVIDER=existing CONTEXT=<kubeconfig context>"
    )
