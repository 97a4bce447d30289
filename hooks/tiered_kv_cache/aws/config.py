"""What the verb is told. It holds no credentials: they are the Pod's own identity."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from .. import told
from ..findings import UsageError
from ..reader import Reader

LEAST_ADVISED = 20
"""Percent of an instance's memory: AWS's walkthrough says 20 to 100, its API takes 0 to 100."""
INFERENCE = "amazon-sagemaker-hyperpod-inference"
BEFORE_INFERENCE = ("aws-mountpoint-s3-csi-driver", "aws-fsx-csi-driver", "metrics-server", "cert-manager")
"""What the operator's add-on needs to be there, in the walkthrough's order."""
CONFLICTS = ("PRESERVE", "NONE", "OVERWRITE")

REGION = re.compile(r"[a-z]{2,}(-[a-z]+)+-[0-9]+")
CLUSTER = re.compile(
    r"arn:aws[a-z-]*:sagemaker:[a-z0-9-]*:[0-9]{12}:cluster/[a-z0-9]{12}|[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}"
)
"""SageMaker's own pattern: a name or an ARN."""
EKS_CLUSTER = re.compile(r"[0-9A-Za-z][A-Za-z0-9_-]{0,99}")
ROLE = re.compile(r"arn:aws[a-z-]*:iam::[0-9]{12}:role/[\w+=,.@/-]+")


@dataclass(frozen=True)
class Addon:
    """An EKS add-on as wanted. ``version`` and ``role``: empty for whatever is there, or EKS's default for a new one.

    ``configuration`` is laid over what is there. ``conflicts``: EKS's resolveConflicts.
    """

    name: str
    version: str = ""
    role: str = ""
    configuration: dict[str, Any] | None = None
    conflicts: str = "PRESERVE"


@dataclass(frozen=True)
class Settings:
    """A run. ``percentage``: of each instance's memory, None if tiered storage is not this run's; ``deadline`` in seconds."""

    region: str
    cluster: str
    eks_cluster: str
    percentage: int | None
    addons: tuple[Addon, ...]
    apply: bool
    deadline: float


def parse(text: str, source: str) -> Settings:
    """Read the JSON that the chart renders; raises UsageError with every fault, each naming ``source``."""
    reader = Reader(told.read(text, source), source)
    entries = reader.take("addons", list, [])
    settings = Settings(
        region=reader.take("region", str, ""),
        cluster=reader.take("clusterName", str, ""),
        eks_cluster=reader.take("eksClusterName", str, ""),
        percentage=_percentage(reader, reader.raw.get("tieredStorage", {})),
        addons=tuple(_addon(reader, entry, index) for index, entry in enumerate(entries)),
        apply=reader.take("apply", bool, False),
        deadline=reader.number("deadlineSeconds", 1800, least=1),
    )
    reader.take("tieredStorage", dict, {})
    for key, value, pattern, wanted in (
        ("region", settings.region, REGION, "a region such as eu-west-1"),
        ("clusterName", settings.cluster, CLUSTER, "name or ARN of the HyperPod cluster"),
    ):
        if not pattern.fullmatch(value):
            reader.fault(key, value, wanted)
    if settings.eks_cluster and not EKS_CLUSTER.fullmatch(settings.eks_cluster):
        reader.fault("eksClusterName", settings.eks_cluster, "name of the EKS cluster, or nothing")
    _order(reader, [addon.name for addon in settings.addons])
    reader.unknown()
    if reader.faults:
        raise UsageError("\n".join(reader.faults))
    return settings


def _percentage(parent: Reader, raw: Any) -> int | None:
    if not isinstance(raw, dict):
        return None
    reader = Reader(raw, f"{parent.source}: tieredStorage", parent.faults)
    enabled = reader.take("enabled", bool, True)
    percentage = reader.whole("percentage", LEAST_ADVISED)
    if percentage > 100:
        reader.fault("percentage", percentage, "a whole number from 0 to 100, or 20 to 100 as AWS's walkthrough says")
    reader.unknown()
    return percentage if enabled else None


def _addon(parent: Reader, raw: Any, index: int) -> Addon:
    where = f"addons[{index}]"
    if not isinstance(raw, dict):
        parent.fault(where, raw, "an object")
        return Addon("")
    reader = Reader(raw, f"{parent.source}: {where}", parent.faults)
    addon = Addon(
        name=reader.take("name", str, ""),
        version=reader.take("version", str, ""),
        role=reader.take("serviceAccountRoleArn", str, ""),
        configuration=reader.take("configuration", dict, {}),
        conflicts=reader.take("resolveConflicts", str, CONFLICTS[0]),
    )
    if not addon.name:
        reader.fault("name", addon.name, "the add-on's name")
    if addon.role and not ROLE.fullmatch(addon.role):
        reader.fault("serviceAccountRoleArn", addon.role, "the ARN of a role: arn:aws:iam::<account>:role/<name>")
    if addon.conflicts not in CONFLICTS:
        reader.fault("resolveConflicts", addon.conflicts, "PRESERVE, NONE or OVERWRITE")
    reader.unknown()
    return addon


def _order(reader: Reader, names: list[str]) -> None:
    """The operator's add-on waits for what it needs, so that this must be before it."""
    for name in sorted({name for name in names if name and names.count(name) > 1}):
        reader.faults.append(f"{reader.source}: addons has {name} twice. Fix: keep one")
    if INFERENCE in names:
        late = [name for name in names[names.index(INFERENCE) + 1 :] if name in BEFORE_INFERENCE]
        if late:
            reader.faults.append(
                f"{reader.source}: addons has {', '.join(late)} behind {INFERENCE}, which needs them. Fix: put {INFERENCE} last"
            )
