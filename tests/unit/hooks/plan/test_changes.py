"""What differs, and what that does."""

from __future__ import annotations

import base64
import copy
import gzip
import json

import pytest

from emulators.objects import FakeObjects
from tiered_kv_cache.deadline import Deadline
from tiered_kv_cache.objects import Denied
from tiered_kv_cache.plan.changes import Change, changes
from tiered_kv_cache.plan.live import Live, of_release
from tiered_kv_cache.plan.plan import make

from .release import Json, engine, hook, keeper, router, text


def changed(of: Json, **how: object) -> Change:
    """The one change between an engine and another."""
    (found,) = changes([engine()], [of])
    return found


def test_equal_objects_are_not_named() -> None:
    assert changes([engine(), router()], [router(), engine()]) == []


def test_added_and_removed() -> None:
    found = changes([engine(), router()], [router(), keeper()])
    assert [(each.what, str(each.key)) for each in found] == [
        ("added", "ConfigMap r-keeper-0"),
        ("removed", "Deployment r-m-engine"),
    ]


def test_fields_by_name_and_not_by_place() -> None:
    after = engine()
    pod = after["spec"]["template"]["spec"]
    pod["containers"][1]["resources"]["requests"]["memory"] = "50Gi"
    pod["containers"].append({"name": "new"})
    found = changed(after)
    assert [str(each) for each in found.fields] == [
        'spec.template.spec.containers[lmcache].resources.requests.memory: "42Gi" -> "50Gi"',
        'spec.template.spec.containers[new]: nothing -> {"name": "new"}',
    ]
    assert found.effect == "Pods are replaced"


def test_order_of_named_items_counts() -> None:
    after = engine()
    after["spec"]["template"]["spec"]["containers"].reverse()
    (field,) = changed(after).fields
    assert field.path == "spec.template.spec.containers (order)"


def test_a_number_is_no_text_and_no_truth() -> None:
    after = engine()
    after["spec"]["replicas"] = "2"
    assert changed(after).effect == ""
    after["spec"]["replicas"] = True
    assert [str(each) for each in changed(after).fields] == ["spec.replicas: 2 -> true"]


def test_another_fingerprint_is_told() -> None:
    after = engine()
    after["spec"]["template"]["metadata"]["annotations"]["tiered-kv-cache.io/config-hash"] = "4567"
    assert "another fingerprint" in changed(after).effect


def helms(release: str, version: int, manifest: str, hooks: tuple[str, ...] = (), status: str = "deployed") -> Json:
    """A Secret as Helm keeps it."""
    record = {"manifest": manifest, "hooks": [{"manifest": each} for each in hooks]}
    packed = base64.b64encode(base64.b64encode(gzip.compress(json.dumps(record).encode()))).decode()
    labels = {"owner": "helm", "name": release, "version": str(version), "status": status}
    return {
        "metadata": {"name": f"sh.helm.release.v1.{release}.v{version}", "labels": labels},
        "data": {"release": packed},
    }


def cluster(*secrets: Json) -> FakeObjects:
    found = FakeObjects()
    for each in secrets:
        found.objects[f"/api/v1/namespaces/retail/secrets/{each['metadata']['name']}"] = each
    return found


def read(of: FakeObjects) -> Live:
    return of_release(of, "r", "retail", Deadline(10))


def test_the_newest_revision_is_what_runs() -> None:
    live = read(cluster(*(helms("r", n, text(engine(replicas=n)), (text(hook()),)) for n in (2, 10, 9))))
    assert live.source == "revision 10 (deployed)"
    found = make([engine(replicas=3), hook()], {}, None, None, live)
    assert found.changes is not None
    assert [str(field) for each in found.changes for field in each.fields] == ["spec.replicas: 10 -> 3"]


def test_without_a_release_all_is_added() -> None:
    for live in (read(cluster()), read(cluster(helms("r", 1, text(engine()), status="uninstalled")))):
        found = make([engine(), hook()], {}, None, None, live).changes
        assert found is not None
        assert [each.what for each in found] == ["added", "added"]


def test_a_file_of_helm_get_manifest_has_no_hooks() -> None:
    found = make([engine(), hook()], {}, None, None, Live([engine()], source="x"))
    assert found.changes == []


def test_a_secret_that_is_none_of_helms() -> None:
    broken = helms("r", 1, "")
    broken["data"]["release"] = "AAAA"
    live = read(cluster(broken))
    assert live.objects is None
    assert "sh.helm.release.v1.r.v1" in live.why


def test_who_may_not_look_is_told() -> None:
    denied = copy.copy(cluster())
    denied.denied = {"list secrets"}
    with pytest.raises(Denied):
        read(denied)
