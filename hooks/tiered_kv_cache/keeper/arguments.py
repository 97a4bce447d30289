"""The verb's arguments, apart from the program: other verbs run in images that lack its libraries."""

from __future__ import annotations

import argparse


def arguments(parser: argparse.ArgumentParser) -> None:
    """Add them."""
    parser.add_argument(
        "what", nargs="?", choices=("run", "status"), default="run", help="run (default), or ask one that runs"
    )
    parser.add_argument("--config", metavar="FILE", help="settings, YAML or JSON (docs/keeper.md)")
    parser.add_argument("--mount", default="", metavar="DIR", help="the volume, instead of the settings' mount")
    parser.add_argument(
        "--pool-wait",
        type=float,
        default=0.0,
        metavar="SECONDS",
        help="the volume is a mount that others make on the node: wait so long for it before the first round (0)",
    )
    parser.add_argument("--once", action="store_true", help="one round, then its report")
    parser.add_argument("--dry-run", action="store_true", help="change nothing; tell what would go")
    parser.add_argument("--url", default="http://127.0.0.1:9400", help="of the keeper to ask (status)")
    parser.add_argument("--json", action="store_true", help="JSON instead of a table")
