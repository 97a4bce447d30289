"""A control plane of plain processes on loopback: etcd and API server, with or without scheduler, controllers, and KWOK for the nodes."""

from __future__ import annotations

import json
import secrets
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from local_cluster.settings import KUBERNETES_VERSION
from ports import free_ports

from . import stages
from .api import Api
from .processes import Processes

CONTROLLERS = (
    "deployment-controller",
    "replicaset-controller",
    "disruption-controller",
    "serviceaccount-controller",
    "persistentvolume-binder-controller",
    "namespace-controller",
    "garbage-collector-controller",
)
"""Those that our objects need; the others would only take time from two cores."""

_KEY = Path("keys/apiserver.key")

_REQUESTS = {"qps": 1000, "burst": 2000}
"""Client limits of scheduler and controllers: the defaults (50 and 20 a second) are for clusters that live for days."""


@dataclass(frozen=True)
class ControlPlane:
    """A running one.

    Args:
        kubeconfig: of an administrator, for helm.
        api: of the same administrator, for the tests.
    """

    kubeconfig: Path
    api: Api


def start(programs: Path, folder: Path, processes: Processes) -> ControlPlane:
    """Start all in `folder`, and wait until the API server is ready.

    Args:
        programs: folder with `kube`, `etcd` and `kwok`.
        folder: an empty folder for data, certificates and settings.
        processes: what starts and ends them.

    Raises:
        RuntimeError: a program ended or was not ready in time.
    """
    for name in ("kube-scheduler", "kube-controller-manager"):
        (folder / name).symlink_to(programs / "kube")
    scheduler, manager = free_ports(2)
    # New nodes would be tainted until a controller that we do not run has seen them.
    plane = start_api(programs, folder, processes, without=("TaintNodesByCondition",))
    kubeconfig, key = plane.kubeconfig, folder / _KEY

    settings = folder / "scheduler.json"
    settings.write_text(json.dumps({
        "apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration",
        "clientConnection": {"kubeconfig": str(kubeconfig), **_REQUESTS}, "leaderElection": {"leaderElect": False},
    }))  # fmt: skip
    processes.start("scheduler", [
        folder / "kube-scheduler", f"--config={settings}", "--bind-address=127.0.0.1", f"--secure-port={scheduler}",
        f"--cert-dir={folder / 'certificates-scheduler'}",
    ])  # fmt: skip
    processes.start("controllers", [
        folder / "kube-controller-manager", f"--kubeconfig={kubeconfig}", "--leader-elect=false", "--bind-address=127.0.0.1",
        f"--secure-port={manager}", f"--cert-dir={folder / 'certificates-manager'}",
        f"--controllers={','.join(CONTROLLERS)}", f"--service-account-private-key-file={key}",
        f"--kube-api-qps={_REQUESTS['qps']}", f"--kube-api-burst={_REQUESTS['burst']}",
    ])  # fmt: skip
    (folder / "stages.json").write_text("\n---\n".join(json.dumps(stage) for stage in stages.STAGES))
    processes.start("kwok", [
        programs / "kwok", f"--kubeconfig={kubeconfig}", f"--config={folder / 'stages.json'}", "--manage-all-nodes=true",
        "--node-lease-duration-seconds=600",
    ])  # fmt: skip
    return plane


def start_api(programs: Path, folder: Path, processes: Processes, without: Sequence[str] = ()) -> ControlPlane:
    """Start etcd and an API server only; as `start`.

    Args:
        without: admission plugins that need controllers.
    """
    (folder / "kube-apiserver").symlink_to(programs / "kube")
    etcd, peers, secure = free_ports(3)
    url = f"https://127.0.0.1:{secure}"
    token = secrets.token_hex(16)
    (folder / "tokens.csv").write_text(f'{token},admin,admin,"system:masters"\n')
    key = _key(programs, folder)
    processes.start("etcd", [
        programs / "etcd", f"--data-dir={folder / 'etcd'}", "--unsafe-no-fsync", "--log-level=warn",
        f"--listen-client-urls=http://127.0.0.1:{etcd}", f"--advertise-client-urls=http://127.0.0.1:{etcd}",
        f"--listen-peer-urls=http://127.0.0.1:{peers}", f"--initial-advertise-peer-urls=http://127.0.0.1:{peers}",
        f"--initial-cluster=default=http://127.0.0.1:{peers}",
    ])  # fmt: skip
    processes.start("apiserver", [
        folder / "kube-apiserver", f"--etcd-servers=http://127.0.0.1:{etcd}", "--bind-address=127.0.0.1",
        f"--secure-port={secure}", f"--cert-dir={folder / 'certificates'}", f"--token-auth-file={folder / 'tokens.csv'}",
        "--authorization-mode=RBAC", "--service-cluster-ip-range=10.96.0.0/16",
        "--service-account-issuer=https://kubernetes.default.svc", f"--service-account-key-file={key}",
        f"--service-account-signing-key-file={key}", f"--disable-admission-plugins={','.join(without)}",
        "--max-requests-inflight=3000", "--max-mutating-requests-inflight=1000", "--profiling=false", "--watch-cache=true",
    ])  # fmt: skip
    processes.wait_for("API server", lambda: _ready(url, token), timeout_s=240)
    return ControlPlane(_kubeconfig(folder, url, token), Api(url, token))


def _key(programs: Path, folder: Path) -> Path:
    """A private key for the tokens of service accounts; kubeadm makes one without a network and without OpenSSL."""
    common = {"apiVersion": "kubeadm.k8s.io/v1beta4"}
    documents: list[dict[str, Any]] = [
        {
            **common,
            "kind": "ClusterConfiguration",
            "kubernetesVersion": KUBERNETES_VERSION,
            "encryptionAlgorithm": "ECDSA-P256",
        },
        # Not used, but without one it looks for a network interface, and refuses loopback.
        {**common, "kind": "InitConfiguration", "localAPIEndpoint": {"advertiseAddress": "192.0.2.1"}},
    ]
    kubeadm, config, keys = folder / "kubeadm", folder / "kubeadm.yaml", (folder / _KEY).parent
    kubeadm.symlink_to(programs / "kube")
    config.write_text("\n---\n".join(json.dumps(each) for each in documents))
    command: list[Path | str] = [
        kubeadm, "certs", "generate-csr", "--config", config, "--cert-dir", keys, "--kubeconfig-dir", keys,
    ]  # fmt: skip
    subprocess.run(command, check=True, capture_output=True)
    return folder / _KEY


def _ready(url: str, token: str) -> bool:
    try:
        answer = httpx.get(f"{url}/readyz", headers={"Authorization": f"Bearer {token}"}, verify=False, timeout=2)
    except httpx.HTTPError:
        return False
    return answer.status_code == 200


def _kubeconfig(folder: Path, url: str, token: str) -> Path:
    """The API server makes its own certificate, which nobody has signed; it listens on loopback only."""
    cluster: dict[str, Any] = {"server": url, "insecure-skip-tls-verify": True}
    path = folder / "kubeconfig"
    path.write_text(json.dumps({
        "apiVersion": "v1", "kind": "Config", "current-context": "tests",
        "clusters": [{"name": "tests", "cluster": cluster}],
        "users": [{"name": "admin", "user": {"token": token}}],
        "contexts": [{"name": "tests", "context": {"cluster": "tests", "user": "admin"}}],
    }))  # fmt: skip
    return path
