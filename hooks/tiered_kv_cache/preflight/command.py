"""The verb ``preflight`` from its arguments to its exit code."""

from __future__ import annotations

import argparse

from .. import names, told
from ..cluster import KubernetesCluster
from ..deadline import Deadline
from ..objects import Objects
from ..rows import Row
from ..verb import Say, run_verb
from . import config
from .context import Context
from .run import run


def main(args: argparse.Namespace) -> int:
    """0 if nothing fails the release, else 1. Raises UsageError."""
    settings = config.parse(*told.text_of(args.config, names.ENV_PREFLIGHT, "check"))

    def work(cluster: KubernetesCluster, deadline: Deadline, say: Say) -> list[Row]:
        return run(Context(settings, Objects(cluster, deadline)), say)

    return run_verb("preflight", args, work)
