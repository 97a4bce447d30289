"""Every rule of templates/_validate.tpl: its values are refused, and the message names key, value and fix."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from chart.helm import CHART, Helm, Json, model, overlay

SECOND = {"source": {"claim": {"name": "models"}}}

CASES: dict[str, tuple[Json, list[str]]] = {
    "replicas 0": (model(replicas=0), ["models.tiny.replicas: 0", "at least one Pod", "models.tiny.enabled: false"]),
    "no line of business": ({"lineOfBusiness": ""}, ['lineOfBusiness: ""', "set lineOfBusiness"]),
    "line of business too long": (
        {"lineOfBusiness": "a" * 31},
        [f'lineOfBusiness: "{"a" * 31}"', "at most 30", "choose a short name"],
    ),
    "line of business illegal": ({"lineOfBusiness": "Retail_1"}, ['lineOfBusiness: "Retail_1"', "choose a short name"]),
    "L1 beyond LMCache's limit": (
        model(cache={"l1": {"memory": "8Gi"}}, resources={"engine": {"limits": {"memory": "16Gi"}}}),
        [
            'models.tiny.cache.l1.memory: "8Gi"',
            "L1 (cache.l1.memory) 8Gi + LMCache server 0.5Gi = 8.5Gi, more than resources.lmcache.limits.memory: 2Gi",
            "set models.tiny.resources.lmcache.limits.memory to 8704Mi or more, or lower cache.l1.memory",
        ],
    ),
    "L0 and L1 beyond the engine's limit": (
        model(resources={"engine": {"requests": {"memory": "1Gi"}, "limits": {"memory": "3Gi"}}}),
        [
            'models.tiny.resources.engine.limits.memory: "3Gi"',
            "L0 (engine.cpu.kvCacheSpaceGiB) 1Gi + L1 pages it writes (cache.l1.memory) 1Gi + rest of /dev/shm 0.25Gi + "
            "vLLM without weights 1.5Gi = 3.75Gi, more than resources.engine.limits.memory: 3Gi",
            "set models.tiny.resources.engine.limits.memory to 3840Mi or more plus the weights",
        ],
    ),
    "L1 beyond the engine's limit": (
        model(cache={"l1": {"memory": "8Gi"}}, resources={"lmcache": {"limits": {"memory": "16Gi"}}}),
        [
            'models.tiny.cache.l1.memory: "8Gi"',
            "= 10.75Gi, more than resources.engine.limits.memory: 8Gi",
            "or lower cache.l1.memory",
        ],
    ),
    "L1 of a few bytes": (
        model(cache={"l1": {"memory": 1048576}}),
        ["models.tiny.cache.l1.memory: 1048576", "less than 64Mi", "1Gi or more"],
    ),
    "L1 no quantity": (
        model(cache={"l1": {"memory": "1 GB"}}),
        ['models.tiny.cache.l1.memory: "1 GB"', "not a Kubernetes quantity", "1Gi"],
    ),
    "request above limit": (
        model(resources={"lmcache": {"requests": {"cpu": 3}}}),
        [
            "models.tiny.resources.lmcache.requests.cpu: 3",
            "more than models.tiny.resources.lmcache.limits.cpu: 2",
            "raise the limit",
        ],
    ),
    "resource no quantity": (
        model(resources={"router": {"limits": {"memory": "lots"}}}),
        ['models.tiny.resources.router.limits.memory: "lots"', "not a Kubernetes quantity", "2Gi"],
    ),
    "hooks resource no quantity": (
        {"hooks": {"resources": {"limits": {"cpu": "1e3"}}}},
        ['hooks.resources.limits.cpu: "1e3"', "500m"],
    ),
    "no claim name for L2": (
        {"l2": {"volume": {"claimName": ""}}},
        ['l2.volume.claimName: ""', "existingClaim", "ReadWriteMany"],
    ),
    "no path for L2": (
        {"l2": {"volume": {"type": "hostPath", "claimName": ""}}},
        ['l2.volume.hostPath.path: ""', "same content on each node"],
    ),
    "claim beside hostPath": (
        {"l2": {"volume": {"type": "hostPath", "hostPath": {"path": "/srv/kv"}}}},
        ['l2.volume.claimName: "kv"', "ignored", "l2.volume.type: existingClaim"],
    ),
    "path beside claim": (
        {"l2": {"volume": {"hostPath": {"path": "/srv/kv"}}}},
        ['l2.volume.hostPath.path: "/srv/kv"', "ignored", "l2.volume.type: hostPath"],
    ),
    "hostPath not clean": (
        {"l2": {"volume": {"type": "hostPath", "claimName": "", "hostPath": {"path": "/srv/../etc"}}}},
        ['l2.volume.hostPath.path: "/srv/../etc"', "absolute path", "/srv/kv-l2"],
    ),
    "mount path not clean": (
        {"l2": {"mountPath": "mnt/kv"}},
        ['l2.mountPath: "mnt/kv"', "absolute path", "/mnt/kv-l2"],
    ),
    "mount path taken": (
        {"l2": {"mountPath": "/dev/shm"}},
        ['l2.mountPath: "/dev/shm"', "something else", "/mnt/kv-l2"],
    ),
    "volume size no quantity": ({"l2": {"volume": {"size": "big"}}}, ['l2.volume.size: "big"', "100Gi"]),
    "owned flag": (
        model(engine={"args": ["--max-model-len", 8192]}),
        ['models.tiny.engine.args: "--max-model-len"', "owns", "engine.maxModelLen"],
    ),
    "owned flag, underscores and equals": (
        model(engine={"args": ["--max_model_len=8192"]}),
        ['"--max_model_len=8192"', "engine.maxModelLen"],
    ),
    "owned flag, abbreviated": (
        model(engine={"args": ["--served-model", "x"]}),
        ['"--served-model"', "use servedName"],
    ),
    "owned flag, dotted": (
        model(engine={"args": ["--kv-transfer-config.kv_role", "x"]}),
        ["--kv-transfer-config", "cache.*"],
    ),
    "owned flag, inherited": (
        {"defaults": {"engine": {"args": ["--no-enable-prefix-caching"]}}},
        ["defaults.engine.args", "cache.l0.enabled"],
    ),
    "secret in a flag": (model(engine={"args": ["--api-key", "s"]}), ['"--api-key"', "readable by everyone"]),
    "value without a flag": (model(engine={"args": ["other-model"]}), ['"other-model"', "not a flag", "flag first"]),
    "adapters with a cache": (
        model(engine={"args": ["--enable-lora"]}),
        ['"--enable-lora"', "another's cache", "switch cache.l1 and cache.l2 off"],
    ),
    "owned environment": (
        model(engine={"env": {"PYTHONHASHSEED": "1"}}),
        ["models.tiny.engine.env.PYTHONHASHSEED", "cache.hashSeed"],
    ),
    "chart's environment": (
        model(engine={"env": {"TKC_L2_CONFIG": "{}"}}),
        ["models.tiny.engine.env.TKC_L2_CONFIG", "take it out"],
    ),
    "chart's annotation": (
        model(podAnnotations={"tiered-kv-cache.io/fingerprint": "x"}),
        ["models.tiny.podAnnotations", "another prefix"],
    ),
    "engine tag a number": (
        model(engine={"image": {"tag": 20261101}}),
        ["models.tiny.engine.image.tag: 20261101", "number", "quote it"],
    ),
    "router tag a float": (
        {"router": {"image": {"tag": 4e12}}},
        ["router.image.tag: 4000000000000", "number", "quote it"],
    ),
    "hooks tag a boolean": ({"hooks": {"image": {"tag": True}}}, ["hooks.image.tag: true", "boolean", "quote it"]),
    "no tag and no digest": ({"hooks": {"image": {"tag": ""}}}, ['hooks.image.tag: ""', "set tag or digest"]),
    "chunk not a multiple of the block": (
        model(cache={"chunkSize": 200}),
        ["models.tiny.cache.chunkSize: 200", "engine.blockSize: 128", "use 256"],
    ),
    "block not a multiple of 32": (
        model(engine={"blockSize": 48}, cache={"chunkSize": 96}),
        ["models.tiny.engine.blockSize: 48", "multiples of 32", "use 128"],
    ),
    "L2 without L1": (
        model(cache={"l1": {"enabled": False}}),
        ["models.tiny.cache.l1.enabled: false", "pass through L1", "cache.l2.enabled: false"],
    ),
    "no source": (model(source=None), ["models.tiny.source: {}", "no source", "source.claim"]),
    "two sources": (
        model(source={"imagePath": {"path": "/m"}}),
        ["models.tiny.source", "2 sources at once: claim, imagePath", "keep one"],
    ),
    "source claim without name": (
        model(source={"claim": {"name": ""}}),
        ['models.tiny.source.claim.name: ""', "name a claim"],
    ),
    "source folder leaves the claim": (
        model(source={"claim": {"subPath": "../x"}}),
        ['models.tiny.source.claim.subPath: "../x"', "models/my-model"],
    ),
    "source path not absolute": (
        model(source={"claim": None, "imagePath": {"path": "m"}}),
        ['models.tiny.source.imagePath.path: "m"', "/models/my-model"],
    ),
    "node port without NodePort": (
        model(routing={"service": {"nodePort": 30080}}),
        ["models.tiny.routing.service.nodePort: 30080", "ClusterIP", "NodePort"],
    ),
    "grace too short": (
        model(terminationGracePeriodSeconds=10),
        ["models.tiny.terminationGracePeriodSeconds: 10", "set it to 20 or more"],
    ),
    "prompt longer than the context": (
        model(engine={"maxModelLen": 1024}),
        ["hooks.verify.promptTokens: 1900", "maxModelLen is 1024", "1008 or less"],
    ),
    "prompt shorter than a chunk": (
        {"hooks": {"verify": {"promptTokens": 256}}},
        ["hooks.verify.promptTokens: 256", "cache.chunkSize 256", "more than 256"],
    ),
    "two models on one node port": (
        {
            "defaults": {"routing": {"service": {"type": "NodePort", "nodePort": 30080}}},
            "models": {"other": SECOND},
        },
        ["models.tiny.routing.service.nodePort: 30080", "models.other has the same", "give each its own"],
    ),
    "name override illegal": ({"nameOverride": "Kv"}, ['nameOverride: "Kv"', "small letter", "nameOverride"]),
    "name override too long": (
        {"nameOverride": "k" * 54, "models": {"tiny": None}},
        ["nameOverride", "54 characters", "shorten it"],
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_is_refused_with_key_value_and_fix(helm: Helm, case: str) -> None:
    values, wanted = CASES[case]
    message = helm.refusal(values)
    assert message.count("why: ") == 1, message
    assert "1 fault in the values of release demo" in message
    for text in [*wanted, "   fix: "]:
        assert text in message, message


ILLEGAL_NAMES = {
    "Llama_3.1": "rename the key, for example to llama-3-1,",
    "-a": "rename the key, for example to a,",
    "org/model": "rename the key, for example to org-model,",
    "模型": "rename the key, for example to my-model,",
    "my model": "rename the key, for example to my-model,",
    "": "rename the key, for example to my-model,",
    "m" * 60: "has 72 characters, 63 are allowed",
}


@pytest.mark.parametrize("name", ILLEGAL_NAMES)
def test_model_name_is_refused(helm: Helm, name: str) -> None:
    message = helm.refusal({"models": {name: SECOND}})
    assert f'models: "{name}"' in message
    assert ILLEGAL_NAMES[name] in message


def test_release_name_that_no_service_may_have(helm: Helm) -> None:
    message = helm.refusal(release="1st.demo")
    assert 'the release\'s name: "1st.demo"' in message
    assert "nameOverride" in message
    assert (
        helm.template({"nameOverride": "first"}, release="1st.demo").of("Service")[0]["metadata"]["name"]
        == "first-tiny"
    )


def test_all_faults_come_together_and_shared_ones_once(helm: Helm) -> None:
    values: dict[str, Any] = {
        "lineOfBusiness": "",
        "defaults": {"engine": {"image": {"tag": 7}}, "cache": {"chunkSize": 100}},
        "models": {"tiny": {"replicas": 0}, "other": SECOND, "third": SECOND},
    }
    message = helm.refusal(values)
    assert "4 faults in the values of release demo" in message
    for key in (
        "lineOfBusiness:",
        "defaults.engine.image.tag: 7",
        "defaults.cache.chunkSize: 100",
        "models.tiny.replicas: 0",
    ):
        assert message.count(key) == 1, message


REQUIRED = [
    *(
        f"models.tiny.{path}"
        for path in ("replicas", "engine.device", "cache.l1.memory", "routing.service.port", "probes.startup.budget")
    ),
    "l2.mountPath",
    "hooks.verify.promptTokens",
    "router.image.repository",
    "networkPolicy.enabled",
]


@pytest.mark.parametrize("path", REQUIRED)
def test_null_where_a_value_is_needed_names_the_key(helm: Helm, path: str) -> None:
    nulled: Any = None
    for part in reversed(path.split(".")):
        nulled = {part: nulled}
    message = helm.refusal(nulled)
    assert f"{path}: not given" in message
    assert "leave the key out" in message
    assert "nil pointer" not in message


def test_faults_of_a_disabled_model_do_not_matter(helm: Helm) -> None:
    assert helm.template({"models": {"Bad_Name": {"enabled": False, "replicas": 0}}}).text == helm.template().text


def test_the_base_of_all_cases_is_accepted(helm: Helm) -> None:
    """So that each refusal is the case's own."""
    assert helm.template().objects


