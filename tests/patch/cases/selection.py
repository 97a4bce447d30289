"""Which Pods are patched, and what of them is left alone."""

from __future__ import annotations

from .model import BASE, Case, Patched, Refused, Untouched
from .parts import POD_NAME, in_process
from .shapes import MODEL, labels, spec, v32

GATED = labels(
    spec(v32(), schedulingGates=[{"name": "kueue.x-k8s.io/admission"}], schedulerName="some-scheduler"),
    **{"kueue.x-k8s.io/queue_name": "lob-retail"},
)
ROUTER = labels(v32(), app=f"{MODEL}-default-router")
STRANGER = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"generateName": "stranger-", "labels": {"app": MODEL}},
    "spec": {"containers": [{"name": MODEL, "image": "example.com/a:1", "env": [POD_NAME]}]},
}

CASES = [
    Case("plain", v32(), Patched(in_process())),
    Case("model-in-list", v32(), Patched(in_process()), {**BASE, "models": f"other,{MODEL},third"}),
    Case("model-not-in-list", v32(), Untouched(), {**BASE, "models": f"other,{MODEL}-2,not-{MODEL}"}),
    Case("router-of-the-model", ROUTER, Untouched(), {**BASE, "models": MODEL}),
    Case("namespace-not-listed", v32(), Untouched(), {}, listed=False),
    Case("kube-system", v32(), Untouched(), namespace="kube-system"),
    Case("kube-public", v32(), Untouched(), namespace="kube-public"),
    Case("kube-node-lease", v32(), Untouched(), namespace="kube-node-lease"),
    Case("other-workload", STRANGER, Untouched()),
    Case("other-service", labels(v32(), deploying_service="something-else"), Untouched()),
    Case("no-app-label", labels(v32(), app=None), Untouched()),
    Case("scheduling-gates", GATED, Patched(in_process())),
    Case("no-parameter-object", v32(), Refused(("no parameter object", "upgrade the release")), None),
    Case("no-parameter-object-other-workload", STRANGER, Untouched(), None),
    Case("no-models-key", v32(), Refused((".models", "upgrade the release")), {"claim": "a", "mountPath": "/b"}),
    Case(
        "no-claim-key",
        v32(),
        Refused((".claim", "upgrade the release")),
        {key: BASE[key] for key in BASE if key != "claim"},
    ),
    Case("no-mount-path-key", v32(), Refused((".mountPath", "upgrade the release")), {"models": "*", "claim": "a"}),
    Case(
        "no-worker",
        labels(v32(), app="another-model"),
        Refused(("'another-model'", f"{MODEL}, sidecar-reverse-proxy, otel-collector")),
    ),
]
