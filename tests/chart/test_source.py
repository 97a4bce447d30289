"""Where the weights come from: what each kind of source renders, which values are refused, and that no secret is shown."""

from __future__ import annotations

import json
from typing import Any

import pytest

from chart.apiserver import serve
from chart.helm import Helm, Json, Manifests, environment, flag, model, overlay

COMMIT = "0123456789abcdef0123456789abcdef01234567"
HUB: Json = {"id": "org/Model", "revision": COMMIT}
BUCKET: Json = {"bucket": "my-bucket", "prefix": "models/tiny/", "region": "eu-west-1"}


def hub(**change: Any) -> Json:
    return model(source={"claim": None, "huggingFace": {**HUB, **change}})


def s3(**change: Any) -> Json:
    return model(source={"claim": None, "s3": {**BUCKET, **change}})


MOUNTED = s3(mode="mountpoint")
IMAGE = model(source={"claim": None, "imagePath": {"path": "/opt/tiny"}})
NO_L2 = model(cache={"l2": {"enabled": False}})
NO_LMCACHE = model(cache={"l1": {"enabled": False}, "l2": {"enabled": False}})


def inits(manifests: Manifests) -> list[str]:
    return [each["name"] for each in manifests.pod()["spec"].get("initContainers", [])]


def mounts(of: Json) -> dict[str, Json]:
    return {each["mountPath"]: each for each in of["volumeMounts"]}


def volume(manifests: Manifests, name: str) -> Json:
    (found,) = [each for each in manifests.pod()["spec"]["volumes"] if each["name"] == name]
    return {key: value for key, value in found.items() if key != "name"}


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        ({}, ["copy-code", "l2-root"]),
        (hub(), ["fetch", "copy-code", "l2-root"]),
        (s3(), ["fetch", "copy-code", "l2-root"]),
        (MOUNTED, ["copy-code", "l2-root"]),
        (IMAGE, ["copy-code", "l2-root"]),
        (NO_L2, ["check-model"]),
        (NO_LMCACHE, []),
    ],
)
def test_order_of_what_runs_first(helm: Helm, layer: Json, expected: list[str]) -> None:
    assert inits(helm.template(layer)) == expected


def test_no_cache_still_fetches(helm: Helm) -> None:
    assert inits(helm.template(hub(), NO_LMCACHE)) == ["fetch"]
    assert inits(helm.template(hub(), NO_L2)) == ["fetch", "check-model"]


@pytest.mark.parametrize(
    ("layer", "path"),
    [
        ({}, "/models/tiny"),
        (hub(), "/models/tiny"),
        (s3(), "/models/tiny"),
        (MOUNTED, "/models/tiny"),
        (IMAGE, "/opt/tiny"),
    ],
)
def test_one_path_for_all(helm: Helm, layer: Json, path: str) -> None:
    manifests = helm.template(layer)
    assert manifests.container("vllm")["args"][0] == path
    assert flag(manifests.container("l2-root")["args"], "--weights") == path
    told = json.loads(environment(manifests.container("l2-root"))["TKC_L2_CONFIG"])
    assert told["modelPath"] == path


def test_fetched_weights_lie_in_the_store_behind_a_link(helm: Helm) -> None:
    manifests = helm.template(hub())
    fetch = manifests.container("fetch")
    assert flag(fetch["args"], "--store") == "/model-store"
    assert flag(fetch["args"], "--link") == "/models/tiny"
    assert flag(fetch["args"], "--deadline") == "3600"
    assert {path for path, each in mounts(fetch).items() if not each.get("readOnly")} == {
        "/model-store",
        "/models",
        "/tmp",
    }
    for name in ("vllm", "l2-root"):
        seen = mounts(manifests.container(name))
        assert seen["/models"] == {"name": "models", "mountPath": "/models", "readOnly": True}
        assert seen["/model-store"] == {"name": "model-store", "mountPath": "/model-store", "readOnly": True}
    assert "/models" not in mounts(manifests.container("lmcache"))


