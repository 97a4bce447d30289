"""The verb ``aws``: configuration in, a table, JSON and an exit code out."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys

from .. import told
from ..deadline import Deadline
from ..names import ENV_AWS
from ..termination import leave_message
from . import report
from .config import Settings, parse
from .run import clients, run


def main(args: argparse.Namespace) -> int:
    """0: all is as wanted, or would be; 1: something failed. Raises UsageError."""
    settings = _settings(args)
    people = sys.stderr if args.json else sys.stdout
    deadline = Deadline(settings.deadline)

    def say(line: str) -> None:
        print(f"[{deadline.elapsed():6.1f} s] {line}", file=people, flush=True)

    result = run(settings, clients(settings.region), deadline, say)
    result.seconds = deadline.elapsed()
    report.print_result(result, people)
    if args.json:
        print(json.dumps(result.to_json()), flush=True)
    leave_message(report.message(result))
    return 0 if result.ok else 1


def _settings(args: argparse.Namespace) -> Settings:
    text, source = told.text_of(args.config, ENV_AWS, "set up")
    settings = parse(text, source)
    apply = args.apply or (settings.apply and not args.dry_run)
    return dataclasses.replace(settings, apply=apply, deadline=args.deadline or settings.deadline)
