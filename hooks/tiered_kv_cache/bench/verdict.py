"""The document that is written: the record, and beside it what was worked out, for programs that do not want to."""

from __future__ import annotations

from dataclasses import asdict

from .judge import judge
from .record import Json, Record
from .summary import cells, ratios


def document(record: Record) -> Json:
    """As docs/bench.schema.json describes it."""
    return record.document() | {
        "cells": [asdict(cell) for cell in cells(record)],
        "ratios": [asdict(pair) for pair in ratios(record)],
        "verdict": asdict(judge(record)),
    }