def test_store_of_each_kind(helm: Helm) -> None:
    manifests = helm.template(hub())
    assert volume(manifests, "model-store") == {"emptyDir": {"sizeLimit": "100Gi"}}
    assert flag(manifests.container("fetch")["args"], "--size-limit") == str(100 << 30)
    assert manifests.of("PersistentVolume") == []

    manifests = helm.template(hub(), {"modelStore": {"type": "existingClaim", "claimName": "shared"}})
    assert volume(manifests, "model-store") == {"persistentVolumeClaim": {"claimName": "shared"}}
    assert "--size-limit" not in manifests.container("fetch")["args"]
    assert manifests.of("PersistentVolume") == []

    values = {"modelStore": {"type": "hostPath", "hostPath": {"path": "/srv/models"}, "size": "2Ti"}}
    manifests = helm.template(hub(), values, namespace="ns")
    assert volume(manifests, "model-store") == {"persistentVolumeClaim": {"claimName": "demo-model-store"}}
    (made,) = manifests.of("PersistentVolume")
    (claim,) = manifests.of("PersistentVolumeClaim")
    assert made["metadata"]["name"] == claim["spec"]["volumeName"] == "ns.demo-model-store"
    assert made["spec"]["hostPath"] == {"path": "/srv/models", "type": "Directory"}
    assert made["spec"]["claimRef"]["name"] == claim["metadata"]["name"] == "demo-model-store"
    assert made["spec"]["capacity"]["storage"] == claim["spec"]["resources"]["requests"]["storage"] == "2Ti"


def test_no_store_without_a_download(helm: Helm) -> None:
    values = {"modelStore": {"type": "hostPath", "hostPath": {"path": "/srv/models"}}}
    for layer in ({}, MOUNTED, IMAGE):
        manifests = helm.template(layer, values)
        assert "demo-model-store" not in manifests.text
        assert "mountPath: /model-store" not in manifests.text


def test_what_fetch_is_told(helm: Helm) -> None:
    told = json.loads(environment(helm.template(hub()).container("fetch"))["TKC_SOURCE"])
    assert told == {"huggingFace": {"id": "org/Model", "revision": COMMIT}}
    told = json.loads(
        environment(helm.template(hub(endpoint="https://hub.example.com")).container("fetch"))["TKC_SOURCE"]
    )
    assert told["huggingFace"]["endpoint"] == "https://hub.example.com"
    told = json.loads(environment(helm.template(s3()).container("fetch"))["TKC_SOURCE"])
    assert told == {"s3": {"bucket": "my-bucket", "prefix": "models/tiny", "region": "eu-west-1"}}


def references(of: Json) -> dict[str, Json]:
    return {
        each["name"]: each["valueFrom"]["secretKeyRef"]
        for each in of["env"]
        if "secretKeyRef" in each.get("valueFrom", {})
    }


def test_token_and_keys_by_reference_and_for_fetch_only(helm: Helm) -> None:
    manifests = helm.template(hub(tokenSecret={"name": "hub-reader", "key": "hf"}))
    assert references(manifests.container("fetch")) == {"HF_TOKEN": {"name": "hub-reader", "key": "hf"}}
    # The name is told for messages; the value is nowhere.
    told = json.loads(environment(manifests.container("fetch"))["TKC_SOURCE"])
    assert told["huggingFace"]["tokenSecret"] == {"name": "hub-reader", "key": "hf"}
    for name in ("vllm", "lmcache", "l2-root"):
        assert references(manifests.container(name)) == {}
    assert references(helm.template(hub(tokenSecret={"name": "h"})).container("fetch"))["HF_TOKEN"]["key"] == "token"
    assert references(helm.template(s3(credentialsSecret={"name": "keys"})).container("fetch")) == {
        "AWS_ACCESS_KEY_ID": {"name": "keys", "key": "AWS_ACCESS_KEY_ID"},
        "AWS_SECRET_ACCESS_KEY": {"name": "keys", "key": "AWS_SECRET_ACCESS_KEY"},
        "AWS_SESSION_TOKEN": {"name": "keys", "key": "AWS_SESSION_TOKEN", "optional": True},
    }
    assert references(helm.template(s3()).container("fetch")) == {}
    assert references(helm.template(hub()).container("fetch")) == {}


