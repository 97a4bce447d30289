"""What Kubernetes changes in no claim, volume or StatefulSet is refused before anything is changed, with the way to go there (OC-26)."""

from __future__ import annotations

from typing import Any

import pytest

from chart.apiserver import serve
from chart.cases import CASES
from chart.helm import Helm, Json, merged
from chart.test_live import ACCOUNT, KV, MODELS, ON_NODES, OWNED, live_options
from chart.test_source import hub, s3

HERE = "tiered-kv-cache"
L2: Json = {"l2": {"volume": {**ON_NODES, "claimName": ""}}}
STORE: Json = {"modelStore": ON_NODES, **hub()}
BUCKET: Json = s3(mode="mountpoint")
POOL: Json = CASES["own-pool"]
CSI: Json = CASES["own-pool-by-csi"]
PLACES = {
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "PersistentVolume": "persistentvolumes",
    "StatefulSet": "statefulsets",
}


def installed(helm: Helm, values: Json) -> Json:
    """What an API server serves after an install with these values; the defaults of a namespace beside."""
    found: Json = {**ACCOUNT, **KV, **MODELS, f"secrets/{HERE}/keys": {"data": {}}}
    for each in helm.template(values).objects:
        if each["kind"] in PLACES:
            namespace = "" if each["kind"] == "PersistentVolume" else HERE
            metadata = merged(each["metadata"], OWNED)
            found[f"{PLACES[each['kind']]}/{namespace}/{metadata['name']}"] = {**each, "metadata": metadata}
    return found


def size(value: Any) -> Json:
    return {"l2": {"volume": {"size": value}}}


SAME: dict[str, tuple[Json, Json]] = {
    "L2 on nodes": (L2, {}),
    "the same size, written otherwise": (merged(L2, size("1Ti")), size("1024Gi")),
    "the same size in bytes": (merged(L2, size("1Gi")), size(1073741824)),
    "model store": (STORE, {}),
    "bucket": (BUCKET, {}),
    "another folder of the bucket": (BUCKET, s3(mode="mountpoint", prefix="other")),
    "pool": (POOL, {}),
    "pool by CSI": (CSI, {}),
}


@pytest.mark.parametrize("case", SAME)
def test_no_change_is_no_fault(helm: Helm, case: str) -> None:
    before, change = SAME[case]
    with serve(installed(helm, before)) as url:
        assert helm.template(merged(before, change), extra=live_options(url)).objects


CHANGES: dict[str, tuple[Json, Json, str, str]] = {
    "lower": (L2, size("10Gi"), 'l2.volume.size: "10Gi"', "claim demo-l2 was made with 100Gi"),
    "larger": (L2, size("1Ti"), 'l2.volume.size: "1Ti"', "set it to 100Gi"),
    "moved": (
        L2, {"l2": {"volume": {"hostPath": {"path": "/other"}}}}, "l2.volume.hostPath.path: {", "kubectl delete pv tiered-kv-cache.demo-l2",
    ),
    "store, size": (STORE, {"modelStore": {"size": "1Gi"}}, 'modelStore.size: "1Gi"', "demo-model-store was made with"),
    "store, place": (STORE, {"modelStore": {"hostPath": {"path": "/o"}}}, "modelStore.hostPath.path: {", "moves no volume"),
    "bucket": (BUCKET, s3(mode="mountpoint", bucket="other"), "models.tiny.source.s3.bucket: {", "moves no volume"),
    "pool, size": (POOL, size("10Gi"), 'l2.volume.size: "10Gi"', "demo-l2 was made with 100Gi"),
    "pool by CSI, size": (CSI, size("10Gi"), 'l2.volume.size: "10Gi"', "was made with 100Gi; Kubernetes"),
    "masters, class": (
        POOL, {"curvine": {"masters": {"storage": {"storageClass": "fast"}}}}, 'curvine.masters.storage.storageClass: "fast"',
        "in no StatefulSet",
    ),
    "masters, size": (
        POOL, {"curvine": {"masters": {"storage": {"size": "10Gi"}}}}, 'curvine.masters.storage.size: "10Gi"', "made with 20Gi",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CHANGES)
def test_what_cannot_be_changed_is_refused(helm: Helm, case: str) -> None:
    before, change, *wanted = CHANGES[case]
    with serve(installed(helm, before)) as url:
        message = helm.refusal(merged(before, change), extra=live_options(url))
    assert message.count("why: ") == 1, message
    for text in (*wanted, "   fix: "):
        assert text in message, message


def test_another_class_of_the_claim_is_refused(helm: Helm) -> None:
    there = installed(helm, L2)
    claim = there["persistentvolumeclaims/tiered-kv-cache/demo-l2"]
    claim["spec"] = {**claim["spec"], "storageClassName": "fast"}
    with serve(there) as url:
        message = helm.refusal(L2, extra=live_options(url))
    assert 'l2.volume.type: "hostPath"' in message
    assert 'claim demo-l2 is of class "fast"' in message
    assert "helm uninstall demo -n tiered-kv-cache" in message


def test_a_class_that_the_cluster_filled_in_is_no_change(helm: Helm) -> None:
    """The masters' claims get the default class; the StatefulSet, which upgrades are compared with, keeps none."""
    (masters,) = helm.template(POOL).of("StatefulSet")
    assert "storageClassName" not in masters["spec"]["volumeClaimTemplates"][0]["spec"]
