"""What a mechanism of the patch must offer to be run with the cases. conftest.py lists those that there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from scheduling.controlplane import ControlPlane
from scheduling.processes import Processes


class Mechanism(Protocol):
    """One that runs."""

    missing: tuple[str, ...]
    """Of its refusal where there is no parameter object, if it is not the mechanism that words it; empty: it is."""

    def parameters(self, data: dict[str, str] | None) -> None:
        """Replace the parameter object, or take it away (None), and return when the change counts."""
        ...


@dataclass(frozen=True)
class Place:
    """Where a mechanism is to run.

    Args:
        plane: the API server.
        processes: starts programs.
        programs: folder of `kube`, `helm`, `render`, ....
        folder: an empty one for files.
        namespaces: that the release lists.
    """

    plane: ControlPlane
    processes: Processes
    programs: Path
    folder: Path
    namespaces: Sequence[str]


Start = Callable[[Place], AbstractContextManager[Mechanism]]
"""Installs a mechanism, without a parameter object, waits until it acts, and takes it away at the end."""
