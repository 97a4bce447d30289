"""values.schema.json: strict at each level, made from its source, and the same to each Helm."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest
import yaml

from chart.cases import PATCHED_NAMESPACES
from chart.helm import CHART, REPO, Helm, Json, model, overlay
from schema import generate, reference

SCHEMA: Json = json.loads((CHART / "values.schema.json").read_text())
DEFAULTS: Json = yaml.safe_load((CHART / "values.yaml").read_text())
ELEMENTS: Json = {
    "imagePullSecrets": [{"name": "regcred"}],
    "networkPolicy": {
        "metricsFrom": [
            {
                "podSelector": {
                    "matchLabels": {"a": "b"},
                    "matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}],
                },
                "namespaceSelector": {"matchLabels": {}},
                "ipBlock": {"cidr": "10.0.0.0/8"},
            }
        ]
    },
    "models": {
        "tiny": {
            **DEFAULTS["defaults"],
            "source": {"claim": {"name": "m"}, "imagePath": {"path": "/m"}},
            "tolerations": [{"key": "gpu", "operator": "Exists"}],
        }
    },
}
FULL = {**DEFAULTS, **ELEMENTS}
FULL["hooks"] = {
    **DEFAULTS["hooks"],
    "aws": {**DEFAULTS["hooks"]["aws"], "addons": [{"name": "metrics-server", "configuration": {"a": 1}}]},
}
FULL["l2"] = {
    **DEFAULTS["l2"],
    "keeper": {
        **DEFAULTS["l2"]["keeper"],
        "linesOfBusiness": {"cards": {"quota": "40Gi", "models": {"qwen": "20Gi"}}},
    },
}
FULL["inferenceOperator"] = {
    "l2Patch": {**DEFAULTS["inferenceOperator"]["l2Patch"], "namespaces": PATCHED_NAMESPACES},
}
"""A tree that has every object that the schema knows."""


def _places(node: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The path of every object of a tree."""
    if isinstance(node, dict):
        yield path
        for key, value in node.items():
            yield from _places(value, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from _places(value, (*path, index))


def _with(path: tuple[str | int, ...], value: Any) -> Json:
    """A copy of FULL with a value set at a path."""
    tree: Json = json.loads(json.dumps(FULL))
    place: Any = tree
    for part in path[:-1]:
        place = place[part]
    place[path[-1]] = value
    return tree


# Maps whose keys are the user's, or judged by a rule of templates/validate/.
FREE = re.compile(
    r"^models$|^curvine\.config\.\w+$|^observability\.\w+\.labels$"
    r"|\.(linesOfBusiness|models|env|nodeSelector|adapterConfig|podAnnotations|podLabels|serviceAccountAnnotations|matchLabels)$"
    r"|\.hyperpod\.(labels|tags)$|\.(namespaces|engines|configuration)$"
)


CLOSED = [path for path in (".".join(map(str, place)) for place in _places(FULL)) if not FREE.search(path)]


@pytest.mark.parametrize("path", CLOSED)
def test_unknown_key_is_refused_at_each_level(path: str) -> None:
    parts = tuple(int(part) if part.isdigit() else part for part in path.split(".")) if path else ()
    validator = jsonschema.Draft7Validator(SCHEMA)
    assert not list(validator.iter_errors(FULL))
    errors = list(validator.iter_errors(_with((*parts, "unknownKey"), 1)))
    assert [list(error.absolute_path) for error in errors] == [list(parts)]
    assert "unknownKey" in errors[0].message


HELM_REFUSES: dict[str, tuple[Json, list[str]]] = {
    "unknown key at the root": ({"lineOfBusines": "x"}, ["lineOfBusines"]),
    "unknown key of a model": (model(lmCacheConfig={}), ["tiny", "lmCacheConfig"]),
    "unknown key deep in a model": (model(cache={"l1": {"size": "1Gi"}}), ["l1", "size"]),
    "unknown key of the defaults": ({"defaults": {"engine": {"tensorParallel": 2}}}, ["engine", "tensorParallel"]),
    "unknown key for the library": ({"model-endpoint": {"replicas": 1}}, ["model-endpoint", "replicas"]),
    "unknown resource": (model(resources={"engine": {"limits": {"mem": "1Gi"}}}), ["limits", "mem"]),
    "unknown platform": ({"platform": "eks"}, ["platform"]),
    "unknown strategy": (model(routing={"strategy": "kv-aware"}), ["strategy"]),
    "unknown source": (model(source={"fsx": {"id": "a/b"}}), ["fsx"]),
    "affinity of an unknown kind": (model(affinity={"podAffinty": {}}), ["models/tiny/affinity", "podAffinty"]),
    "metric of no type": (
        model(autoscaling={"hpa": {"metrics": [{"type": "CPU"}]}}),
        ["metrics/0/type", "ContainerResource"],
    ),
    "text for a number": (model(replicas="2"), ["replicas"]),
    "more Pods than a field of the API holds": (model(replicas=4294967296), ["replicas", "maximum"]),
    "unknown field of an affinity": (
        model(affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerm": []}}}),
        ["affinity", "nodeSelectorTerm"],
    ),
    "unknown comparison of an affinity": (
        model(
            affinity={
                "podAntiAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        {"labelSelector": {"matchExpressions": [{"key": "a", "operator": "in"}]}, "topologyKey": "zone"}
                    ]
                }
            }
        ),
        ["operator", "NotIn"],
    ),
    "unknown kind of metric": (model(autoscaling={"hpa": {"metrics": [{"type": "Cpu"}]}}), ["metrics/0", "Resource"]),
    "half a Pod": (model(replicas=1.5), ["replicas"]),
    "negative hash seed": (model(cache={"hashSeed": -1}), ["hashSeed"]),
    "no router": (model(routing={"replicas": 0}), ["replicas"]),
    "port out of range": (model(routing={"service": {"port": 70000}}), ["port"]),
    "list for the models map": ({"models": [{"name": "tiny"}]}, ["models"]),
    "volume of an unknown kind": ({"l2": {"volume": {"type": "nfs"}}}, ["type"]),
    "environment name with a blank": (model(engine={"env": {"A B": "1"}}), ["A B"]),
    "repository with a blank": (model(engine={"image": {"repository": "a b"}}), ["repository"]),
    "served name with a quote": (model(servedName='a"b'), ["servedName"]),
    "digest of another kind": (model(engine={"image": {"digest": "md5:1"}}), ["digest"]),
}


