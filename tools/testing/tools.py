"""The programs that tests call, and the environment in which they find them."""

from __future__ import annotations

import os
from pathlib import Path

import kubernetes_validate

from local_cluster.host import gotools


def schema_folder(kubernetes: str) -> Path:
    """Folder of the strict JSON schemas of a Kubernetes minor version such as `1.36`; they come with a PyPI package."""
    return Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema" / f"v{kubernetes}.0-local-strict"


def environment() -> dict[str, str]:
    """The process environment with the tools' places: HELM, HELM3, KUBECONFORM, HELM_UNITTEST, RENDER, PROMRULES, KUBE_SCHEMAS."""
    built = gotools.ensure(
        {name: gotools.CLI[name] for name in ("helm", "helm3", "kubeconform", "helm-unittest", "render")}
    )
    return {
        **os.environ,
        "HELM": str(built / "helm"),
        "HELM3": str(built / "helm3"),
        "KUBECONFORM": str(built / "kubeconform"),
        "HELM_UNITTEST": str(built / "helm-unittest"),
        "RENDER": str(built / "render"),
        "PROMRULES": str(gotools.promrules()),
        "KUBE_SCHEMAS": str(schema_folder("1.36")),
        # The tests call helm some thousand times, each for a moment: a quarter of its processor time was garbage collection.
        "GOGC": os.environ.get("GOGC", "400"),
    }


def control_plane() -> Path:
    """Folder of the programs that tests/scheduling and tests/patch run; most of them are those of the local cluster's nodes."""
    node = {name: gotools.NODE[name] for name in ("kube", "etcd")}
    return gotools.ensure({**node, **{name: gotools.CLI[name] for name in ("kwok", "helm", "render")}})
