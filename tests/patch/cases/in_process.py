"""LMCache in vLLM's own process: environment, base path."""

from __future__ import annotations

from .model import BASE, Case, Json, Patched, Refused
from .parts import EXTRA, EXTRA_ALONE, HASH_SEED, MOUNT, POD_NAME, RUN, SERDE, URL, in_process, worker_env
from .shapes import (
    IMAGE,
    MODEL,
    OPERATOR_ENV,
    OPERATOR_EXTRA,
    OPERATOR_URL,
    field_ref,
    kept_env,
    v32,
    value,
    without_init,
)

DUPLICATED = [
    value("LMCACHE_REMOTE_URL", "redis://a"),
    *OPERATOR_ENV,
    value("LMCACHE_REMOTE_URL", "fs://localhost:0/old/"),
]
STRIPPED = kept_env()
SEEDED = [value("PYTHONHASHSEED", "0"), *OPERATOR_ENV]
MIXED: list[Json] = [
    {"name": "TOKEN", "valueFrom": {"secretKeyRef": {"name": "hub", "key": "token"}}},
    {"name": "EMPTY"},
    *OPERATOR_ENV,
    value("AFTER", "$(NODE_IP)-$(TOKEN)"),
]
ROOT = "/mnt/kv-l2/v1/retail/qwen/0123456789abcdef"
ROOTED = {**BASE, f"{MODEL}.root": ROOT, f"{MODEL}.image": IMAGE}
ROOT_URL = value("LMCACHE_REMOTE_URL", f"fs://localhost:0{ROOT}/")
FILE = value("LMCACHE_CONFIG_FILE", "/etc/lmcache/config.yaml")
PLAIN_MOUNTS = v32()["spec"]["containers"][0]["volumeMounts"]


def _bare(pod: Json) -> Json:
    return without_init(pod, "tkc-l2-root")


