"""CoreDNS of a cluster without uplink."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

from .. import kube


def drop_upstream(kubeconfig: Path) -> None:
    """Remove `forward` from the Corefile: there is no name server outside, so each foreign name would cost a time-out."""
    core = kube.core(kubeconfig)
    corefile = core.read_namespaced_config_map("coredns", "kube-system").data["Corefile"]
    without = re.sub(r"\n\s*forward \. \S+ \{[^}]*\}", "", corefile)
    core.patch_namespaced_config_map("coredns", "kube-system", {"data": {"Corefile": without}})
    restart = {"kubectl.kubernetes.io/restartedAt": datetime.now(UTC).isoformat()}
    kube.apps(kubeconfig).patch_namespaced_deployment(
        "coredns", "kube-system", {"spec": {"template": {"metadata": {"annotations": restart}}}}
    )
