"""The static volume of model folders that every node of the kind cluster mounts from the host."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kubernetes.client.exceptions import ApiException

from . import kube
from .settings import NODE_SHARED

CLAIM = "models"
_CONFLICT = 409


def ensure_namespace(kubeconfig: Path, namespace: str) -> None:
    _unless_there(kube.core(kubeconfig).create_namespace, {"metadata": {"name": namespace}})


def ensure_models_claim(kubeconfig: Path, namespace: str) -> None:
    """A claim named `models` in the namespace, bound to the nodes' model folder, read-only for many."""
    ensure_claim(kubeconfig, namespace, CLAIM, f"{NODE_SHARED}/models")


def ensure_claim(kubeconfig: Path, namespace: str, claim_name: str, folder: str) -> None:
    """A claim bound to a folder of the nodes, read-only for many."""
    core, name = kube.core(kubeconfig), f"{namespace}-{claim_name}"
    size, modes = {"storage": "8Gi"}, ["ReadOnlyMany"]
    spec = {
        "capacity": size, "accessModes": modes, "persistentVolumeReclaimPolicy": "Retain", "storageClassName": "",
        "hostPath": {"path": folder, "type": "Directory"},
        "claimRef": {"name": claim_name, "namespace": namespace},
    }  # fmt: skip
    _unless_there(core.create_persistent_volume, {"metadata": {"name": name}, "spec": spec})
    claim = {"accessModes": modes, "storageClassName": "", "volumeName": name, "resources": {"requests": size}}
    _unless_there(
        lambda body: core.create_namespaced_persistent_volume_claim(namespace, body),
        {"metadata": {"name": claim_name}, "spec": claim},
    )


def remove_namespace(kubeconfig: Path, namespace: str) -> None:
    """Delete the namespace and the volumes of its claims: those of releases that nobody uninstalled as well.

    A volume whose claim is gone is bound to it for ever, and a new claim of the same name would wait for it.
    """
    core = kube.core(kubeconfig)
    bound = {
        volume.metadata.name
        for volume in core.list_persistent_volume().items
        if volume.spec.claim_ref and volume.spec.claim_ref.namespace == namespace
    }
    for delete, name in (
        (core.delete_namespace, namespace),
        *((core.delete_persistent_volume, name) for name in sorted(bound)),
    ):
        try:
            delete(name)
        except ApiException as error:
            if error.status != 404:
                raise


def _unless_there(create: Callable[[dict[str, object]], object], body: dict[str, object]) -> None:
    try:
        create(body)
    except ApiException as error:
        if error.status != _CONFLICT:
            raise
