"""The verb ``plan`` and its arguments."""

from __future__ import annotations

import argparse
from typing import Any


def arguments(verbs: Any) -> None:
    """Add the verb. ``verbs``: what add_subparsers returned."""
    plan = verbs.add_parser("plan", help="tell what rendered manifests would make, and what they would change")
    plan.set_defaults(run=_run)
    plan.add_argument(
        "manifests", nargs="?", default="-", metavar="FILE", help="output of helm template ('-', the default: stdin)"
    )
    plan.add_argument(
        "--config", action="append", default=[], metavar="MODEL=PATH",
        help="config.json of a model, or its folder: bytes of a token; with the folder's weights, L0 too",
    )  # fmt: skip
    plan.add_argument(
        "--gpu-memory", metavar="SIZE", help="memory of one GPU, e.g. 44Gi: how many tokens fit into L0 on cuda"
    )
    plan.add_argument(
        "--node", metavar="AMOUNTS", help="what a node has for Pods, e.g. cpu=15,memory=120Gi,nvidia.com/gpu=1"
    )
    plan.add_argument("--live", metavar="FILE", help="compare with this output of helm get manifest")
    plan.add_argument("--release", metavar="NAME", help="compare with this release in the cluster")
    plan.add_argument("--namespace", metavar="NAME", help="its namespace")
    plan.add_argument("--deadline", type=float, default=30.0, metavar="SECONDS", help="for asking the cluster (30)")
    plan.add_argument("--json", action="store_true", help="print it as JSON")
    plan.add_argument("--kubeconfig", metavar="FILE", help="outside the cluster; else $KUBECONFIG or ~/.kube/config")
    plan.add_argument("--context", help="context of the kubeconfig")


def _run(args: argparse.Namespace) -> int:
    # Imported here: an image without the libraries of one verb runs the others.
    from . import command  # noqa: PLC0415

    return command.main(args)
