"""What is wrong, in one form: what, where, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """One fault.

    ``what`` names the thing that differs or fails, with the Pods and values; ``fix`` says what a person does about it;
    ``commands`` are lines for a shell that belong to the fix, each of which works as printed.
    """

    what: str
    fix: str
    commands: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.what.rstrip('.')}. Fix: {'; '.join((self.fix, *self.commands))}"


class UsageError(Exception):
    """Bad arguments or configuration: all faults together, one a line."""


def shorten(text: str, limit: int) -> str:
    """``text`` on one line with at most ``limit`` characters; an ellipsis marks what was cut."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: max(0, limit - 1)] + "…"
