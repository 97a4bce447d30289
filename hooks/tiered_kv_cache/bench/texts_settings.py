"""What a text check is told, checked."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from ..findings import UsageError
from .settings import whole


@dataclass(frozen=True)
class TextSettings:
    """``prompts`` of ``sizes`` tokens, by chance, for each number of ``at_once``.

    ``dtype``: the engine's; empty: as its arguments say. ``seed``: of orders, never of prompts.
    """

    prompts: int = 200
    sizes: tuple[int, ...] = (600,)
    output_tokens: int = 16
    at_once: tuple[int, ...] = (1,)
    dtype: str = ""
    seed: int = 1


def parse(args: argparse.Namespace) -> TextSettings:
    """From the command line; raises UsageError with every fault."""
    faults: list[str] = []
    if not (args.namespace and args.release):
        faults.append(
            "there is nothing to check. Fix: give --namespace and --release, whose Pods show what each tier gave"
        )
    for name in ("prompts", "output_tokens"):
        if getattr(args, name) < 1:
            faults.append(f"--{name.replace('_', '-')} is {getattr(args, name)}. Fix: give at least 1")
    sizes, at_once = whole("sizes", args.sizes, faults), whole("at-once", args.at_once, faults)
    for name, found in (("sizes", sizes), ("at-once", at_once)):
        if not found and not faults:
            faults.append(f"--{name} is empty. Fix: give at least one number")
    if faults:
        raise UsageError("\n".join(faults))
    return TextSettings(args.prompts, sizes, args.output_tokens, at_once, args.dtype, args.seed)
