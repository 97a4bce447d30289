"""The verb ``preflight`` and its arguments."""

from __future__ import annotations

import argparse
from typing import Any

from .. import names


def arguments(verbs: Any) -> None:
    """Add the verb. ``verbs``: what add_subparsers returned."""
    check = verbs.add_parser("preflight", help="look whether the cluster has what the release needs (hook)")
    check.set_defaults(run=_run)
    check.add_argument(
        "--config", metavar="FILE", help=f"what is needed, as JSON ('-': stdin); else ${names.ENV_PREFLIGHT}"
    )
    check.add_argument("--deadline", type=float, default=105.0, metavar="SECONDS", help="for all of it (105)")
    check.add_argument("--json", action="store_true", help="print the result as JSON, and everything else to stderr")
    check.add_argument("--kubeconfig", metavar="FILE", help="outside the cluster; else $KUBECONFIG or ~/.kube/config")
    check.add_argument("--context", help="context of the kubeconfig")


def _run(args: argparse.Namespace) -> int:
    # Imported here: an image without the libraries of one verb runs the others.
    from . import command  # noqa: PLC0415

    return command.main(args)
