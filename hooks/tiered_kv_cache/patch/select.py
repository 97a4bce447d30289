"""Which Pods the patch is for (docs/l2-patch.md, Which Pods)."""

from __future__ import annotations

from collections.abc import Mapping

from . import names
from .outcome import Json, Refused
from .parameters import Parameters


def model_of(pod: Json, data: Mapping[str, str] | None, namespace: str) -> str | None:
    """Name of the Pod's model if the patch is for it, else None.

    Args:
        data: the parameter object, or None where it is missing.
        namespace: one that the mechanism's selectors name: it is asked about no others.

    Raises:
        Refused: it is a worker of the operator, and the parameter object does not say whether it is to be patched.
    """
    labels = pod.get("metadata", {}).get("labels") or {}
    key, value = names.LABEL_OPERATOR
    if namespace in names.NEVER or labels.get(key) != value or names.LABEL_MODEL not in labels:
        return None
    if data is None:
        raise Refused(
            "there is no parameter object", "upgrade the release that renders it (ConfigMap <prefix>-l2-patch)"
        )
    model: str = labels[names.LABEL_MODEL]
    models = Parameters(data, namespace).need("models")
    return model if models == "*" or model in models.split(",") else None
