"""AdmissionReviews, whole ones and others: always an answer, never a worker let in unpatched."""

from __future__ import annotations

import base64
import copy
import json
from typing import Any

import pytest

from patch.cases.in_process import SEEDED
from patch.cases.model import BASE
from patch.cases.shapes import v32, v37
from tiered_kv_cache.patch import apply, review

Json = dict[str, Any]
DATA = {f"ns.{key}": text for key, text in BASE.items()}
POD_KIND = {"group": "", "version": "v1", "kind": "Pod"}


def request(**changed: Any) -> bytes:
    """As the API server sends it; None takes a key out."""
    whole = {"uid": "u-1", "kind": POD_KIND, "operation": "CREATE", "namespace": "ns", "object": v32(), **changed}
    kept = {key: content for key, content in whole.items() if content is not None}
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": kept}).encode()


def applied(pod: Json, response: Json) -> Json:
    """The Pod after the answer's JSON patch, of which only "add" of a key is known here."""
    after = copy.deepcopy(pod)
    for operation in json.loads(base64.b64decode(response["patch"])):
        assert operation["op"] == "add"
        *parents, key = operation["path"].strip("/").split("/")
        content = after
        for parent in parents:
            content = content[parent]
        content[key] = operation["value"]
    return after


@pytest.mark.parametrize("pod", [v32(), v37()], ids=["in-process", "multi-process"])
def test_the_patch_makes_what_the_function_makes(pod: Json) -> None:
    found = review.answer(request(object=pod), DATA)
    response = found.body["response"]
    assert found.result == review.PATCHED
    assert found.body["apiVersion"] == "admission.k8s.io/v1"
    assert found.body["kind"] == "AdmissionReview"
    assert (response["uid"], response["allowed"], response["patchType"]) == ("u-1", True, "JSONPatch")
    assert applied(pod, response) == apply.patch(pod, DATA, "ns").pod


def test_a_patched_pod_gets_no_patch() -> None:
    found = review.answer(request(object=apply.patch(v32(), DATA, "ns").pod), DATA)
    assert found.result == review.UNCHANGED
    assert found.body["response"] == {"uid": "u-1", "allowed": True}


def test_a_warning_reaches_whoever_creates_it() -> None:
    found = review.answer(request(object=v32(env=SEEDED), dryRun=True), DATA)
    assert [text.startswith("tiered-kv-cache L2 patch: ") for text in found.body["response"]["warnings"]] == [True]
    assert "warned about ns/qwen2-7b-instruct-7d4b9c-* (dry run)" in found.line


def test_a_refusal_is_a_message() -> None:
    found = review.answer(request(), None)
    assert found.result == review.REFUSED
    status = found.body["response"].pop("status")
    assert found.body["response"] == {"uid": "u-1", "allowed": False}
    assert status["message"].startswith("tiered-kv-cache L2 patch: there is no parameter object")
    assert status["code"] == 403


@pytest.mark.parametrize(
    "changed",
    [{"operation": "UPDATE"}, {"operation": "DELETE", "object": None}, {"subResource": "resize", "operation": "UPDATE"},
     {"subResource": "binding"}, {"object": {"metadata": {}, "spec": {"containers": [{"name": "a"}]}}}, {"namespace": "kube-system"}],
)  # fmt: skip
def test_what_is_none_of_ours_is_let_through(changed: Json) -> None:
    found = review.answer(request(**changed), DATA)
    assert found.result == review.UNTOUCHED
    assert found.body["response"] == {"uid": "u-1", "allowed": True}


@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"kind": {"group": "apps", "version": "v1", "kind": "Deployment"}}, "this webhook is for Pods"),
        ({"kind": None}, "this webhook is for Pods"),
        ({"kind": {**POD_KIND, "version": "v2"}}, "this webhook is for Pods"),
        ({"object": None}, "no Pod"),
        ({"object": []}, "no Pod"),
        ({"object": {"metadata": {}, "spec": {}}}, "no Pod"),
        ({"object": {"metadata": {}, "spec": {"containers": []}}}, "no Pod"),
        ({"object": {"spec": {"containers": [{}]}}}, "no Pod"),
        ({"namespace": None}, "no key default.models"),
    ],
)
def test_what_cannot_be_judged_is_refused(changed: Json, text: str) -> None:
    found = review.answer(request(**changed), DATA)
    assert found.result == review.REFUSED
    assert text in found.body["response"]["status"]["message"]


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"\xff\xfe", b"[]", b"null", b"{}", b'{"kind": "AdmissionReview"}', b"[" * 100_000,
        b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1beta1", "request": {"uid": "a"}}',
        b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1"}',
        b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": []}',
        b'{"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {"uid": ""}}',
        b'{"kind": "Pod", "apiVersion": "admission.k8s.io/v1", "request": {"uid": "a"}}',
    ],
)  # fmt: skip
def test_what_is_no_review_is_malformed(content: bytes) -> None:
    with pytest.raises(review.Malformed):
        review.answer(content, DATA)


def test_another_revision_is_refused_for_workers_only() -> None:
    data = {**DATA, "revision": "1"}
    assert review.answer(request(), data, "1").result == review.PATCHED
    assert review.answer(request(), data, "").result == review.PATCHED
    found = review.answer(request(), data, "2")
    assert "of revision '1'" in found.body["response"]["status"]["message"]
    assert review.answer(request(), DATA, "2").result == review.REFUSED
    stranger = v32()
    stranger["metadata"]["labels"].pop("deploying-service")
    assert review.answer(request(object=stranger), data, "2").result == review.UNTOUCHED
