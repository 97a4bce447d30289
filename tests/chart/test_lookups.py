"""What the chart asks a cluster while it renders, and what the answers may do: refuse, or what is written here."""

from __future__ import annotations

import re

from chart.helm import CHART

REFUSES = "refuses values; changes no output"
ALLOWED: dict[str, dict[str, str]] = {
    "templates/validate/_live.tpl": {
        "ServiceAccount": "tells whether an API server answers at all",
        "PersistentVolumeClaim": REFUSES,
        "PersistentVolume": REFUSES,
    },
    "templates/validate/_kept.tpl": {"PersistentVolumeClaim": REFUSES, "PersistentVolume": REFUSES},
    "templates/validate/_lifecycle.tpl": {"Secret": REFUSES},
    "templates/validate/_source.tpl": {"Secret": REFUSES},
    "templates/validate/_hyperpod.tpl": {"InferenceEndpointConfig": REFUSES, "ServiceAccount": REFUSES},
    "templates/validate/_curvine.tpl": {"StatefulSet": REFUSES, "Namespace": REFUSES, "CSIDriver": REFUSES},
    "templates/_platform.tpl": {
        "CustomResourceDefinition": "fields that the served definition has; inferenceOperator.version takes its place",
    },
    "charts/inference-operator/templates/webhook/_names.tpl": {
        "MutatingWebhookConfiguration": "in an upgrade to policies the webhook stays once more",
        "MutatingAdmissionPolicy": "the same",
    },
    "charts/model-endpoint/templates/autoscaling/_replicas.tpl": {
        "(given)": "in the upgrade that switches autoscaling on the number of Pods stays",
    },
}
"""By file and kind. Nothing else may ask: docs/gitops.md tells users of those that change what is rendered."""


CALL = re.compile(r'\blookup +("[^"]+"|[.]\w+|\(include [^)]*\)) +"?([\w.$]+)')


def _calls() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for file in sorted(CHART.rglob("templates/**/*")):
        for version, kind in CALL.findall(file.read_text()) if file.is_file() else ():
            given = "(given)" if version.startswith(".") else kind
            found.setdefault(str(file.relative_to(CHART)), set()).add(given)
    return found


def test_every_lookup_is_known() -> None:
    assert {file: set(kinds) for file, kinds in ALLOWED.items()} == _calls()


def test_no_call_looks_otherwise() -> None:
    """The word as an action has it, whatever stands behind it."""
    for file in CHART.rglob("templates/**/*"):
        if file.is_file():
            words = re.findall(r"(?:\(|with |if |range |:?= )lookup\b", file.read_text())
            assert len(words) == len(CALL.findall(file.read_text())), file
