"""What parts lines of business: the salt, the tree, the owner, the labels and the network."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chart.apiserver import serve
from chart.cases import CASES
from chart.helm import Helm, Json, Manifests, model
from chart.test_invariants import CLUSTER_SCOPED
from chart.test_live import ACCOUNT, KV, MODELS, live_options

SALT: Json = {"cacheSalt": {"secretName": "salts", "key": "mine"}}
OWNER: Json = {"l2": {"owner": {"uid": 20001, "gid": 20002, "fsGroup": None}}}
PEER: Json = {"namespaceSelector": {"matchLabels": {"team": "retail"}}}
HOST: Json = {"l2": {"volume": {"type": "hostPath", "claimName": "", "hostPath": {"path": "/srv/kv"}}}}


def container(manifests: Manifests, name: str = "vllm") -> Json:
    """A container of the engine."""
    pod = manifests.pod()["spec"]
    (found,) = [each for each in (*pod.get("initContainers", []), *pod["containers"]) if each["name"] == name]
    return dict(found)


def test_without_a_secret_there_is_no_middleware(helm: Helm) -> None:
    shown = helm.template()
    assert "--middleware" not in container(shown)["args"]
    assert "tkc_cache_salt" not in shown.text


def test_the_salt_comes_from_its_secret_and_stands_nowhere(helm: Helm) -> None:
    shown = helm.template(SALT)
    vllm = container(shown)
    at = vllm["args"].index("--middleware")
    assert vllm["args"][at + 1] == "tkc_cache_salt.CacheSalt"
    (salt,) = [each for each in vllm["env"] if each["name"] == "TKC_CACHE_SALT"]
    assert salt == {"name": "TKC_CACHE_SALT", "valueFrom": {"secretKeyRef": {"name": "salts", "key": "mine"}}}
    (path,) = [each["value"] for each in vllm["env"] if each["name"] == "PYTHONPATH"]
    (mount,) = [each for each in vllm["volumeMounts"] if each["mountPath"] == path]
    (volume,) = [each for each in shown.pod()["spec"]["volumes"] if each["name"] == mount["name"]]
    (held,) = shown.get("ConfigMap", volume["configMap"]["name"])["data"].items()
    assert held[0] == "tkc_cache_salt.py"
    spaces: dict[str, Any] = {"__name__": "tkc_cache_salt"}
    exec(held[1], spaces)
    assert spaces["CacheSalt"]
    # No other container has it.
    others = [c for c in (*shown.pod()["spec"]["initContainers"], *shown.pod()["spec"]["containers"]) if c != vllm]
    assert not [c["name"] for c in others if "TKC_CACHE_SALT" in json.dumps(c)]


def test_the_salt_changes_no_fingerprint(helm: Helm) -> None:
    """Blocks of before are misses by LMCache's keys, in the same directory, and age out there."""
    hashes = {
        helm.template(*layers).pod()["metadata"]["annotations"]["tiered-kv-cache.io/config-hash"]
        for layers in ([], [SALT])
    }
    assert len(hashes) == 1


@pytest.mark.parametrize("strategy", ["roundrobin", "session", "prefixaware"])
def test_strategies_that_go_with_a_salt(helm: Helm, strategy: str) -> None:
    assert "tkc_cache_salt.CacheSalt" in container(helm.template(SALT, model(routing={"strategy": strategy})))["args"]