@pytest.mark.parametrize(
    ("values", "key"),
    [
        ({"defaults": None}, "defaults"),
        ({"defaults": {"enabled": None}}, "defaults.enabled"),
        ({"models": {"tiny": {"enabled": None}}}, "models.tiny.enabled"),
    ],
)
def test_a_model_is_not_left_out_by_a_null(helm: Helm, helm_other: Helm, values: Any, key: str) -> None:
    """An upgrade would delete what runs."""
    for each in (helm, helm_other):
        message = each.refusal(values)
        assert f" {key}: not given" in message
        assert "an upgrade would else delete it" in message


def test_a_model_that_says_so_itself_needs_no_default(helm: Helm) -> None:
    values = {"defaults": {"enabled": None}, "models": {"tiny": {"enabled": True}, "off": {"enabled": False}}}
    assert helm.template(values).text == helm.template().text


def test_context_that_holds_no_prompt(helm: Helm) -> None:
    helm.assert_refused(
        {"models": {"tiny": {"engine": {"maxModelLen": 10}}}},
        ["models.tiny.engine.maxModelLen: 10", "16 tokens more do not fit", "set it to 1916 or more"],
    )


def test_a_body_that_the_gateway_cannot_hold(helm: Helm) -> None:
    values: Any = {"gateway": {"enabled": True, "maxBodyMiB": 449}}
    helm.assert_refused(values, ["gateway.maxBodyMiB: 449", "limits.memory: 512Mi", "set the limit to 513Mi or more"])
    values["gateway"]["maxBodyMiB"] = 448
    assert helm.template(values).objects


