"""All admission cases. Each is run through the pure function, the webhook and the policy, with the same result."""

from __future__ import annotations

from . import extra_config, in_process, multi_process, orders, selection, volumes
from .model import Case

CASES: list[Case] = [
    case for module in (selection, in_process, extra_config, volumes, multi_process, orders) for case in module.CASES
]
