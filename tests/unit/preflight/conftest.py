"""A cluster that has all that a release on HyperPod needs, and the release; tests take one thing away."""

from __future__ import annotations

import json
from typing import Any

import pytest

from emulators.objects import FakeObjects, Json
from emulators.times import Time
from tiered_kv_cache.objects import Objects
from tiered_kv_cache.preflight.checks.operator import CRD
from tiered_kv_cache.preflight.config import parse
from tiered_kv_cache.preflight.context import Context
from tiered_kv_cache.preflight.run import run
from tiered_kv_cache.rows import FAIL, WARN, Row

GPU = "nvidia.com/gpu"
OPERATOR = "hyperpod-inference-system"
TYPE = "node.kubernetes.io/instance-type"


def engine(**change: Any) -> Json:
    """Two Pods of four GPUs on two nodes."""
    limits = {"cpu": "8", "memory": "64Gi", GPU: "4"}
    return {
        "key": "models.tiny",
        "name": "demo-tiny",
        "replicas": 2,
        "containers": [{"name": "vllm", "requests": {"cpu": "4", "memory": "32Gi"}, "limits": limits}],
        "nodeSelector": {TYPE: "ml.g5.24xlarge"},
        "crossNode": True,
    } | change


def release(**change: Any) -> Json:
    """What the chart would render."""
    return {
        "platform": "hyperpod",
        "namespace": "kv",
        "instance": "demo",
        "operator": {"namespace": OPERATOR, "version": ""},
        "patch": {"mechanism": "webhook", "certManager": False},
        "claims": [{"key": "l2.volume.claimName", "name": "kv-l2", "mode": "ReadWriteMany"}],
        "drivers": [{"key": "curvine.client.mode", "name": "curvine"}],
        "parts": [
            {
                "key": "tiered storage",
                "kind": "DaemonSet",
                "namespace": "aws-hyperpod",
                "name": "ai-toolkit",
                "required": False,
            },
            {"key": "curvine.pool", "kind": "StatefulSet", "namespace": "pool", "name": "p-master"},
        ],
        "accounts": [{"key": "models.tiny.hyperpod.serviceAccountName", "name": "m-sa", "assignable": True}],
        "pullSecrets": ["regcred"],
        "security": [{"namespace": "kv", "level": "privileged", "why": "it uses hostPath"}],
        "workloads": [engine()],
    } | change


def node(**change: Any) -> Json:
    """A node of eight GPUs."""
    labels = {TYPE: "ml.g5.24xlarge", "kubernetes.io/arch": "amd64"} | change.pop("labels", {})
    labels |= {
        "sagemaker.amazonaws.com/compute-type": "hyperpod",
        "sagemaker.amazonaws.com/node-health-status": change.pop("health", "Schedulable"),
    }
    room = {"cpu": "96", "memory": "384Gi", "pods": "110", GPU: "4"} | change.pop("room", {})
    conditions = [{"type": "Ready", "status": change.pop("ready", "True")}]
    return {"metadata": {"labels": labels}, "spec": change, "status": {"allocatable": room, "conditions": conditions}}


def deployment(image: str, available: str = "True") -> Json:
    """A Deployment of one container."""
    status = {"conditions": [{"type": "Available", "status": available, "message": "no Pod"}]}
    return {"spec": {"template": {"spec": {"containers": [{"name": "manager", "image": image}]}}}, "status": status}


def crd(*versions: str, fields: tuple[str, ...] = ("kvCacheSpec", "intelligentRoutingSpec")) -> Json:
    """A definition whose versions are all served."""
    spec = {"properties": {name: {"type": "object"} for name in fields}}
    schema = {"openAPIV3Schema": {"properties": {"spec": spec}}}
    return {"spec": {"versions": [{"name": name, "served": True, "schema": schema} for name in versions]}}


APPS = "/apis/apps/v1/namespaces"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MANAGER = f"{APPS}/{OPERATOR}/deployments/hyperpod-inference-controller-manager"
IMAGE = "012345678901.dkr.ecr.eu-west-1.amazonaws.com/hyperpod-inference-operator"


class Site:
    """The cluster and the release. `rows` runs all checks."""

    def __init__(self) -> None:
        self.api = FakeObjects()
        self.release = release()
        self.time = Time()
        add = self.api.add
        add("/version", {"gitVersion": "v1.33.2-eks-1"})
        for name in ("node-1", "node-2"):
            add(f"/api/v1/nodes/{name}", node())
        add(f"{CRDS}/{CRD}", crd("v1alpha1", "v1"))
        for name in ("certificates", "issuers"):
            add(f"{CRDS}/{name}.cert-manager.io", crd("v1"))
        add(MANAGER, deployment(f"{IMAGE}:v3.2"))
        add("/apis/storage.k8s.io/v1/csidrivers/curvine", {})
        claim = {"spec": {"accessModes": ["ReadWriteMany"], "storageClassName": "shared"}, "status": {"phase": "Bound"}}
        add("/api/v1/namespaces/kv/persistentvolumeclaims/kv-l2", claim)
        add(f"{APPS}/aws-hyperpod/daemonsets/ai-toolkit", {"status": {"desiredNumberScheduled": 2, "numberReady": 2}})
        add(f"{APPS}/pool/statefulsets/p-master", {"spec": {"replicas": 3}, "status": {"readyReplicas": 3}})
        cni = {
            "name": "aws-node",
            "image": "602401143452.dkr.ecr.eu-west-1.amazonaws.com/amazon-k8s-cni:v1.19.0-eksbuild.1",
        }
        add(f"{APPS}/kube-system/daemonsets/aws-node", {"spec": {"template": {"spec": {"containers": [cni]}}}})
        labels = {"sagemaker.amazonaws.com/user-assignable": "true"}
        add("/api/v1/namespaces/kv/serviceaccounts/m-sa", {"metadata": {"labels": labels}})
        add("/api/v1/namespaces/kv/secrets/regcred", {"type": "kubernetes.io/dockerconfigjson"})
        add("/api/v1/namespaces/kv", {"metadata": {"labels": {}}})

    def rows(self, deadline: float = 60.0) -> list[Row]:
        """All rows."""
        settings = parse(json.dumps(self.release), "test")
        return run(Context(settings, Objects(self.api, self.time.deadline(deadline))), lambda line: None)

    def bad(self, severity: str = FAIL) -> list[Row]:
        """Rows of a severity, each of which says what, and what to do."""
        found = [row for row in self.rows() if row.severity == severity]
        assert all(row.finding and row.finding.what and row.finding.fix for row in found)
        return found

    def only(self, severity: str = FAIL) -> Row:
        """The one row of a severity; nothing else is wrong."""
        rows = self.rows()
        (found,) = [row for row in rows if row.severity in (FAIL, WARN)]
        assert found.severity == severity, found
        assert found.finding
        return found


@pytest.fixture
def site() -> Site:
    return Site()
