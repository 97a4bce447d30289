"""Keys of earlier values in the schema: they pass it, so that the chart can tell what stands in their place."""

from __future__ import annotations

from typing import Any

Node = dict[str, Any]

ANYTHING = ["object", "array", "string", "number", "boolean", "null"]


def _object(schema: Node, parts: list[str]) -> Node | None:
    """The subschema of an object by its path, references followed."""
    node = schema
    for part in parts:
        child = node.get("properties", {}).get(part)
        if child is None:
            return None
        node = schema["definitions"][child["$ref"].rsplit("/", 1)[1]] if "$ref" in child else child
    return node


def permit(schema: Node, changes: Node) -> list[str]:
    """Add the keys that are gone to an expanded schema, in place; the faults of the table.

    Args:
        changes: files/changed-keys.yaml of the chart.
    """
    faults: list[str] = []
    for entry in changes["keys"]:
        *above, name = entry["key"].split(".")
        where = _object(schema, above)
        there = where is not None and name in where.get("properties", {})
        if entry["since"] > changes["schemaVersion"]:
            faults.append(f"changed-keys.yaml: {entry['key']} since {entry['since']}: raise schemaVersion")
        if where is None or there != bool(entry.get("meaning")):
            faults.append(
                f"changed-keys.yaml: {entry['key']} {'is still in' if there else 'has no place in'} the schema"
            )
        elif "now" in entry and _object(schema, entry["now"].split(".")) is None:
            faults.append(f"changed-keys.yaml: {entry['key']}: {entry['now']} is not in the schema")
        elif not there:
            where["properties"][name] = {
                "type": ANYTHING,
                "deprecated": True,
                "description": f"Gone: {entry['why']}" + (f" Now {entry['now']}." if "now" in entry else ""),
            }
    return faults


def newer_passes(schema: Node, version: int) -> Node:
    """The schema for values of this schemaVersion and older ones. A file of a newer chart passes: that it is newer is what its user must
    be told, not that its keys are unknown; the chart refuses it before it looks at anything else.
    """
    outer = {key: schema.pop(key) for key in ("$schema", "title", "definitions") if key in schema}
    outer["definitions"] = {"values": schema, **outer.get("definitions", {})}
    return {
        **outer,
        "type": "object",
        "if": {
            "required": ["schemaVersion"],
            "properties": {"schemaVersion": {"type": "integer", "exclusiveMinimum": version}},
        },
        "then": True,
        "else": {"$ref": "#/definitions/values"},
    }
