"""The little of an API server that helm asks for a dry run: version, discovery, and single objects."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]

CORE = {
    "serviceaccounts": "ServiceAccount",
    "persistentvolumeclaims": "PersistentVolumeClaim",
    "configmaps": "ConfigMap",
    "persistentvolumes": "PersistentVolume",
    "pods": "Pod",
    "secrets": "Secret",
    "services": "Service",
    "namespaces": "Namespace",
}
CLUSTER_SCOPED = {
    "namespaces",
    "persistentvolumes",
    "csidrivers",
    "storageclasses",
    "clusterroles",
    "clusterrolebindings",
    "customresourcedefinitions",
    "mutatingwebhookconfigurations",
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "validatingadmissionpolicies",
    "validatingadmissionpolicybindings",
}
GROUPS = {
    "apps/v1": {"daemonsets": "DaemonSet", "deployments": "Deployment", "statefulsets": "StatefulSet"},
    "autoscaling/v2": {"horizontalpodautoscalers": "HorizontalPodAutoscaler"},
    "networking.k8s.io/v1": {"networkpolicies": "NetworkPolicy"},
    "policy/v1": {"poddisruptionbudgets": "PodDisruptionBudget"},
    "rbac.authorization.k8s.io/v1": {
        "roles": "Role",
        "rolebindings": "RoleBinding",
        "clusterroles": "ClusterRole",
        "clusterrolebindings": "ClusterRoleBinding",
    },
    "storage.k8s.io/v1": {"csidrivers": "CSIDriver", "storageclasses": "StorageClass"},
    "admissionregistration.k8s.io/v1": {
        "mutatingwebhookconfigurations": "MutatingWebhookConfiguration",
        "mutatingadmissionpolicies": "MutatingAdmissionPolicy",
        "mutatingadmissionpolicybindings": "MutatingAdmissionPolicyBinding",
        "validatingadmissionpolicies": "ValidatingAdmissionPolicy",
        "validatingadmissionpolicybindings": "ValidatingAdmissionPolicyBinding",
    },
    "batch/v1": {"jobs": "Job", "cronjobs": "CronJob"},
}

KEDA = {"keda.sh/v1alpha1": {"scaledobjects": "ScaledObject"}}
PROMETHEUS = {"monitoring.coreos.com/v1": {"podmonitors": "PodMonitor", "prometheusrules": "PrometheusRule"}}
OPERATOR = {
    "inference.sagemaker.aws.amazon.com/v1": {"inferenceendpointconfigs": "InferenceEndpointConfig"},
    "apiextensions.k8s.io/v1": {"customresourcedefinitions": "CustomResourceDefinition"},
}


def _resources(version: str, kinds: dict[str, str]) -> Json:
    listed = [
        {
            "name": name,
            "singularName": "",
            "namespaced": name not in CLUSTER_SCOPED,
            "kind": kind,
            "verbs": ["get", "list"],
        }
        for name, kind in kinds.items()
    ]
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": listed}


def _discovery(served: dict[str, dict[str, str]]) -> dict[str, Json]:
    groups = []
    for group in served:
        name, version = group.split("/")
        one = {"groupVersion": group, "version": version}
        groups.append({"name": name, "versions": [one], "preferredVersion": one})
    return {
        "/version": {"major": "1", "minor": "36", "gitVersion": "v1.36.0"},
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/apis": {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups},
        "/api/v1": _resources("v1", CORE),
        **{f"/apis/{version}": _resources(version, kinds) for version, kinds in served.items()},
    }


@contextmanager
def serve(objects: dict[str, Json], more: dict[str, dict[str, str]] | None = None) -> Iterator[str]:
    """Serve objects by `<resource>/<namespace>/<name>` (an empty namespace for cluster-scoped ones); yields the server's URL.

    Args:
        more: further groups, such as `KEDA`.
    """
    groups = GROUPS | (more or {})
    answers = _discovery(groups)
    for place, content in objects.items():
        resource, namespace, name = place.split("/")
        metadata = {"name": name, "namespace": namespace}
        folder = f"namespaces/{namespace}/{resource}" if namespace else resource
        version = next((group for group, kinds in groups.items() if resource in kinds), "v1")
        kinds, root = (CORE, "api") if version == "v1" else (groups[version], "apis")
        answers[f"/{root}/{version}/{folder}/{name}"] = {
            "apiVersion": version,
            "kind": kinds[resource],
            "metadata": metadata,
            **content,
        }

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = self.path.split("?")[0]
            status, answer = (
                (200, answers[path])
                if path in answers
                else (
                    404,
                    {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404},
                )
            )
            body = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: the test shows what matters."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
