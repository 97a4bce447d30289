"""The verb ``storage-check`` and its arguments."""

from __future__ import annotations

import argparse
from typing import Any


def arguments(verbs: Any) -> None:
    """Add the verb. ``verbs``: what add_subparsers returned."""
    check = verbs.add_parser("storage-check", help="judge the L2 volume, from two nodes where there are two (hook)")
    check.set_defaults(run=_run)
    check.add_argument("--directory", required=True, metavar="DIR", help="where the volume is mounted")
    check.add_argument("--line-of-business", required=True, metavar="NAME", help="whose part of it is judged")
    check.add_argument("--release", required=True, metavar="KEY", help="<namespace>.<release>, for its own directory")
    check.add_argument("--run", required=True, dest="run_id", metavar="ID", help="the same for both of one check")
    check.add_argument("--index", type=int, choices=(0, 1), required=True, help="which of both this is")
    check.add_argument("--node", default="", help="where this one runs")
    check.add_argument("--volume-type", default="volume", metavar="TYPE", help="l2.volume.type, for messages")
    check.add_argument("--size", type=int, default=0, metavar="BYTES", help="of the file (0: of an object, else 9 MB)")
    check.add_argument("--quota", type=int, default=0, metavar="BYTES", help="what the keeper lets the volume hold")
    check.add_argument("--block", type=int, default=0, metavar="BYTES", help="of a pool, which is full below it")
    check.add_argument("--pool", action="store_true", help="the volume is a mount that others make: wait for it")
    check.add_argument("--load-base-ms", type=float, default=500.0, metavar="MS", help="of the engines' adapter (500)")
    check.add_argument("--load-ms-per-mib", type=float, default=20.0, metavar="MS", help="of the same (20)")
    check.add_argument("--lookup-ms", type=float, default=100.0, metavar="MS", help="of the same (100)")
    check.add_argument("--deadline", type=float, default=225.0, metavar="SECONDS", help="for all of it (225)")
    check.add_argument("--silence", type=float, default=60.0, metavar="SECONDS", help="one call may take so long (60)")
    check.add_argument("--patience", type=float, default=30.0, metavar="SECONDS", help="errors may go on so long (30)")
    check.add_argument(
        "--seen", type=float, default=60.0, metavar="SECONDS", help="until what the other one made must be here (60)"
    )
    check.add_argument("--json", action="store_true", help="print the result as JSON, and everything else to stderr")
    place = check.add_argument_group("in a cluster")
    place.add_argument("--namespace", default="", help="of the Job")
    place.add_argument("--job", default="", help="its name")
    place.add_argument("--pod", default="", help="name of this Pod")


def _run(args: argparse.Namespace) -> int:
    # Imported here: an image without the libraries of one verb runs the others.
    from . import command  # noqa: PLC0415

    return command.main(args)
