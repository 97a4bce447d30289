"""The verb ``bench`` and its arguments."""

from __future__ import annotations

import argparse
from typing import Any

from .settings import EXPERIMENTS, Settings
from .texts_settings import TextSettings

DEFAULT = Settings()
TEXTS = TextSettings()


def arguments(verbs: Any) -> None:
    """Add the verb. ``verbs``: what add_subparsers returned."""
    bench = verbs.add_parser("bench", help="measure how fast each tier answers, and draw it")
    actions = bench.add_subparsers(dest="action", required=True, metavar="ACTION")
    run = actions.add_parser("run", help="measure")
    run.set_defaults(run=_run, bench="run")
    _where(run)
    what = run.add_argument_group("what")
    what.add_argument("--variant", default=DEFAULT.variant, help="name of what is measured, for compare")
    what.add_argument(
        "--experiments", default=",".join(EXPERIMENTS), metavar="LIST", help="comma-separated; these are all"
    )
    what.add_argument(
        "--sizes", default="", metavar="LIST", help="prompt tokens of the sweep; else what fits the context"
    )
    what.add_argument(
        "--tiers", default=",".join(DEFAULT.tiers), metavar="LIST",
        help="of the sweep, beside cold; own: from L2 on the Pod that stored it, L0 and L1 emptied",
    )  # fmt: skip
    what.add_argument(
        "--prompt-key", default="", metavar="TEXT", help="the same prompts wherever it is the same; else new"
    )
    what.add_argument("--repetitions", type=int, default=DEFAULT.repetitions, help=f"at most ({DEFAULT.repetitions})")
    what.add_argument(
        "--output-tokens", type=int, default=DEFAULT.output_tokens, metavar="N", help="of each answer (5)"
    )
    what.add_argument("--concurrency", default=_words(DEFAULT.concurrency), metavar="LIST", help="of the closed loop")
    what.add_argument(
        "--rates", default=_words(DEFAULT.rates), metavar="LIST", help="requests a second, of the open loop"
    )
    what.add_argument(
        "--load-size", type=int, default=DEFAULT.load_size, metavar="TOKENS", help="prompts under load (1000)"
    )
    what.add_argument(
        "--shared", type=float, default=DEFAULT.shared, help="share of a prompt that others have too (0.8)"
    )
    what.add_argument("--users", type=int, default=DEFAULT.users, help="of the mix (4)")
    what.add_argument("--rounds", type=int, default=DEFAULT.rounds, help="of the mix (4)")
    what.add_argument("--conversations", default="", metavar="FILE", help="to replay: JSON in the form of ShareGPT")
    what.add_argument("--seed", type=int, default=DEFAULT.seed, help="of every order and of every resampling (1)")
    what.add_argument("--budget", type=float, default=DEFAULT.budget, metavar="SECONDS", help="for all of it (780)")
    run.add_argument("--out", default="bench-result", metavar="DIR", help="for result.json, table.txt and figures")
    texts = actions.add_parser("texts", help="whether each tier gives the same greedy text as computing")
    texts.set_defaults(run=_run, bench="texts")
    _where(texts)
    check = texts.add_argument_group("what")
    check.add_argument("--prompts", type=int, default=TEXTS.prompts, help=f"for each level ({TEXTS.prompts})")
    check.add_argument("--sizes", default=_words(TEXTS.sizes), metavar="LIST", help="prompt tokens, by chance (600)")
    check.add_argument("--output-tokens", type=int, default=TEXTS.output_tokens, metavar="N", help="compared (16)")
    check.add_argument("--at-once", default=_words(TEXTS.at_once), metavar="LIST", help="levels: prompts at once (1)")
    check.add_argument("--dtype", default="", help="of the engine, for what counts as a tie; else as its arguments say")
    check.add_argument("--seed", type=int, default=TEXTS.seed, help="of orders (1)")
    check.add_argument("--budget", type=float, default=3600, metavar="SECONDS", help="after which it fails (3600)")
    texts.add_argument("--out", default="bench-result", metavar="DIR", help="for texts.json")
    compare = actions.add_parser("compare", help="ratios of several results")
    compare.set_defaults(run=_run, bench="compare")
    compare.add_argument("results", nargs="+", metavar="FILE", help="result.json of two or more runs; the first is 1")
    _peers(actions)
    report = actions.add_parser("report", help="table and figures of a result, anew")
    report.set_defaults(run=_run, bench="report")
    report.add_argument("result", metavar="FILE", help="result.json")
    report.add_argument("--out", default="", metavar="DIR", help="for table.txt and figures; else beside the result")


def _peers(actions: Any) -> None:
    peers = actions.add_parser("peers", help="runs of several L2 side by side, each by its own cold")
    peers.set_defaults(run=_run, bench="peers")
    peers.add_argument(
        "results", nargs="+", metavar="FILE", help="result.json of each run, the variant is the L2's name"
    )
    peers.add_argument(
        "--ours", default="guarded", metavar="VARIANT", help="the one that the others are compared with (guarded)"
    )
    peers.add_argument("--without", default="none", metavar="VARIANT", help="the run without L2 (none)")
    peers.add_argument(
        "--control", default="none-again", metavar="VARIANT", help="that run once more, at the end (none-again)"
    )
    peers.add_argument("--missing", default="", metavar="FILE", help="JSON: which L2 were not measured, and why")
    peers.add_argument("--out", default="bench-result", metavar="DIR", help="for peers.json, peers.txt and the figure")


def _where(parser: argparse.ArgumentParser) -> None:
    where = parser.add_argument_group("where")
    where.add_argument(
        "--url", action="append", default=[], help="an OpenAI-compatible endpoint; with --release: its router"
    )
    where.add_argument("--served-name", default="", metavar="NAME", help="of the model, if the endpoint serves several")
    where.add_argument("--namespace", default="", help="of a release of this chart, whose Pods are asked one by one")
    where.add_argument("--release", default="", help="its name")
    where.add_argument("--model", default="", metavar="NAME", help="its model, if it has several")
    where.add_argument("--via", choices=("auto", "pod-ip", "port-forward"), default="auto", help="as of verify")
    where.add_argument("--kubeconfig", metavar="FILE", help="else $KUBECONFIG or ~/.kube/config")
    where.add_argument("--context", help="context of the kubeconfig")


def _words(numbers: tuple[float, ...]) -> str:
    return ",".join(f"{n:g}" for n in numbers)


def _run(args: argparse.Namespace) -> int:
    # Imported here: an init container has no use for HTTP and tables, and starts sooner.
    from . import command  # noqa: PLC0415

    return 0 if command.main(args) else 1
