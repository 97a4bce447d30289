"""Stage 2: the EKS add-ons, each in its turn. What is on the cluster stays, with what is wanted laid over it."""

from __future__ import annotations

import json
from typing import Any

from ..deadline import DeadlinePassed
from ..findings import Finding, shorten
from .api import Api, AwsError
from .changes import Call, JsonObject, Unreadable, differences, laid_over, parsed
from .cluster import permitted
from .config import Addon
from .iam import Need, Permissions
from .result import AS_WANTED, CHANGED, FAILED, NOT_TRIED, WOULD_CHANGE, Step
from .waits import late, until

BUSY = ("CREATING", "UPDATING", "DELETING")
BROKEN = ("CREATE_FAILED", "UPDATE_FAILED", "DELETE_FAILED", "DEGRADED")
FIXES = {
    "AccessDenied": "give the add-on's role what the message names (addons[].serviceAccountRoleArn, docs/aws.md)",
    "ConfigurationConflict": "somebody changed these fields on the cluster: put them into the add-on's configuration, undo them there, "
    "or set its resolveConflicts: OVERWRITE, which takes EKS's values",
    "AdmissionRequestDenied": "an admission policy of the cluster refuses the add-on's objects: exempt their namespace",
    "InsufficientNumberOfReplicas": "its Pods do not run: kubectl get pods -A, and see why; nodes may lack room or have taints",
    "ClusterUnreachable": "EKS does not reach the cluster's API: check the cluster's health in the EKS console",
    "UnsupportedAddonModification": "the add-on cannot be changed like this: set the version and configuration that are there",
    "K8sResourceNotFound": "an object of the add-on was deleted: set its resolveConflicts: OVERWRITE, which makes it again",
}


