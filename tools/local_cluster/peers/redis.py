"""A Redis for the comparison: Debian's (7.0, BSD licence) in an image of its own, which nothing else needs."""

from __future__ import annotations

import hashlib
import os
import platform
import time
from pathlib import Path
from typing import Any

from kubernetes.client.exceptions import ApiException

from .. import base_image, kube
from ..builders import builder_for
from ..host import packages
from ..host.engine import Engine
from ..images import REPOSITORY, ImageRef
from ..problem import Problem
from ..progress import phase
from ..run import run
from ..settings import PLACES

NAME = "redis"
PORT = 6379
PACKAGE = "redis-server"
MEMORY = "1gb"
"""Of blocks, least recently used first out: each is read right after it was stored."""
LIMIT = "1536Mi"
READY_S = 120.0
_CONFLICT = 409


def image(engine: Engine) -> ImageRef:
    """The image; made when the cache lacks it.

    Raises:
        Problem: no Debian mirror, or the engine cannot import it.
    """
    recipe = f"{base_image.SUITE} {platform.machine()} {PACKAGE}"
    tag = f"d{hashlib.sha256(recipe.encode()).hexdigest()[:12]}"
    reference = ImageRef(f"{REPOSITORY}/{NAME}:{tag}", tag, PLACES.images / f"{NAME}-{tag}.tar")
    if reference.archive.exists():
        return reference
    packages.ensure(packages.ROOTFS, "makes the root filesystem of the Redis image")
    builder = builder_for(os.environ.get("TKC_BUILDER", engine.name), engine.env)
    root = PLACES.cache / f"{NAME}-{tag}.partial.tar"
    with phase("image redis", f"{PACKAGE} of Debian {base_image.SUITE}, for the comparison only"):
        run(
            ["mmdebstrap", "--mode=root", "--variant=essential", f"--include={PACKAGE}", "--dpkgopt=force-unsafe-io",
             base_image.SUITE, root, *base_image.sources()],
            log="redis", fix="check the machine's Debian mirror (`apt-get update`)", timeout_s=900,
        )  # fmt: skip
        builder.import_root(root, reference.name, "redis-server")
        partial = reference.archive.with_suffix(".partial")
        partial.unlink(missing_ok=True)
        builder.save(reference.name, partial)
        partial.rename(reference.archive)
        root.unlink()
    return reference


def start(kubeconfig: Path, namespace: str, image_name: str) -> str:
    """Run it; the address at which it answers. A Service's address and no name: LMCache's native client need not resolve it.

    Raises:
        Problem: it is not Ready in time.
    """
    core = kube.core(kubeconfig)
    for create, body in ((core.create_namespaced_service, service()), (core.create_namespaced_pod, pod(image_name))):
        try:
            create(namespace, body)
        except ApiException as error:
            if error.status != _CONFLICT:
                raise
    with phase("redis", f"in namespace {namespace}"):
        until = time.monotonic() + READY_S
        while not _ready(core.read_namespaced_pod(NAME, namespace)):
            if time.monotonic() > until:
                raise Problem(
                    f"Pod {NAME} in namespace {namespace} is not Ready after {READY_S:.0f} s",
                    f"kubectl describe pod -n {namespace} {NAME}",
                )
            time.sleep(1)
    return str(core.read_namespaced_service(NAME, namespace).spec.cluster_ip)


def _ready(found: Any) -> bool:
    return any(c.type == "Ready" and c.status == "True" for c in found.status.conditions or [])


def service() -> dict[str, Any]:
    """Its Service."""
    return {"metadata": {"name": NAME}, "spec": {"selector": {"app": NAME}, "ports": [{"port": PORT}]}}


def pod(image_name: str) -> dict[str, Any]:
    """Its Pod: memory only, no files, no password; it lives as long as the run."""
    command = [
        "redis-server", "--bind", "0.0.0.0", "--protected-mode", "no", "--port", str(PORT), "--save", "", "--appendonly", "no",
        "--maxmemory", MEMORY, "--maxmemory-policy", "allkeys-lru", "--dir", "/tmp",
    ]  # fmt: skip
    container = {
        "name": NAME, "image": image_name, "imagePullPolicy": "IfNotPresent", "command": command,
        "ports": [{"containerPort": PORT}], "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 1},
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"cpu": "2", "memory": LIMIT}},
        "securityContext": {"runAsUser": 10001, "runAsGroup": 10001, "runAsNonRoot": True, "allowPrivilegeEscalation": False,
                            "capabilities": {"drop": ["ALL"]}, "seccompProfile": {"type": "RuntimeDefault"}},
    }  # fmt: skip
    spec = {"containers": [container], "terminationGracePeriodSeconds": 5, "automountServiceAccountToken": False}
    return {"metadata": {"name": NAME, "labels": {"app": NAME}}, "spec": spec}
