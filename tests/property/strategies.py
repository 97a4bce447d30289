"""Values trees that the chart's schema accepts, drawn from the schema itself.

A tree begins as a known good set of values (tests/chart/cases.py) and takes edits: any key that the schema knows gets
any value that the schema allows, null included. Most trees so stay near to what people write and reach the manifests,
instead of ending at the first fault; and a failing one shrinks to the smallest base with the one edit that matters.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import jsonschema
from hypothesis import strategies as st

from chart.cases import CASES
from chart.helm import CHART, MINIMAL, Json, model, overlay

_WHOLE: Json = json.loads((CHART / "values.schema.json").read_text())
SCHEMA: Json = {**_WHOLE["definitions"]["values"], "definitions": _WHOLE["definitions"]}
"""Of values that are not for a newer chart."""
del SCHEMA["patternProperties"]  # keys that nothing reads
Strategy = st.SearchStrategy[Any]

MODELS = ("tiny", "other", "gateway", "verify", "storage", "a-model-with-a-long-name-0123456789")
FREE_KEYS = {
    "env": ("A", "VLLM_RPC_TIMEOUT", "VLLM_KV_CACHE_LAYOUT", "LMCACHE_LOG_LEVEL", "TKC_ENGINE_FORK", "OMP_NUM_THREADS"),
    "nodeSelector": ("pool", "node.kubernetes.io/instance-type", "example.com/a.b_c"),
    "podAnnotations": ("example.com/note", "prometheus.io/scrape", "note"),
    "podLabels": ("team", "example.com/team"),
    "requests": ("cpu", "memory", "ephemeral-storage", "nvidia.com/gpu", "nvidia.com/mig-3g.20gb"),
    "limits": ("cpu", "memory", "ephemeral-storage", "nvidia.com/gpu", "nvidia.com/mig-3g.20gb"),
    "matchLabels": ("a", "example.com/b"),
    "labels": ("release", "example.com/team"),
    "models": MODELS,
}
"""Names for keys that are the user's, by the name of their map."""

# Characters that templates, YAML, JSON and shells read as something.
AWKWARD = (
    """ '"`{}[]<>()$%&*!|?#@,;:=+-~^/\\_.0123456789eExXnNtT\n\t\r\u00e9\u00df\u20ac\u4e2d\u200b\u2028\ufeff\U0001f600"""
)
WORDS = (
    "", "~", "null", "true", "no", "{{", "}}", "{{ .Values }}", "{}", "[]", "- a", "a: b", "# a", "'", '"', "\\", "%s", "%!d(string)",
    "$(POD_NAME)", "$(A)", "$$", "1e6", "1E6", "0x10", "012", ".5", "1_000", "2026-11-01", "a\nb", "a\n---\nb", " a", "a ", "|", ">",
    "*a", "&a", "!!str a", "\u00e9", "\u4e2d\u6587", "<no value>", "a" * 64, "a" * 300,
)  # fmt: skip
QUANTITIES = (
    "1Gi", "512Mi", "40Gi", "100m", "0", "", "1.5Gi", "0.5", "1e3", "1Ki ", "1Zi", "-1Gi", "9223372036854775807", "16Ei",
    0, 1, 2, 0.1, 0.5, 1000000, 1073741824, 42949672960, 1099511627776, 1e15, 1e21,
)  # fmt: skip
NUMBERS = (0, 1, 2, 3, 16, 32, 48, 64, 100, 128, 256, 1000, 65535, 100000, 1000000, 1048576, 4294967295, 10**12, 2**53)

NULLS = 12
"""One of so many values is null."""

