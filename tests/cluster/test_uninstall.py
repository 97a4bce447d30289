"""Uninstalling leaves nothing of the release but the cached data on its volume."""

from __future__ import annotations

from local_cluster.helm import Helm

from .api import Api, wait_for

_KINDS = {
    "v1": ["pods", "services", "configmaps", "secrets", "serviceaccounts", "persistentvolumeclaims"],
    "apps/v1": ["deployments", "replicasets", "statefulsets", "daemonsets"],
    "batch/v1": ["jobs"],
    "rbac.authorization.k8s.io/v1": ["roles", "rolebindings"],
    "networking.k8s.io/v1": ["networkpolicies"],
    "policy/v1": ["poddisruptionbudgets"],
}
_CLUSTER_KINDS = {"v1": ["persistentvolumes"], "rbac.authorization.k8s.io/v1": ["clusterroles", "clusterrolebindings"]}


def _left(api: Api, release: Helm) -> list[str]:
    found = []
    for scope, kinds in ((f"namespaces/{release.namespace}/", _KINDS), ("", _CLUSTER_KINDS)):
        for version, names in kinds.items():
            for name in names:
                prefix = "api" if version == "v1" else "apis"
                url = f"/{prefix}/{version}/{scope}{name}"
                selector = f"app.kubernetes.io/instance={release.release}"
                items = api.request("GET", url, params={"labelSelector": selector}).json()["items"]
                found += [f"{name}/{item['metadata']['name']}" for item in items]
    return found


def test_nothing_is_left(release: Helm, api: Api) -> None:
    assert _left(api, release), "the release has no labelled objects; this test would prove nothing"
    assert any(name.startswith("pods/tiny-verify") for name in _left(api, release)), "no helm test ran before"
    done = release.uninstall()
    assert done.ok, done.text
    wait_for("objects gone", lambda: not _left(api, release), 120)
    assert api.core.list_namespaced_secret(release.namespace).items == []
