"""An account whose answers are written down beforehand. botocore's Stubber checks each call against AWS's own service model."""

from __future__ import annotations

import json
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import cache
from typing import Any

import boto3
from botocore.config import Config
from botocore.stub import Stubber

from tiered_kv_cache.aws.config import Settings, parse
from tiered_kv_cache.aws.result import Result, Step
from tiered_kv_cache.aws.run import run
from tiered_kv_cache.deadline import Deadline

Json = dict[str, Any]
REGION, ACCOUNT = "eu-west-1", "123456789012"
CLUSTER = f"arn:aws:sagemaker:{REGION}:{ACCOUNT}:cluster/abcdefghijkl"
EKS = f"arn:aws:eks:{REGION}:{ACCOUNT}:cluster/kv"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/team/bootstrap"
ADDON_ROLE = f"arn:aws:iam::{ACCOUNT}:role/s3-csi"
IRSA = {"KUBERNETES_SERVICE_HOST": "10.0.0.1", "AWS_WEB_IDENTITY_TOKEN_FILE": "/var/run/secrets/token"}
CHANGING = ("UpdateCluster", "CreateAddon", "UpdateAddon")


@cache
def clients() -> dict[str, Any]:
    """One of each service."""
    config = Config(region_name=REGION, retries={"mode": "standard", "max_attempts": 1})
    keys = {"aws_access_key_id": "x", "aws_secret_access_key": "x"}
    return {service: boto3.client(service, config=config, **keys) for service in ("sagemaker", "eks", "iam", "sts")}


