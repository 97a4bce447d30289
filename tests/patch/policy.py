"""The mechanism `policy`: the policies as the chart renders them, on an API server that serves them (Kubernetes 1.36)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from chart.helm import Helm
from scheduling.api import Api, Json
from tiered_kv_cache.patch.names import NEVER

from .apiserver import SYSTEM
from .cases import CASES
from .cases.model import CLAIM, MOUNT_PATH
from .judge import Tried, attempt
from .mechanism import Place

RELEASE = "cases"
GROUP = "/apis/admissionregistration.k8s.io/v1"
POLICIES = {
    "MutatingAdmissionPolicyBinding": "mutatingadmissionpolicybindings",
    "MutatingAdmissionPolicy": "mutatingadmissionpolicies",
    "ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
}
"""Kinds and paths, in the order in which they go."""
SECONDS = 60.0
"""The API server looks for changed policies once a second; a machine that is busy takes longer."""


def rendered(helm: Helm, namespaces: list[str]) -> list[Json]:
    """The release's objects for these namespaces."""
    target = {"models": ["*"], "claimName": CLAIM, "mountPath": MOUNT_PATH}
    patch = {"mechanism": "policy", "namespaces": {name: target for name in namespaces if name not in NEVER}}
    values = json.dumps({"inferenceOperator": {"l2Patch": patch}})
    return helm.run("-f", "-", "--kube-version", "1.36.0", release=RELEASE, namespace=SYSTEM, given=values).objects


class Policies:
    """Policies that the API server has.

    Args:
        api: the API server.
        policies: the policies as the chart renders them, each with the parameter object in its variable `data`.
    """

    missing: tuple[str, ...] = ("L2 patch", ".models")
    """A policy cannot be without its parameters; what comes next to it is one that holds none."""

    def __init__(self, api: Api, policies: list[Json]) -> None:
        self._api = api
        self._policies = [each for each in policies if "variables" in each["spec"]]
        self._cases = {case.name: case for case in CASES}

    def parameters(self, data: dict[str, str] | None) -> None:
        """See Mechanism."""
        for policy in self._policies:
            for variable in policy["spec"]["variables"]:
                if variable["name"] == "data":
                    # An empty map would have no types.
                    variable["expression"] = json.dumps(data or {"": ""})
            self._api.apply(policy)
        if data is None:
            self._until(lambda: self.missing[1] in self._try("plain").message)
        else:
            self._until(lambda: self._patched() and "L2 patch" in self._try("no-root").message)

    def gone(self) -> None:
        """Wait until no policy acts any more."""
        self._until(lambda: self._try("plain").pod is not None and not self._patched())

    def _patched(self) -> bool:
        pod = self._try("plain").pod
        return pod is not None and any(volume["name"] == "tkc-l2" for volume in pod["spec"]["volumes"])

    def _try(self, case: str) -> Tried:
        found = self._cases[case]
        return attempt(self._api, found.place, found.pod)

    def _until(self, true: Callable[[], bool]) -> None:
        deadline = time.monotonic() + SECONDS
        while not true():
            assert time.monotonic() < deadline, f"not within {SECONDS:.0f} s; last: {self._try('plain').message}"
            time.sleep(0.1)


@contextmanager
def serving(place: Place) -> Iterator[Policies]:
    """The chart's policies for the place's namespaces; without a parameter object."""
    objects = rendered(Helm(str(place.programs / "helm")), list(place.namespaces))
    policies = [each for each in objects if each["kind"] in POLICIES]
    api = place.plane.api
    running = Policies(api, policies)
    for each in policies:
        api.apply(each)
    running.parameters(None)
    try:
        yield running
    finally:
        for kind, path in POLICIES.items():
            for each in policies:
                if each["kind"] == kind:
                    api.delete(f"{GROUP}/{path}/{each['metadata']['name']}")
        running.gone()
