"""The masters' claims, and what each of them remembers of the group that it was first started with."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from .. import names
from ..deadline import Deadline
from ..findings import Finding
from ..keeper.kube import Answer, JsonObject

POLL_SECONDS = 1.0


class Api(Protocol):
    """An API server; calls raise Answer."""

    def get_claim(self, namespace: str, name: str) -> JsonObject:
        """A PersistentVolumeClaim."""
        ...

    def patch_claim(self, namespace: str, name: str, metadata: JsonObject) -> None:
        """Merge into a claim's metadata; 409 if it is not the version that was read."""
        ...


class Refused(Exception):
    """This Pod must not start; the message is one finding a line."""

    def __init__(self, *findings: Finding) -> None:
        super().__init__("\n".join(str(finding) for finding in findings))
        self.findings = findings


@dataclass(frozen=True)
class Members:
    """A group of masters: ``uids`` of their claims by ordinal; ``held``: this claim's volume has held data."""

    cluster_id: str
    uids: tuple[str, ...]
    held: bool

    def text(self) -> str:
        """The annotation's value."""
        return json.dumps({"clusterId": self.cluster_id, "uids": list(self.uids), "held": self.held})


def parse(text: str) -> Members:
    """Read an annotation's value; raises ValueError."""
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("no JSON object")
    cluster_id, uids, held = found.get("clusterId"), found.get("uids"), found.get("held")
    if not isinstance(cluster_id, str) or not isinstance(held, bool):
        raise ValueError("clusterId is no text, or held is neither true nor false")
    if not isinstance(uids, list) or not all(isinstance(uid, str) for uid in uids):
        raise ValueError("uids is no list of texts")
    return Members(cluster_id, tuple(uids), held)


@dataclass(frozen=True)
class Claim:
    """A claim as read. ``members``: None without annotation; ``fault``: why its annotation cannot be read."""

    name: str
    uid: str
    version: str
    members: Members | None = None
    fault: str = ""
    going: bool = False


def _claim(name: str, raw: JsonObject) -> Claim:
    about = raw.get("metadata") or {}
    text = (about.get("annotations") or {}).get(names.ANNOTATION_MEMBERS)
    members, fault = None, ""
    if text is not None:
        try:
            members = parse(text)
        except ValueError as err:
            fault = f"{text[:200]!r}: {err}"
    going = bool(about.get("deletionTimestamp"))
    return Claim(name, str(about["uid"]), str(about["resourceVersion"]), members, fault, going)


class Claims:
    """The claims of all masters of a StatefulSet, by ordinal. Waits share ``deadline``; ``say`` tells what they wait for."""

    def __init__(
        self, api: Api, namespace: str, stateful_set: str, count: int, *, deadline: Deadline, say: Callable[[str], None]
    ) -> None:
        self._api, self._namespace, self._deadline, self._say = api, namespace, deadline, say
        self._stateful_set = stateful_set
        self.names = tuple(f"data-{stateful_set}-{ordinal}" for ordinal in range(count))
        self._said = ""

    def read(self, settled: bool) -> list[Claim]:
        """All of them, once all exist and, where ``settled``, none is being deleted. Raises Refused after the deadline."""
        while True:
            found: list[Claim] = []
            for name in self.names:
                try:
                    claim = _claim(name, self._api.get_claim(self._namespace, name))
                except Answer as err:
                    if err.status == 404:
                        self._wait(f"claim {name} does not exist", self._missing_fix())
                    else:
                        self._wait(f"claim {name} cannot be read: {err}", self._api_fix(err.status))
                    break
                if settled and claim.going:
                    self._wait(
                        f"claim {name} is being deleted",
                        "wait until it is gone, and the Pods that still use it with it",
                    )
                    break
                found.append(claim)
            else:
                return found

    def record(self, claim: Claim, members: Members) -> bool:
        """Annotate a claim; False if it must be read again first. Raises Refused after the deadline."""
        about = {"resourceVersion": claim.version, "annotations": {names.ANNOTATION_MEMBERS: members.text()}}
        try:
            self._api.patch_claim(self._namespace, claim.name, about)
        except Answer as err:
            self._wait(f"claim {claim.name} cannot be annotated: {err}", self._api_fix(err.status))
            return False
        return True

    def _wait(self, what: str, fix: str) -> None:
        if self._deadline.passed():
            raise Refused(Finding(f"{what}, within {self._deadline.seconds:g} s", fix))
        if what != self._said:
            self._said = what
            self._say(f"waits: {what}")
        self._deadline.sleep(POLL_SECONDS)

    def _missing_fix(self) -> str:
        return (
            f"look why the StatefulSet makes none (kubectl -n {self._namespace} describe statefulset {self._stateful_set}); "
            f"it must have {len(self.names)} replicas and podManagementPolicy Parallel"
        )

    def _api_fix(self, status: int) -> str:
        if status in (401, 403):
            return (
                "let the masters' ServiceAccount get and patch the claims "
                f"{', '.join(self.names)} (the chart's Role and RoleBinding)"
            )
        if status == 409:
            return "look who else changes this claim all the time; the Pod tries again by itself"
        return "mend the network between this Pod and the API server; the Pod tries again by itself"