CASES = [
    Case("operator-json-by-json", v32(), Patched(in_process([POD_NAME, *kept_env(), HASH_SEED, URL, SERDE, EXTRA]))),
    Case("url-twice", v32(env=DUPLICATED), Patched(in_process())),
    Case("url-three-times", v32(env=[*DUPLICATED, value("LMCACHE_REMOTE_URL", OPERATOR_URL)]), Patched(in_process())),
    Case("lmcache-stripped", v32(env=STRIPPED), Patched(in_process(worker_env(extra=EXTRA_ALONE)))),
    Case(
        "url-by-value-from",
        v32(env=[field_ref("LMCACHE_REMOTE_URL", "status.hostIP"), value("A", "b")]),
        Patched(in_process(worker_env(value("A", "b"), extra=EXTRA_ALONE))),
    ),
    Case("other-serde", v32(env=[*OPERATOR_ENV, value("LMCACHE_REMOTE_SERDE", "cachegen")]), Patched(in_process())),
    Case(
        "value-from-kept",
        v32(env=MIXED),
        Patched(in_process(worker_env(MIXED[0], MIXED[1], *kept_env(), MIXED[-1]))),
    ),
    Case(
        "env-from",
        v32(env=None, envFrom=[{"configMapRef": {"name": "has-a-remote-url"}}]),
        Patched(in_process([POD_NAME, HASH_SEED, URL, SERDE, EXTRA_ALONE])),
    ),
    Case(
        "no-env-no-mounts",
        v32(env=None, volumeMounts=None),
        Patched(in_process([POD_NAME, HASH_SEED, URL, SERDE, EXTRA_ALONE], mounts=[MOUNT, RUN])),
    ),
    Case(
        "pod-name-there",
        v32(env=[value("A", "b"), POD_NAME, *OPERATOR_ENV]),
        Patched(in_process(worker_env(value("A", "b"), *kept_env()))),
    ),
    Case("pod-name-twice", v32(env=[POD_NAME, *OPERATOR_ENV, POD_NAME]), Patched(in_process())),
    Case(
        "pod-name-plain",
        v32(env=[value("POD_NAME", "me"), *OPERATOR_ENV]),
        Refused((MODEL, "POD_NAME", "metadata.name")),
    ),
    Case(
        "pod-name-of-the-node",
        v32(env=[*OPERATOR_ENV, field_ref("POD_NAME", "spec.nodeName")]),
        Refused((MODEL, "POD_NAME", "metadata.name")),
    ),
    Case(
        "seed-the-same",
        v32(env=[HASH_SEED, *OPERATOR_ENV]),
        Patched(in_process(worker_env(HASH_SEED, *kept_env(), seed=None))),
    ),
    Case(
        "seed-differs",
        v32(env=SEEDED),
        Patched(in_process(worker_env(SEEDED[0], *kept_env(), seed=None)), ("PYTHONHASHSEED '0'",)),
    ),
    Case(
        "seed-of-the-model",
        v32(),
        Patched(in_process(worker_env(seed=value("PYTHONHASHSEED", "77")))),
        {**BASE, f"{MODEL}.hashSeed": "77"},
    ),
    Case(
        "seed-not-given",
        v32(env=SEEDED),
        Patched(in_process(worker_env(SEEDED[0], *kept_env(), seed=None))),
        {key: BASE[key] for key in BASE if key != "hashSeed"},
    ),
    Case("config-file", v32(env=[FILE, *OPERATOR_ENV]), Patched(in_process(worker_env(FILE, *kept_env())))),
    Case(
        "config-file-wins",
        v32(env=[FILE, *OPERATOR_ENV]),
        Refused((MODEL, "LMCACHE_CONFIG_FILE", "newer LMCache")),
        {**BASE, f"{MODEL}.configFile": "wins"},
    ),
    Case("config-file-absent", v32(), Patched(in_process()), {**BASE, f"{MODEL}.configFile": "wins"}),
    Case("root", _bare(v32()), Patched(in_process(worker_env(url=ROOT_URL), mounts=[*PLAIN_MOUNTS, MOUNT])), ROOTED),
    Case("init-container-beats-root", v32(), Patched(in_process()), ROOTED),
    Case("no-root", _bare(v32()), Refused(("tkc-l2-root", f".{MODEL}.root", "InferenceEndpointConfig"))),
    Case(
        "no-init-containers",
        {**v32(), "spec": {key: part for key, part in v32()["spec"].items() if key != "initContainers"}},
        Patched(in_process(worker_env(url=ROOT_URL), mounts=[*PLAIN_MOUNTS, MOUNT])),
        ROOTED,
    ),
    Case(
        "root-elsewhere",
        _bare(v32()),
        Refused((f".{MODEL}.root", "below the mount path")),
        {**ROOTED, f"{MODEL}.root": "/mnt/kv-l2-other/v1"},
    ),
    Case(
        "root-is-the-mount-path",
        _bare(v32()),
        Refused((f".{MODEL}.root", "below the mount path")),
        {**ROOTED, f"{MODEL}.root": "/mnt/kv-l2"},
    ),
    Case(
        "root-climbs",
        _bare(v32()),
        Refused((f".{MODEL}.root", "below the mount path")),
        {**ROOTED, f"{MODEL}.root": "/mnt/kv-l2/../other"},
    ),
    Case("other-image", _bare(v32(image="example.com/vllm:2")), Refused(("example.com/vllm:2", IMAGE)), ROOTED),
    Case(
        "no-image-key",
        _bare(v32()),
        Refused((IMAGE, f".{MODEL}.root")),
        {**BASE, f"{MODEL}.root": ROOT},
    ),
    Case(
        "operator-json-last",
        v32(env=[value("LMCACHE_EXTRA_CONFIG", "{}"), *kept_env(), value("LMCACHE_EXTRA_CONFIG", OPERATOR_EXTRA)]),
        Patched(in_process()),
    ),
]