class Account:
    """Clients with stubs. Whatever is asked beyond what was written down fails, and so does what was not asked."""

    _open = ExitStack()
    """Clients are shared, since making one reads megabytes of models: a new account ends the one before."""

    def __init__(self, known: bool = True) -> None:
        """``known``: whether STS says who this is."""
        self.seconds = 0.0
        self._role = False
        self.said: list[str] = []
        self.calls: list[str] = []
        self.clients = clients()
        self.stubs = {service: Stubber(client) for service, client in self.clients.items()}
        Account._open.close()
        Account._open.callback(self._close)
        for service, client in self.clients.items():
            client.meta.events.register("before-parameter-build", self._note)
            self.stubs[service].activate()
        who = f"arn:aws:sts::{ACCOUNT}:assumed-role/bootstrap/session"
        if known:
            self.stubs["sts"].add_response("get_caller_identity", {"Arn": who, "Account": ACCOUNT, "UserId": "x"}, {})

    def _close(self) -> None:
        for service, client in self.clients.items():
            client.meta.events.unregister("before-parameter-build", self._note)
            self.stubs[service].deactivate()

    def _note(self, model: Any, **_: Any) -> None:
        self.calls.append(model.name)

    # SageMaker

    def cluster(self, status: str = "InService", percentage: int | None = None, **more: Any) -> None:
        """DescribeCluster answers."""
        answer: Json = {
            "ClusterArn": CLUSTER, "ClusterStatus": status, "InstanceGroups": [],
            "Orchestrator": {"Eks": {"ClusterArn": EKS}}, "NodeRecovery": "Automatic",
        }  # fmt: skip
        if percentage is not None:
            answer["TieredStorageConfig"] = {"Mode": "Enable", "InstanceMemoryAllocationPercentage": percentage}
        answer = {key: value for key, value in (answer | more).items() if value is not None}
        self.stubs["sagemaker"].add_response("describe_cluster", answer, {"ClusterName": "hp"})

    def updates(self, percentage: int = 20, **unchanged: Any) -> None:
        """UpdateCluster is called with exactly this."""
        storage = {"Mode": "Enable", "InstanceMemoryAllocationPercentage": percentage}
        expected = {"ClusterName": "hp", "TieredStorageConfig": storage, **(unchanged or {"NodeRecovery": "Automatic"})}
        self.stubs["sagemaker"].add_response("update_cluster", {"ClusterArn": CLUSTER}, expected)

    # EKS

    def addon(self, name: str, status: str = "ACTIVE", **more: Any) -> None:
        """DescribeAddon answers."""
        arn = f"arn:aws:eks:{REGION}:{ACCOUNT}:addon/kv/{name}/1"
        answer: Json = {"addonName": name, "clusterName": "kv", "status": status, "addonVersion": "v1", "addonArn": arn}
        answer |= {"createdAt": datetime(2026, 1, 1, tzinfo=UTC), **more}
        self.stubs["eks"].add_response("describe_addon", {"addon": answer}, {"clusterName": "kv", "addonName": name})

    def no_addon(self, name: str) -> None:
        """DescribeAddon finds none."""
        message = f"No addon: {name} found in cluster: kv"
        expected = {"clusterName": "kv", "addonName": name}
        self.error("eks", "describe_addon", "ResourceNotFoundException", message, **expected)

    def creates(self, name: str, configuration: Json | None = None, **more: Any) -> None:
        """CreateAddon is called with exactly this."""
        expected: Json = {"clusterName": "kv", "addonName": name, "resolveConflicts": "PRESERVE", **more}
        if configuration is not None:
            expected["configurationValues"] = json.dumps(configuration, sort_keys=True)
        self.stubs["eks"].add_response("create_addon", {"addon": {"addonName": name, "status": "CREATING"}}, expected)

    def updates_addon(self, name: str, configuration: Json | None = None, **more: Any) -> None:
        """UpdateAddon is called with exactly this."""
        expected: Json = {"clusterName": "kv", "addonName": name, "resolveConflicts": "PRESERVE", "addonVersion": "v1"}
        expected |= more
        if configuration is not None:
            expected["configurationValues"] = json.dumps(configuration, sort_keys=True)
        self.stubs["eks"].add_response("update_addon", {"update": {"id": "u1", "status": "InProgress"}}, expected)

    def update_is(self, name: str, status: str, *errors: Json) -> None:
        """DescribeUpdate answers."""
        answer = {"update": {"id": "u1", "status": status, "errors": list(errors)}}
        expected = {"name": "kv", "updateId": "u1", "addonName": name}
        self.stubs["eks"].add_response("describe_update", answer, expected)

    # IAM

    def allows(self, *needs: tuple[str, str], decision: str = "allowed", **more: Any) -> None:
        """SimulatePrincipalPolicy answers for these, one after the other; the first time GetRole comes before."""
        if not self._role:
            self._role = True
            role = {"Path": "/team/", "RoleName": "bootstrap", "RoleId": "A" * 20, "Arn": ROLE}
            answer = {"Role": role | {"CreateDate": datetime(2026, 1, 1, tzinfo=UTC)}}
            self.stubs["iam"].add_response("get_role", answer, {"RoleName": "bootstrap"})
        for action, resource in needs:
            results = {"EvaluationResults": [{"EvalActionName": action, "EvalDecision": decision, **more}]}
            expected = {"PolicySourceArn": ROLE, "ActionNames": [action], "ResourceArns": [resource]}
            self.stubs["iam"].add_response("simulate_principal_policy", results, expected)

    def may_not_ask(self) -> None:
        """IAM refuses the question itself."""
        self.error("iam", "get_role", "AccessDenied", "not authorized to perform: iam:GetRole", RoleName="bootstrap")

    def error(self, service: str, method: str, code: str, message: str = "x", **expected: Any) -> None:
        """A call is refused."""
        self.stubs[service].add_client_error(
            method, code, message, expected_params=expected or None, http_status_code=400
        )

    # A run

    def run(self, wanted: Json, env: Json | None = None, deadline: float = 1800) -> Result:
        """One run; everything that was written down was asked."""
        clock = Deadline(deadline, lambda: self.seconds, self._sleep)
        result = run(settings(**wanted), self.clients.__getitem__, clock, self.said.append, env or IRSA)
        for stub in self.stubs.values():
            stub.assert_no_pending_responses()
        return result

    def _sleep(self, seconds: float) -> None:
        self.seconds += max(seconds, 0.001)

    @property
    def changing(self) -> list[str]:
        """Calls that change something."""
        return [name for name in self.calls if name in CHANGING]


def settings(**wanted: Any) -> Settings:
    """As the chart renders them."""
    known = {"region": REGION, "clusterName": "hp", "tieredStorage": {"enabled": True, "percentage": 20}, "addons": []}
    return parse(json.dumps(known | wanted), "TKC_AWS")


def texts(found: Result | Step) -> str:
    """All findings of a step or run, each with its verdict."""
    findings = found.all_findings() if isinstance(found, Result) else found.findings
    return "\n".join(f"{verdict}: {finding}" for verdict, finding in findings)
