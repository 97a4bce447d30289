"""What the operator writes into an IEC's status; fields and states are those of the definition, the conditions are inferred."""

from __future__ import annotations

from datetime import UTC, datetime

from .names import Names
from .options import Json
from .pod import Refused


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def complete(deployment: Json) -> bool:
    """Whether all Pods are of the newest template and ready."""
    status, want = deployment.get("status") or {}, deployment["spec"]["replicas"]
    seen = status.get("observedGeneration", 0) >= deployment["metadata"]["generation"]
    return seen and all(status.get(key, 0) == want for key in ("replicas", "updatedReplicas", "availableReplicas"))


def of_deployment(iec: Json, deployment: Json) -> Json:
    """Status of an IEC whose Deployment is there."""
    done, status = complete(deployment), deployment.get("status") or {}
    conditions = [("DeploymentComplete" if done else "DeploymentInProgress", "", done)]
    return _status(iec, "DeploymentComplete" if done else "DeploymentInProgress", conditions) | {
        "replicas": status.get("replicas", 0)
    }


def of_refusal(iec: Json, why: Refused) -> Json:
    """Status of an IEC that was not rendered."""
    return _status(iec, "DeploymentFailed", [(why.reason, str(why), False)])


def _status(iec: Json, state: str, conditions: list[tuple[str, str, bool]]) -> Json:
    """Conditions keep the time at which they became what they are."""
    before = {each["reason"]: each for each in (iec.get("status") or {}).get("conditions", [])}
    return {
        "state": state,
        "observedGeneration": iec["metadata"]["generation"],
        "selector": f"app={Names(iec).iec}",
        "conditions": [
            {
                "type": "DeploymentStatus",
                "status": "True" if good else "False",
                "reason": reason,
                "message": message,
                "lastTransitionTime": before.get(reason, {}).get("lastTransitionTime") or _now(),
            }
            for reason, message, good in conditions
        ],
    }
