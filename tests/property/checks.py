"""What must hold for whatever the chart answers to values that its schema accepts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from crds.endpoints import endpoint_faults
from property.renderer import Answer, Json, Question

CUSTOM = (
    *("HTTPRoute", "Gateway", "ScaledObject", "PodMonitor", "PrometheusRule", "InferenceEndpointConfig"),
    *("Issuer", "Certificate"),
)
"""Kinds of other projects: the API server knows their rules from custom resource definitions, which other tests read."""

LONG = (
    *("PersistentVolume", "PersistentVolumeClaim", "StorageClass", "ClusterRole", "ClusterRoleBinding"),
    *("Role", "RoleBinding"),
    *("MutatingWebhookConfiguration", "MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"),
    *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"),
)
"""Kinds whose names are no labels and no host names, so that they may be as long as Kubernetes lets them."""


def third_outcome(question: Question, answer: Answer) -> str | None:
    """Why the answer is neither good objects nor one of our messages; None if it is one of them."""
    if answer.error:
        return _message(question, answer.error)
    for find in (_judged, _endpoints, _names, _arguments, _powers, _empties):
        if fault := find(question, answer):
            return fault
    return None


def _message(question: Question, error: str) -> str | None:
    ours = f"in the values of release {question.name}; nothing was changed:"
    if ours not in error:
        return f"not one of our messages: {error}"
    faults = re.split(r"\n\n\d+\. ", error[error.index(ours) :])[1:]
    if not faults or any("\n   why: " not in fault or "\n   fix: " not in fault for fault in faults):
        return f"a message without key, why and fix: {error}"
    return _unprinted(question, error)


def _judged(_: Question, answer: Answer) -> str | None:
    custom = tuple(f"{kind} " for kind in CUSTOM)
    for fault in (*answer.faults, *answer.warnings):
        if not (fault.startswith(custom) and "no rules for" in fault):
            return f"the API server: {fault}"
    return None


def _endpoints(_: Question, answer: Answer) -> str | None:
    for found in answer.objects:
        if found["kind"] == "InferenceEndpointConfig" and (faults := endpoint_faults(found)):
            return f"AWS's definition of InferenceEndpointConfig: {faults}"
    return None


def _names(_: Question, answer: Answer) -> str | None:
    seen = set()
    for found in answer.objects:
        metadata = found["metadata"]
        key = (found["kind"], metadata.get("namespace"), metadata["name"])
        if key in seen:
            return f"two objects: {key}"
        seen.add(key)
        longest = 253 if found["kind"] in LONG else 63
        if len(metadata["name"]) > longest or not re.fullmatch(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?", metadata["name"]):
            return f"not a DNS name: {key}"
    return None


def texts(node: Any) -> Iterator[str]:
    """All strings of a tree, keys left out."""
    if isinstance(node, dict):
        for each in node.values():
            yield from texts(each)
    elif isinstance(node, list):
        for each in node:
            yield from texts(each)
    elif isinstance(node, str):
        yield node


def containers(objects: list[Json]) -> Iterator[Json]:
    """All containers of all Pods and Pod templates."""
    for found in objects:
        spec = found["spec"] if found["kind"] == "Pod" else found.get("spec", {}).get("template", {}).get("spec", {})
        yield from (*spec.get("initContainers", []), *spec.get("containers", []))


def _arguments(question: Question, answer: Answer) -> str | None:
    given = set(texts(question.values))
    for container in containers(answer.objects):
        variables = (each.get("value", "") for each in container.get("env", []))
        for text in (*container.get("args", []), *variables):
            if text.startswith(("{", "[")) and text not in given:
                try:
                    json.loads(text)
                except ValueError as error:
                    return f"not JSON ({error}): {text}"
    return None


_POWER = re.compile(r"(?<![0-9a-zA-Z])[0-9.]+[eE][+-]?[0-9]+(?![0-9a-zA-Z])")
# Digests as the chart prints them, in names, annotations and images; one in a thousand looks like a power.
HASH = re.compile(r"\b([0-9a-f]{8}|[0-9a-f]{16}|[0-9a-f]{40}|[0-9a-f]{64})\b")


def _powers(question: Question, answer: Answer) -> str | None:
    found = set(_POWER.findall(HASH.sub("", answer.manifests)))
    if found:
        found -= set(_POWER.findall(json.dumps(question.values, ensure_ascii=False)))
    return f"numbers printed as powers: {sorted(found)}" if found else None


def _empties(question: Question, answer: Answer) -> str | None:
    return _unprinted(question, answer.manifests)


def _unprinted(question: Question, text: str) -> str | None:
    """What Go prints for a value that is not there, or of another type than the template thought."""
    given = [*texts(question.values)]
    for word in ("<no value>", "<nil>", "%!", "map["):
        if word in text and not any(word in each for each in given):
            return f"printed {word}: {text}"
    return None
