"""Command line: ``python -m tiered_kv_cache <verb>``. Exit 0: fine, 1: a check failed, 2: bad usage."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from pathlib import Path

from . import l2root, names
from .findings import UsageError

OK, FAILED, USAGE = 0, 1, 2
TERMINATION_LOG = "/dev/termination-log"
"""The kubelet shows what a container leaves there."""


def main(argv: list[str] | None = None) -> int:
    """Run a verb and return the exit code; argparse itself leaves with 2."""
    # Logs are read while the Pod runs.
    with contextlib.suppress(AttributeError):
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    args = _parser().parse_args(argv)
    try:
        return int(args.run(args))
    except UsageError as err:
        for line in str(err).splitlines():
            print(f"error: {line}", file=sys.stderr)
        return USAGE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="tiered_kv_cache", description="Hooks of the tiered-kv-cache chart.")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="VERB")
    verify = verbs.add_parser("verify", help="prove cache hits tier by tier (helm test)")
    verify.set_defaults(run=_verify)
    verify.add_argument("--namespace", required=True, help="the release's namespace")
    verify.add_argument("--release", required=True, help="the release's name")
    verify.add_argument(
        "--config", metavar="FILE", help=f"what to verify, as JSON ('-': stdin); else ${names.ENV_VERIFY}"
    )
    verify.add_argument("--json-file", metavar="FILE", help="write the result as JSON of at most 4000 bytes")
    verify.add_argument("--json", action="store_true", help="print the result as JSON, and everything else to stderr")
    verify.add_argument("--deadline", type=float, metavar="SECONDS", help="instead of deadlineSeconds")
    verify.add_argument(
        "--via",
        choices=("auto", "pod-ip", "port-forward"),
        default="auto",
        help="how to reach Pods; auto: by address inside the cluster, by port forwarding outside",
    )
    verify.add_argument("--kubeconfig", metavar="FILE", help="outside the cluster; else $KUBECONFIG or ~/.kube/config")
    verify.add_argument("--context", help="context of the kubeconfig")
    root = verbs.add_parser("l2-root", help="prepare a model's directory on the L2 volume (init container)")
    root.set_defaults(run=_l2_root)
    root.add_argument("--root", required=True, help="<mount path>/<version>/<line of business>/<model>/<fingerprint>")
    root.add_argument("--pod", required=True, help="name of this Pod")
    root.add_argument("--deadline", type=float, default=60.0, metavar="SECONDS", help="for the volume to answer (60)")
    return parser


def _verify(args: argparse.Namespace) -> int:
    # Imported here: an init container has no use for HTTP and tables, and starts sooner.
    from .verify import command  # noqa: PLC0415

    return OK if command.main(args) else FAILED


def _l2_root(args: argparse.Namespace) -> int:
    try:
        todo = l2root.job(args.root, args.pod, os.environ.get(names.ENV_L2_CONFIG))
        lines = l2root.prepare_within(todo, args.deadline)
    except l2root.L2RootError as err:
        for line in str(err).splitlines():
            print(f"l2-root: {line}", file=sys.stderr, flush=True)
        # verify and kubectl describe show it from there.
        with contextlib.suppress(OSError):
            if Path(TERMINATION_LOG).exists():
                Path(TERMINATION_LOG).write_text(str(err)[:3000], encoding="utf-8")
        # Not by return: a thread that hangs in the volume would keep the process alive.
        sys.stdout.flush()
        os._exit(FAILED)
    for line in lines:
        print(f"l2-root: {line}")
    return OK


if __name__ == "__main__":
    sys.exit(main())
