"""docs/values.md: every key of the chart's values with type, bounds, default and meaning, from the files that Helm reads.

The words are the descriptions in values.schema.yaml, the defaults those of values.yaml; nothing is written twice.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import yaml

Node = dict[str, Any]

INTRODUCTION = """\
# Values

<!-- Written by tools/schema/reference.py from values.schema.yaml and values.yaml of the chart: make schema -->

Every key that the chart takes. A key that does not stand here is refused, and so is a value outside of the bounds given; rules
between keys are checked before anything is created, and all faults of a file are told at once, each with its fix.

- **Overlays.** Maps merge leaf by leaf, lists and single values replace, and `null` deletes a default. Where a key needs a value,
  `null` is refused by its name.
- **Models.** `models.<name>` takes every key of [`defaults`](#defaults); what it leaves out it inherits from there.
- **Quantities** are written as in Kubernetes: `512Mi`, `40Gi` (bytes), `500m`, `2` (cores). A whole number is a quantity, too.
- **Text stays text.** Values of labels and annotations are quoted; numbers that YAML would change are refused.
- **Secrets** are named, never written into values.
- **As a dependency.** `enabled` is for the parent's `condition`; `global` and keys that begin with `x-` are not read. Under an
  alias names begin with release and alias, or with `nameOverride`, and `app.kubernetes.io/instance` is
  `<release>_<first part of the names>`, so that two of one release never find each other's Pods.

The fewest values with which a model runs:

```yaml
lineOfBusiness: retail
l2:
  volume: {claimName: kv-cache}
models:
  my-model:
    source:
      claim: {name: models, subPath: my-model}
```
"""

SHAPES = {
    "image": "image",
    "service": "service",
    "resources": "container resources",
    "probe": "probe",
    "labelSelector": "label selector",
}
"""Definitions that are described once, by name, with the words that lead to them."""


def _name(node: Node) -> str:
    """The definition that a node stands for, or nothing."""
    return str(node.get("$ref", "")).rpartition("/")[2]


class _Reference:
    def __init__(self, source: Node, values: Node) -> None:
        self.source, self.values = source, values

    def resolve(self, node: Node) -> Node:
        found: Node = self.source["definitions"][_name(node)] if "$ref" in node else node
        return found

    def kind(self, node: Node) -> str:
        """Type and bounds in a few words."""
        if _name(node) in SHAPES:
            return f"[{SHAPES[_name(node)]}](#{SHAPES[_name(node)].replace(' ', '-')})"
        node = self.resolve(node)
        if "x-kubernetes" in node or "$quantity" in node:
            return f"Kubernetes {node['x-kubernetes'].rpartition('.')[2]}" if "x-kubernetes" in node else "quantity"
        if "enum" in node:
            return _listed([f"`{choice}`" if choice else '`""`' for choice in node["enum"]])
        kinds = node["type"] if isinstance(node["type"], list) else [node["type"]]
        if kinds == ["array"]:
            return f"list of {_plural(self.kind(node['items']))}"
        if kinds == ["object"]:
            free = self.free(node)
            return (
                "map" if not free else f"map of {_name(free)}s" if _name(free) else f"map of {_plural(self.kind(free))}"
            )
        return _listed(kinds) + _bounds(node)

    def free(self, node: Node) -> Node | None:
        """What the user's own keys of a map hold."""
        for child in node.get("patternProperties", {}).values():
            found: Node = child
            return found
        extra = node.get("additionalProperties")
        return extra if isinstance(extra, dict) else None

    def rows(self, node: Node, values: Any, path: str = "") -> Iterator[tuple[str, Node, Any]]:
        """Every key below a node with its default; ... where it has none."""
        for name, child in self.resolve(node).get("properties", {}).items():
            default = values[name] if isinstance(values, dict) and name in values else ...
            yield f"{path}{name}", child, default
            below = self.resolve(child)
            if _name(child) in SHAPES:
                continue
            if below.get("type") == "array":
                yield from self.rows(self.resolve(below["items"]), ..., f"{path}{name}[].")
            else:
                yield from self.rows(below, default, f"{path}{name}.")

    def table(self, node: Node, values: Any, path: str = "") -> Iterator[str]:
        yield from ("| Key | Type | Default | Meaning |", "|---|---|---|---|")
        for key, child, default in self.rows(node, values, path):
            below = self.resolve(child)
            group = "properties" in below and _name(child) not in SHAPES
            words = (child if "description" in child else below)["description"]
            shown = "" if default is ... or (group and default) else f"`{flow(default)}`"
            yield f"| `{key}` | {'' if group else self.kind(child)} | {shown} | {_prose(words)} |".replace(
                "|  |", "| |"
            ).replace("|  |", "| |")

    def section(self, name: str, node: Node, level: int = 2) -> Iterator[str]:
        below = self.resolve(node)
        values = self.values.get(name, ...)
        yield from ("", f"{'#' * level} {name}", "", _prose(below["description"]), "")
        if "properties" not in below:
            yield f"Type: {self.kind(node)}. Default: `{flow(values)}`."
            free = self.free(below)
            if free and not _name(free):
                yield f"Each value: {self.kind(free)}."
            if below.get("type") == "array":
                yield from ("", *self.table(below["items"], ..., "[]."))
            return
        yield from self.table(node, values, f"{name}.")

    def defaults(self) -> Iterator[str]:
        """The keys of a model, a table for each of its blocks."""
        model, values = self.source["definitions"]["model"], self.values["defaults"]
        yield from ("", "## defaults", "", _prose(model["description"]), "")
        blocks = {name: child for name, child in model["properties"].items() if "properties" in self.resolve(child)}
        single = {name: child for name, child in model["properties"].items() if name not in blocks}
        yield from self.table({"properties": single}, values)
        for name, child in blocks.items():
            yield from ("", f"### {name}", "", _prose(self.resolve(child)["description"]), "")
            yield from self.table(child, values[name], f"{name}.")

    def text(self) -> str:
        lines = [INTRODUCTION.rstrip("\n")]
        for name, node in self.source["properties"].items():
            if name == "defaults":
                lines += self.defaults()
            elif self.resolve(node).get("x-default") != "none":
                lines += self.section(name, node)
        lines += ["", "## Shapes", "", "What several keys have in common."]
        for name, words in SHAPES.items():
            node = self.source["definitions"][name]
            lines += ["", f"### {words}", "", _prose(node["description"]), "", *self.table(node, ...)]
        return "\n".join(lines) + "\n"


def _prose(description: str) -> str:
    """A description as Markdown: what stands for a name is no HTML, and other pages are links."""
    text = description.strip().replace("\n", " ").replace("<", "&lt;")
    return re.sub(r"\bdocs/([a-z0-9-]+)\.md\b", r"[\1](\1.md)", text)


def _listed(words: list[str]) -> str:
    """a, b or c"""
    return " or ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _plural(kind: str) -> str:
    """The same of several; bounds stay behind."""
    if kind.startswith("Kubernetes "):
        return kind + "s"
    return re.sub(r"\b(string|number|integer|boolean|map)\b", r"\1s", kind).replace("quantity", "quantities")


def _bounds(node: Node) -> str:
    low, high = node.get("minimum"), node.get("maximum")
    if "exclusiveMinimum" in node:
        return f" above {node['exclusiveMinimum']}" + (f", at most {high}" if high is not None else "")
    if low is not None and high is not None:
        return f", {low} to {high}"
    if low is not None:
        return f", {low} or more"
    return f", at most {high}" if high is not None else ""


def flow(value: Any) -> str:
    """A default as a person would write it in one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str) and value and yaml.safe_load(value) == value:
        return value
    return json.dumps(value)


def reference(source_text: str, values_text: str) -> str:
    """Return the text of docs/values.md.

    Args:
        source_text: text of values.schema.yaml; its nodes have been found complete by schema.generate.
        values_text: text of values.yaml, the chart's defaults.
    """
    return _Reference(yaml.safe_load(source_text), yaml.safe_load(values_text)).text()
