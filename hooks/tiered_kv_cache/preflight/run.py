"""All checks, one after the other; none of them can keep the others from being run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from ..cluster import ClusterError
from ..deadline import DeadlinePassed
from ..findings import Finding
from ..objects import Denied
from ..rows import FAIL, WARN, Row
from .checks import access, mutators, nodes, operator, room, server, volumes
from .context import CheckOf, Context, fails, warns

CHECKS: tuple[CheckOf, ...] = (
    server.server,
    server.policies,
    operator.definition,
    operator.manager,
    operator.cert_manager,
    nodes.placement,
    nodes.health,
    nodes.network,
    room.quotas,
    room.ranges,
    volumes.claims,
    volumes.drivers,
    volumes.parts,
    access.accounts,
    access.pull_secrets,
    access.security,
    mutators.mutators,
    mutators.running_patch,
)
"""In the order of the table."""


def run(context: Context, say: Callable[[str], None]) -> list[Row]:
    """Rows of all checks."""
    rows: list[Row] = []
    for check in CHECKS:
        name = check.__name__.replace("_", " ")
        say(f"looking at {name}")
        try:
            # One by one: what a check saw before it failed stays.
            for row in check(context):
                rows.append(_tolerated(row, context.settings.tolerate))
        except Denied as err:
            rows.append(_unread(name, err))
        except DeadlinePassed as err:
            rows.append(
                fails(
                    name,
                    "not looked at",
                    "an answer",
                    str(err),
                    "raise hooks.preflight.deadlineSeconds and helm --timeout",
                )
            )
            break
        except ClusterError as err:
            rows.append(fails(name, "not looked at", "an answer", str(err), err.fix))
    return rows


def _unread(name: str, err: Denied) -> Row:
    verb, _, kind = err.right.partition(" ")
    scope = f" -n {err.namespace}" if err.namespace else ""
    role = "Role" if err.namespace else "ClusterRole"
    plural, _, group = kind.partition(".")
    group = group or '""'
    fix = f"give the right by a {role}: {{apiGroups: [{group}], resources: [{plural}], verbs: [{verb}]}}"
    return warns(
        name,
        "not looked at",
        "the right to look",
        f"{err}: this was not looked at",
        fix,
        f"kubectl auth can-i {verb} {kind}{scope}",
    )


def _tolerated(row: Row, names: tuple[str, ...]) -> Row:
    """A failure that values take for a warning."""
    if row.severity != FAIL or row.check not in names or row.finding is None:
        return row
    what = Finding(f"{row.finding.what} (tolerated: hooks.preflight.tolerate)", row.finding.fix, row.finding.commands)
    return replace(row, severity=WARN, finding=what)
