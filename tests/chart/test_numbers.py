"""Whole numbers of a values file stay whole (OC-06).

YAML files give them to templates as floats, which Go prints as 1e+06. `--set` keeps them whole and so hides it; these tests
write files, without quotes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from chart.helm import Helm, Manifests, Refused, container, environment, flag

FILE = """\
lineOfBusiness: retail
l2:
  volume: {type: hostPath, hostPath: {path: /srv/kv}, size: 1099511627776}
models:
  tiny:
    source: {claim: {name: models}}
    engine:
      maxModelLen: 2097152
      env: {VLLM_RPC_TIMEOUT: 1200000, VLLM_KV_SIZE: 4194304}
      args: [--max-num-batched-tokens, 2097152, --num-lookahead, 1000000]
    cache: {l1: {memory: 42949672960}, chunkSize: 1048576, hashSeed: 4294967295}
    resources:
      engine: {limits: {memory: 137438953472}}
      lmcache: {limits: {memory: 68719476736}}
hooks: {verify: {promptTokens: 1048577, deadlineSeconds: 7200000}}
"""


def _render(helm: Helm, folder: Path, text: str) -> Manifests:
    file = folder / "values.yaml"
    file.write_text(text)
    return helm.template(files=(file,))


@pytest.fixture
def manifests(helm: Helm, tmp_path: Path) -> Manifests:
    return _render(helm, tmp_path, FILE)


def test_arguments_and_environment(manifests: Manifests) -> None:
    vllm = manifests.container("vllm")
    assert flag(vllm["args"], "--max-model-len") == "2097152"
    assert flag(vllm["args"], "--max-num-batched-tokens") == "2097152"
    assert flag(vllm["args"], "--num-lookahead") == "1000000"
    assert environment(vllm)["VLLM_RPC_TIMEOUT"] == "1200000"
    assert environment(vllm)["PYTHONHASHSEED"] == "4294967295"
    lmcache = manifests.container("lmcache")
    assert flag(lmcache["args"], "--l1-size-gb") == "40"
    assert flag(lmcache["args"], "--chunk-size") == "1048576"


def test_objects(manifests: Manifests) -> None:
    (volume,) = manifests.of("PersistentVolume")
    assert volume["spec"]["capacity"] == {"storage": "1099511627776"}
    pod = manifests.pod()
    assert container(pod, "vllm")["resources"]["limits"]["memory"] == "137438953472"


def _numbers(node: Any) -> list[Any]:
    if isinstance(node, dict):
        return [number for value in node.values() for number in _numbers(value)]
    if isinstance(node, list):
        return [number for value in node for number in _numbers(value)]
    return [node] if isinstance(node, int | float) else []


def test_the_root_and_the_proof_get_json_in_whole_numbers(manifests: Manifests) -> None:
    told = environment(container(manifests.pod(), "l2-root"))["TKC_L2_CONFIG"]
    root = json.loads(told)
    assert root["chunkSize"] == 1048576
    assert root["engineEnv"]["VLLM_KV_SIZE"] == "4194304"
    assert ["--num-lookahead", "1000000"] in root["engineArgs"]
    (verify,) = manifests.of("Pod")
    proof = environment(verify["spec"]["containers"][0])["TKC_VERIFY"]
    assert json.loads(proof)["promptTokens"] == 1048577
    for text in (told, proof):
        assert all(isinstance(number, int) for number in _numbers(json.loads(text))), text


TAGS = {"20261101": "20261101", "4e12": "4000000000000", "1.10": "1.1", "true": "true"}


@pytest.mark.parametrize("tag", TAGS)
@pytest.mark.parametrize("owner", ["engine", "router", "hooks"])
def test_a_tag_that_yaml_read_as_a_number_is_refused(helm: Helm, tmp_path: Path, owner: str, tag: str) -> None:
    image = f"image: {{repository: mirror.example/x, tag: {tag}}}"
    text = FILE.split("hooks:", maxsplit=1)[0]
    if owner == "engine":
        text = text.replace(
            "    engine:\n", f"    engine:\n      versions: {{vllm: 0.32.0+cpu, lmcache: 0.5.6}}\n      {image}\n"
        )
    else:
        text += f"{owner}: {{{image}}}\n"
    with pytest.raises(Refused) as refused:
        _render(helm, tmp_path, text)
    assert f"image.tag: {TAGS[tag]}" in str(refused.value)
    assert "quote it" in str(refused.value)


MISREAD = {
    "0123": "83",
    "12345678901234567890": "12345678901234567",
    "9007199254740993": "9007199254740992",
    "1.10": "1.1",
    "1": "1",
    "yes": "true",
}
"""What YAML leaves of a text without quotes."""
MAPS = {
    "models.tiny.podLabels": "    podLabels: {key: VALUE}\n",
    "models.tiny.podAnnotations": "    podAnnotations: {key: VALUE}\n",
    "models.tiny.nodeSelector": "    nodeSelector: {key: VALUE}\n",
    "models.tiny.routing.nodeSelector": "    routing: {nodeSelector: {key: VALUE}}\n",
    "gateway.nodeSelector": "gateway: {enabled: true, nodeSelector: {key: VALUE}}\n",
    "modelStore.serviceAccountAnnotations": "modelStore: {serviceAccountAnnotations: {key: VALUE}}\n",
}
SMALL = """\
lineOfBusiness: retail
l2: {volume: {claimName: kv}}
models:
  tiny:
    source: {claim: {name: models}}