HINTS: dict[str, tuple[Any, ...]] = {
    "cpu": ("500m", "2", 1, 0.25),
    "memory": ("2Gi", "12Gi", 8589934592),
    "ephemeral-storage": ("1Gi", 1000000000),
    "nvidia.com/gpu": (1, "2"),
    "nvidia.com/mig-3g.20gb": (1,),
    "size": ("100Gi", 1099511627776),
    "shmSize": ("", "1Gi"),
    "weights": ("", "500Mi"),
    "lineOfBusiness": ("retail", "a", "b" * 30),
    "nameOverride": ("", "kv", "k" * 40),
    "mountPath": ("/mnt/kv-l2", "/kv", "/data/l2"),
    "path": ("/srv/kv", "/opt/model", ""),
    "claimName": ("kv", "", "models.v1"),
    "subPath": ("tiny", "a/b", ""),
    "name": ("regcred", "models", "hf-token"),
    "secretName": ("", "api-key"),
    "repository": ("registry.example/engine", "vllm/vllm-openai", "a:5000/b"),
    "tag": ("dev", "v1", "20261101", 20261101, 4e12, True, ""),
    "digest": ("", "sha256:" + "0123456789abcdef" * 4),
    "huggingFace": ({"id": "a/b", "revision": "0123456789abcdef0123456789abcdef01234567"},),
    "s3": ({"bucket": "models", "region": "us-west-2"}, {"bucket": "models", "region": "us-west-2", "mode": "mountpoint"}),
    "claim": ({"name": "models"}, {"name": "models", "subPath": "a/b"}),
    "imagePath": ({"path": "/models/a"},),
    "tokenSecret": ({"name": "hf-token"}, {"name": "hf-token", "key": "t"}),
    "credentialsSecret": ({"name": "s3"},),
    "id": ("Qwen/Qwen2-7B-Instruct", "gpt2"),
    "revision": ("0123456789abcdef0123456789abcdef01234567", "main"),
    "bucket": ("models",),
    "prefix": ("models/tiny",),
    "region": ("us-west-2",),
    "endpoint": ("", "https://s3.example:9000"),
    "vllm": ("0.32.0", "0.32.0+cpu", ""),
    "lmcache": ("0.5.6", ""),
    "serverAddress": ("http://prometheus.monitoring:9090",),
    "query": ('sum(rate(vllm:num_requests_waiting{model="a"}[1m]))',),
    "threshold": ("5", 5, 1000000, 0.5),
    "topologyKey": ("kubernetes.io/hostname", "topology.kubernetes.io/zone"),
    "interval": ("30s", "121s"),
    "cidr": ("10.0.0.0/8", "fd00::/8"),
    "header": ("X-Session-ID", "X-User-ID"),
    "ompThreadsBind": ("auto", "nobind", "0-3", 3),
    "kvCacheDtype": ("auto", "fp8"),
    "servedName": ("", "org/Model-1e6"),
    "adapterConfig": ({}, {"type": "resp", "host": "redis", "port": 6379}, {"type": "fs_native", "base_path": "/run/tkc/l2"}),
    "args": ([], ["--seed", 1], ["--max-num-batched-tokens", 2097152], ["--rope-scaling", '{"factor": 2.0}']),
    "affinity": (
        {},
        {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "gpu", "operator": "In", "values": ["h100", "h200"]}]}]}}},
        {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            {"weight": 100, "podAffinityTerm": {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}}]}},
    ),
    "metrics": (
        [],
        [{"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}}],
    ),
    "tolerations": ([], [{"operator": "Exists"}], [{"key": "gpu", "operator": "Equal", "value": "a", "effect": "NoSchedule"}]),
    "imagePullSecrets": ([], [{"name": "regcred"}], [{"name": "a"}, {"name": "b"}]),
    "instanceTypes": ([], ["ml.g6e.4xlarge"], ["a", "b"]),
}  # fmt: skip
"""Values that are likely to be accepted, by the last part of their key."""


def resolve(node: Json) -> Json:
    """Follow a reference."""
    found: Json = SCHEMA["definitions"][node["$ref"].rsplit("/", 1)[1]] if "$ref" in node else node
    return found


def allows(node: Json, value: Any) -> bool:
    """Whether a subschema takes a value."""
    return bool(jsonschema.Draft7Validator({**node, "definitions": SCHEMA["definitions"]}).is_valid(value))


@dataclass(frozen=True)
class Place:
    """A key that the schema knows; "*" in the path stands for a key of the user's."""

    path: tuple[str, ...]
    node: Json

    def __hash__(self) -> int:
        return hash(self.path)


def _free(node: Json) -> Json | None:
    """The schema of the user's own keys of a map."""
    for child in node.get("patternProperties", {}).values():
        return resolve(child)
    extra = node.get("additionalProperties")
    return resolve(extra) if isinstance(extra, dict) else None


KUBERNETES = ("affinity", "metrics")
"""Keys of Kubernetes' own structures. The schema has their fields; what else holds for them only the API server says, so the
trees take the hints."""


def _places(node: Json, path: tuple[str, ...] = ()) -> Iterator[Place]:
    if path:
        yield Place(path, node)
        if path[-1] in KUBERNETES:
            return
    for name, child in node.get("properties", {}).items():
        yield from _places(resolve(child), (*path, name))
    if (free := _free(node)) is not None:
        yield from _places(free, (*path, "*"))


PLACES = [place for place in _places(SCHEMA) if place.path[0] not in ("global", "model-endpoint", "inference-operator")]


def _text(node: Json) -> Strategy:
    if pattern := node.get("pattern"):
        most = node.get("maxLength", 10_000)
        return st.from_regex(pattern, fullmatch=True).filter(lambda text: len(text) <= most)
    texts = st.one_of(st.sampled_from(WORDS), st.text(alphabet=AWKWARD, max_size=12))
    least = node.get("minLength", 0)
    return texts.filter(lambda text: len(text) >= least) if least else texts


def _number(node: Json, kind: str) -> Strategy:
    low, high = node.get("minimum"), node.get("maximum")
    if "exclusiveMinimum" in node:
        low = node["exclusiveMinimum"] + 0.01
    fits = [each for each in NUMBERS if (low is None or each >= low) and (high is None or each <= high)]
    if kind == "integer":
        return st.one_of(*([st.sampled_from(fits)] if fits else []), st.integers(low, high))
    floats = st.floats(low, high, allow_nan=False, allow_infinity=False)
    return st.one_of(*([st.sampled_from(fits)] if fits else []), floats)


def _object(node: Json, name: str, depth: int) -> Strategy:
    properties = {key: resolve(child) for key, child in node.get("properties", {}).items()}
    required = node.get("required", [])
    free = _free(node)

    if not properties and free is None:
        return st.just({})

    @st.composite
    def draw_object(draw: st.DrawFn) -> Json:
        made: Json = {key: draw(value(key, properties[key], depth + 1, null=False)) for key in required}
        if properties:
            for key in draw(st.lists(st.sampled_from(sorted(properties)), max_size=3, unique=True)):
                made.setdefault(key, draw(value(key, properties[key], depth + 1)))
        if free is not None:
            for key in draw(st.lists(st.sampled_from(FREE_KEYS.get(name, ("a",))), max_size=2, unique=True)):
                made[key] = draw(value(key, free, depth + 1))
        return made

    return draw_object()


def value(name: str, node: Json, depth: int = 0, null: bool = True) -> Strategy:
    """Any value that the schema allows for a key of this name; likely ones more often than not."""
    return _value(name, json.dumps(node, sort_keys=True), min(depth, 1), null)


@cache
def _value(name: str, text: str, depth: int, null: bool) -> Strategy:
    node: Json = json.loads(text)
    kinds = node["type"] if isinstance(node["type"], list) else [node["type"]]
    options: list[Strategy] = []
    if "enum" in node:
        options.append(st.sampled_from([each for each in node["enum"] if each is not None]))
    elif kinds[0] == "string" and "number" in kinds and "boolean" not in kinds and name != "threshold":
        options.append(st.sampled_from(QUANTITIES))
    for kind in kinds if "enum" not in node else []:
        if kind == "string":
            options.append(_text(node))
        elif kind in ("integer", "number"):
            options.append(_number(node, kind))
        elif kind == "boolean":
            options.append(st.booleans())
        elif kind == "array":
            items = value(f"{name}[]", resolve(node["items"]), depth + 1, null=False)
            unique = (lambda each: json.dumps(each, sort_keys=True)) if node.get("uniqueItems") else None
            options.append(
                st.lists(
                    items, min_size=node.get("minItems", 0), max_size=min(3, node.get("maxItems", 3)), unique_by=unique
                )
            )
        elif kind == "object" and "properties" not in node and node.get("additionalProperties") is True:
            options.append(st.just({}))
        elif kind == "object":
            options.append(_object(node, name, depth))
    hints = [each for each in HINTS.get(name, ()) if allows(node, each)]
    # An endpoint's "metrics" are its own, no autoscaler's.
    wild = st.sampled_from(HINTS[name]) if name in KUBERNETES and hints else st.one_of(*options)
    likely = st.sampled_from(hints) if hints else wild
    chosen = st.one_of(likely, likely, likely, wild) if hints else wild
    if not null or "null" not in kinds:
        return chosen
    return st.integers(0, NULLS - 1).flatmap(lambda which: chosen if which else st.none())


@st.composite
def _edit(draw: st.DrawFn) -> tuple[tuple[str, ...], Any]:
    """A key and its new value."""
    place = draw(st.sampled_from(PLACES))
    path: list[str] = []
    for part in place.path:
        if part != "*":
            path.append(part)
        elif path == ["models"]:
            # Mostly the model that is there.
            path.append(draw(st.sampled_from(("tiny", "tiny", "tiny", *MODELS))))
        else:
            path.append(draw(st.sampled_from(FREE_KEYS.get(path[-1], ("a",)))))
    return tuple(path), copy.deepcopy(draw(value(path[-1], place.node)))


def put(tree: Json, path: tuple[str, ...], new: Any) -> None:
    """Set a leaf, and the maps above it where there are none."""
    for part in path[:-1]:
        if not isinstance(tree.get(part), dict):
            tree[part] = {}
        tree = tree[part]
    tree[path[-1]] = new


@st.composite
def near_cases(draw: st.DrawFn, most: int = 6) -> Json:
    """A known good set of values with up to so many edits."""
    tree: Json = copy.deepcopy(draw(st.sampled_from(BASES)))
    for path, new in draw(st.lists(_edit(), min_size=1, max_size=most)):
        put(tree, path, new)
    if draw(st.sampled_from((True, True, True, False))):
        _one_source_each(tree)
    return tree


def _one_source_each(tree: Json) -> None:
    """A model has one source; the edits may have made it two or none, and few trees need to end at that."""
    models = tree.get("models") or {}
    for of in (tree.get("defaults"), *models.values()):
        if isinstance(of, dict) and isinstance(of.get("source"), dict):
            kinds = [kind for kind, found in of["source"].items() if kind != "identity" and found is not None]
            of["source"].update(dict.fromkeys(kinds[:-1]))
    for one in models.values():
        if isinstance(one, dict) and not one.get("source"):
            one["source"] = copy.deepcopy(MINIMAL["models"]["tiny"]["source"])


@st.composite
def from_schema(draw: st.DrawFn) -> Json:
    """A tree from the schema alone, with what a release cannot do without."""
    tree: Json = draw(value("", SCHEMA, null=False))
    for key in ("global", "model-endpoint", "inference-operator"):
        tree.pop(key, None)
    tree.setdefault("lineOfBusiness", "retail")
    for name in draw(st.lists(st.sampled_from(MODELS), min_size=1, max_size=3, unique=True)):
        models = tree.get("models")
        if not isinstance(models, dict):
            models = tree["models"] = {}
        one = models.get(name) or draw(value("model", resolve(SCHEMA["properties"]["defaults"]), null=False))
        one.setdefault("source", copy.deepcopy(MINIMAL["models"]["tiny"]["source"]))
        models[name] = one
    if draw(st.sampled_from((True, True, True, False))):
        tree["l2"] = {"volume": {"claimName": "kv"}}
        _one_source_each(tree)
    return tree


_REVISION = "0123456789abcdef0123456789abcdef01234567"
_HUB: Json = {"id": "Qwen/Qwen2-7B-Instruct", "revision": _REVISION}
GPUS: Json = {"engine": {"device": "cuda", "tensorParallelSize": 2}, "cache": {"l1": {"memory": "8Gi"}}}
GPUS["resources"] = {"lmcache": {"limits": {"memory": "16Gi"}}, "engine": {"limits": {"memory": "64Gi"}}}
_BUCKET: Json = {"bucket": "models", "prefix": "tiny", "region": "us-west-2"}
_KEDA: Json = {"serverAddress": "http://prometheus.monitoring:9090", "query": "sum(a)", "threshold": "5"}
_CPU: Json = {
    "type": "Resource",
    "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}},
}
BASES: list[Json] = [
    MINIMAL,
    *CASES.values(),
    overlay(model(**GPUS)),
    overlay(model(**GPUS), model(engine={"lmcacheMode": "inProcess"})),
    overlay(model(**GPUS), model(resources={"engine": {"limits": {"nvidia.com/mig-3g.20gb": 2}}})),
    overlay(model(source={"claim": None, "huggingFace": {**_HUB, "tokenSecret": {"name": "hf-token"}}})),
    overlay(
        {"modelStore": {"type": "hostPath", "hostPath": {"path": "/srv"}}}, model(source={"claim": None, "s3": _BUCKET})
    ),
    overlay(model(source={"claim": None, "s3": {**_BUCKET, "mode": "mountpoint"}})),
    overlay(model(autoscaling={"enabled": True, "keda": _KEDA})),
    overlay(model(autoscaling={"enabled": True, "type": "hpa", "hpa": {"metrics": [_CPU]}})),
    *(overlay(model(routing={"strategy": strategy})) for strategy in ("prefixaware", "session")),
    overlay(model(routing={"strategy": "kvaware"}, cache={"chunkSize": 128})),
    overlay({"gateway": {"enabled": True}, "apiKey": {"secretName": "api-key"}}),
]
"""Where a tree begins; the first is what a failing one shrinks to."""

RELEASES = ("demo", "r", "a.b", "1st", "r" * 53)
NAMESPACES = ("tiered-kv-cache", "default", "n" * 63)
