"""Command line: ``python -m tiered_kv_cache <verb>``. Exit 0: fine, 1: a check failed, 2: bad usage."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shutil
import sys
import time
from pathlib import Path

from . import l2root, l2root_config, names
from .aws.arguments import arguments as aws_arguments
from .bench.arguments import arguments as bench_arguments
from .findings import UsageError
from .keeper.arguments import arguments as keeper_arguments
from .patch.arguments import arguments as patch_arguments
from .patchcheck.arguments import arguments as patch_check_arguments
from .plan.arguments import arguments as plan_arguments
from .pool import mounts
from .pool.arguments import arguments as pool_arguments
from .preflight.arguments import arguments as preflight_arguments
from .storage.arguments import arguments as storage_arguments
from .termination import leave_message, refuse

OK, FAILED, USAGE = 0, 1, 2
ENGINE_CODE = Path("/opt/engine-code")
"""In the hooks' image: the packages that the L2 adapter needs, for several Pythons at once."""


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
    verify.add_argument("--model", action="append", metavar="NAME", help="only this model; may be given several times")
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
    root.add_argument("--parent", required=True, help="<mount path>/<version>/<line of business>/<model>")
    root.add_argument("--pod", required=True, help="name of this Pod")
    root.add_argument("--link", metavar="PATH", help="symbolic link to make to the directory")
    root.add_argument("--deadline", type=float, default=60.0, metavar="SECONDS", help="for the volume to answer (60)")
    root.add_argument(
        "--pool-wait",
        type=float,
        metavar="SECONDS",
        help="the volume is a mount that others make on the node: wait for it, and go on without if it does not come",
    )
    root.add_argument(
        "--needs-patch",
        action="store_true",
        help=f"refuse a Pod of AWS's operator that was made without the L2 patch (${names.ENV_L2_PATCH} is empty)",
    )
    check = verbs.add_parser("check-model", help="only look whether the model's layers suit LMCache (init container)")
    check.set_defaults(run=_check_model)
    for verb in (root, check):
        verb.add_argument("--model", required=True, help="the model's key in the chart's values")
        verb.add_argument("--weights", required=True, metavar="DIR", help="folder of config.json and the weights")
        verb.add_argument("--allow-hybrid", action="store_true", help="take layers with several kinds of cache")
    root.add_argument("--identity", choices=("sampled", "full"), default="sampled", help="how the weights are read")
    root.add_argument("--max-model-len", type=int, default=0, metavar="TOKENS", help="length of the engine's context")
    root.add_argument(
        "--weights-deadline", type=float, default=900.0, metavar="SECONDS", help="for reading the weights (900)"
    )
    copy = verbs.add_parser(
        "copy-code", help="copy this package and what its L2 adapter needs, for an engine's image (init container)"
    )
    copy.set_defaults(run=_copy_code)
    copy.add_argument("--to", required=True, metavar="DIR", help="folder that PYTHONPATH will name")
    fetch = verbs.add_parser(
        "fetch", help=f"download the model of ${names.ENV_SOURCE} to the model store (init container)"
    )
    fetch.set_defaults(run=_fetch)
    fetch.add_argument("--store", required=True, metavar="DIR", help="the model store's mount path")
    fetch.add_argument("--model", required=True, help="the model's key in the chart's values, for messages")
    fetch.add_argument("--link", metavar="PATH", help="symbolic link to make to the model's folder")
    fetch.add_argument("--store-type", default="", help="modelStore.type, for messages")
    fetch.add_argument("--size-limit", type=int, default=0, metavar="BYTES", help="refuse larger models (0: none)")
    fetch.add_argument("--deadline", type=float, default=3600.0, metavar="SECONDS", help="for all of it (3600)")
    fetch.add_argument(
        "--lease", type=float, default=90.0, metavar="SECONDS", help="silence after which a writer counts as dead (90)"
    )
    keeper = verbs.add_parser("keeper", help="keep the L2 volume within its quotas, and clean it; or ask one that runs")
    keeper.set_defaults(run=_keeper)
    keeper_arguments(keeper)
    for add in (
        pool_arguments,
        storage_arguments,
        preflight_arguments,
        patch_check_arguments,
        patch_arguments,
        aws_arguments,
        bench_arguments,
        plan_arguments,
    ):
        add(verbs)
    return parser