"""


def _refusal(helm: Helm, folder: Path, text: str) -> str:
    with pytest.raises(Refused) as refused:
        _render(helm, folder, text)
    assert str(refused.value).count("why: ") == 1, refused.value
    return str(refused.value)


@pytest.mark.parametrize("written", MISREAD)
@pytest.mark.parametrize("key", MAPS)
def test_labels_and_annotations_are_strings(helm: Helm, tmp_path: Path, key: str, written: str) -> None:
    message = _refusal(helm, tmp_path, SMALL + MAPS[key].replace("VALUE", written))
    assert f'{key}: {{"key":{MISREAD[written]}' in message
    assert 'quote it: key: "..."' in message
    # Quoted it is what was written.
    assert f'"key": "{written}"' in _render(helm, tmp_path, SMALL + MAPS[key].replace("VALUE", f'"{written}"')).text


@pytest.mark.parametrize("written", ["12345678901234567890", "9007199254740993", "-9007199254740993", "1.10", "0.5"])
def test_numbers_of_the_environment_that_lose_digits(helm: Helm, tmp_path: Path, written: str) -> None:
    env = "    engine: {env: {X: VALUE}}\n"
    assert 'models.tiny.engine.env: {"X":' in _refusal(helm, tmp_path, SMALL + env.replace("VALUE", written))
    quoted = _render(helm, tmp_path, SMALL + env.replace("VALUE", f'"{written}"'))
    assert environment(quoted.container("vllm"))["X"] == written


def test_plain_numbers_of_the_environment(helm: Helm, tmp_path: Path) -> None:
    env = "env: {PORT: 8080, MOST: 9007199254740991, LEAST: -9007199254740991, FLAG: true}"
    engine = f"    engine: {{args: [--seed, 9007199254740991], {env}}}\n"
    vllm = _render(helm, tmp_path, SMALL + engine).container("vllm")
    assert flag(vllm["args"], "--seed") == "9007199254740991"
    told = environment(vllm)
    assert told["PORT"] == "8080"
    assert told["MOST"] == "9007199254740991"
    assert told["LEAST"] == "-9007199254740991"
    assert told["FLAG"] == "true"
    # Given on the command line, numbers are of another type.
    plain = helm.template(extra=("--set", "models.tiny.engine.env.PORT=8080"))
    assert environment(plain.container("vllm"))["PORT"] == "8080"


@pytest.mark.parametrize("written", ["12345678901234567890", "9007199254740993", "-9007199254740993", "1e20"])
def test_arguments_that_lose_digits(helm: Helm, tmp_path: Path, written: str) -> None:
    args = "    engine: {args: [--seed, VALUE]}\n"
    message = _refusal(helm, tmp_path, SMALL + args.replace("VALUE", written))
    assert "models.tiny.engine.args: " in message
    assert "fix: quote it" in message
    quoted = _render(helm, tmp_path, SMALL + args.replace("VALUE", f'"{written}"'))
    assert flag(quoted.container("vllm")["args"], "--seed") == written


@pytest.mark.parametrize("name", ["NO", "on", "y", "true"])
def test_a_name_that_yaml_reads_as_a_boolean(helm: Helm, tmp_path: Path, name: str) -> None:
    message = _refusal(helm, tmp_path, SMALL + f"    engine: {{env: {{{name}: x}}}}\n")
    assert "models.tiny.engine.env: {" in message
    assert "quote the name" in message
