"""The verb ``patch-check`` and its arguments."""

from __future__ import annotations

import argparse
from typing import Any

from .. import names


def arguments(verbs: Any) -> None:
    """Add the verb. ``verbs``: what add_subparsers returned."""
    check = verbs.add_parser("patch-check", help="prove that the operator's Pods come back patched (hook, helm test)")
    check.set_defaults(run=_run)
    check.add_argument(
        "--config", metavar="FILE", help=f"what is patched, as JSON ('-': stdin); else ${names.ENV_PATCH_CHECK}"
    )
    check.add_argument(
        "--restart",
        action="store_true",
        help="evict Pods that run unpatched, one at a time, each when the last is back",
    )
    check.add_argument("--deadline", type=float, default=225.0, metavar="SECONDS", help="for all of it (225)")
    check.add_argument(
        "--settle", type=float, default=90.0, metavar="SECONDS", help="a patch that was just made may take so long (90)"
    )
    check.add_argument("--json", action="store_true", help="print the result as JSON, and everything else to stderr")
    check.add_argument("--kubeconfig", metavar="FILE", help="outside the cluster; else $KUBECONFIG or ~/.kube/config")
    check.add_argument("--context", help="context of the kubeconfig")


def _run(args: argparse.Namespace) -> int:
    # Imported here: an image without the libraries of one verb runs the others.
    from . import command  # noqa: PLC0415

    return command.main(args)
