"""The verb ``aws`` and its arguments."""

from __future__ import annotations

import argparse
from typing import Any

from ..names import ENV_AWS


def arguments(verbs: Any) -> None:
    """Add the verb. ``verbs``: what add_subparsers returned."""
    aws = verbs.add_parser("aws", help="tiered storage and EKS add-ons of a HyperPod cluster (hook)")
    aws.set_defaults(run=_run)
    aws.add_argument("--config", metavar="FILE", help=f"what is wanted, as JSON ('-': stdin); else ${ENV_AWS}")
    mode = aws.add_mutually_exclusive_group()
    mode.add_argument(
        "--apply", action="store_true", help="make the changes, even if the configuration does not say so"
    )
    mode.add_argument("--dry-run", action="store_true", help="change nothing, even if the configuration says so")
    aws.add_argument("--deadline", type=float, metavar="SECONDS", help="for all of it, instead of deadlineSeconds")
    aws.add_argument("--json", action="store_true", help="print the result as JSON, and everything else to stderr")


def _run(args: argparse.Namespace) -> int:
    # Imported here: an image without the libraries of one verb runs the others, and boto3 takes its time.
    from . import command  # noqa: PLC0415

    return command.main(args)
