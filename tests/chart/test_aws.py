"""The Job before install and upgrade that calls AWS: when there is one, what it is told, and what is refused beforehand."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chart.helm import Helm, Json, Manifests, environment, overlay
from tiered_kv_cache.aws.config import Settings, parse

NAME = "demo-aws"
ROLE = "arn:aws:iam::123456789012:role/x"
INFERENCE = {"name": "amazon-sagemaker-hyperpod-inference"}


def aws(**change: Any) -> Json:
    return {"hooks": {"aws": {"enabled": True, "region": "eu-west-1", "clusterName": "hp", **change}}}


def job(manifests: Manifests) -> Json:
    return manifests.get("Job", NAME)


def told(manifests: Manifests) -> Settings:
    """As the program itself reads it."""
    (container,) = job(manifests)["spec"]["template"]["spec"]["containers"]
    assert container["args"] == ["aws"]
    return parse(environment(container)["TKC_AWS"], "TKC_AWS")


def test_there_is_none_by_default(helm: Helm) -> None:
    assert not [each for each in helm.template().objects if each["metadata"]["name"] == NAME]
    assert not [each for each in helm.template(aws(enabled=False)).objects if each["metadata"]["name"] == NAME]
    assert not helm.template(aws(), {"enabled": False}).objects


def test_by_default_it_only_shows_what_it_would_change(helm: Helm) -> None:
    found = told(helm.template(aws()))
    assert (found.region, found.cluster, found.eks_cluster, found.percentage, found.apply) == (
        "eu-west-1",
        "hp",
        "",
        20,
        False,
    )
    assert [addon.name for addon in found.addons] == [
        "aws-mountpoint-s3-csi-driver", "aws-fsx-csi-driver", "metrics-server", "cert-manager", INFERENCE["name"],
    ]  # fmt: skip
    assert {addon.conflicts for addon in found.addons} == {"PRESERVE"}


def test_what_it_is_told(helm: Helm) -> None:
    addon = {
        "name": "metrics-server", "version": "v1", "serviceAccountRoleArn": ROLE, "resolveConflicts": "OVERWRITE",
        "configuration": {"replicas": 1000000, "nested": {"x": [True, "1"]}},
    }  # fmt: skip
    found = told(helm.template(aws(apply=True, eksClusterName="kv", tieredStorage={"percentage": 35}, addons=[addon])))
    assert (found.apply, found.eks_cluster, found.percentage) == (True, "kv", 35)
    (read,) = found.addons
    assert (read.version, read.role, read.conflicts) == ("v1", ROLE, "OVERWRITE")
    assert read.configuration == addon["configuration"]
    assert told(helm.template(aws(tieredStorage={"enabled": False}))).percentage is None


def test_it_ends_before_its_job(helm: Helm) -> None:
    manifests = helm.template(aws(deadlineSeconds=1000000))
    assert job(manifests)["spec"]["activeDeadlineSeconds"] == 1000000
    assert told(manifests).deadline == 999985
    assert job(manifests)["spec"]["backoffLimit"] == 0


def test_all_of_it_runs_before_the_release_and_in_its_order(helm: Helm) -> None:
    manifests = helm.template(aws())
    found = {
        each["kind"]: each["metadata"]["annotations"] for each in manifests.objects if each["metadata"]["name"] == NAME
    }
    assert found.keys() == {"ServiceAccount", "NetworkPolicy", "Job"}, "no rights in the cluster"
    assert {each["helm.sh/hook"] for each in found.values()} == {"pre-install,pre-upgrade"}
    weights = {kind: int(each["helm.sh/hook-weight"]) for kind, each in found.items()}
    assert max(weights["ServiceAccount"], weights["NetworkPolicy"]) < weights["Job"] < 0, "preflight's is 0 or more"


def test_its_identity_is_the_accounts_role(helm: Helm) -> None:
    manifests = helm.template(
        aws(roleArn=ROLE, serviceAccountAnnotations={"eks.amazonaws.com/sts-regional-endpoints": "true"})
    )
    annotations = manifests.get("ServiceAccount", NAME)["metadata"]["annotations"]
    assert annotations["eks.amazonaws.com/role-arn"] == ROLE
    assert annotations["eks.amazonaws.com/sts-regional-endpoints"] == "true"
    spec = job(manifests)["spec"]["template"]["spec"]
    assert (spec["serviceAccountName"], spec["automountServiceAccountToken"]) == (NAME, False)
    assert environment(spec["containers"][0])["AWS_EC2_METADATA_DISABLED"] == "true"
    assert not [each for each in spec["containers"][0]["env"] if "valueFrom" in each or "SECRET" in each["name"]]


def test_it_reaches_aws_and_nothing_reaches_it(helm: Helm) -> None:
    spec = helm.template(aws()).get("NetworkPolicy", NAME)["spec"]
    assert (spec["policyTypes"], spec["ingress"]) == (["Ingress", "Egress"], [])
    anywhere, agent = spec["egress"]
    assert {(each["protocol"], each["port"]) for each in anywhere["ports"]} == {("TCP", 443), ("UDP", 53), ("TCP", 53)}
    assert [each["ipBlock"]["cidr"] for each in agent["to"]] == ["169.254.170.23/32", "fd00:ec2::23/128"]
    without = helm.template(aws(), {"networkPolicy": {"enabled": False}})
    assert not [each for each in without.of("NetworkPolicy") if each["metadata"]["name"] == NAME]


def test_it_needs_no_model(helm: Helm) -> None:
    manifests = helm.run("-f", "-", given=json.dumps(overlay(aws()) | {"models": {}}))
    assert job(manifests)


FAULTS: dict[str, tuple[Json, list[str]]] = {
    "no region": (aws(region=""), ['hooks.aws.region: ""', "hooks.aws.enabled is true", "eu-west-1"]),
    "a zone": (aws(region="eu-west-1a"), ['hooks.aws.region: "eu-west-1a"', "no region's name"]),
    "no cluster": (aws(clusterName=""), ['hooks.aws.clusterName: ""', "aws sagemaker list-clusters"]),
    "ARN of another kind": (
        aws(clusterName="arn:aws:eks:eu-west-1:123456789012:cluster/kv"),
        ["hooks.aws.clusterName: "],
    ),
    "EKS cluster": (aws(eksClusterName="a b"), ['hooks.aws.eksClusterName: "a b"', "leave it empty"]),
    "percentage": (
        aws(tieredStorage={"percentage": 101}),
        ["hooks.aws.tieredStorage.percentage: 101", "give 20 to 100"],
    ),
    "negative": (aws(tieredStorage={"percentage": -1}), ["hooks.aws.tieredStorage.percentage: -1"]),
    "another platform": (aws() | {"platform": "kubernetes"}, ["hooks.aws.enabled: true", "platform is kubernetes"]),
    "role": (aws(roleArn="admin"), ['hooks.aws.roleArn: "admin"', "arn:aws:iam::123456789012:role/name"]),
    "two roles": (
        aws(roleArn=ROLE, serviceAccountAnnotations={"eks.amazonaws.com/role-arn": ROLE}),
        ["hooks.aws.roleArn: ", "keep one of both"],
    ),
    "annotation's name": (
        aws(serviceAccountAnnotations={"a" * 64: "x"}),
        ["hooks.aws.serviceAccountAnnotations", "no legal key"],
    ),
    "annotation's value": (
        aws(serviceAccountAnnotations={"key": 83}),
        ['hooks.aws.serviceAccountAnnotations: {"key":83}', "quote it"],
    ),
    "add-on's role": (
        aws(addons=[{"name": "x", "serviceAccountRoleArn": "admin"}]),
        ['hooks.aws.addons[0].serviceAccountRoleArn: "admin"'],
    ),
    "add-on without name": (aws(addons=[{"name": ""}]), ['hooks.aws.addons[0].name: ""', "describe-addon-versions"]),
    "add-on twice": (aws(addons=[{"name": "x"}, {"name": "x"}]), ['hooks.aws.addons[1].name: "x"', "twice"]),
    "order": (
        aws(addons=[INFERENCE, {"name": "cert-manager"}]),
        ['hooks.aws.addons[1].name: "cert-manager"', "put amazon-sagemaker-hyperpod-inference last"],
    ),
    "apply of null": (aws(apply=None), ["hooks.aws.apply: not given", "null deletes the default"]),
    "image": (
        aws() | {"models": None, "hooks": aws()["hooks"] | {"image": {"tag": ""}}},
        ["hooks.image.tag", "neither a tag nor a digest"],
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_is_refused_with_key_value_and_fix(helm: Helm, case: str) -> None:
    helm.assert_refused(*FAULTS[case])


def test_off_nothing_of_it_is_looked_at(helm: Helm) -> None:
    assert helm.template({"hooks": {"aws": {"region": "?", "clusterName": "?"}}}).text == helm.template().text


@pytest.mark.parametrize("key", ["accessKeyId", "secretAccessKey", "credentials"])
def test_there_is_no_key_for_credentials(helm: Helm, key: str) -> None:
    message = helm.refusal(aws(**{key: "AKIA"}))
    assert key in message
    assert "additional properties" in message.lower()
