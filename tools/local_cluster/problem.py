"""The one exception that reaches the user: what is wrong, and what to do about it."""

from __future__ import annotations


class Problem(Exception):
    """A fault that the user can act on. Printed without a traceback.

    Args:
        what: what is wrong, with the value that was found.
        fix: what the user can do.
        log: path of a log file with the details, if there is one.
    """

    def __init__(self, what: str, fix: str, log: str = "") -> None:
        super().__init__(what)
        self.what, self.fix, self.log = what, fix, log

    def __str__(self) -> str:
        return f"{self.what}\n  fix: {self.fix}" + (f"\n  log: {self.log}" if self.log else "")
