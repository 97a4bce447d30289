"""A Pod's spec and status, read from the API's JSON, with only what hooks ask about."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Any

from . import names
from .cluster import JsonObject


@dataclass(frozen=True)
class Container:
    """One container of a spec. ``env`` has literal values only; an entry with valueFrom is ``<from ...>``."""

    name: str
    image: str
    env: Mapping[str, str]
    ports: Mapping[str, int]
    words: tuple[str, ...]
    """Command and arguments, with $(VAR) replaced where the value is literal."""


@dataclass(frozen=True)
class Pod:
    """One Pod. ``claims`` maps volume names to PersistentVolumeClaims."""

    name: str
    namespace: str
    node: str
    ip: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    containers: Mapping[str, Container]
    claims: Mapping[str, str]
    terminating: bool
    ends: str
    """When it must be gone at the latest, as it said when it was deleted; empty while it is not."""
    finalizers: tuple[str, ...]
    status: JsonObject = field(repr=False)

    @classmethod
    def parse(cls, raw: JsonObject) -> Pod:
        """From the API's JSON; absent fields become empty."""
        meta, spec, status = raw.get("metadata") or {}, raw.get("spec") or {}, raw.get("status") or {}
        containers = [_container(c) for c in (spec.get("initContainers") or []) + (spec.get("containers") or [])]
        claims = {
            v.get("name", ""): v["persistentVolumeClaim"].get("claimName", "")
            for v in spec.get("volumes") or []
            if v.get("persistentVolumeClaim")
        }
        return cls(
            name=meta.get("name", ""),
            namespace=meta.get("namespace", ""),
            node=spec.get("nodeName") or "",
            ip=status.get("podIP") or "",
            labels=meta.get("labels") or {},
            annotations=meta.get("annotations") or {},
            containers={c.name: c for c in containers},
            claims=claims,
            terminating=bool(meta.get("deletionTimestamp")),
            ends=str(meta.get("deletionTimestamp") or ""),
            finalizers=tuple(str(name) for name in meta.get("finalizers") or []),
            status=status,
        )

    @property
    def phase(self) -> str:
        """Pending, Running, Succeeded, Failed or empty."""
        return str(self.status.get("phase") or "")

    @property
    def finished(self) -> bool:
        """True for a Pod that will never run again (evicted, say) but is still listed."""
        return self.phase in ("Failed", "Succeeded")

    def late(self, now: datetime) -> float:
        """Seconds beyond the time that it had to end; negative before."""
        return (now - datetime.fromisoformat(self.ends)).total_seconds() if self.ends else 0.0

    @property
    def initialized(self) -> bool:
        """Whether its init containers have ended."""
        return self.condition("Initialized").get("status") == "True"

    @property
    def ready(self) -> bool:
        """The Ready condition."""
        return self.condition("Ready").get("status") == "True"

    @property
    def revision(self) -> str:
        """The ReplicaSet's hash: Pods of one rollout share it."""
        return self.labels.get("pod-template-hash", "")

    def restarts(self, container: str) -> int:
        """How often a container was restarted."""
        found = [s for s in self.status.get("containerStatuses") or [] if s.get("name") == container]
        return int(found[0].get("restartCount") or 0) if found else 0

    def condition(self, kind: str) -> JsonObject:
        """A condition of the status, or an empty object."""
        found = [c for c in self.status.get("conditions") or [] if c.get("type") == kind]
        return found[0] if found else {}

    def port(self, container: str, wanted: tuple[str, int]) -> int:
        """Number of a named port of a container, or the usual number when the spec does not name it."""
        known = self.containers.get(container)
        return known.ports.get(wanted[0], wanted[1]) if known else wanted[1]

    def l2_report(self) -> Mapping[str, str] | None:
        """What the init container l2-root found: root, fingerprint, weights, model; None before it ended well.

        It leaves a JSON object as its termination message, which the kubelet puts into the Pod's status.
        """
        for status in self.status.get("initContainerStatuses") or []:
            ended = (status.get("state") or {}).get("terminated") or {}
            if status.get("name") == names.INIT_L2_ROOT and ended.get("exitCode") == 0:
                try:
                    found = json.loads(ended.get("message") or "")
                except ValueError:
                    return {}
                return {str(k): str(v) for k, v in found.items()} if isinstance(found, dict) else {}
        return None

    def l2_base_path(self) -> str | None:
        """Directory that the LMCache server is to use, from its ``--l2-adapter`` JSON; None if it cannot be read."""
        lmcache = self.containers.get(names.CONTAINER_LMCACHE)
        words = (*lmcache.words, "") if lmcache else ()
        for this, following in pairwise(words):
            text = following if this == "--l2-adapter" else this.partition("--l2-adapter=")[2]
            try:
                adapter = json.loads(text) if text else None
            except ValueError:
                return None
            if isinstance(adapter, dict) and isinstance(adapter.get("base_path"), str):
                return str(adapter["base_path"])
        return None


def _container(raw: JsonObject) -> Container:
    env = {str(e.get("name")): _env_value(e) for e in raw.get("env") or []}
    words = [str(w) for w in (raw.get("command") or []) + (raw.get("args") or [])]
    for key, value in env.items():
        if not value.startswith("<from "):
            words = [w.replace(f"$({key})", value) for w in words]
    return Container(
        name=str(raw.get("name", "")),
        image=str(raw.get("image", "")),
        env=env,
        ports={str(p["name"]): int(p["containerPort"]) for p in raw.get("ports") or [] if p.get("name")},
        words=tuple(words),
    )


def _env_value(entry: Mapping[str, Any]) -> str:
    source = entry.get("valueFrom")
    if source:
        return f"<from {next(iter(source), 'unknown')}>"
    return str(entry.get("value") or "")