CUDA = model(engine={"device": "cuda"})
REFUSED: dict[str, tuple[list[Json], list[str]]] = {
    "kvaware": (
        [SALT, model(routing={"strategy": "kvaware"}, cache={"chunkSize": 128})],
        ['models.tiny.routing.strategy: "kvaware"', "forgets each engine", "prefixaware, session or roundrobin"],
    ),
    "in process": (
        [SALT, CUDA, model(engine={"lmcacheMode": "inProcess"})],
        ['models.tiny.engine.lmcacheMode: "inProcess"', "leaves the salt out of its keys", "use multiProcess"],
    ),
    "older vLLM": (
        [SALT, CUDA, model(engine={"versions": {"vllm": "0.30.0"}})],
        ['models.tiny.engine.versions.vllm: "0.30.0"', "before 0.32.0", "newer pair"],
    ),
    "hyperpod": (
        [SALT, {"platform": "hyperpod"}],
        ['cacheSalt.secretName: "salts"', "the operator's Pods", "leave it empty"],
    ),
    "the salt itself": (
        [{"cacheSalt": {"secretName": "S3cret/Salt"}}],
        ['cacheSalt.secretName: "(not shown)"', "no Secret can have this name", "kubectl create secret"],
    ),
    "no key of a Secret": ([{"cacheSalt": {"secretName": "a", "key": "a b"}}], ['cacheSalt.key: "a b"']),
    "salt in env": ([model(engine={"env": {"TKC_CACHE_SALT": "x"}})], ["engine.env.TKC_CACHE_SALT", "use cacheSalt"]),
    "salt in args": (
        [SALT, model(engine={"args": ["--root-path", "/$(TKC_CACHE_SALT)"]})],
        ['models.tiny.engine.args: "/$(TKC_CACHE_SALT)"', "writes its arguments into its log"],
    ),
    "key in another variable": (
        [model(engine={"env": {"MINE": "$(VLLM_API_KEY)"}})],
        ['models.tiny.engine.env.MINE: "$(VLLM_API_KEY)"', "holds a secret"],
    ),
    "owner on a pool": (
        [OWNER, {"l2": {"volume": {"type": "curvine", "claimName": ""}}}, CASES["own-pool"]],
        ["l2.owner.uid: 20001", "l2.owner.gid: 20002", "a pool gives each line of business a directory of 10001"],
    ),
    "owner on hyperpod": ([OWNER, {"platform": "hyperpod"}], ["l2.owner.uid: 20001", "the operator decides"]),
    "clients without policies": (
        [{"networkPolicy": {"enabled": False, "clientsFrom": [PEER]}}],
        ["networkPolicy.clientsFrom", "networkPolicy.enabled is false"],
    ),
    "clients that are nobody": (
        [{"networkPolicy": {"clientsFrom": [{}]}}],
        ["networkPolicy.clientsFrom[0]: {}", "names nobody"],
    ),
    "owner of null": ([{"l2": {"owner": {"uid": None}}}], ["l2.owner.uid", "needs a value"]),
}


@pytest.mark.parametrize("case", REFUSED)
def test_is_refused_with_key_value_and_fix(helm: Helm, case: str) -> None:
    layers, parts = REFUSED[case]
    message = helm.refusal(*layers)
    for part in parts:
        assert part in message, message


def test_a_salt_in_the_place_of_its_secrets_name_is_not_repeated(helm: Helm) -> None:
    assert "S3cret" not in helm.refusal({"cacheSalt": {"secretName": "S3cret/Salt"}})


def test_the_secret_of_the_salt_must_exist_with_its_key(helm: Helm) -> None:
    secret = {"secrets/tiered-kv-cache/salts": {"data": {"theirs": "eA=="}}}
    with serve({**ACCOUNT, **KV, **MODELS}) as url:
        message = helm.refusal(SALT, extra=live_options(url))
    assert 'cacheSalt.secretName: "salts"' in message
    assert "kubectl create secret generic salts -n tiered-kv-cache --from-literal=mine=" in message
    with serve({**ACCOUNT, **KV, **MODELS, **secret}) as url:
        assert "use one of: theirs" in helm.refusal(SALT, extra=live_options(url))


@pytest.mark.parametrize("layers", [[], [HOST]], ids=["claim", "hostPath"])
def test_engines_mount_their_own_tree_at_its_old_place(helm: Helm, layers: list[Json]) -> None:
    shown = helm.template(*layers)
    (mount,) = [each for each in container(shown, "lmcache")["volumeMounts"] if each["name"] == "l2"]
    assert mount == {"name": "l2", "mountPath": "/mnt/kv-l2/v1/retail", "subPath": "v1/retail"}
    # It makes the directory before, so that the kubelet never makes it as root.
    root = container(shown, "l2-root")
    assert {"name": "l2", "mountPath": "/mnt/kv-l2"} in root["volumeMounts"]
    assert root["args"][root["args"].index("--parent") + 1] == "/mnt/kv-l2/v1/retail/tiny"
    assert not [m for m in container(shown)["volumeMounts"] if m["name"] == "l2"]


def test_in_process_too(helm: Helm) -> None:
    vllm = container(helm.template(CUDA, model(engine={"lmcacheMode": "inProcess"})))
    (mount,) = [each for each in vllm["volumeMounts"] if each["name"] == "l2"]
    assert mount["subPath"] == "v1/retail"


def test_the_whole_volume_where_the_kubelet_may_not_enter_it(helm: Helm) -> None:
    shown = helm.template({"l2": {"volume": {"ownTreeOnly": False}}})
    assert {"name": "l2", "mountPath": "/mnt/kv-l2"} in container(shown, "lmcache")["volumeMounts"]