@pytest.mark.parametrize("case", HELM_REFUSES)
def test_helm_refuses(helm: Helm, case: str) -> None:
    values, wanted = HELM_REFUSES[case]
    message = helm.refusal(values)
    assert "values don't meet the specifications of the schema" in message
    for text in wanted:
        assert text in message


def test_null_is_never_a_matter_of_type() -> None:
    """Helm's null deletes a default; the schema sees it first and must let it through, at each key."""
    validator = jsonschema.Draft7Validator(SCHEMA)
    for path in _places(FULL):
        place: Any = FULL
        for part in path:
            place = place[part]
        for key in place:
            if any(isinstance(part, int) for part in path):
                continue  # Helm does not merge lists
            errors = [error.message for error in validator.iter_errors(_with((*path, key), None))]
            assert not errors, (path, key, errors)


def test_generated_file_is_up_to_date() -> None:
    assert generate.main(["--check"]) == 0


SOURCE = "type: object\nproperties:\n  a: {type: integer, description: A.}\n"


def test_generator_closes_objects_and_lets_null_pass() -> None:
    made = json.loads(generate.generate(SOURCE, "a: 1\n"))
    assert made == {
        "type": "object",
        "properties": {"a": {"type": ["integer", "null"], "maximum": 1_000_000_000, "description": "A."}},
        "additionalProperties": False,
    }


GENERATOR_FAULTS = {
    "a: 1\nb: 2\n": "values.yaml: b is not in values.schema.yaml",
    "{}\n": "values.yaml: a is described, but has no default",
}


@pytest.mark.parametrize("values", GENERATOR_FAULTS)
def test_generator_sees_drift(values: str) -> None:
    with pytest.raises(generate.SchemaError, match=re.escape(GENERATOR_FAULTS[values])):
        generate.generate(SOURCE, values)


def test_generator_names_all_faults() -> None:
    with pytest.raises(generate.SchemaError) as caught:
        generate.generate(
            "type: object\nproperties:\n  a: {type: integer}\n  b: {description: B.}\n", "{a: 1, b: 2, c: 3}\n"
        )
    for place in ("properties/a: no description", "properties/b: no type", "values.yaml: c"):
        assert place in str(caught.value)


def test_editors_find_the_schema() -> None:
    for file in [CHART / "values.yaml", *(REPO / "values").glob("*.yaml")]:
        (reference,) = re.findall(r"yaml-language-server: \$schema=(\S+)", file.read_text())
        assert (file.parent / reference).resolve() == CHART / "values.schema.json"


def test_values_files_are_valid_by_themselves() -> None:
    """Editors check a file alone, so the schema must not ask for keys that the chart's defaults have."""
    validator = jsonschema.Draft7Validator(SCHEMA)
    assert not list(validator.iter_errors(overlay()))
    for file in (REPO / "values").glob("*.yaml"):
        assert not list(validator.iter_errors(yaml.safe_load(file.read_text())))


REFERENCE = reference.reference((CHART / "values.schema.yaml").read_text(), (CHART / "values.yaml").read_text())


def test_every_default_stands_in_the_reference() -> None:
    rows = dict(re.findall(r"^\| `([^`]+)` \| [^|]*\| ([^|]*) \|", REFERENCE, re.MULTILINE))
    leaves = [
        (".".join(map(str, (*path[1:], key) if path[:1] == ("defaults",) else (*path, key))), value)
        for path in _places(DEFAULTS)
        for key, value in (DEFAULTS if not path else _at(DEFAULTS, path)).items()
        if not isinstance(value, dict) and path
    ]
    assert len(leaves) > 100
    for key, value in leaves:
        shape = key.rsplit(".", 1)[0]
        if key in rows:
            assert rows[key] == f"`{reference.flow(value)}`", key
        else:  # a part of a shape, whose row shows all of it
            assert any(
                f"{key.rsplit('.', 1)[1]}: {reference.flow(value)}" in rows.get(of, "") for of in _above(shape)
            ), key


def _at(tree: Json, path: tuple[str | int, ...]) -> Json:
    place: Any = tree
    for part in path:
        place = place[part]
    assert isinstance(place, dict)
    return place


def _above(key: str) -> list[str]:
    parts = key.split(".")
    return [".".join(parts[:length]) for length in range(len(parts), 0, -1)]


def test_links_of_the_reference_lead_somewhere() -> None:
    headings = {heading.lower().replace(" ", "-") for heading in re.findall(r"^#+ (.+)$", REFERENCE, re.MULTILINE)}
    assert set(re.findall(r"\]\(#([^)]+)\)", REFERENCE)) <= headings
    assert not re.search(r"^\|(?!.*\|$)", REFERENCE, re.MULTILINE)
    for row in re.findall(r"^\|.*\|$", REFERENCE, re.MULTILINE):
        assert row.count("|") == 5, row
