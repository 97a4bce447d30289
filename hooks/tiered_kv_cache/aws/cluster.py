"""Stage 1: tiered storage of the HyperPod cluster. AWS refuses a change of it alone, so that something else is sent back unchanged."""

from __future__ import annotations

from typing import Any

from ..deadline import DeadlinePassed
from ..findings import Finding
from .api import Api, AwsError
from .changes import Call, JsonObject, differences
from .config import LEAST_ADVISED, Settings
from .iam import Need, Permissions
from .result import CHANGED, FAILED, WOULD_CHANGE, Step
from .waits import late, until

BUSY = ("Creating", "RollingBack", "SystemUpdating", "Updating")
BROKEN = ("Failed", "Deleting")
NAME = "tiered storage"

# Where the answer to DescribeCluster has another name for what UpdateCluster takes.
OTHER_NAMES = {"InstanceCount": ("TargetCount",), "MinInstanceCount": ("MinCount",)}


class TieredStorage:
    """One run of the stage."""

    def __init__(self, api: Api, groups: Any, permissions: Permissions, settings: Settings) -> None:
        """``groups``: botocore's shape of UpdateCluster's InstanceGroups."""
        self._api, self._groups, self._permissions, self._settings = api, groups, permissions, settings
        self.cluster: JsonObject = {}

    def run(self) -> Step:
        """All of it. Faults are the step's."""
        step = Step(NAME)
        try:
            self._look()
            step.shown = self._state()
            if fault := self._unfit():
                return step.fail(fault)
            if self._settings.percentage is None:
                step.shown += "; not asked for"
                return step
            self._advise(step)
            if self._status in BUSY:
                if not self._settings.apply:
                    what = f"the cluster is {self._status}: what is shown may change until it is InService"
                    step.warn(Finding(what, "nothing; with hooks.aws.apply: true it is waited for"))
                else:
                    self._wait_for_service()
                    if fault := self._unfit():
                        return step.fail(fault)
            step.changes = differences(self._config, self._wanted, "TieredStorageConfig")
            if step.changes:
                self._change(step)
            step.shown = self._state()
        except AwsError as err:
            step.fail(_explained(err, self._settings))
        except DeadlinePassed as err:
            step.fail(late(err))
        return step

    @property
    def _status(self) -> str:
        return str(self.cluster["ClusterStatus"])

    @property
    def _config(self) -> JsonObject:
        return dict(self.cluster.get("TieredStorageConfig") or {})

    @property
    def _wanted(self) -> JsonObject:
        return {"Mode": "Enable", "InstanceMemoryAllocationPercentage": self._settings.percentage}

    def _look(self) -> JsonObject:
        self.cluster = self._api.call("DescribeCluster", ClusterName=self._settings.cluster)
        return self.cluster

    def _state(self) -> str:
        config = self._config
        mode = f"{config['Mode']}, {config.get('InstanceMemoryAllocationPercentage', '?')} %" if config else "none"
        return f"{self._status}; tiered storage {mode}"

    def _unfit(self) -> Finding | None:
        """Why this cluster is not changed."""
        settings = self._settings
        if self._status in BROKEN:
            why = self.cluster.get("FailureMessage") or "AWS gives no message"
            return Finding(
                f"cluster {settings.cluster} is {self._status}: {why}", "mend it first, or name another cluster"
            )
        eks = str(((self.cluster.get("Orchestrator") or {}).get("Eks") or {}).get("ClusterArn", ""))
        if not eks:
            what = (
                f"hooks.aws.clusterName: {settings.cluster} is not orchestrated by EKS, and tiered storage needs that"
            )
            return Finding(what, "name a HyperPod cluster that was made for an EKS cluster")
        if settings.eks_cluster and eks.rsplit("/", 1)[-1] != settings.eks_cluster:
            what = f"hooks.aws.eksClusterName: {settings.eks_cluster}, but {settings.cluster} belongs to {eks}"
            return Finding(
                what, f"set it to {eks.rsplit('/', 1)[-1]}, or leave it empty; or correct hooks.aws.clusterName"
            )
        return None

    def _advise(self, step: Step) -> None:
        percentage = self._settings.percentage
        if percentage is not None and percentage < LEAST_ADVISED:
            what = f"hooks.aws.tieredStorage.percentage: {percentage} is taken by the API (0 to 100), but AWS's walkthrough says 20 to 100"
            step.warn(Finding(what, "give 20 or more, unless you know that less is enough"))

    def _change(self, step: Step) -> None:
        parameters = {
            "ClusterName": self._settings.cluster,
            "TieredStorageConfig": self._wanted,
            **self._unchanged(step),
        }
        if step.state == FAILED:
            return
        step.call = Call("sagemaker", "UpdateCluster", parameters)
        needs = [Need("sagemaker:UpdateCluster", self.cluster["ClusterArn"])]
        roles = {group["ExecutionRole"] for group in parameters.get("InstanceGroups", [])}
        needs += [Need("iam:PassRole", role) for role in sorted(roles)]
        if not permitted(step, self._permissions, needs, self._settings.apply):
            return
        if not self._settings.apply:
            step.state = WOULD_CHANGE
            return
        self._update(parameters)
        if fault := self._settled():
            step.fail(fault)
        else:
            step.state = CHANGED

    def _unchanged(self, step: Step) -> JsonObject:
        """What is sent back as it is: the node recovery, and where there is none the instance groups."""
        if recovery := self.cluster.get("NodeRecovery"):
            return {"NodeRecovery": recovery}
        if groups := self.cluster.get("InstanceGroups"):
            return {"InstanceGroups": [resent(group, self._groups) for group in groups]}
        what = f"cluster {self._settings.cluster} tells neither a node recovery nor instance groups, one of which must be sent back"
        step.fail(Finding(what, "set its node recovery first (update-cluster --node-recovery), then run this again"))
        return {}

    def _update(self, parameters: JsonObject) -> None:
        while True:
            try:
                self._api.call("UpdateCluster", **parameters)
                return
            except AwsError as err:
                if err.code != "ConflictException":
                    raise
            # Somebody else was quicker; their change ends before ours begins.
            self._api.say("the cluster is being changed by somebody else")
            self._api.deadline.sleep(15)
            self._wait_for_service()

    def _wait_for_service(self) -> None:
        def told(found: JsonObject) -> str:
            return f"cluster {self._settings.cluster} is {found['ClusterStatus']}"

        until(self._look, lambda found: found["ClusterStatus"] not in BUSY, told, self._api.deadline, self._api.say)

    def _settled(self) -> Finding | None:
        """Wait until the change is there; a fault if it is not."""
        seen: set[str] = set()

        def done(found: JsonObject) -> bool:
            status = found["ClusterStatus"]
            there = status == "InService" and not differences(self._config, self._wanted, "")
            # Right after the call it may still say InService with the old values.
            over = status in BROKEN or (status == "InService" and bool(seen))
            if status in BUSY:
                seen.add(status)
            return there or over

        def told(found: JsonObject) -> str:
            return f"cluster {self._settings.cluster} is {found['ClusterStatus']}; tiered storage {self._config.get('Mode', 'none')}"

        until(self._look, done, told, self._api.deadline, self._api.say)
        if fault := self._unfit():
            return fault
        if left := differences(self._config, self._wanted, "TieredStorageConfig"):
            why = self.cluster.get("FailureMessage") or "AWS gives no message"
            what = f"AWS took the change back ({', '.join(map(str, left))}): {why}"
            return Finding(
                what,
                "see the cluster's events (aws sagemaker list-cluster-events), mend what they name, run this again",
            )
        return None