@pytest.mark.parametrize("case", ["own-pool", "own-pool-by-csi"])
def test_a_pools_mount_begins_at_the_line_of_business(helm: Helm, case: str) -> None:
    shown = helm.run("-f", "-", given=json.dumps(CASES[case]))
    engines = [d for d in shown.of("Deployment") if d["metadata"]["labels"]["app.kubernetes.io/component"] == "engine"]
    assert engines
    for engine in engines:
        for each in engine["spec"]["template"]["spec"]["containers"]:
            assert not [m for m in each["volumeMounts"] if "subPath" in m and m["name"] == "l2"]


def test_who_uses_the_volume_runs_as_its_owner_and_nobody_else(helm: Helm) -> None:
    shown = helm.template(OWNER, {"gateway": {"enabled": True}})
    found = {}
    for each in (*shown.of("Deployment"), *shown.of("Job"), *shown.of("Pod")):
        spec = each["spec"].get("template", each)["spec"]
        uses = any(volume["name"] == "l2" for volume in spec["volumes"])
        found[each["metadata"]["labels"]["app.kubernetes.io/component"]] = (uses, spec["securityContext"])
    assert {"engine", "keeper", "storage-check", "verify"} <= {name for name, (uses, _) in found.items() if uses}
    for uses, security in found.values():
        assert security["runAsUser"] == (20001 if uses else 10001)
        assert security["runAsGroup"] == (20002 if uses else 10001)
        assert ("fsGroup" in security) is not uses
        assert security["runAsNonRoot"] is True


def test_the_keeper_has_the_groups_of_those_it_keeps(helm: Helm) -> None:
    others = {"cards": {"quota": "1Gi", "gid": 20009}, "loans": {"quota": "1Gi"}, "bonds": {"quota": "1Gi", "gid": 7}}
    shown = helm.template({"l2": {"keeper": {"linesOfBusiness": others}}})
    assert shown.pod("keeper")["spec"]["securityContext"]["supplementalGroups"] == [7, 20009]
    assert "gid" not in shown.text.split("config.json")[1].splitlines()[0]
    assert "supplementalGroups" not in json.dumps(shown.pod())


@pytest.mark.parametrize("case", CASES)
def test_every_object_and_pod_tells_whose_it_is(helm: Helm, case: str) -> None:
    """For cost allocation: whatever costs something has the label, and the label is the values' own."""
    shown = helm.run("-f", "-", given=json.dumps(CASES[case]))
    name = CASES[case].get("lineOfBusiness")
    assert bool(shown.objects) is (case != "no-models")
    for found in shown.objects:
        labels = found["metadata"]["labels"]
        assert labels.get("tiered-kv-cache.io/line-of-business") == (name or None), found["metadata"]["name"]
        template = found.get("spec", {}).get("template") if found["kind"] not in CLUSTER_SCOPED else None
        if template and "metadata" in template:
            inner = template["metadata"]["labels"]
            assert inner.get("tiered-kv-cache.io/line-of-business") == (name or None), found["metadata"]["name"]


def _policy(shown: Manifests, name: str) -> list[Json]:
    return list(shown.get("NetworkPolicy", name)["spec"]["ingress"])


def test_only_its_clients_reach_a_router_and_a_gateway(helm: Helm) -> None:
    layers: list[Json] = [{"networkPolicy": {"clientsFrom": [PEER]}}, {"gateway": {"enabled": True}}]
    shown = helm.template(*layers)
    components = {}
    for name in ("demo-tiny-router", "demo-gateway"):
        (first, *_) = _policy(shown, name)
        assert PEER in first["from"]
        components[name] = [
            peer["podSelector"]["matchLabels"]["app.kubernetes.io/component"] for peer in first["from"] if peer != PEER
        ]
    assert components == {"demo-tiny-router": ["gateway", "verify"], "demo-gateway": ["verify"]}
    exclusive = helm.template(*layers, {"gateway": {"exclusive": True}})
    assert PEER not in _policy(exclusive, "demo-tiny-router")[0]["from"]
    assert PEER in _policy(exclusive, "demo-gateway")[0]["from"]
    assert "from" not in _policy(helm.template(), "demo-tiny-router")[0]


def test_no_policy_lets_in_a_pod_of_another_namespace_or_release_by_its_labels(helm: Helm) -> None:
    """A peer of the chart's own is one Pod selector, hence of the release's own namespace, that names the release."""
    shown = helm.template({"gateway": {"enabled": True, "exclusive": True}})
    peers = [
        peer
        for policy in shown.of("NetworkPolicy")
        for rule in policy["spec"].get("ingress", [])
        for peer in rule.get("from", [])
    ]
    assert len(peers) > 4
    for peer in peers:
        assert peer.keys() == {"podSelector"}
        assert peer["podSelector"]["matchLabels"]["app.kubernetes.io/instance"] == "demo"
