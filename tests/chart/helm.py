"""Renders the chart as a user would, through the helm binary."""

from __future__ import annotations

import copy
import json
import subprocess
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import yaml

REPO = Path(__file__).resolve().parents[2]
CHART = REPO / "charts" / "tiered-kv-cache"
Json = dict[str, Any]
# libyaml where PyYAML has it: manifests are long, and the tests parse many.
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

MINIMAL: Json = {
    "lineOfBusiness": "retail",
    "l2": {"volume": {"claimName": "kv"}},
    "models": {"tiny": {"source": {"claim": {"name": "models", "subPath": "tiny"}}}},
}
"""The fewest values with which a model is deployed."""


def overlay(*layers: Json) -> Json:
    """MINIMAL with layers over it."""
    return merged(MINIMAL, *layers)


def merged(base: Json, *layers: Json) -> Json:
    """A copy of base with layers over it; dictionaries merge, all else (null too) replaces."""
    result = copy.deepcopy(base)
    for layer in layers:
        _merge(result, layer)
    return result


def _merge(into: Json, layer: Json) -> None:
    for key, value in layer.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = copy.deepcopy(value)


def model(**changes: Any) -> Json:
    """A layer that changes the model of MINIMAL."""
    return {"models": {"tiny": changes}}


class Refused(Exception):
    """helm ended with an error; the text is its message."""


@dataclass(frozen=True)
class Manifests:
    """What helm printed, and the objects in it."""

    text: str

    @cached_property
    def objects(self) -> list[Json]:
        """All objects, in helm's order. Renders are shared between tests: read only."""
        return [document for document in yaml.load_all(self.text, Loader=LOADER) if document]

    def of(self, kind: str) -> list[Json]:
        """All objects of a kind."""
        return [found for found in self.objects if found["kind"] == kind]

    def get(self, kind: str, name: str) -> Json:
        """The one object of this kind and name."""
        (found,) = [each for each in self.of(kind) if each["metadata"]["name"] == name]
        return found

    def pod(self, component: str = "engine") -> Json:
        """Pod template of the one Deployment of a component."""
        (found,) = [
            each["spec"]["template"]
            for each in self.of("Deployment")
            if each["metadata"]["labels"]["app.kubernetes.io/component"] == component
        ]
        assert isinstance(found, dict)
        return found

    def container(self, name: str, component: str = "engine") -> Json:
        """A container of that Pod."""
        return container(self.pod(component), name)


def without_preflight(objects: list[Json]) -> list[Json]:
    """What else there is: every release has a preflight, with a ClusterRole."""
    return [each for each in objects if each["metadata"]["labels"]["app.kubernetes.io/component"] != "preflight"]


def container(pod: Json, name: str) -> Json:
    """A container (init containers too) of a Pod by name."""
    spec = pod["spec"]
    (found,) = [each for each in (*spec.get("initContainers", []), *spec["containers"]) if each["name"] == name]
    assert isinstance(found, dict)
    return found


def flag(arguments: list[str], name: str) -> str:
    """The value behind a flag."""
    return arguments[arguments.index(name) + 1]


def environment(of: Json) -> dict[str, str]:
    """The plain environment variables of a container."""
    return {each["name"]: each["value"] for each in of["env"] if "value" in each}


@dataclass(frozen=True)
class Helm:
    """One helm binary."""

    path: str

    def template(
        self,
        *layers: Json,
        files: tuple[Path, ...] = (),
        release: str = "demo",
        namespace: str = "tiered-kv-cache",
        extra: tuple[str, ...] = (),
    ) -> Manifests:
        """Render MINIMAL with layers over it, or the given files alone.

        Raises:
            Refused: helm ended with an error.
        """
        options = [option for file in files for option in ("-f", str(file))]
        # JSON is YAML, and a file on purpose: --set would keep whole numbers whole and hide what files do to them.
        given = None if files else json.dumps(overlay(*layers))
        return self.run(
            *options, *(() if files else ("-f", "-")), *extra, release=release, namespace=namespace, given=given
        )

    @cache  # noqa: B019 - a few binaries live as long as the tests do
    def run(
        self, *options: str, release: str = "demo", namespace: str = "tiered-kv-cache", given: str | None = None
    ) -> Manifests:
        """`helm template` with these options; `given` goes to its standard input."""
        command = [self.path, "template", release, str(CHART), "-n", namespace, *options]
        done = subprocess.run(command, input=given, capture_output=True, text=True, check=False)
        if done.returncode:
            raise Refused(done.stderr)
        return Manifests(done.stdout)

    def refusal(self, *layers: Json, release: str = "demo", extra: tuple[str, ...] = ()) -> str:
        """The message with which these values are refused."""
        try:
            manifests = self.template(*layers, release=release, extra=extra)
        except Refused as error:
            return str(error)
        raise AssertionError(f"accepted:\n{manifests.text[:500]}")

    def assert_refused(self, values: Json, wanted: list[str]) -> None:
        """These values are refused with exactly one of the chart's faults: the wanted texts, the reason and the fix."""
        message = self.refusal(values)
        assert message.count("why: ") == 1, message
        for text in [*wanted, "   fix: "]:
            assert text in message, message
