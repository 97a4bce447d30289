"""An AdmissionReview in, its answer out: bytes to JSON, without a socket."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from . import apply, select
from .outcome import PREFIX, Json, Outcome, Refused

API_VERSION = "admission.k8s.io/v1"
PATCHED, UNCHANGED, UNTOUCHED, REFUSED, MALFORMED = RESULTS = (
    "patched",
    "unchanged",
    "untouched",
    "refused",
    "malformed",
)
"""What became of a request: unchanged was patched before, untouched is none of ours."""


class Malformed(Exception):
    """Not an AdmissionReview that can be answered. Its text is for people."""


@dataclass(frozen=True)
class Answer:
    """What the API server gets.

    Args:
        body: an AdmissionReview.
        result: one of RESULTS.
        line: for the log; empty where there is nothing to say.
    """

    body: Json
    result: str
    line: str = ""


def answer(content: bytes, data: Mapping[str, str] | None, revision: str = "") -> Answer:
    """Judge one request.

    Args:
        content: an AdmissionReview of version v1, as JSON.
        data: the parameter object; None where it is missing.
        revision: of the parameter object that the caller goes by; empty: any.

    Raises:
        Malformed: it holds no request that an answer could name.
    """
    request = _request(content)
    uid, pod = request["uid"], request.get("object") or {}
    try:
        if request.get("kind") != {"group": "", "version": "v1", "kind": "Pod"}:
            raise Refused(
                f"asked about {request.get('kind')}, and this webhook is for Pods",
                "let its rules name pods only, as the release renders them",
            )
        if request.get("operation") != "CREATE" or request.get("subResource"):
            return Answer(_review(uid, {"allowed": True}), UNTOUCHED)
        if not _is_pod(pod):
            raise Refused(
                "the request's object is no Pod with metadata and containers", "this is a fault of whatever sent it"
            )
        namespace = str(request.get("namespace") or "default")
        outcome = _patch(pod, data, namespace, revision)
    except Refused as err:
        response: Json = {"allowed": False, "status": {"message": str(err), "reason": "Forbidden", "code": 403}}
        return Answer(_review(uid, response), REFUSED, f"refused {_name(request)}: {str(err).removeprefix(PREFIX)}")
    if outcome.pod is pod:
        return Answer(_review(uid, {"allowed": True}), UNTOUCHED)
    operations = difference(pod, outcome.pod)
    response = {"allowed": True}
    if operations:
        patch = base64.b64encode(json.dumps(operations).encode()).decode()
        response |= {"patchType": "JSONPatch", "patch": patch}
    if outcome.warnings:
        response["warnings"] = outcome.warnings
    line = "; ".join(text.removeprefix(PREFIX) for text in outcome.warnings)
    return Answer(
        _review(uid, response),
        PATCHED if operations else UNCHANGED,
        f"warned about {_name(request)}: {line}" if line else "",
    )


def difference(before: Json, after: Json) -> list[Json]:
    """JSON patch operations: each key of the spec that differs, and the annotations, as a whole ("add" replaces)."""
    operations = [
        {"op": "add", "path": f"/spec/{key}", "value": value}
        for key, value in after["spec"].items()
        if before["spec"].get(key) != value
    ]
    annotations = after["metadata"]["annotations"]
    if before["metadata"].get("annotations") != annotations:
        operations.append({"op": "add", "path": "/metadata/annotations", "value": annotations})
    return operations


def _patch(pod: Json, data: Mapping[str, str] | None, namespace: str, revision: str) -> Outcome:
    """As `apply.patch`, and refuses to go by parameters that are older or newer than the caller's. Raises Refused."""
    if revision and data is not None and data.get("revision") != revision and select.is_worker(pod, namespace):
        raise Refused(
            f"the parameter object is of revision {data.get('revision')!r}, and the webhook configuration of {revision!r}",
            "none: the new one arrives within two minutes, and the Pod is tried again; after that, upgrade the release",
        )
    return apply.patch(pod, data, namespace)


def _request(content: bytes) -> Json:
    try:
        review = json.loads(content)
    except (ValueError, RecursionError) as err:
        raise Malformed(f"the body is no JSON: {err}") from err
    if not isinstance(review, dict) or review.get("kind") != "AdmissionReview":
        raise Malformed("the body is no AdmissionReview")
    if review.get("apiVersion") != API_VERSION:
        raise Malformed(f"apiVersion is {review.get('apiVersion')!r}, not {API_VERSION}")
    request = review.get("request")
    if not isinstance(request, dict) or not isinstance(request.get("uid"), str) or not request["uid"]:
        raise Malformed("the AdmissionReview has no request with a uid")
    return request


def _is_pod(content: Any) -> bool:
    """Whether it has the shape that the patch relies on: the API server decodes before it asks, others may not."""
    if not (isinstance(content, dict) and isinstance(content.get("metadata"), dict)):
        return False
    spec = content.get("spec")
    return isinstance(spec, dict) and isinstance(spec.get("containers"), list) and bool(spec["containers"])


def _name(request: Json) -> str:
    pod = request.get("object")
    metadata = pod.get("metadata") if isinstance(pod, dict) else None
    found = metadata if isinstance(metadata, dict) else {}
    name = request.get("name") or found.get("name") or f"{found.get('generateName', '')}*"
    dry = " (dry run)" if request.get("dryRun") else ""
    return f"{request.get('namespace', '')}/{name}{dry}"


def _review(uid: str, response: Json) -> Json:
    return {"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": {"uid": uid, **response}}
