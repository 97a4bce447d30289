"""The verb ``plan`` from its arguments to its exit code."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from ..deadline import Deadline
from ..findings import UsageError
from ..keeper.units import size
from . import live, nodes, shape
from .manifests import read
from .plan import make
from .report import print_plan, to_json
from .said import said
from .workloads import workloads


def main(args: argparse.Namespace) -> int:
    """0: a plan judges nothing. Raises UsageError."""
    text, source = _text(args.manifests)
    objects = read(text, source)
    try:
        known = {each.model for each in workloads(objects)} - {""}
    except (AttributeError, KeyError, TypeError, ValueError) as err:
        raise UsageError(f"{source} is not made by this chart: {err!r}. Fix: give what helm template prints") from err
    shapes = _shapes(args.config, known)
    memory = None
    if args.gpu_memory is not None:
        memory = size(args.gpu_memory)
        if not memory:
            raise UsageError(
                f"{said('--gpu-memory', repr(args.gpu_memory))} is no size. Fix: write it like 44Gi, as nvidia-smi shows it"
            )
    node = nodes.room(args.node) if args.node is not None else None
    plan = make(objects, shapes, memory, node, _live(args))
    if args.json:
        print(json.dumps(to_json(plan), indent=2))
    else:
        print_plan(plan, sys.stdout)
    return 0


def _text(name: str) -> tuple[str, str]:
    if name == "-":
        return sys.stdin.read(), "what came on standard input"
    try:
        return Path(name).read_text(encoding="utf-8"), name
    except (OSError, UnicodeDecodeError) as err:
        raise UsageError(f"{name} cannot be read: {err}. Fix: give the output of helm template") from err


def _shapes(given: list[str], known: set[str]) -> dict[str, shape.Shape]:
    found = {}
    for each in given:
        model, equals, path = each.partition("=")
        if not equals or not path:
            raise UsageError(
                f"{said('--config', repr(each))} names no file. Fix: write <model>=<config.json or its folder>"
            )
        if model not in known:
            raise UsageError(f"{said('--config', each)}: there is no model {model}. Fix: {_one_of(known)}")
        found[model] = shape.load(model, Path(path))
    return found


def _one_of(known: set[str]) -> str:
    return f"write one of {', '.join(sorted(known))}" if known else "leave it out, the manifests have no model"


def _live(args: argparse.Namespace) -> live.Live:
    if args.live and args.release:
        raise UsageError("--live and --release are given. Fix: compare with one of them")
    if args.live:
        return live.from_file(args.live)
    if not args.release:
        return live.Live(None, f"give {said('--release and --namespace, or --live')}")
    if not args.namespace:
        raise UsageError(f"--release {args.release} has no --namespace. Fix: give the namespace it is in")
    if not args.deadline >= 1:
        raise UsageError(f"--deadline is {args.deadline:g}. Fix: give at least 1 second")
    return live.from_cluster(args.release, args.namespace, Deadline(args.deadline), (args.kubeconfig, args.context))
