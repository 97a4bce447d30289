"""What a run is told, checked."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from ..findings import UsageError
from .record import COLD, CONTROL, L0, L1, L2, OWN

SWEEP, DIALOGUE, LOAD, MIX, REPLAY = "sweep", "dialogue", "load", "mix", "replay"
EXPERIMENTS = (SWEEP, DIALOGUE, LOAD, MIX, REPLAY)
SIZES = (256, 500, 1000, 1900, 2500, 3000, 4000, 6000, 8000)
"""Prompt tokens: those of the published figures, the least that is stored, and twice and more the longest of them."""
BLIND_LIMIT = 3000
"""The longest prompt for an endpoint that does not say how long its context is."""
TIERS = (CONTROL, L2, L0, L1)
CONDITIONS = (COLD, *TIERS, OWN)
"""Of the sweep, which asks everything cold first. OWN takes a Pod that is asked to empty its L1, so it is not among TIERS."""


@dataclass(frozen=True)
class Settings:
    """One run. Sizes in tokens, ``budget`` in seconds; ``sizes`` empty: those of SIZES that fit the context.

    ``repetitions``: at most so many a size, as many as the budget allows. ``rates``: requests a second. ``shared``: share
    of a prompt under load that other prompts have too. ``seed``: of orders and resampling, never of prompts: a prompt
    that an earlier run had is not cold. ``tiers``: of the sweep, beside cold. ``prompt_key``: runs with the same key,
    sizes and seed have the same prompts; empty: new ones.
    """

    variant: str = "default"
    experiments: tuple[str, ...] = EXPERIMENTS
    sizes: tuple[int, ...] = ()
    repetitions: int = 15
    output_tokens: int = 5
    concurrency: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    rates: tuple[float, ...] = (1, 2, 4, 8, 16, 32)
    load_size: int = 1000
    shared: float = 0.8
    users: int = 4
    rounds: int = 4
    conversations: str = ""
    seed: int = 1
    budget: float = 780.0
    tiers: tuple[str, ...] = TIERS
    prompt_key: str = ""

    def fitting(self, limit: int | None) -> tuple[int, ...]:
        """Sizes of the sweep that fit a context of ``limit`` tokens beside the answer; None: not known."""
        most = (limit if limit is not None else BLIND_LIMIT + self.output_tokens) - self.output_tokens
        return tuple(s for s in self.sizes or SIZES if s <= most)


def parse(args: argparse.Namespace) -> Settings:
    """From the command line; raises UsageError with every fault."""
    faults: list[str] = []
    chosen = tuple(word.strip() for word in args.experiments.split(",") if word.strip())
    unknown = [word for word in chosen if word not in EXPERIMENTS]
    if unknown or not chosen:
        faults.append(f"--experiments {args.experiments}: {', '.join(unknown) or 'none'} is no experiment. "
                      f"Fix: give some of {','.join(EXPERIMENTS)}")  # fmt: skip
    tiers = tuple(word.strip() for word in args.tiers.split(",") if word.strip())
    unknown = [word for word in tiers if word not in CONDITIONS]
    if unknown or not tiers:
        faults.append(f"--tiers {args.tiers}: {', '.join(unknown) or 'none'} is no tier of the sweep. "
                      f"Fix: give some of {','.join(CONDITIONS)}")  # fmt: skip
    if not args.url and not (args.namespace and args.release):
        faults.append("there is nothing to measure. Fix: give --url, or --namespace and --release")
    if args.conversations and not Path(args.conversations).is_file():
        faults.append(f"--conversations {args.conversations} is no file. Fix: give a JSON file in the form of ShareGPT")
    if not args.variant.strip():
        faults.append("--variant is empty. Fix: give a name, such as no-l2")
    if not 0 < args.shared < 1:
        faults.append(f"--shared is {args.shared:g}. Fix: give a share between 0 and 1, such as 0.8")
    for name, least in (
        ("repetitions", 1),
        ("output_tokens", 1),
        ("load_size", 64),
        ("users", 1),
        ("rounds", 1),
        ("budget", 10),
    ):
        value = getattr(args, name)
        if not least <= value < float("inf"):
            faults.append(f"--{name.replace('_', '-')} is {value:g}. Fix: give at least {least}")
    settings = Settings(
        args.variant.strip(), chosen, whole("sizes", args.sizes, faults), args.repetitions, args.output_tokens,
        whole("concurrency", args.concurrency, faults), _numbers("rates", args.rates, faults), args.load_size,
        args.shared, args.users, args.rounds, args.conversations, args.seed, args.budget,
        tuple(t for t in tiers if t != COLD), args.prompt_key,
    )  # fmt: skip
    if faults:
        raise UsageError("\n".join(faults))
    return settings


def _numbers(name: str, text: str, faults: list[str]) -> tuple[float, ...]:
    try:
        found = tuple(float(word) for word in text.split(",") if word.strip())
    except ValueError:
        found = (-1.0,)
    if any(not 0 < n < float("inf") for n in found):
        faults.append(f"--{name} {text} is no list of numbers above 0. Fix: give such as 1,2,4")
        return ()
    return tuple(sorted(set(found)))


def whole(name: str, text: str, faults: list[str]) -> tuple[int, ...]:
    """Whole numbers above 0 of option ``name``, in order and each once; what is wrong goes into ``faults``."""
    found = _numbers(name, text, faults)
    if any(n != int(n) for n in found):
        faults.append(f"--{name} {text} has fractions. Fix: give whole numbers")
    return tuple(int(n) for n in found)
