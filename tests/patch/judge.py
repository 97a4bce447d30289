"""Tries Pods by a server-side dry run, and says how the result differs from what a case expects."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from scheduling.api import Api

from .apiserver import PLAIN
from .cases.model import Case, Json, Patched, Refused

GIVEN_BY_SERVER = ("name", "namespace", "uid", "creationTimestamp", "managedFields", "generateName", "generation")


@dataclass(frozen=True)
class Tried:
    """What the API server makes of a Pod.

    Args:
        pod: with the server's defaults; None if it was refused.
        message: of a refusal.
        warnings: beside it.
    """

    pod: Json | None
    message: str
    warnings: list[str]


def attempt(api: Api, namespace: str, pod: Json) -> Tried:
    """A dry run of creating it."""
    answer = api.answer(f"/api/v1/namespaces/{namespace}/pods", pod, dryRun="All", fieldValidation="Strict")
    found = answer.json()
    warnings = [text.split(" ", 2)[2].strip('"') for text in answer.headers.get_list("warning")]
    if answer.is_error:
        return Tried(None, found.get("message", ""), warnings)
    return Tried(found, "", warnings)


def normal(pod: Json) -> Json:
    """Without what differs from one creation to the next."""
    found = copy.deepcopy(pod)
    for key in GIVEN_BY_SERVER:
        found["metadata"].pop(key, None)
    return found


def faults(api: Api, case: Case, words: Sequence[str] = ()) -> list[str]:
    """How what the API server makes of the case's Pod differs from what is expected; empty: not at all.

    Args:
        words: of a refusal, in place of the case's own.
    """
    tried = attempt(api, case.place, case.pod)
    if isinstance(case.expected, Refused):
        if tried.pod is not None:
            return ["it was created"]
        wanted = words or ("tiered-kv-cache L2 patch: ", *case.expected.texts)
        return [f"{text!r} is not in the message: {tried.message}" for text in wanted if text not in tried.message]
    if tried.pod is None:
        return [f"refused: {tried.message}"]
    expected = attempt(api, PLAIN, case.result())
    assert expected.pod is not None, f"the case's result is no Pod: {expected.message}"
    found = differences(normal(expected.pod), normal(tried.pod), "")
    ours = [text for text in tried.warnings if "tiered-kv-cache" in text]
    texts = case.expected.warnings if isinstance(case.expected, Patched) else ()
    found += [f"no warning holds {text!r}: {ours}" for text in texts if not any(text in each for each in ours)]
    return found + ([f"warnings that nobody expects: {ours}"] if ours and not texts else [])


def differences(expected: Any, found: Any, path: str) -> list[str]:
    """A line for each place that differs."""
    if isinstance(expected, dict) and isinstance(found, dict):
        keys = sorted(expected.keys() | found.keys())
        return [line for key in keys for line in differences(expected.get(key), found.get(key), f"{path}/{key}")]
    if isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        pairs = enumerate(zip(expected, found, strict=True))
        return [line for number, (a, b) in pairs for line in differences(a, b, f"{path}/{number}")]
    return [] if expected == found else [f"{path}: expected {expected!r}, found {found!r}"]