def _keeper(args: argparse.Namespace) -> int:
    from .keeper import command  # noqa: PLC0415

    return OK if command.main(args) else FAILED


def _fetch(args: argparse.Namespace) -> int:
    # Imported here: it needs libraries that the engine's image, where l2-root may run, does not have.
    from .fetch import command  # noqa: PLC0415

    return OK if command.main(args) else FAILED


def _verify(args: argparse.Namespace) -> int:
    # Imported here: an init container has no use for HTTP and tables, and starts sooner.
    from .verify import command  # noqa: PLC0415

    return OK if command.main(args) else FAILED


def _l2_root(args: argparse.Namespace) -> int:
    if args.needs_patch and not os.environ.get(names.ENV_L2_PATCH):
        refuse(
            "l2-root",
            "this Pod was made without the L2 patch, so that its engine would share no blocks. Fix: none is needed after an "
            f"install, whose patch check replaces it; else kubectl delete pod {args.pod}, and look at what the patch check says",
        )
    try:
        began = time.monotonic()
        request = l2root_config.Request(
            args.parent, args.pod, os.environ.get(names.ENV_L2_CONFIG), args.model, Path(args.weights), args.identity,
            args.allow_hybrid, args.max_model_len,
        )  # fmt: skip
        for line in _check(args):
            print(f"l2-root: {line}")
        found = l2root.within(
            args.weights_deadline,
            lambda: l2root_config.resolve(request),
            f"models.{args.model}.source: the weights in {args.weights} could not be read",
            "mend that volume, use source.identity: sampled, or give more time",
        )
        read = found.weights
        print(
            f"l2-root: weights {read.digest} ({read.mode}, {read.read_bytes} bytes read in {time.monotonic() - began:.1f} s)"
        )
        lines = _volume(found.job, args)
        if args.link:
            l2root_config.link(found.job.root, Path(args.link))
    except l2root.L2RootError as err:
        refuse("l2-root", str(err))
    for line in lines:
        print(f"l2-root: {line}")
    # verify reads it from the Pod's status.
    leave_message(json.dumps({
        "root": str(found.job.root), "fingerprint": found.fingerprint, "weights": read.digest, "model": args.model,
    }))  # fmt: skip
    return OK


def _volume(job: l2root.Job, args: argparse.Namespace) -> list[str]:
    """Prepare the volume. Raises L2RootError; a pool that is away only costs time, since the adapter waits for it as well."""
    try:
        if args.pool_wait is not None and not mounts.appears(str(job.mount), args.pool_wait):
            raise l2root.VolumeGone(f"the pool is not mounted at {job.mount} after {args.pool_wait:g} s")
        lines = l2root.prepare_within(job, args.deadline)
        return lines + l2root.within(
            args.deadline, lambda: l2root_config.siblings(job), "the L2 volume could not be listed", "mend it"
        )
    except l2root.VolumeGone as err:
        if args.pool_wait is None:
            raise
        return [f"warning: {err}", "the engine starts without L2, which it uses as soon as the pool is back"]


def _check_model(args: argparse.Namespace) -> int:
    try:
        for line in _check(args):
            print(f"check-model: {line}")
    except l2root.L2RootError as err:
        refuse("check-model", str(err))
    return OK


def _check(args: argparse.Namespace) -> list[str]:
    return l2root.within(
        60.0,
        lambda: l2root_config.check_groups(Path(args.weights), args.model, args.allow_hybrid),
        f"models.{args.model}.source: {args.weights}/config.json could not be read",
        "mend the volume that holds the weights",
    )


def _copy_code(args: argparse.Namespace) -> int:
    packages = [Path(__file__).parent]
    if ENGINE_CODE.is_dir():
        packages += sorted(ENGINE_CODE.iterdir())
    for package in packages:
        shutil.copytree(
            package, Path(args.to) / package.name, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True
        )
    return OK


if __name__ == "__main__":
    sys.exit(main())