def test_role_by_annotation_of_the_account(helm: Helm) -> None:
    values = {"modelStore": {"serviceAccountAnnotations": {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/x"}}}
    account = helm.template(s3(), values).get("ServiceAccount", "demo-engine")
    assert account["metadata"]["annotations"] == {"eks.amazonaws.com/role-arn": "arn:aws:iam::1:role/x"}
    assert "annotations" not in helm.template(s3()).get("ServiceAccount", "demo-engine")["metadata"]


def test_proxy_reaches_the_download_and_nothing_else_of_env_does(helm: Helm) -> None:
    env = {
        "HTTPS_PROXY": "http://p:1",
        "http_proxy": "http://p:2",
        "NO_PROXY": ".svc",
        "VLLM_LOGGING_LEVEL": "DEBUG",
        "X": 1,
    }
    seen = environment(helm.template(hub(), model(engine={"env": env})).container("fetch"))
    assert {key: value for key, value in seen.items() if "proxy" in key.lower()} == {
        "HTTPS_PROXY": "http://p:1",
        "http_proxy": "http://p:2",
        "NO_PROXY": ".svc",
    }
    assert not {"VLLM_LOGGING_LEVEL", "X"} & seen.keys()


def test_resources_of_fetch(helm: Helm) -> None:
    limits = {"cpu": "4", "memory": "2Gi"}
    fetch = helm.template(hub(), {"modelStore": {"resources": {"limits": limits}}}).container("fetch")
    assert fetch["resources"] == {"requests": {"cpu": "250m", "memory": "256Mi"}, "limits": limits}


def test_mounted_bucket(helm: Helm) -> None:
    manifests = helm.template(MOUNTED, namespace="ns")
    (made,) = manifests.of("PersistentVolume")
    (claim,) = manifests.of("PersistentVolumeClaim")
    assert made["metadata"]["name"] == made["spec"]["csi"]["volumeHandle"] == "ns.demo-tiny-bucket"
    assert made["spec"]["csi"] == {
        "driver": "s3.csi.aws.com",
        "volumeHandle": "ns.demo-tiny-bucket",
        "volumeAttributes": {"bucketName": "my-bucket"},
    }
    assert made["spec"]["mountOptions"] == [
        "read-only",
        "allow-other",
        "uid=10001",
        "gid=10001",
        "prefix models/tiny/",
        "region eu-west-1",
    ]
    assert made["spec"]["accessModes"] == claim["spec"]["accessModes"] == ["ReadOnlyMany"]
    assert volume(manifests, "model") == {"persistentVolumeClaim": {"claimName": "demo-tiny-bucket", "readOnly": True}}
    for name in ("vllm", "l2-root"):
        assert mounts(manifests.container(name))["/models/tiny"] == {
            "name": "model",
            "mountPath": "/models/tiny",
            "readOnly": True,
        }
    options = helm.template(s3(mode="mountpoint", endpoint="https://s3.example.com")).of("PersistentVolume")[0]["spec"][
        "mountOptions"
    ]
    assert options[-2:] == ["endpoint-url https://s3.example.com", "force-path-style"]


def test_weights_of_an_image_are_read_in_that_image(helm: Helm) -> None:
    manifests = helm.template(IMAGE)
    root = manifests.container("l2-root")
    assert root["image"] == manifests.container("vllm")["image"]
    assert root["command"] == ["python3", "-m", "tiered_kv_cache"]
    code = flag(manifests.container("copy-code")["args"], "--to")
    assert environment(root)["PYTHONPATH"] == code
    assert mounts(root)["/run/tkc"] == {"name": "run", "mountPath": "/run/tkc"}
    assert code.startswith("/run/tkc/")


def test_l2_root_links_what_lmcache_reads(helm: Helm) -> None:
    manifests = helm.template()
    root, lmcache = manifests.container("l2-root"), manifests.container("lmcache")
    adapter = json.loads(flag(lmcache["args"], "--l2-adapter"))
    assert flag(root["args"], "--link") == adapter["adapter_params"]["base_path"] == "/run/tkc/l2"
    assert flag(root["args"], "--parent") == "/mnt/kv-l2/v1/retail/tiny"
    assert mounts(root)["/run/tkc"] == {"name": "run", "mountPath": "/run/tkc"}
    assert mounts(lmcache)["/run/tkc"] == {"name": "run", "mountPath": "/run/tkc", "readOnly": True}
    assert volume(manifests, "run") == {"emptyDir": {}}


def test_identity_and_acknowledgement_reach_l2_root(helm: Helm) -> None:
    arguments = helm.template().container("l2-root")["args"]
    assert flag(arguments, "--identity") == "sampled"
    assert "--allow-hybrid" not in arguments
    change = model(source={"identity": "full"}, engine={"acknowledge": {"hybridKvCache": True}})
    arguments = helm.template(change).container("l2-root")["args"]
    assert flag(arguments, "--identity") == "full"
    assert "--allow-hybrid" in arguments
    assert "--allow-hybrid" in helm.template(change, NO_L2).container("check-model")["args"]


def test_a_download_is_part_of_the_longest_start(helm: Helm) -> None:
    def deadline(*layers: Json) -> int:
        return int(helm.template(*layers).get("Deployment", "demo-tiny-engine")["spec"]["progressDeadlineSeconds"])

    assert deadline(hub(), {"modelStore": {"deadlineSeconds": 7200}}) - deadline() >= 7200


def test_reading_the_weights_is_part_of_the_longest_start(helm: Helm) -> None:
    """l2-root may take --weights-deadline seconds before the engine starts."""
    for layer in ({}, model(source={"identity": "full"}), NO_L2):
        manifests = helm.template(layer)
        spec = manifests.get("Deployment", "demo-tiny-engine")["spec"]
        first = spec["template"]["spec"]["initContainers"][-1]["args"]
        weights = int(flag(first, "--weights-deadline")) if "--weights-deadline" in first else 0
        assert spec["progressDeadlineSeconds"] == 900 + 300 + 600 + weights


REFUSALS: dict[str, tuple[Json, list[str]]] = {
    "three sources": (
        model(source={"huggingFace": HUB, "s3": BUCKET}),
        ["models.tiny.source", "3 sources at once: claim, huggingFace, s3", "keep one"],
    ),
    "identity is no source": (
        model(source={"claim": None, "identity": "full"}),
        ["models.tiny.source: {}", "no source"],
    ),
    "id without organisation": (
        hub(id="Model"),
        ['models.tiny.source.huggingFace.id: "Model"', "<organisation>/<name>", "Qwen/Qwen2-7B-Instruct"],
    ),
    "id is a URL": (hub(id="https://huggingface.co/org/m"), ["models.tiny.source.huggingFace.id: ", "copy it from"]),
    "no revision": (
        model(source={"claim": None, "huggingFace": {"id": "org/Model"}}),
        [
            'models.tiny.source.huggingFace.revision: ""',
            "no commit is given",
            "git ls-remote https://huggingface.co/org/Model HEAD",
        ],
    ),
    "branch": (
        hub(revision="main"),
        [
            'models.tiny.source.huggingFace.revision: "main"',
            "a branch or tag may change",
            "git ls-remote https://huggingface.co/org/Model main",
        ],
    ),
    "short commit": (hub(revision=COMMIT[:12]), ["not a commit of 40 hexadecimal digits"]),
    "capital commit": (hub(revision=COMMIT.upper()), ["not a commit of 40 hexadecimal digits (small letters)"]),
    "branch of a mirror": (
        hub(revision="main", endpoint="https://hub.example.com/"),
        ["git ls-remote https://hub.example.com/org/Model main"],
    ),
    "endpoint no URL": (
        hub(endpoint="hub.example.com"),
        ['source.huggingFace.endpoint: "hub.example.com"', "not a URL"],
    ),
    "endpoint with a password": (hub(endpoint="https://me:pass@hub"), ["without user", "belong into a Secret"]),
    "token Secret without name": (
        hub(tokenSecret={"key": "x"}),
        ['models.tiny.source.huggingFace.tokenSecret.name: ""', "never the secret itself"],
    ),
    "bucket as URL": (s3(bucket="s3://my-bucket"), ['models.tiny.source.s3.bucket: "s3://my-bucket"', "without s3://"]),
    "bucket with ..": (s3(bucket="a..b"), ['models.tiny.source.s3.bucket: "a..b"', "without .."]),
    "bucket like an address": (s3(bucket="192.168.0.1"), ['source.s3.bucket: "192.168.0.1"', "not an IP address"]),
    "no bucket": (s3(bucket=None), ['models.tiny.source.s3.bucket: ""', "3 to 63"]),
    "folder with blanks": (s3(prefix="my models"), ['models.tiny.source.s3.prefix: "my models"', "models/my-model"]),
    "folder with empty part": (s3(prefix="a//b"), ['models.tiny.source.s3.prefix: "a//b"']),
    "no region": (
        s3(region=None),
        ['models.tiny.source.s3.region: ""', "no endpoint instead", "aws s3api get-bucket-location --bucket my-bucket"],
    ),
    "region of another kind": (s3(region="Ireland"), ['models.tiny.source.s3.region: "Ireland"', "us-west-2"]),
    "s3 endpoint no URL": (
        s3(endpoint="minio:9000"),
        ['models.tiny.source.s3.endpoint: "minio:9000"', "https://s3.example.com"],
    ),
    "keys for a mounted bucket": (
        s3(mode="mountpoint", credentialsSecret={"name": "x"}),
        ["models.tiny.source.s3.credentialsSecret", "would be ignored", "or set mode: download"],
    ),
    "keys without name": (s3(credentialsSecret={}), ['models.tiny.source.s3.credentialsSecret.name: ""']),
    "image path hidden": (
        model(source={"claim": None, "imagePath": {"path": "/tmp/model"}}),
        ['models.tiny.source.imagePath.path: "/tmp/model"', "would hide the image's own files"],
    ),
    "store without claim": (
        {**hub(), "modelStore": {"type": "existingClaim"}},
        ['modelStore.claimName: ""', "models.tiny is downloaded to it", "ReadWriteMany"],
    ),
    "store with a claim that is ignored": (
        {**hub(), "modelStore": {"claimName": "x"}},
        ['modelStore.claimName: "x"', "modelStore.type is emptyDir", 'claimName: ""'],
    ),
    "store without path": (
        {**hub(), "modelStore": {"type": "hostPath"}},
        ['modelStore.hostPath.path: ""', "each node has"],
    ),
    "store with a bad path": (
        {**hub(), "modelStore": {"type": "hostPath", "hostPath": {"path": "srv"}}},
        ['modelStore.hostPath.path: "srv"', "/var/lib/models"],
    ),
    "store with a path that is ignored": (
        {**hub(), "modelStore": {"hostPath": {"path": "/srv"}}},
        ['modelStore.hostPath.path: "/srv"', "would be ignored"],
    ),
    "store of no size": ({**hub(), "modelStore": {"size": "lots"}}, ['modelStore.size: "lots"', "100Gi"]),
    "store deleted": (
        {**hub(), "modelStore": None},
        ["modelStore.type: not given", "modelStore.deadlineSeconds: not given"],
    ),
    "resources of fetch": (
        {**hub(), "modelStore": {"resources": {"requests": {"memory": "4Gi"}}}},
        ['modelStore.resources.requests.memory: "4Gi"', "raise the limit"],
    ),
    "annotation without a name": (
        {**hub(), "modelStore": {"serviceAccountAnnotations": {"-a/b": "x"}}},
        ['modelStore.serviceAccountAnnotations: "-a/b"', "no legal key", "eks.amazonaws.com/role-arn"],
    ),
    "annotation of a long name": (
        {**hub(), "modelStore": {"serviceAccountAnnotations": {"a" * 64: "x"}}},
        ["modelStore.serviceAccountAnnotations", "no legal key"],
    ),
    **{
        f"L2 at {path}": ({"l2": {"mountPath": path}}, [f'l2.mountPath: "{path}"', "/mnt/kv-l2"])
        for path in (
            *("/opt", "/opt/tiered-kv-cache", "/opt/tiered-kv-cache/python", "/opt/venv/x", "/dev", "/dev/shm/x"),
            *(
                "/bin",
                "/sbin",
                "/lib",
                "/lib64/x",
                "/root",
                "/home",
                "/var",
                "/models/tiny",
                "/etc",
                "/run",
                "/run/tkc/l2",
            ),
        )
    },
    **{
        f"weights of the image at {path}, L2 at {mount}": (
            overlay({"l2": {"mountPath": mount}}, model(source={"claim": None, "imagePath": {"path": path}})),
            [f'models.tiny.source.imagePath.path: "{path}"', f"mounted at l2.mountPath, {mount}", "elsewhere"],
        )
        for path, mount in (("/srv/kv", "/srv/kv"), ("/srv/kv/w", "/srv/kv"), ("/srv", "/srv/kv"))
    },
    "weights of the image above the link": (
        model(source={"claim": None, "imagePath": {"path": "/run"}}),
        ['models.tiny.source.imagePath.path: "/run"', "would hide the image's own files"],
    ),
    "weights of the image where the code is": (
        model(source={"claim": None, "imagePath": {"path": "/opt/tiered-kv-cache/python/w"}}),
        ["models.tiny.source.imagePath.path", "would hide the image's own files"],
    ),
    "L2 where the store is": (
        {"l2": {"mountPath": "/model-store/x"}},
        ['l2.mountPath: "/model-store/x"', "/mnt/kv-l2"],
    ),
    "L2 where the link is": ({"l2": {"mountPath": "/run/tkc"}}, ['l2.mountPath: "/run/tkc"', "/mnt/kv-l2"]),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refused(helm: Helm, name: str) -> None:
    values, parts = REFUSALS[name]
    message = helm.refusal(values)
    assert [part for part in parts if part not in message] == [], message


def test_a_token_in_place_of_a_name_is_not_shown(helm: Helm) -> None:
    message = helm.refusal(hub(tokenSecret={"name": "hf_SoSecretIsThis"}))
    assert "hf_SoSecretIsThis" not in message
    assert 'models.tiny.source.huggingFace.tokenSecret.name: "***"' in message


def test_faults_of_the_store_only_where_it_is_used(helm: Helm) -> None:
    helm.template({"modelStore": {"type": "existingClaim"}})
    helm.template({"modelStore": None})


def test_inherited_source_is_named_where_it_stands(helm: Helm) -> None:
    values = {"defaults": {"source": {"huggingFace": {"id": "x", "revision": COMMIT}}}, **model(source={"claim": None})}
    assert 'defaults.source.huggingFace.id: "x"' in helm.refusal(values)


ACCOUNT: Json = {"serviceaccounts/tiered-kv-cache/default": {}}
KV: Json = {"persistentvolumeclaims/tiered-kv-cache/kv": {"spec": {"accessModes": ["ReadWriteMany"]}}}
TOKEN = "c29tZXRoaW5nIHNlY3JldA=="


def live(helm: Helm, objects: Json, *layers: Json) -> str:
    with serve({**ACCOUNT, **KV, **objects}) as url:
        return helm.refusal(
            {k: v for layer in layers for k, v in layer.items()},
            extra=("--dry-run=server", "--kube-apiserver", url, "--disable-openapi-validation"),
        )


def test_secrets_must_be_there_with_their_keys(helm: Helm) -> None:
    wanted = hub(tokenSecret={"name": "hub-reader"})
    message = live(helm, {}, wanted)
    assert 'models.tiny.source.huggingFace.tokenSecret.name: "hub-reader"' in message
    assert "namespace tiered-kv-cache has no Secret of this name" in message
    assert "kubectl create secret generic hub-reader -n tiered-kv-cache --from-literal=token=..." in message
    message = live(helm, {"secrets/tiered-kv-cache/hub-reader": {"data": {"hf": TOKEN}}}, wanted)
    assert "the Secret has no key token; it has hf" in message
    assert TOKEN not in message
    message = live(
        helm,
        {"secrets/tiered-kv-cache/keys": {"data": {"AWS_ACCESS_KEY_ID": TOKEN}}},
        s3(credentialsSecret={"name": "keys"}),
    )
    assert "the Secret has no key AWS_SECRET_ACCESS_KEY; it has AWS_ACCESS_KEY_ID" in message


def test_secrets_that_are_there_are_accepted_and_not_rendered(helm: Helm) -> None:
    secret = {"secrets/tiered-kv-cache/hub-reader": {"data": {"token": TOKEN}}}
    wanted = hub(tokenSecret={"name": "hub-reader"})
    with serve({**ACCOUNT, **KV, **secret}) as url:
        options = ("--dry-run=server", "--kube-apiserver", url, "--disable-openapi-validation")
        manifests = helm.template(wanted, extra=options)
    assert manifests.text == helm.template(wanted).text
    assert TOKEN not in manifests.text


@pytest.mark.parametrize("claim", [None, {"spec": {"accessModes": ["ReadWriteOnce"]}}])
def test_claim_of_the_store_must_be_there_and_for_many(helm: Helm, claim: Json | None) -> None:
    objects = {"persistentvolumeclaims/tiered-kv-cache/shared": claim} if claim else {}
    message = live(helm, objects, hub(), {"modelStore": {"type": "existingClaim", "claimName": "shared"}})
    assert 'modelStore.claimName: "shared"' in message
    assert (
        "use a claim with access mode ReadWriteMany" if claim else "has no PersistentVolumeClaim of this name"
    ) in message


def config(helm: Helm, *layers: Json) -> Json:
    told: Json = json.loads(environment(helm.template(*layers).container("l2-root"))["TKC_L2_CONFIG"])
    return told


def test_source_in_the_fingerprint(helm: Helm) -> None:
    assert config(helm, hub(tokenSecret={"name": "x"}, endpoint="https://m"))["source"] == {
        "huggingFace": {"id": "org/Model", "revision": COMMIT}
    }
    assert config(helm, s3(credentialsSecret={"name": "x"}))["source"] == {
        "s3": {"bucket": "my-bucket", "prefix": "models/tiny"}
    }
    assert config(helm, MOUNTED) == config(helm, s3())
    assert config(helm, IMAGE)["source"] == {"imagePath": "/opt/tiny"}
    # The image rebuilt with the same weights and versions may share; its bytes are looked at in the Pod.
    assert config(helm, IMAGE, model(engine={"image": {"tag": "rebuilt"}})) == config(helm, IMAGE)
