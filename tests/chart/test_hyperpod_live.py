"""What the cluster tells of the Inference Operator: platform, fields, endpoints that are there, ServiceAccounts."""

from __future__ import annotations

import copy

import pytest

from chart.apiserver import OPERATOR, serve
from chart.cases import HYPERPOD
from chart.helm import Helm, Json, merged, model
from chart.test_live import ACCOUNT, KV, MODELS, OWNED, live_options
from crds.endpoints import definition

CRD = "customresourcedefinitions//inferenceendpointconfigs.inference.sagemaker.aws.amazon.com"
AUTO = merged(HYPERPOD, {"platform": "auto"})
HERE: Json = {**ACCOUNT, **KV, **MODELS}


def served(**fields: Json) -> Json:
    """AWS's definition with further properties of spec.kubernetes, as a newer operator may have."""
    found = copy.deepcopy(definition())
    (version,) = [each for each in found["spec"]["versions"] if each["name"] == "v1"]
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    spec["kubernetes"]["properties"].update(fields)
    return {CRD: {"spec": found["spec"]}}


def endpoint(spec: Json) -> Json:
    """The release's endpoint, as the cluster has it."""
    metadata = {"name": "demo-tiny", "namespace": "tiered-kv-cache", **OWNED}
    return {"inferenceendpointconfigs/tiered-kv-cache/demo-tiny": {"metadata": metadata, "spec": spec}}


def live(helm: Helm, objects: Json, *layers: Json) -> Json:
    with serve({**HERE, **objects}, OPERATOR) as url:
        manifests = helm.template(AUTO, *layers, extra=live_options(url))
    return manifests.get("InferenceEndpointConfig", "demo-tiny")


def refused(helm: Helm, objects: Json, *layers: Json, more: Json | None = OPERATOR) -> str:
    with serve({**HERE, **objects}, more) as url:
        return helm.refusal(AUTO, *layers, extra=live_options(url))


def test_auto_is_hyperpod_where_the_resource_is_served(helm: Helm) -> None:
    assert live(helm, {})["spec"]["replicas"] == 2


def test_hyperpod_without_the_resource_is_refused(helm: Helm) -> None:
    message = refused(helm, {}, {"platform": "hyperpod"}, more=None)
    assert message.count("why: ") == 1
    assert 'platform: "hyperpod"' in message
    assert "this cluster serves no InferenceEndpointConfig" in message


@pytest.mark.parametrize(
    ("field", "values", "place"),
    [
        ("podTemplateAnnotations", {"podAnnotations": {"a": "b"}}, {"a": "b"}),
        ("podTemplateLabels", {"podLabels": {"kueue.x-k8s.io/queue-name": "a"}}, {"kueue.x-k8s.io/queue-name": "a"}),
        ("tolerations", {"tolerations": [{"operator": "Exists"}]}, [{"operator": "Exists"}]),
        ("priorityClassName", {"priorityClassName": "high"}, "high"),
    ],
)
def test_newer_fields_go_where_the_served_definition_has_them(
    helm: Helm, field: str, values: Json, place: object
) -> None:
    found = live(helm, served(**{field: {"type": "object"}}), model(**values))
    assert found["spec"]["kubernetes"][field] == place
    message = refused(helm, served(), model(**values))
    assert message.count("why: ") == 1
    assert "the definition that the cluster serves has no field for it" in message


def test_a_version_saves_the_look(helm: Helm) -> None:
    """Who may only work in one namespace may not read definitions."""
    values = {"inferenceOperator": {"version": "3.7"}}
    found = live(helm, {}, values, model(tolerations=[{"operator": "Exists"}]))
    assert found["spec"]["kubernetes"]["tolerations"]


@pytest.mark.parametrize(("before", "after"), [(True, False), (False, True)])
def test_routing_of_a_live_endpoint_stays(helm: Helm, before: bool, after: bool) -> None:
    there = endpoint({"intelligentRoutingSpec": {"enabled": before}} if before else {})
    message = refused(helm, there, model(hyperpod={"intelligentRouting": after}))
    assert message.count("why: ") == 1
    assert "hyperpod.intelligentRouting" in message
    assert "the operator refuses to change it" in message
    assert "kubectl delete inferenceendpointconfig demo-tiny -n tiered-kv-cache" in message
    assert live(helm, there, model(hyperpod={"intelligentRouting": before}))


def test_replicas_stay_when_autoscaling_is_switched_on(helm: Helm) -> None:
    """Helm would delete the number, and the definition's default is one Pod."""
    there = endpoint({"replicas": 2, "intelligentRoutingSpec": {"enabled": True}})
    trigger = {"namespace": "a", "metricName": "b", "targetValue": 1}
    values = model(autoscaling={"enabled": True}, hyperpod={"autoscaling": {"cloudWatchTriggers": [trigger]}})
    assert live(helm, there, values)["spec"]["replicas"] == 2
    assert "replicas" not in live(helm, {}, values)["spec"]


def account(labels: Json) -> Json:
    return {"serviceaccounts/tiered-kv-cache/m-sa": {"metadata": {"name": "m-sa", "labels": labels}}}


def test_the_account_must_be_there_and_opted_in(helm: Helm) -> None:
    values = model(hyperpod={"serviceAccountName": "m-sa"})
    missing = refused(helm, {}, values)
    assert "has no ServiceAccount of this name" in missing
    bare = refused(helm, account({"a": "b"}), values)
    assert "kubectl label serviceaccount m-sa -n tiered-kv-cache sagemaker.amazonaws.com/user-assignable=true" in bare
    labelled = live(helm, account({"sagemaker.amazonaws.com/user-assignable": "true"}), values)
    assert labelled["spec"]["kubernetes"]["serviceAccountName"] == "m-sa"


def test_the_hubs_secret_must_be_there(helm: Helm) -> None:
    hub = {"id": "org/Model", "revision": "0123456789" * 4, "tokenSecret": {"name": "hub"}}
    message = refused(helm, {}, model(source={"claim": None, "huggingFace": hub}))
    assert message.count("why: ") == 1
    assert "has no Secret of this name" in message


def test_autoscaling_needs_no_keda_of_the_clusters(helm: Helm) -> None:
    trigger = {"namespace": "a", "metricName": "b", "targetValue": 1}
    values = model(autoscaling={"enabled": True}, hyperpod={"autoscaling": {"cloudWatchTriggers": [trigger]}})
    assert live(helm, {}, values)["spec"]["autoScalingSpec"]
