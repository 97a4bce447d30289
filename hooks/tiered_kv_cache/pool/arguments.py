"""The verbs of the pool and their arguments, apart from the programs: other verbs run in images that lack their libraries."""

from __future__ import annotations

import argparse
from typing import Any


def arguments(verbs: Any) -> None:
    """Add the verbs. ``verbs``: what add_subparsers returned."""
    master = verbs.add_parser("pool-master", help="refuse what would wipe or split the pool's masters (init container)")
    master.set_defaults(run=_master)
    master.add_argument("--data", required=True, metavar="DIR", help="the master's volume")
    master.add_argument("--cluster-id", required=True, metavar="ID", help="the pool's")
    master.add_argument("--replicas", required=True, type=int, metavar="N", help="number of masters")
    master.add_argument("--pod", required=True, help="name of this Pod")
    master.add_argument("--namespace", required=True, help="of this Pod and its claim")
    master.add_argument("--deadline", type=float, default=60.0, metavar="SECONDS", help="for claims and volume (60)")
    disk = verbs.add_parser("pool-disk", help="look at a worker's disk and make its directory (init container, root)")
    disk.set_defaults(run=_disk)
    disk.add_argument("--path", required=True, metavar="DIR", help="the node's directory as mounted here")
    disk.add_argument("--host-path", required=True, metavar="DIR", help="its path on the node")
    disk.add_argument("--size", required=True, type=int, metavar="BYTES", help="what the worker may take")
    disk.add_argument("--reserve", type=int, default=0, metavar="BYTES", help="what must be there besides (0)")
    disk.add_argument("--cluster-id", required=True, metavar="ID", help="the pool's")
    disk.add_argument("--user", required=True, type=int, metavar="UID", help="who the worker runs as")
    disk.add_argument("--group", required=True, type=int, metavar="GID", help="its group")
    disk.add_argument("--allow-root-disk", action="store_true", help="take a directory on the node's root disk")
    disk.add_argument(
        "--values-prefix",
        default="curvine.workers.disk",
        metavar="TEXT",
        help="of the keys in the chart's values, for messages",
    )
    drain = verbs.add_parser("pool-drain", help="end what uses the pool, then its parts, each before the next (hook)")
    drain.set_defaults(run=_drain)
    drain.add_argument("--namespace", required=True, help="the release's")
    drain.add_argument("--release", required=True, help="what its Pods are labelled with")
    drain.add_argument(
        "--user", action="append", default=[], metavar="NAME", help="a Deployment that mounts the pool; several times"
    )
    for part in ("client", "workers", "masters"):
        drain.add_argument(f"--{part}", required=True, metavar="NAME", help=f"the pool's {part}")
    drain.add_argument(
        "--others", metavar="DIR", help="refuse while a claim of another namespace is bound to a directory in this one"
    )
    drain.add_argument("--force", action="store_true", help="go on whatever still uses the pool or does not end")
    drain.add_argument("--deadline", type=float, default=225.0, metavar="SECONDS", help="for all of it (225)")
    drain.add_argument("--json", action="store_true", help="print the result as JSON, and everything else to stderr")
    drain.add_argument("--kubeconfig", metavar="FILE", help="outside the cluster; else $KUBECONFIG or ~/.kube/config")
    drain.add_argument("--context", help="context of the kubeconfig")
    watch = verbs.add_parser("pool-watch", help="watch the pool's mounts of this node, beside its FUSE client")
    watch.set_defaults(run=_watch)
    watch.add_argument("--directory", default="", metavar="DIR", help="holds <line of business>/fs")
    watch.add_argument(
        "--line-of-business", default=[], action="append", metavar="NAME", help="may be given several times"
    )
    watch.add_argument(
        "--kubelet",
        default="",
        metavar="DIR",
        help="instead: look at the mounts of the CSI driver that Pods see below it",
    )
    watch.add_argument("--pod-logs", default="/var/log/pods", metavar="DIR", help="its names say whose a mount is")
    watch.add_argument("--port", type=int, default=9401, help="of /metrics and /healthz (9401; 0: a free one)")
    watch.add_argument("--deadline", type=float, default=2.0, metavar="SECONDS", help="after which a mount hangs (2)")
    watch.add_argument("--period", type=float, default=5.0, metavar="SECONDS", help="between two looks (5)")
    watch.add_argument("--pod", default="", help="name of this Pod, for events and its annotation")
    watch.add_argument("--namespace", default="", help="of this Pod")


# Imported in each: an image without the libraries of one verb runs the others.


def _master(args: argparse.Namespace) -> int:
    from . import command  # noqa: PLC0415

    return command.master(args)


def _disk(args: argparse.Namespace) -> int:
    from . import command  # noqa: PLC0415

    return command.disk(args)


def _drain(args: argparse.Namespace) -> int:
    from . import drain  # noqa: PLC0415

    return drain.main(args)


def _watch(args: argparse.Namespace) -> int:
    from . import watch  # noqa: PLC0415

    return watch.main(args)
