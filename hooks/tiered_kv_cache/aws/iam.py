"""Who this is, and whether it may do what comes next, where IAM lets it ask."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..deadline import DeadlinePassed
from ..findings import Finding
from .api import Api, AwsError, missing

ASSUMED = re.compile(r"arn:(?P<partition>aws[a-z-]*):sts::(?P<account>[0-9]{12}):assumed-role/(?P<name>[^/]+)/.+")


@dataclass(frozen=True)
class Need:
    """An action on a resource, both as IAM writes them."""

    action: str
    resource: str


class Permissions:
    """Asks iam:SimulatePrincipalPolicy before each change. Where that is not allowed, a refusal names the action later."""

    def __init__(self, iam: Api, sts: Api) -> None:
        self._iam, self._sts = iam, sts
        self.who = ""
        self._source = ""

    def identify(self) -> str:
        """The caller's ARN; proves that there are credentials. Raises AwsError, DeadlinePassed."""
        self.who = str(self._sts.call("GetCallerIdentity")["Arn"])
        return self.who

    def lacking(self, needs: list[Need]) -> tuple[list[Finding], bool]:
        """Findings for what is not allowed, and whether that is certain: conditions on request values are not known here."""
        found: list[Finding] = []
        certain = True
        try:
            source = self._principal()
            for need in needs if source else []:
                answer = self._iam.call(
                    "SimulatePrincipalPolicy",
                    PolicySourceArn=source,
                    ActionNames=[need.action],
                    ResourceArns=[need.resource],
                )
                for entry in answer.get("EvaluationResults", []):
                    if entry["EvalDecision"] != "allowed":
                        found.append(missing(need.action, need.resource))
                        certain = certain and not entry.get("MissingContextValues")
        except (AwsError, DeadlinePassed) as err:
            self._source = "-"
            self._iam.say(
                f"permissions are not looked at beforehand ({err}); a missing one is named when AWS refuses a call"
            )
        return found, certain

    def _principal(self) -> str:
        """The role's own ARN: that of a session lacks the role's path."""
        if not self._source:
            self._source = self.who
            if session := ASSUMED.fullmatch(self.who):
                self._source = str(self._iam.call("GetRole", RoleName=session["name"])["Role"]["Arn"])
        return "" if self._source == "-" else self._source
