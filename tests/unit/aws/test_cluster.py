"""Stage 1: tiered storage. Every call is checked against SageMaker's model; what is asked beyond what is written down fails."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from .account import CLUSTER, EKS, Account, Json, texts

APPLY: Json = {"apply": True}
UPDATE = ("sagemaker:UpdateCluster", CLUSTER)


def test_first_run(account: Account) -> None:
    account.cluster()
    account.allows(UPDATE)
    account.updates()
    account.cluster()  # Right after the call AWS may still say the old.
    account.cluster("Updating")
    account.cluster(percentage=20)
    result = account.run(APPLY)
    (step,) = result.steps
    assert (result.ok, step.state) == (True, "changed")
    assert step.shown == "InService; tiered storage Enable, 20 %"
    assert [change.key for change in step.changes] == [
        "TieredStorageConfig.InstanceMemoryAllocationPercentage",
        "TieredStorageConfig.Mode",
    ]
    assert "cluster hp is Updating; tiered storage none" in account.said


def test_second_run_changes_nothing(account: Account) -> None:
    account.cluster(percentage=20)
    result = account.run(APPLY)
    assert (result.ok, result.steps[0].state, account.changing) == (True, "as wanted", [])


def test_dry_run_shows_the_difference_and_the_call(account: Account) -> None:
    account.cluster(percentage=30)
    account.allows(UPDATE)
    result = account.run({})
    (step,) = result.steps
    assert (result.ok, step.state, account.changing) == (True, "would change", [])
    assert [str(change) for change in step.changes] == [
        "TieredStorageConfig.InstanceMemoryAllocationPercentage: 30 -> 20"
    ]
    assert step.call is not None
    assert step.call.to_json() == {
        "service": "sagemaker",
        "operation": "UpdateCluster",
        "parameters": {
            "ClusterName": "hp",
            "TieredStorageConfig": {"Mode": "Enable", "InstanceMemoryAllocationPercentage": 20},
            "NodeRecovery": "Automatic",
        },
    }


def test_the_node_recovery_that_is_there_is_sent_back(account: Account) -> None:
    account.cluster(NodeRecovery="None")
    account.allows(UPDATE)
    account.updates(NodeRecovery="None")
    account.cluster(percentage=20)
    assert account.run(APPLY).ok


GROUP: Json = {
    "CurrentCount": 1, "TargetCount": 2, "MinCount": 1, "InstanceGroupName": "gpu", "InstanceType": "ml.g6e.4xlarge",
    "LifeCycleConfig": {"SourceS3Uri": "s3://b/x", "OnCreate": "on_create.sh"}, "ThreadsPerCore": 2, "Status": "InService",
    "ExecutionRole": "arn:aws:iam::123456789012:role/nodes",
    "InstanceStorageConfigs": [{"EbsVolumeConfig": {"VolumeSizeInGB": 500}}],
    "KubernetesConfig": {"CurrentLabels": {"a": "old"}, "DesiredLabels": {"a": "b"}},
    "CurrentImageId": "ami-0123456789", "DesiredImageId": "ami-0123456789",
}  # fmt: skip
RESENT: Json = {
    "InstanceCount": 2, "MinInstanceCount": 1, "InstanceGroupName": "gpu", "InstanceType": "ml.g6e.4xlarge",
    "LifeCycleConfig": {"SourceS3Uri": "s3://b/x", "OnCreate": "on_create.sh"}, "ThreadsPerCore": 2,
    "ExecutionRole": "arn:aws:iam::123456789012:role/nodes",
    "InstanceStorageConfigs": [{"EbsVolumeConfig": {"VolumeSizeInGB": 500}}],
    "KubernetesConfig": {"Labels": {"a": "b"}}, "ImageId": "ami-0123456789",
}  # fmt: skip


def test_without_node_recovery_the_instance_groups_are_sent_back_in_the_request_shape(account: Account) -> None:
    account.cluster(NodeRecovery=None, InstanceGroups=[GROUP])
    account.allows(UPDATE, ("iam:PassRole", GROUP["ExecutionRole"]))
    account.updates(InstanceGroups=[RESENT])
    account.cluster(percentage=20, NodeRecovery=None, InstanceGroups=[GROUP])
    assert account.run(APPLY).ok


def test_neither_node_recovery_nor_groups(account: Account) -> None:
    account.cluster(NodeRecovery=None)
    result = account.run(APPLY)
    assert "neither a node recovery nor instance groups" in texts(result)
    assert account.changing == []


@pytest.mark.parametrize("status", ["Creating", "RollingBack", "SystemUpdating", "Updating"])
def test_mid_update_is_waited_for(account: Account, status: str) -> None:
    account.cluster(status)
    account.cluster(status)
    account.cluster()
    account.allows(UPDATE)
    account.updates()
    account.cluster(percentage=20)
    assert account.run(APPLY).ok
    assert account.said == [f"cluster hp is {status}"]


def test_mid_update_is_reported_by_a_dry_run(account: Account) -> None:
    account.cluster("Updating")
    account.allows(UPDATE)
    result = account.run({})
    assert result.ok
    assert "warn: the cluster is Updating" in texts(result)


def test_mid_update_to_what_is_wanted_changes_nothing(account: Account) -> None:
    account.cluster("Updating", percentage=20)
    account.cluster(percentage=20)
    assert account.run(APPLY).steps[0].state == "as wanted"
    assert account.changing == []


@pytest.mark.parametrize("status", ["Failed", "Deleting"])
def test_a_broken_cluster_is_told_with_its_message(account: Account, status: str) -> None:
    account.cluster(status, FailureMessage="no capacity")
    result = account.run(APPLY | {"addons": [{"name": "metrics-server"}]})
    assert f"FAIL: cluster hp is {status}: no capacity" in texts(result)
    assert [step.state for step in result.steps] == ["FAILED", "not tried"]


def test_a_cluster_that_breaks_while_it_is_waited_for(account: Account) -> None:
    account.cluster("Updating")
    account.cluster("Failed", FailureMessage="lifecycle script")
    assert "cluster hp is Failed: lifecycle script" in texts(account.run(APPLY))


def test_a_change_that_aws_takes_back(account: Account) -> None:
    account.cluster()
    account.allows(UPDATE)
    account.updates()
    account.cluster("Updating", percentage=20)
    account.cluster("RollingBack")
    account.cluster(FailureMessage="node did not come back")
    result = account.run(APPLY)
    assert "AWS took the change back" in texts(result)
    assert "node did not come back" in texts(result)


def test_refused_input(account: Account) -> None:
    account.cluster()
    account.allows(UPDATE)
    account.error("sagemaker", "update_cluster", "ValidationException", "percentage must be at least 20")
    text = texts(account.run(APPLY | {"tieredStorage": {"percentage": 10}}))
    assert (
        "warn: hooks.aws.tieredStorage.percentage: 10 is taken by the API (0 to 100), but AWS's walkthrough says 20"
        in text
    )
    assert "FAIL: sagemaker:UpdateCluster was refused: ValidationException: percentage must be at least 20" in text


def test_quota(account: Account) -> None:
    account.cluster()
    account.allows(UPDATE)
    account.error("sagemaker", "update_cluster", "ResourceLimitExceeded", "limit")
    assert "ask AWS for a higher quota" in texts(account.run(APPLY))


def test_no_such_cluster(account: Account) -> None:
    account.error("sagemaker", "describe_cluster", "ResourceNotFound", "not found")
    text = texts(account.run(APPLY))
    assert "hooks.aws.clusterName: hp is no HyperPod cluster of region eu-west-1" in text
    assert "aws sagemaker list-clusters --region eu-west-1" in text


def test_throttling_is_shown_and_waited_for(account: Account) -> None:
    account.error("sagemaker", "describe_cluster", "ThrottlingException")
    account.error("sagemaker", "describe_cluster", "InternalFailure")
    account.cluster()
    account.allows(UPDATE)
    account.error("sagemaker", "update_cluster", "ThrottlingException")
    account.updates()
    account.cluster(percentage=20)
    assert account.run(APPLY).ok
    assert account.said == [
        "sagemaker:DescribeCluster: AWS throttles (ThrottlingException); again in 2 s",
        "sagemaker:DescribeCluster: AWS has a fault of its own (InternalFailure); again in 4 s",
        "sagemaker:UpdateCluster: AWS throttles (ThrottlingException); again in 2 s",
    ]


def test_throttling_ends_at_the_deadline(account: Account) -> None:
    for _ in range(4):
        account.error("sagemaker", "describe_cluster", "ThrottlingException")
    result = account.run(APPLY, deadline=20)
    assert "the deadline of 20 s passed while calling sagemaker:DescribeCluster" in texts(result)


def test_time_out_while_waiting(account: Account) -> None:
    account.cluster()
    account.allows(UPDATE)
    account.updates()
    for _ in range(2):
        account.cluster("Updating")
    text = texts(account.run(APPLY, deadline=25))
    assert "the deadline of 25 s passed while waiting: cluster hp is Updating" in text
    assert "AWS goes on by itself: run this again" in text


def test_somebody_else_is_quicker(account: Account) -> None:
    account.cluster()
    account.allows(UPDATE)
    account.error("sagemaker", "update_cluster", "ConflictException")
    account.cluster("Updating")
    account.cluster()
    account.updates()
    account.cluster(percentage=20)
    assert account.run(APPLY).ok
    assert account.said[0] == "the cluster is being changed by somebody else"


def test_another_eks_cluster(account: Account) -> None:
    account.cluster()
    text = texts(account.run(APPLY | {"eksClusterName": "other"}))
    assert f"hooks.aws.eksClusterName: other, but hp belongs to {EKS}" in text
    assert account.changing == []


def test_slurm(account: Account) -> None:
    account.cluster(Orchestrator=None)
    assert "is not orchestrated by EKS" in texts(account.run(APPLY))


def test_not_asked_for(account: Account) -> None:
    account.cluster(percentage=50)
    result = account.run(APPLY | {"tieredStorage": {"enabled": False}})
    assert (result.steps[0].state, account.changing) == ("as wanted", [])


def test_no_connection(account: Account, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreached(**_: Any) -> None:
        raise EndpointConnectionError(endpoint_url="https://api.sagemaker")

    monkeypatch.setattr(account.clients["sagemaker"], "describe_cluster", unreached)
    text = texts(account.run(APPLY))
    assert "sagemaker:DescribeCluster is not reached" in text
    assert "port 443" in text
    assert account.seconds < 200