class Addons:
    """One run of the stage. ``eks_cluster``: its name; ``arn``: what the ARNs of its add-ons are made from."""

    def __init__(self, api: Api, permissions: Permissions, arn: str, apply: bool) -> None:
        self._api, self._permissions, self._arn, self._apply = api, permissions, arn, apply
        self._cluster = arn.rsplit("/", 1)[-1]

    def run(self, addons: tuple[Addon, ...]) -> list[Step]:
        """A step for each; after one that failed, those behind it are not tried, since they may need it."""
        steps: list[Step] = []
        for addon in addons:
            before = [step.name for step in steps if step.state == FAILED]
            if before:
                steps.append(Step(f"add-on {addon.name}", NOT_TRIED, f"waits for {before[0]}"))
            else:
                steps.append(self.one(addon))
        return steps

    def one(self, addon: Addon) -> Step:
        """One add-on. Faults are the step's."""
        step = Step(f"add-on {addon.name}")
        try:
            found = self._look(addon)
            if found and found["status"] in BUSY and self._apply:
                found = self._wait(addon)
            step.shown = _state(found)
            if found is None:
                self._create(step, addon)
            else:
                self._update(step, addon, found)
        except AwsError as err:
            step.fail(_explained(err, addon, self._cluster))
        except DeadlinePassed as err:
            step.fail(late(err))
        return step

    def _look(self, addon: Addon) -> JsonObject | None:
        try:
            found: JsonObject = self._api.call("DescribeAddon", clusterName=self._cluster, addonName=addon.name)[
                "addon"
            ]
        except AwsError as err:
            # The same code says that there is no such cluster, which the message tells.
            if err.code != "ResourceNotFoundException" or "No cluster found" in str(err):
                raise
            return None
        return found

    def _wait(self, addon: Addon) -> JsonObject | None:
        def told(found: JsonObject | None) -> str:
            return f"add-on {addon.name} is {_state(found)}"

        return until(
            lambda: self._look(addon),
            lambda found: found is None or found["status"] not in BUSY,
            told,
            self._api.deadline,
            self._api.say,
        )

    def _create(self, step: Step, addon: Addon) -> None:
        wanted: JsonObject = {"addonVersion": addon.version or "EKS's default"}
        parameters: JsonObject = {
            "clusterName": self._cluster,
            "addonName": addon.name,
            "resolveConflicts": addon.conflicts,
        }
        if addon.version:
            parameters["addonVersion"] = addon.version
        if addon.role:
            wanted["serviceAccountRoleArn"] = parameters["serviceAccountRoleArn"] = addon.role
        if addon.configuration:
            wanted["configurationValues"] = addon.configuration
            parameters["configurationValues"] = json.dumps(addon.configuration, sort_keys=True)
        step.changes = differences({}, wanted, "")
        step.call = Call("eks", "CreateAddon", parameters)
        if not self._may(step, addon, "eks:CreateAddon", self._arn):
            return
        try:
            self._api.call("CreateAddon", **parameters)
        except AwsError as err:
            # An answer that was lost, or somebody else: what it is now is looked at below.
            if err.code != "ResourceInUseException":
                raise
        self._judge(step, addon, self._wait(addon))

    def _update(self, step: Step, addon: Addon, found: JsonObject) -> None:
        try:
            before = parsed(found.get("configurationValues"))
        except Unreadable as err:
            what = f"the configuration of add-on {addon.name} on the cluster cannot be read ({err}), and would be lost by a change"
            step.fail(Finding(what, "correct it with aws eks update-addon, or take the add-on out of hooks.aws.addons"))
            return
        after = laid_over(before, addon.configuration or {})
        has = {"addonVersion": found.get("addonVersion"), "serviceAccountRoleArn": found.get("serviceAccountRoleArn")}
        wants = {
            "addonVersion": addon.version or has["addonVersion"],
            "serviceAccountRoleArn": addon.role or has["serviceAccountRoleArn"],
        }
        step.changes = differences(has | {"configurationValues": before}, wants | {"configurationValues": after}, "")
        if not step.changes or found["status"] in ("CREATE_FAILED", "DELETE_FAILED"):
            step.changes = []
            self._judge(step, addon, found)
            step.state = step.state if step.state == FAILED else AS_WANTED
            return
        # EKS puts back what an update leaves out, so that all of it is sent.
        parameters = {"clusterName": self._cluster, "addonName": addon.name, "resolveConflicts": addon.conflicts}
        parameters |= {key: value for key, value in wants.items() if value}
        if after:
            parameters["configurationValues"] = json.dumps(after, sort_keys=True)
        step.call = Call("eks", "UpdateAddon", parameters)
        if not self._may(step, addon, "eks:UpdateAddon", str(found.get("addonArn", "*"))):
            return
        update = self._api.call("UpdateAddon", **parameters)["update"]
        if not self._updated(step, addon, str(update["id"])):
            return
        self._judge(step, addon, self._wait(addon))

    def _may(self, step: Step, addon: Addon, action: str, resource: str) -> bool:
        """Whether to make the call; warns of what it may overwrite."""
        if addon.conflicts == "OVERWRITE":
            what = f"add-on {addon.name}: resolveConflicts: OVERWRITE replaces what was changed on its objects on the cluster"
            step.warn(Finding(what, "use PRESERVE, which keeps it"))
        needs = [Need(action, resource)]
        if addon.role:
            needs.append(Need("iam:PassRole", addon.role))
        if not permitted(step, self._permissions, needs, self._apply):
            return False
        step.state = CHANGED if self._apply else WOULD_CHANGE
        return self._apply

    def _updated(self, step: Step, addon: Addon, update: str) -> bool:
        def look() -> JsonObject:
            answer = self._api.call("DescribeUpdate", name=self._cluster, updateId=update, addonName=addon.name)
            found: JsonObject = answer["update"]
            return found

        def told(found: JsonObject) -> str:
            return f"update of add-on {addon.name} is {found['status']}"

        found = until(look, lambda found: found["status"] != "InProgress", told, self._api.deadline, self._api.say)
        if found["status"] == "Successful":
            return True
        errors = [
            (each.get("errorCode", ""), each.get("errorMessage", ""), each.get("resourceIds", []))
            for each in found.get("errors", [])
        ]
        self._issues(step, addon, f"the update is {found['status']}", errors)
        return False

    def _judge(self, step: Step, addon: Addon, found: JsonObject | None) -> None:
        """A fault unless it is ACTIVE."""
        step.shown = _state(found)
        if found is None:
            step.fail(
                Finding(f"add-on {addon.name} went while it was waited for", "see who removed it, then run this again")
            )
            return
        issues = [
            (each.get("code", ""), each.get("message", ""), each.get("resourceIds", []))
            for each in (found.get("health") or {}).get("issues", [])
        ]
        if found["status"] in BROKEN:
            self._issues(step, addon, f"it is {found['status']}", issues)
        elif found["status"] in BUSY:
            step.warn(
                Finding(
                    f"add-on {addon.name} is {found['status']}", "nothing; with hooks.aws.apply: true it is waited for"
                )
            )
        else:
            for code, text, _ in issues:
                step.warn(_issue(addon, "it is ACTIVE, with an issue", code, text, []))

    def _issues(self, step: Step, addon: Addon, state: str, issues: list[tuple[str, str, list[Any]]]) -> None:
        for code, text, resources in issues or [("", "EKS gives no reason", [])]:
            step.fail(_issue(addon, state, code, text, resources))
        if state.endswith(("CREATE_FAILED", "DELETE_FAILED")):
            step.fail(
                Finding(
                    f"add-on {addon.name}: {state}, which no update mends",
                    "remove it, keeping its objects, then run this again",
                    (f"aws eks delete-addon --cluster-name {self._cluster} --addon-name {addon.name} --preserve",),
                )
            )


def _issue(addon: Addon, state: str, code: str, text: str, resources: list[Any]) -> Finding:
    where = f" [{', '.join(map(str, resources))}]" if resources else ""
    what = f"add-on {addon.name}: {state}: {code + ': ' if code else ''}{shorten(text, 600)}{where}"
    return Finding(what, FIXES.get(code, "mend what it names, then run this again"))


def _state(found: JsonObject | None) -> str:
    return f"{found['status']}, {found.get('addonVersion', 'no version')}" if found else "not there"


def _explained(err: AwsError, addon: Addon, cluster: str) -> Finding:
    if err.code == "ResourceNotFoundException":
        return Finding(f"hooks.aws.eksClusterName: {cluster}: {err.finding.what}", "correct it: aws eks list-clusters")
    if err.code == "InvalidParameterException":
        return Finding(
            f"hooks.aws.addons: {addon.name}: {err.finding.what}",
            "correct version or configuration",
            (
                f"aws eks describe-addon-versions --addon-name {addon.name}",
                f"aws eks describe-addon-configuration --addon-name {addon.name} --addon-version {addon.version or '<version>'}",
            ),
        )
    return err.finding
