"""What whoever runs a plan can type: the verb's options, or what a program around it calls them."""

from __future__ import annotations

import json
import os

ENVIRONMENT = "TKC_PLAN_SAID"
"""JSON object, option -> name: of a program that runs the verb and has variables for its options, as `make plan` has."""


def said(option: str, value: str = "") -> str:
    """An option of the verb, with its value, as it is given here."""
    other = json.loads(os.environ.get(ENVIRONMENT) or "{}").get(option)
    if other is None:
        return f"{option} {value}".rstrip()
    return f"{other}={value}" if value else str(other)
