"""What a release is made of now, as Helm wrote it down: in its newest Secret, or in a file."""

from __future__ import annotations

import base64
import binascii
import gzip
import json
from dataclasses import dataclass
from pathlib import Path

from ..cluster import ClusterError, JsonObject, KubernetesCluster
from ..deadline import Deadline, DeadlinePassed
from ..findings import UsageError
from ..objects import Asking, Denied, Kind, Objects
from .manifests import read

SECRETS = Kind("v1", "secrets")


@dataclass(frozen=True)
class Live:
    """``objects``: None where they are not known, and ``why`` says why; ``hooks``: whether they are among them."""

    objects: list[JsonObject] | None
    why: str = ""
    hooks: bool = False
    source: str = ""


def from_file(name: str) -> Live:
    """The output of helm get manifest, which holds no hooks; an empty file is a release that is not there. Raises UsageError."""
    try:
        text = Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as err:
        raise UsageError(f"--live {name} cannot be read: {err}. Fix: give the output of helm get manifest") from err
    return Live(read(text, f"--live {name}") if text.strip() else [], source=name)


def from_cluster(release: str, namespace: str, deadline: Deadline, way: tuple[str | None, str | None]) -> Live:
    """``way``: kubeconfig and context. What cannot be asked is no fault: the plan holds without."""
    try:
        return of_release(KubernetesCluster.connect(*way), release, namespace, deadline)
    except ClusterError as err:
        return Live(None, f"{err} ({err.fix})")
    except (Denied, DeadlinePassed) as err:
        return Live(None, str(err))


def of_release(cluster: Asking, release: str, namespace: str, deadline: Deadline) -> Live:
    """Raises ClusterError, Denied and DeadlinePassed."""
    found = Objects(cluster, deadline).list(SECRETS, namespace, labelSelector=f"owner=helm,name={release}")
    # A revision that failed or is under way made objects as well; the newest is what an upgrade starts from.
    if not found:
        return Live([], hooks=True, source="the cluster, which has no such release")
    newest = max(found, key=lambda each: int(each["metadata"]["labels"].get("version") or 0))
    name, labels = newest["metadata"]["name"], newest["metadata"]["labels"]
    if labels.get("status") == "uninstalled":
        return Live([], hooks=True, source="the cluster, where the release was uninstalled")
    try:
        packed = base64.b64decode(base64.b64decode(newest["data"]["release"]))
        record = json.loads(gzip.decompress(packed))
        texts = [record["manifest"], *(each["manifest"] for each in record.get("hooks") or [])]
    except (KeyError, TypeError, ValueError, OSError, EOFError, binascii.Error) as err:
        return Live(None, f"Secret {name} is no release of Helm that can be read: {err}")
    text = "\n---\n".join(texts)
    objects = read(text, name) if any(texts) else []
    return Live(objects, hooks=True, source=f"revision {labels.get('version')} ({labels.get('status')})")
