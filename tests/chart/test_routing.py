"""What a routing strategy renders for router and engine, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chart.helm import Helm, Json, Manifests, environment, flag, model

SAME_SIZES: Json = {"cache": {"chunkSize": 128}, "engine": {"blockSize": 128}}


def routing(strategy: str, **more: Any) -> Json:
    """A layer with a strategy; kvaware gets the sizes that it needs."""
    return model(routing={"strategy": strategy, **more}, **(SAME_SIZES if strategy == "kvaware" else {}))


def router_args(manifests: Manifests) -> list[str]:
    return list(manifests.container("router", "router")["args"])


def engine_args(manifests: Manifests) -> list[str]:
    return list(manifests.container("vllm")["args"])


@pytest.mark.parametrize(
    ("strategy", "replicas", "policy"),
    [
        ("roundrobin", 1, "round_robin"),
        ("roundrobin", 3, "round_robin"),
        ("session", 1, "sticky_least_loaded"),
        ("session", 3, "consistent_hash"),
        ("prefixaware", 1, "cache_aware"),
        ("kvaware", 1, "kv_aware"),
        ("kvaware", 3, "kv_aware"),
    ],
)
def test_policies(helm: Helm, strategy: str, replicas: int, policy: str) -> None:
    manifests = helm.template(routing(strategy, replicas=replicas))
    assert flag(router_args(manifests), "--policy") == policy
    assert manifests.get("Deployment", "demo-tiny-router")["spec"]["replicas"] == replicas


def test_settings_reach_the_router(helm: Helm) -> None:
    args = router_args(
        helm.template(
            routing(
                "prefixaware",
                prefix={"threshold": 0.5, "imbalanceRequests": 3, "imbalanceRatio": 2},
                requestTimeoutSeconds=90,
                retries={"attempts": 2, "initialBackoffMs": 5, "maxBackoffMs": 50},
                circuitBreaker={"enabled": True, "failures": 7, "openSeconds": 11},
            )
        )
    )
    expected = {
        "--cache-threshold": "0.5",
        "--balance-abs-threshold": "3",
        "--balance-rel-threshold": "2",
        "--request-timeout-secs": "90",
        "--retry-max-retries": "2",
        "--retry-initial-backoff-ms": "5",
        "--retry-max-backoff-ms": "50",
        "--cb-failure-threshold": "7",
        "--cb-timeout-duration-secs": "11",
    }
    assert {name: flag(args, name) for name in expected} == expected
    assert "--disable-circuit-breaker" not in args


def test_defaults(helm: Helm) -> None:
    """No breaker, a bounded number of tries, and the selector last, since it takes all that follows."""
    args = router_args(helm.template(routing("roundrobin")))
    assert "--disable-circuit-breaker" in args
    assert flag(args, "--retry-max-retries") == "4"
    assert all("=" in each for each in args[args.index("--selector") + 1 :])
    assert "--disable-retries" in router_args(helm.template(routing("roundrobin", retries={"attempts": 1})))


def test_only_a_table_of_sessions_forgets_them(helm: Helm) -> None:
    container = helm.template(routing("session", session={"idleSeconds": 77})).container("router", "router")
    assert environment(container) == {"VLLM_ROUTER_SLL_SESSION_EXPIRATION_IN_S": "77"}
    assert "env" not in helm.template(routing("session", replicas=2)).container("router", "router")


@pytest.mark.parametrize(
    ("strategy", "render", "events"),
    [("roundrobin", False, False), ("session", False, False), ("prefixaware", True, False), ("kvaware", True, True)],
)
def test_what_engines_add_for_a_strategy(helm: Helm, strategy: str, render: bool, events: bool) -> None:
    manifests = helm.template(routing(strategy))
    args = engine_args(manifests)
    assert ("--enable-scale-out" in args) == render
    assert ("--kv-events-config" in args) == events
    ports = {each["containerPort"] for each in manifests.container("vllm")["ports"]}
    assert ({5557, 5558} <= ports) == events
    assert any("tkc_kv_discovery.py" in each["data"] for each in manifests.of("ConfigMap")) == events


def test_older_engines_have_no_render(helm: Helm) -> None:
    versions = {
        "versions": {"vllm": "0.31.2", "lmcache": "0.5.6"},
        "image": {"repository": "example.com/vllm", "tag": "v0.31.2"},
        "acknowledge": {"unknownPair": True},
    }
    args = engine_args(helm.template(routing("prefixaware"), model(engine=versions)))
    assert "--enable-scale-out" not in args


def test_vllm_finds_the_middleware(helm: Helm) -> None:
    """The ConfigMap holds the module that --middleware names, in the folder that PYTHONPATH names."""
    manifests = helm.template(routing("kvaware"))
    container = manifests.container("vllm")
    module, name = flag(container["args"], "--middleware").split(".")
    (mount,) = [each for each in container["volumeMounts"] if each["mountPath"] == environment(container)["PYTHONPATH"]]
    (volume,) = [each for each in manifests.pod()["spec"]["volumes"] if each["name"] == mount["name"]]
    source = manifests.get("ConfigMap", volume["configMap"]["name"])["data"][f"{module}.py"]
    scope: dict[str, Any] = {"__name__": module}
    exec(compile(source, module, "exec"), scope)
    assert callable(scope[name])


def test_events_reach_the_models_router_only(helm: Helm) -> None:
    """They name the tokens of prompts, and the port asks for no password."""
    policy = helm.template(routing("kvaware")).get("NetworkPolicy", "demo-tiny-engine")
    (rule,) = [rule for rule in policy["spec"]["ingress"] if {"port": 5557, "protocol": "TCP"} in rule["ports"]]
    (peer,) = rule["from"]
    labels = peer["podSelector"]["matchLabels"]
    assert labels["app.kubernetes.io/component"] == "router"
    assert labels["tiered-kv-cache.io/model"] == "tiny"
    assert {each["port"] for each in rule["ports"]} == {5557, 5558}
    others = helm.template(routing("prefixaware")).get("NetworkPolicy", "demo-tiny-engine")
    assert "5557" not in str(others)


def test_cache_and_fingerprint_do_not_depend_on_it(helm: Helm) -> None:
    """A change of strategy must find the blocks that are there."""
    pods = [helm.template(routing(s), model(**SAME_SIZES)).pod() for s in ("roundrobin", "prefixaware", "kvaware")]
    hashes = {
        value
        for pod in pods
        for name, value in pod["metadata"]["annotations"].items()
        if name.startswith("tiered-kv-cache.io/") and ("hash" in name or "fingerprint" in name)
    }
    assert len(hashes) == 1


REFUSALS: list[tuple[str, tuple[Json, ...], str]] = [
    ("prefix in two routers", (routing("prefixaware", replicas=2),), "models.tiny.routing.replicas: 2"),
    (
        "unread header",
        (routing("session", session={"header": "X-Chat"}),),
        'models.tiny.routing.session.header: "X-Chat"',
    ),
    (
        "events without L0",
        (routing("kvaware"), model(cache={"l0": {"enabled": False}})),
        'models.tiny.routing.strategy: "kvaware"',
    ),
    (
        "blocks of two sizes",
        (routing("kvaware"), model(cache={"chunkSize": 256})),
        "models.tiny.cache.chunkSize: 256",
    ),
    (
        "pauses upside down",
        (routing("roundrobin", retries={"initialBackoffMs": 500, "maxBackoffMs": 100}),),
        "models.tiny.routing.retries.initialBackoffMs: 500",
    ),
    (
        "node port without a node port",
        (routing("roundrobin", service={"type": "ClusterIP", "nodePort": 30080}),),
        "models.tiny.routing.service.nodePort: 30080",
    ),
    ("a null", (model(routing={"retries": {"attempts": None}}),), "models.tiny.routing.retries.attempts: not given"),
    (
        "events flag by hand",
        (model(engine={"args": ["--kv-events-config", "{}"]}),),
        "--kv-events-config",
    ),
    ("path by hand", (routing("kvaware"), model(engine={"env": {"PYTHONPATH": "/x"}})), "PYTHONPATH"),
    (
        "gateway's node port",
        ({"gateway": {"enabled": True, "service": {"type": "ClusterIP", "nodePort": 30081}}},),
        "gateway.service.nodePort: 30081",
    ),
    (
        "one node port twice",
        (
            {"gateway": {"enabled": True, "service": {"type": "NodePort", "nodePort": 30080}}},
            routing("roundrobin", service={"type": "NodePort", "nodePort": 30080}),
        ),
        "models.tiny has the same node port",
    ),
    (
        "one served name twice",
        ({"gateway": {"enabled": True}, "models": {"a": {"servedName": "tiny", "source": {"claim": {"name": "m"}}}}},),
        "is served under the same name",
    ),
    (
        "a model called gateway",
        ({"gateway": {"enabled": True}, "models": {"gateway": {"source": {"claim": {"name": "m"}}}}},),
        'models: "gateway"',
    ),
    (
        "exclusive without policies",
        ({"gateway": {"enabled": True, "exclusive": True}, "networkPolicy": {"enabled": False}},),
        "gateway.exclusive: true",
    ),
    ("exclusive without a gateway", ({"gateway": {"exclusive": True}},), "gateway.exclusive: true"),
    ("gateway null", ({"gateway": {"enabled": True, "replicas": None}},), "gateway.replicas: not given"),
]


@pytest.mark.parametrize(("layers", "says"), [case[1:] for case in REFUSALS], ids=[case[0] for case in REFUSALS])
def test_refused(helm: Helm, layers: tuple[Json, ...], says: str) -> None:
    text = helm.refusal(*layers)
    assert says in text
    assert "why: " in text
    assert "fix: " in text


def test_allowed_beside_the_refusals(helm: Helm) -> None:
    """The rules refuse no more than they must."""
    helm.template(
        routing("kvaware"), model(cache={"chunkSize": 256, "l1": {"enabled": False}, "l2": {"enabled": False}})
    )
    helm.template(routing("session", session={"header": "x-user-id"}))
    helm.template({"models": {"gateway": {"source": {"claim": {"name": "m"}}}}})
    helm.template(routing("kvaware"), model(cache={"chunkSize": 256}, engine={"blockSize": 256}))


def test_gateway(helm: Helm) -> None:
    """One Deployment, its Service and its rule; nothing of it by default."""
    assert "gateway" not in helm.template().text
    manifests = helm.template({"gateway": {"enabled": True, "replicas": 2, "service": {"port": 8080}}})
    assert manifests.get("Deployment", "demo-gateway")["spec"]["replicas"] == 2
    assert manifests.get("Service", "demo-gateway")["spec"]["ports"][0]["port"] == 8080
    assert manifests.get("PodDisruptionBudget", "demo-gateway")["spec"]["maxUnavailable"] == 1
    spec = manifests.pod("gateway")["spec"]
    assert spec["automountServiceAccountToken"] is False
    (config,) = [each["configMap"]["name"] for each in spec["volumes"] if "configMap" in each]
    assert manifests.get("ConfigMap", config)["data"]
    assert "gateway" not in helm.template({"gateway": {"enabled": True}, "models": {"tiny": None}}).text


def test_gateway_lets_the_longest_answer_end(helm: Helm) -> None:
    patient = model(terminationGracePeriodSeconds=900)
    manifests = helm.template({"gateway": {"enabled": True}}, patient)
    spec = manifests.pod("gateway")["spec"]
    assert spec["terminationGracePeriodSeconds"] == 900
    (config,) = [each["configMap"]["name"] for each in spec["volumes"] if "configMap" in each]
    # 5 s of preStop and 5 s to exit.
    assert json.loads(manifests.get("ConfigMap", config)["data"]["config.json"])["graceSeconds"] == 890
    assert not [found for found in manifests.of("PodDisruptionBudget") if "gateway" in found["metadata"]["name"]]


@pytest.mark.parametrize("exclusive", [False, True])
def test_exclusive_gateway(helm: Helm, exclusive: bool) -> None:
    policy = helm.template({"gateway": {"enabled": True, "exclusive": exclusive}}).get(
        "NetworkPolicy", "demo-tiny-router"
    )
    (rule,) = policy["spec"]["ingress"]
    components = {p["podSelector"]["matchLabels"]["app.kubernetes.io/component"] for p in rule.get("from", [])}
    assert components == ({"gateway", "verify"} if exclusive else set())
