"""What all checks of a run share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..findings import Finding
from ..objects import Kind, Objects
from ..rows import FAIL, OK, WARN, Row
from .config import Settings

CLAIMS = Kind("v1", "persistentvolumeclaims")
NAMESPACES = Kind("v1", "namespaces", namespaced=False)
NODES = Kind("v1", "nodes", namespaced=False)
PODS = Kind("v1", "pods")
QUOTAS = Kind("v1", "resourcequotas")
LIMIT_RANGES = Kind("v1", "limitranges")
ACCOUNTS = Kind("v1", "serviceaccounts")
SECRETS = Kind("v1", "secrets")
DEPLOYMENTS = Kind("apps/v1", "deployments")
DAEMON_SETS = Kind("apps/v1", "daemonsets")
STATEFUL_SETS = Kind("apps/v1", "statefulsets")
CLASSES = Kind("storage.k8s.io/v1", "storageclasses", namespaced=False)
DRIVERS = Kind("storage.k8s.io/v1", "csidrivers", namespaced=False)
DEFINITIONS = Kind("apiextensions.k8s.io/v1", "customresourcedefinitions", namespaced=False)
WEBHOOKS = Kind("admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations", namespaced=False)
SLICES = Kind("discovery.k8s.io/v1", "endpointslices")


@dataclass(frozen=True)
class Context:
    """``settings``: what the release needs; ``objects``: what there is."""

    settings: Settings
    objects: Objects


CheckOf = Callable[[Context], Iterator[Row]]


def ok(check: str, seen: str, expected: str) -> Row:
    """A row that is fine."""
    return Row(check, OK, seen, expected)


def fails(check: str, seen: str, expected: str, what: str, fix: str, *commands: str) -> Row:
    """A row that ends the release."""
    return Row(check, FAIL, seen, expected, Finding(what, fix, commands))


def warns(check: str, seen: str, expected: str, what: str, fix: str, *commands: str) -> Row:
    """A row to be read."""
    return Row(check, WARN, seen, expected, Finding(what, fix, commands))
