"""The table of vLLM and LMCache versions: what it holds, what follows from it, and what is refused without it."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import yaml

from chart.helm import CHART, Helm, Json, environment, flag, model, overlay

TABLE: Json = yaml.safe_load((CHART / "files" / "pairs.yaml").read_text())
PAIRS: list[Json] = TABLE["pairs"]
GPU: Json = model(engine={"device": "cuda"}, resources={"engine": {"limits": {"memory": "64Gi"}}})
OTHER_IMAGE = {"repository": "registry.example.com/engine", "tag": "1"}


def _image(helm: Helm, *layers: Json) -> str:
    pod = helm.template(*layers).pod()
    images = {each["image"] for each in pod["spec"]["containers"]}
    (image,) = images
    return str(image)


def _reference(pair: Json) -> str:
    image = pair["image"]
    return f"{image['repository']}@{image['digest']}" if image["digest"] else f"{image['repository']}:{image['tag']}"


def test_the_table_is_sound() -> None:
    for pair in PAIRS:
        assert pair.keys() - {"default", "anyTag"} == {
            "vllm", "lmcache", "device", "image", "modes", "auto", "evidence",
        }  # fmt: skip
        assert pair["evidence"] in ("run", "parsed", "inferred")
        assert pair["auto"] in pair["modes"]
        assert pair["image"].keys() == {"repository", "tag", "digest"}
        assert re.fullmatch(r"(sha256:[0-9a-f]{64})?", pair["image"]["digest"])
        # A version is text: 0.50 must not become 0.5.
        assert all(isinstance(pair[name], str) for name in ("vllm", "lmcache"))
    assert len({(pair["vllm"], pair["lmcache"], pair["device"]) for pair in PAIRS}) == len(PAIRS)
    assert [pair["device"] for pair in PAIRS if pair.get("default")] == ["cpu", "cuda"]
    assert [pair["device"] for pair in PAIRS if pair["evidence"] == "run"] == ["cpu"]


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_default_of_the_device(helm: Helm, device: str) -> None:
    (pair,) = [each for each in PAIRS if each["device"] == device and each.get("default")]
    assert _image(helm, GPU if device == "cuda" else {}) == _reference(pair)


@pytest.mark.parametrize("pair", PAIRS, ids=lambda pair: f"{pair['vllm']}-{pair['lmcache']}")
def test_versions_choose_the_image(helm: Helm, pair: Json) -> None:
    layer = overlay(
        GPU if pair["device"] == "cuda" else {},
        model(engine={"versions": {"vllm": pair["vllm"], "lmcache": pair["lmcache"]}}),
    )
    manifests = helm.template(layer)
    assert {each["image"] for each in manifests.pod()["spec"]["containers"]} == {_reference(pair)}
    told = json.loads(environment(manifests.container("l2-root"))["TKC_L2_CONFIG"])
    assert (told["vllm"], told["lmcache"], told["lmcacheMode"]) == (pair["vllm"], pair["lmcache"], pair["auto"])


def test_one_version_is_enough_where_it_tells_the_other(helm: Helm) -> None:
    assert _image(helm, GPU, model(engine={"versions": {"lmcache": "0.5.4"}})) == "docker.io/lmcache/vllm-openai:v0.5.4"


@pytest.mark.parametrize("repository", ["docker.io/lmcache/vllm-openai", "lmcache/vllm-openai"])
def test_the_tables_image_tells_its_versions(helm: Helm, repository: str) -> None:
    image = {"repository": repository, "tag": "v0.5.4"}
    told = json.loads(
        environment(helm.template(GPU, model(engine={"image": image})).container("l2-root"))["TKC_L2_CONFIG"]
    )
    assert (told["vllm"], told["lmcache"]) == ("0.27.1", "0.5.4")


def test_a_mirror_of_a_known_pair(helm: Helm) -> None:
    """Versions are known, so nothing is to be acknowledged; the table's digest is not the mirror's."""
    versions = {"vllm": "0.26.0", "lmcache": "0.5.3"}
    layer = model(engine={"image": {"repository": "mirror.example.com/engine"}, "versions": versions})
    assert _image(helm, GPU, layer) == "mirror.example.com/engine:v0.5.3"


def test_a_tag_of_the_chart_s_own_image(helm: Helm) -> None:
    assert _image(helm, model(engine={"image": {"tag": "habc"}})) == "localhost/tiered-kv-cache/engine-cpu:habc"


def test_an_acknowledged_pair(helm: Helm) -> None:
    layer = model(
        engine={
            "versions": {"vllm": "0.40.0", "lmcache": "0.6.1"},
            "image": OTHER_IMAGE,
            "acknowledge": {"unknownPair": True},
        }
    )
    pod = helm.template(GPU, layer).pod()
    assert [each["name"] for each in pod["spec"]["containers"]] == ["vllm", "lmcache"]
    assert {each["image"] for each in pod["spec"]["containers"]} == {"registry.example.com/engine:1"}


def _old(lmcache: str, **engine: Any) -> Json:
    """A model on a GPU with an LMCache that the table does not hold."""
    known = {"versions": {"vllm": "0.19.1", "lmcache": lmcache}, "image": OTHER_IMAGE}
    return overlay(GPU, model(engine={**known, "acknowledge": {"unknownPair": True}, **engine}))


@pytest.mark.parametrize("lmcache", ["0.4.3", "0.3.9.post2"])
def test_an_lmcache_without_server_runs_in_process_with_its_form_of_the_filesystem(helm: Helm, lmcache: str) -> None:
    env = environment(helm.template(_old(lmcache)).container("vllm"))
    assert env["LMCACHE_REMOTE_URL"].startswith("fs://localhost:0/")
    assert env["LMCACHE_REMOTE_URL"].endswith("/")
    assert "LMCACHE_REMOTE_STORAGE_PLUGINS" not in env
    assert json.loads(env["LMCACHE_EXTRA_CONFIG"]) == {"fs_connector_relative_tmp_dir": ".tmp-$(POD_NAME)"}


def test_a_version_that_is_no_number_is_taken_for_a_new_one(helm: Helm) -> None:
    layer = _old("main", versions={"vllm": "nightly", "lmcache": "main"})
    args = helm.template(layer).container("vllm")["args"]
    assert json.loads(flag(args, "--kv-transfer-config"))["kv_connector"] == "LMCacheMPConnector"


REFUSED: dict[str, tuple[Json, list[str]]] = {
    "unknown pair": (
        model(engine={"versions": {"vllm": "0.33.0+cpu", "lmcache": "0.5.6"}, "image": OTHER_IMAGE}),
        [
            "models.tiny.engine.versions",
            "vLLM 0.33.0+cpu and LMCache 0.5.6 are not known to work together on cpu",
            "known: vLLM 0.32.0+cpu with LMCache 0.5.6",
            "engine.acknowledge.unknownPair: true",
        ],
    ),
    "pair of another device": (
        overlay(GPU, model(engine={"versions": {"vllm": "0.32.0+cpu", "lmcache": "0.5.6"}, "image": OTHER_IMAGE})),
        ["not known to work together on cuda", "vLLM 0.32.0 with LMCache 0.5.6 (docker.io/vllm/vllm-openai:v0.32.0)"],
    ),
    "image whose versions are not stated": (
        model(engine={"image": OTHER_IMAGE}),
        [
            'models.tiny.engine.image: "registry.example.com/engine:1"',
            "which versions of vLLM and LMCache this image holds is not known",
            "set engine.versions.vllm and engine.versions.lmcache",
        ],
    ),
    "tag that the table does not hold": (
        overlay(GPU, model(engine={"image": {"tag": "v9.9.9"}})),
        ["models.tiny.engine.image", "v9.9.9", "set engine.versions.vllm"],
    ),
    "acknowledged, but not stated": (
        model(engine={"image": OTHER_IMAGE, "acknowledge": {"unknownPair": True}}),
        ["models.tiny.engine.image", "is not known", "set engine.versions.vllm"],
    ),
    "tag that YAML read as a number": (
        overlay(
            GPU,
            model(
                engine={
                    "image": {"repository": "example.com/engine", "tag": 20261101},
                    "versions": {"vllm": "0.32.0", "lmcache": "0.5.6"},
                }
            ),
        ),
        ["models.tiny.engine.image.tag: 20261101", "YAML read the tag as a number", "quote it"],
    ),
    "half a pair": (
        model(engine={"versions": {"vllm": "9.9.9"}}),
        ["models.tiny.engine.versions", "one version alone", "set both"],
    ),
    "acknowledged without an image": (
        model(
            engine={"versions": {"vllm": "9.9.9", "lmcache": "9.9.9"}, "acknowledge": {"unknownPair": True}},
        ),
        [
            "models.tiny.engine.versions",
            "no image is known for vLLM 9.9.9 with LMCache 9.9.9",
            "set engine.image",
        ],
    ),
    "in-process on a CPU": (
        model(engine={"lmcacheMode": "inProcess"}),
        ['models.tiny.engine.lmcacheMode: "inProcess"', "cache nothing", "use multiProcess or auto"],
    ),
    "server of an old LMCache": (
        _old("0.4.3", lmcacheMode="multiProcess"),
        ['models.tiny.engine.lmcacheMode: "multiProcess"', "LMCache 0.4.3 has no server", "0.5.0 has", "inProcess"],
    ),
    "early prefetch in-process": (
        overlay(GPU, model(engine={"lmcacheMode": "inProcess"}, cache={"eagerPrefetch": True})),
        ["models.tiny.cache.eagerPrefetch: true", "only LMCache's server", "multiProcess"],
    ),
    "early prefetch of an old LMCache": (
        overlay(GPU, model(engine={"versions": {"vllm": "0.26.0", "lmcache": "0.5.3"}}, cache={"eagerPrefetch": True})),
        ["models.tiny.cache.eagerPrefetch: true", "LMCache 0.5.3 does not know it; 0.5.4 does", "newer LMCache"],
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_is_refused_with_key_value_and_fix(helm: Helm, case: str) -> None:
    helm.assert_refused(*REFUSED[case])


@pytest.mark.parametrize("image", [None, {}, {"repository": None}, {"tag": None, "digest": None}], ids=str)
def test_null_means_the_pair_s_image(helm: Helm, image: Json | None) -> None:
    if image is None:
        message = helm.refusal(model(engine={"image": None}))
        assert "models.tiny.engine.image.pullPolicy: not given" in message
    else:
        assert _image(helm, model(engine={"image": image})) == "localhost/tiered-kv-cache/engine-cpu:dev"


DIGEST_0_30 = "sha256:8a69ffad015f138d7170c4ddc429e230a3bc1c1719f67e14324749df200a4b90"


@pytest.mark.parametrize(
    "image",
    [
        {"repository": "vllm/vllm-openai", "tag": "v0.30.0"},
        {"repository": "index.docker.io/vllm/vllm-openai", "tag": "v0.30.0"},
        {"tag": "v0.30.0"},
        {"digest": DIGEST_0_30},
        {"repository": "mirror.example.com/engine", "digest": DIGEST_0_30},
    ],
)
def test_versions_that_a_known_image_does_not_hold(helm: Helm, image: Json) -> None:
    """Else an engine 0.30.0 would share blocks with 0.32.0."""
    layer = model(engine={"image": image, "versions": {"vllm": "0.32.0", "lmcache": "0.5.6"}})
    helm.assert_refused(
        overlay(GPU, layer, model(engine={"acknowledge": {"unknownPair": True}})),
        ["models.tiny.engine.versions", "holds vLLM 0.30.0 and LMCache 0.5.5", "leave engine.versions empty"],
    )


def test_versions_that_a_known_image_holds_may_be_written_out(helm: Helm) -> None:
    image = {"repository": "vllm/vllm-openai", "tag": "v0.30.0"}
    layer = model(engine={"image": image, "versions": {"vllm": "0.30.0", "lmcache": "0.5.5"}})
    assert _image(helm, GPU, layer) == "vllm/vllm-openai:v0.30.0"


def test_the_builder_s_own_tag_may_hold_other_versions(helm: Helm) -> None:
    layer = model(
        engine={
            "image": {"tag": "v2"},
            "versions": {"vllm": "0.33.0+cpu", "lmcache": "0.5.6"},
            "acknowledge": {"unknownPair": True},
        }
    )
    layer["models"]["tiny"]["engine"]["image"]["repository"] = "localhost/tiered-kv-cache/engine-cpu"
    assert _image(helm, layer) == "localhost/tiered-kv-cache/engine-cpu:v2"
