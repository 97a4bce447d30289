"""Both stages, in their order, with the clients that they need."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

from ..deadline import Deadline, DeadlinePassed
from ..findings import Finding
from ..storage.checks import FAIL, WARN
from .addons import Addons
from .api import IDENTITY_FIX, Api, AwsError, Say
from .cluster import TieredStorage
from .config import Settings
from .iam import Permissions
from .result import FAILED, NOT_TRIED, Result, Step
from .waits import late

Clients = Callable[[str], Any]
WEB_IDENTITY, POD_IDENTITY = "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_CONTAINER_CREDENTIALS_FULL_URI"
"""What EKS puts into a Pod's environment: IRSA, and Pod Identity."""


def clients(region: str) -> Clients:
    """boto3's, which try a call again by themselves a few times; the deadline is Api's."""
    # Imported here: tests bring their own clients.
    import boto3  # noqa: PLC0415
    from botocore.config import Config  # noqa: PLC0415

    config = Config(
        region_name=region, retries={"mode": "standard", "max_attempts": 3}, connect_timeout=10, read_timeout=30
    )
    session = boto3.session.Session(region_name=region)
    return lambda service: session.client(service, config=config)


def run(settings: Settings, make: Clients, deadline: Deadline, say: Say, env: Mapping[str, str] = os.environ) -> Result:
    """All of it; faults are the result's."""
    result = Result(settings.apply)
    result.findings += identity(env)
    if not result.ok:
        return result
    permissions = Permissions(Api("iam", make("iam"), deadline, say), Api("sts", make("sts"), deadline, say))
    try:
        result.who = permissions.identify()
    except AwsError as err:
        result.findings.append((FAIL, err.finding))
        return result
    except DeadlinePassed as err:
        result.findings.append((FAIL, late(err)))
        return result
    sagemaker = make("sagemaker")
    groups = sagemaker.meta.service_model.operation_model("UpdateCluster").input_shape.members["InstanceGroups"].member
    storage = TieredStorage(Api("sagemaker", sagemaker, deadline, say), groups, permissions, settings)
    step = storage.run()
    result.steps.append(step)
    if not settings.addons:
        return result
    if step.state == FAILED:
        result.steps += [Step(f"add-on {addon.name}", NOT_TRIED, f"waits for {step.name}") for addon in settings.addons]
        return result
    arn = storage.cluster["Orchestrator"]["Eks"]["ClusterArn"]
    result.steps += Addons(Api("eks", make("eks"), deadline, say), permissions, arn, settings.apply).run(
        settings.addons
    )
    return result


def identity(env: Mapping[str, str]) -> list[tuple[str, Finding]]:
    """In a cluster the credentials are the Pod's own; outside, whatever boto3 finds."""
    if not env.get("KUBERNETES_SERVICE_HOST"):
        return []
    if env.get("AWS_ACCESS_KEY_ID"):
        what = "environment AWS_ACCESS_KEY_ID is set in this Pod: fixed keys go before the Pod's own identity, and do not expire"
        return [(WARN, Finding(what, f"take it out; {IDENTITY_FIX}"))]
    if not env.get(WEB_IDENTITY) and not env.get(POD_IDENTITY):
        return [(FAIL, Finding("this Pod has no AWS identity of its own", IDENTITY_FIX))]
    return []
