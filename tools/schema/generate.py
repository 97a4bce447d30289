"""Write the chart's values.schema.json and docs/values.md from values.schema.yaml, or check that they are up to date.

The YAML source is written by people and carries the prose; the JSON is what Helm and editors read. On the way every
object is closed, null is allowed wherever Helm takes it for "delete the default", and both files are compared with
values.yaml, so that no key is undescribed and no description is orphaned.

Usage: ``generate.py [--check]``. Exit code 0: written or up to date; 1: a fault or, with --check, a difference.
"""

import argparse
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from schema.changes import newer_passes, permit
from schema.kubernetes import definitions
from schema.reference import reference

REPO = Path(__file__).resolve().parents[2]
CHART = REPO / "charts" / "tiered-kv-cache"
CHANGES = CHART / "files" / "changed-keys.yaml"
REFERENCE = REPO / "docs" / "values.md"

Node = dict[str, Any]


class SchemaError(ValueError):
    """The source is at fault; the text names every place and its fix."""


def _nullable(node: Node) -> None:
    """Let null pass, since an overlay deletes a default with it."""
    kinds = node["type"] if isinstance(node["type"], list) else [node["type"]]
    node["type"] = [*kinds, "null"]
    if "enum" in node:
        node["enum"] = [*node["enum"], None]


def _children(node: Node) -> Iterator[tuple[str, Node]]:
    """Yield the direct subschemas of a node with their place below it."""
    for group in ("properties", "patternProperties", "definitions"):
        for name, child in node.get(group, {}).items():
            yield f"{group}/{name}", child
    for single in ("additionalProperties", "items"):
        if isinstance(node.get(single), dict):
            yield single, node[single]


def _expand(node: Node, place: str, faults: list[str]) -> None:
    """Complete one node and all below it in place; add what is wrong to faults."""
    if "$ref" in node:
        return
    if "x-kubernetes" in node:
        # A structure of Kubernetes, handed on as given; null passes, since its own definition takes it.
        name = node.pop("x-kubernetes")
        node.clear()
        node["$ref"] = f"#/definitions/{name}"
        return
    if node.pop("$quantity", False):
        # Whole numbers are quantities, too; templates/_validate.tpl judges the text and tells the fix.
        node["type"] = ["string", "number"]
    for name, child in _children(node):
        _expand(child, f"{place}/{name}", faults)
    node.pop("x-default", None)
    if "type" not in node:
        faults.append(f"{place}: no type")
        return
    if "integer" in node["type"]:
        # Fields of the Kubernetes API have 32 bits, and sums of two must fit, too.
        node.setdefault("maximum", 1_000_000_000)
    if place and "description" not in node:
        faults.append(f"{place}: no description")
    if node["type"] == "object":
        node.setdefault("additionalProperties", False)
    # Null has no meaning for the whole tree, nor for an element of a list.
    if place and not place.endswith("/items"):
        _nullable(node)


def _resolve(node: Node, source: Node) -> Node:
    """Follow a reference into the definitions of the source."""
    return source["definitions"][node["$ref"].rsplit("/", 1)[1]] if "$ref" in node else node


def _compare(node: Node, values: Any, source: Node, place: str, faults: list[str]) -> None:
    """Add a fault for each key that only one of schema and values.yaml holds."""
    node = _resolve(node, source)
    if node.get("x-default") or not isinstance(values, dict):
        return
    properties: Node = node.get("properties", {})
    for name in sorted(values.keys() - properties.keys()):
        faults.append(f"values.yaml: {place}{name} is not in values.schema.yaml")
    for name, child in properties.items():
        if name in values:
            _compare(child, values[name], source, f"{place}{name}.", faults)
        elif _resolve(child, source).get("x-default") != "none":
            faults.append(f"values.yaml: {place}{name} is described, but has no default; add it, or x-default: none")


def generate(source_text: str, values_text: str, changes_text: str = "") -> str:
    """Return the JSON text of the schema.

    Args:
        source_text: text of values.schema.yaml.
        values_text: text of values.yaml, the chart's defaults.
        changes_text: text of files/changed-keys.yaml, the keys that are gone; without it there are none.

    Raises:
        SchemaError: a node lacks its type or description, or the two files disagree; all faults at once.
    """
    faults: list[str] = []
    _compare(yaml.safe_load(source_text), yaml.safe_load(values_text), yaml.safe_load(source_text), "", faults)
    schema = yaml.safe_load(source_text)
    structures = sorted(set(re.findall(r"x-kubernetes: *([\w.]+)", source_text)))
    _expand(schema, "", faults)
    for structure in structures:
        schema["definitions"].update(definitions(structure))
    if changes := yaml.safe_load(changes_text):
        faults += permit(schema, changes)
        if not faults:
            schema = newer_passes(schema, changes["schemaVersion"])
    if faults:
        raise SchemaError("\n".join(faults))
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def main(argv: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(description="write values.schema.json and docs/values.md from values.schema.yaml")
    parser.add_argument("--check", action="store_true", help="write nothing; fail when a file is not up to date")
    options = parser.parse_args(argv)
    source, values = (CHART / "values.schema.yaml").read_text(), (CHART / "values.yaml").read_text()
    try:
        schema = generate(source, values, CHANGES.read_text())
        made = {CHART / "values.schema.json": schema, REFERENCE: reference(source, values)}
    except SchemaError as error:
        print(
            f"{error}\nfix: correct charts/tiered-kv-cache/values.schema.yaml, values.yaml or files/changed-keys.yaml",
            file=sys.stderr,
        )
        return 1
    stale = [file for file, text in made.items() if not file.exists() or file.read_text() != text]
    for file in stale:
        if options.check:
            print(
                f"{file.name} is not what values.schema.yaml says\nfix: run make schema and commit it", file=sys.stderr
            )
        else:
            file.write_text(made[file])
    return 1 if stale and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