def resent(details: JsonObject, shape: Any) -> JsonObject:
    """What DescribeCluster told of a structure, in the shape that a request takes: only its members, read recursively.

    ``shape``: botocore's. Where there is a current and a desired state, the desired one is what the cluster was asked for.
    """
    found: JsonObject = {}
    for name, member in shape.members.items():
        for candidate in (name, *OTHER_NAMES.get(name, ()), f"Desired{name}"):
            if details.get(candidate) is not None:
                found[name] = _resent_value(details[candidate], member)
                break
    # One release says which image it is; AWS takes one of both.
    if "ImageId" in found:
        found.pop("ImageReleaseVersion", None)
    return found


def _resent_value(value: Any, shape: Any) -> Any:
    if shape.type_name == "structure":
        return resent(value, shape)
    if shape.type_name == "list":
        return [_resent_value(each, shape.member) for each in value]
    return value


def permitted(step: Step, permissions: Permissions, needs: list[Need], apply: bool) -> bool:
    """Whether the change may be tried. What lacks is the step's fault where changes are made, else a warning."""
    lacking, certain = permissions.lacking(needs)
    for finding in lacking:
        if apply and certain:
            step.fail(finding)
        else:
            step.warn(finding)
    return not (apply and certain and lacking)


def _explained(err: AwsError, settings: Settings) -> Finding:
    if err.code in ("ResourceNotFound", "ResourceNotFoundException"):
        what = f"hooks.aws.clusterName: {settings.cluster} is no HyperPod cluster of region {settings.region} in this account"
        return Finding(
            what, f"correct hooks.aws.clusterName or region: aws sagemaker list-clusters --region {settings.region}"
        )
    if err.code in ("ValidationException", "ResourceLimitExceeded"):
        fix = (
            "correct what AWS names; hooks.aws.tieredStorage.percentage is 0 to 100 for the API, 20 to 100 in AWS's walkthrough"
            if err.code == "ValidationException"
            else "ask AWS for a higher quota, or free what it names"
        )
        return Finding(err.finding.what, fix)
    return err.finding
