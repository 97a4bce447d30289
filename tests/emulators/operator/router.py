"""The router of an endpoint with intelligent routing, and the Services."""

from __future__ import annotations

from .containers import COLLECTOR, PROXY_PORT
from .env import CONTROLLER_PORT, routed
from .names import SYSTEM, Names
from .options import SLEEP, Json, Options
from .overrides import override_container

PORT = 8081
"""The router's (observed)."""

SERVICE_PORT = 443
"""Of the Service in the IEC's namespace, which speaks plain HTTP (observed)."""


def services(iec: Json) -> list[Json]:
    """Both Services. The first is observed without routing; that it is there with routing as well is inferred."""
    names = Names(iec)
    made = [_service(names.service, names.namespace, names.pod_labels, {"http": (SERVICE_PORT, PROXY_PORT)})]
    if routed(iec):
        # Inferred: the Service's port, and the controller's.
        ports = {"http": (PORT, PORT), "lmcache-controller": (CONTROLLER_PORT, CONTROLLER_PORT)}
        made.append(_service(names.router_service, SYSTEM, {"app": names.router}, ports))
    return made


def _service(name: str, namespace: str, selector: dict[str, str], ports: dict[str, tuple[int, int]]) -> Json:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "type": "ClusterIP",
            "selector": selector,
            "ports": [
                {"name": key, "port": port, "targetPort": target, "protocol": "TCP"}
                for key, (port, target) in ports.items()
            ],
        },
    }


def router(iec: Json, options: Options) -> list[Json]:
    """The router's Deployment and the account with which it finds the worker's Pods; nothing without routing."""
    if not routed(iec):
        return []
    names = Names(iec)
    return [*_account(names), _deployment(iec, names, options)]


def _account(names: Names) -> list[Json]:
    """Inferred: how the router may watch Pods is not published."""
    group, account = "rbac.authorization.k8s.io", {"name": names.router, "namespace": SYSTEM}
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list", "watch"]}]
    there = {"name": names.router, "namespace": names.namespace}
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account},
        {"apiVersion": f"{group}/v1", "kind": "Role", "metadata": there, "rules": rules},
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": dict(there),
            "roleRef": {"apiGroup": group, "kind": "Role", "name": names.router},
            "subjects": [{"kind": "ServiceAccount", **account}],
        },
    ]


def _deployment(iec: Json, names: Names, options: Options) -> Json:
    """Label, container and port are observed; it seems to be vLLM production-stack's router, whose arguments are used (inferred)."""
    change = dict(options.overrides.get("router", {}))
    strategy = iec["spec"]["intelligentRoutingSpec"].get("routingStrategy") or "prefixaware"
    worker_port = iec["spec"]["worker"]["modelInvocationPort"]["containerPort"]
    known = {"<iec>": names.iec, "<namespace>": names.namespace, "<port>": str(PORT), "<workerPort>": str(worker_port)}
    args = change.pop("args", None) or [
        "--host", "0.0.0.0", "--port", "<port>", "--service-discovery", "k8s", "--k8s-namespace", "<namespace>",
        "--k8s-label-selector", "app=<iec>", "--k8s-port", "<workerPort>", "--routing-logic", strategy,
        *(["--session-key", "SESSION_KEY"] if strategy == "session" else []),
        *(["--lmcache-controller-port", str(CONTROLLER_PORT)] if strategy == "kvaware" else []),
    ]  # fmt: skip
    container: Json = {
        "name": "router-container",
        "image": options.images.router,
        "args": [_filled(each, known) for each in args],
        # The worker's plain variables are copied, those from Secrets are not (observed).
        "env": [each for each in iec["spec"]["worker"].get("environmentVariables") or [] if "value" in each],
        "ports": [
            {"name": "http", "containerPort": PORT},
            {"name": "controller", "containerPort": CONTROLLER_PORT},
        ],
    }
    collector: Json = {"name": COLLECTOR, "env": [{"name": "OPERATOR_VERSION", "value": f"v{options.version}"}]}
    if options.images.side:
        collector |= {"image": options.images.side, "command": SLEEP}
    else:
        collector["image"] = f"emulator.invalid/hyperpod-inference-otel:v{options.version}"
    labels = {"app": names.router}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": names.router, "namespace": SYSTEM, "labels": dict(labels)},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": dict(labels)},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "serviceAccountName": names.router,
                    "containers": [override_container(container, change), collector],
                },
            },
        },
    }


def _filled(text: str, known: dict[str, str]) -> str:
    for mark, value in known.items():
        text = text.replace(mark, value)
    return text
