"""The verb ``patch-check`` from its arguments to its exit code."""

from __future__ import annotations

import argparse

from .. import names, told
from ..cluster import KubernetesCluster
from ..deadline import Deadline
from ..objects import Asking
from ..rows import Row, good
from ..verb import Say, run_verb
from . import config, probe, running


def main(args: argparse.Namespace) -> int:
    """0 if every Pod came back as it should, else 1. Raises UsageError."""
    places = config.parse(*told.text_of(args.config, names.ENV_PATCH_CHECK, "check"))

    def work(cluster: KubernetesCluster, deadline: Deadline, say: Say) -> list[Row]:
        return check(cluster, places, args.restart, (deadline, deadline.within(args.settle)), say)

    return run_verb("patch-check", args, work)


def check(
    cluster: Asking, places: tuple[config.Place, ...], restart: bool, times: tuple[Deadline, Deadline], say: Say
) -> list[Row]:
    """Rows of all namespaces. Where the patch is not proven nothing is restarted.

    ``times``: for all of it, and for a patch that was just made to be seen.
    """
    deadline, settled = times
    wanted = [each for place in places for each in probe.probes(place)]
    answers = probe.run(cluster, wanted, settled, say)
    tried = probe.rows(wanted, answers)
    rows = list(tried)
    for place in places:
        proven = good([row for each, row in zip(wanted, tried, strict=True) if each.place is place])
        rows += running.rows(cluster, place, deadline, restart, say, proven=proven)
    return rows