def test_label_that_no_node_has(helm: Helm) -> None:
    helm.assert_refused(
        {"models": {"tiny": {"spread": {"topologyKey": "bad key!"}}}},
        ['models.tiny.spread.topologyKey: "bad key!"', "topology.kubernetes.io/zone"],
    )


def test_a_fault_that_follows_from_another_one_is_not_told(helm: Helm) -> None:
    helm.assert_refused(model(engine={"blockSize": 100}), ["models.tiny.engine.blockSize: 100", "use 128"])


@pytest.mark.parametrize("cores", ["foo", "", "0-", "0,,1", "0-3|", "auto|0"])
def test_cores_that_are_none(helm: Helm, cores: str) -> None:
    helm.assert_refused(
        model(engine={"cpu": {"ompThreadsBind": cores}}),
        [f'models.tiny.engine.cpu.ompThreadsBind: "{cores}"', "write auto"],
    )


@pytest.mark.parametrize("cores", ["auto", "nobind", 3, "0-3", "0,2,4-7|8-11"])
def test_cores(helm: Helm, cores: str | int) -> None:
    assert helm.template(model(engine={"cpu": {"ompThreadsBind": cores}})).objects


def test_a_limit_that_all_models_inherit_is_one_fault(helm: Helm) -> None:
    helm.assert_refused(
        {
            "defaults": {"resources": {"engine": {"limits": {"memory": "1Gi"}, "requests": {"memory": "1Gi"}}}},
            "models": {"other": {"source": {"claim": {"name": "models"}}}},
        },
        ['defaults.resources.engine.limits.memory: "1Gi"', "set defaults.resources.engine.limits.memory to "],
    )


def test_a_quota_of_zero_is_not_the_default(helm: Helm) -> None:
    for zero in (0, "0"):
        assert "l2.keeper.quota: " in helm.refusal({"l2": {"keeper": {"quota": zero}}})
        assert "models.tiny.cache.l2.quota: " in helm.refusal({"models": {"tiny": {"cache": {"l2": {"quota": zero}}}}})


def test_lint_fails_too(helm: Helm, helm_other: Helm, tmp_path: Path) -> None:
    """helm lint goes on where a template fails, and would find nothing wrong with values that cannot be installed."""
    file = tmp_path / "values.json"
    for layer, code in (({}, 0), (model(replicas=0), 1)):
        file.write_text(json.dumps(overlay(layer)))
        for each in (helm, helm_other):
            done = subprocess.run(
                [each.path, "lint", "-f", str(file), str(CHART)], capture_output=True, text=True, check=False
            )
            assert done.returncode == code, done.stdout + done.stderr
            assert ("models.tiny.replicas: 0" in done.stdout + done.stderr) == bool(code)
