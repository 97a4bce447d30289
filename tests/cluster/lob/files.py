"""The platform's file and those of lines of business at test size: what each release is installed with.

Curvine's pool is not here: a directory of the machine that all nodes share stands for it, and each line of business has its own part of it,
below which the others are not, as the pool's mounts have it. What a real pool does with lines of business: tests/cluster/curvine.
"""

from __future__ import annotations

from typing import Any

import yaml

from chart.helm import REPO
from local_cluster.settings import NODE_SHARED, PLACES

from ..scaling import scaled

Json = dict[str, Any]
PLATFORM = "kv-platform"
"""Namespace of values/platform.yaml, as its first lines say; its release is `platform`."""
FOLDER = "lob"
POOL = PLACES.state / "shared" / FOLDER
VALUES = REPO / "values"
FILES = {name: VALUES / f"{name}.yaml" for name in ("assistant", "documents", "batch")}
FOURTH = "reports"
FOURTH_FILE = FILES["batch"]
"""A new line of business begins with a copy of another one's file."""
# Two cores carry all of it.
_LITTLE = {
    "engine": {"requests": {"cpu": "100m", "memory": "1Gi"}},
    "lmcache": {"requests": {"cpu": "20m", "memory": "512Mi"}},
    "router": {"requests": {"cpu": "20m"}},
}


def read(name: str) -> Json:
    """A line's file."""
    found: Json = yaml.safe_load(FILES.get(name, FOURTH_FILE).read_text())
    return found


def line_values(name: str, tag: str) -> Json:
    """What to lay over a line's file.

    Args:
        name: of the line, its release and its namespace.
        tag: of the engine's image in the nodes.
    """
    over = scaled(FILES.get(name, FOURTH_FILE))
    over["lineOfBusiness"] = name
    over["l2"]["volume"]["hostPath"] = {"path": f"{NODE_SHARED}/{FOLDER}/{name}"}
    # Its own keeper in its own part, as in the pool; a Mi for each Gi that was agreed.
    quota = str(read(name)["l2"]["keeper"]["quota"]).replace("Gi", "Mi")
    over["l2"]["keeper"] = {"enabled": True, "quota": quota, "resources": {"requests": {"cpu": "20m"}}}
    over["gateway"] = {"replicas": 1, "resources": {"requests": {"cpu": "20m"}}}
    for model, each in over["models"].items():
        engine = {**each["engine"], "image": {**each["engine"]["image"], "tag": tag}}
        resources = {part: {**each["resources"].get(part, {}), **little} for part, little in _LITTLE.items()}
        over["models"][model] = {**each, "replicas": 1, "engine": engine, "resources": resources}
    return over


def platform_values(*more: str) -> Json:
    """What to lay over platform.yaml.

    Args:
        more: lines of business beside those of the file: the listed allowance, one more name in each of its two lists.
    """
    file: Json = yaml.safe_load((VALUES / "platform.yaml").read_text())
    patched = file["inferenceOperator"]["l2Patch"]["namespaces"]
    pattern = patched["batch"]
    return {
        "platform": "kubernetes",
        "l2": {"volume": {"type": "hostPath", "hostPath": {"path": f"{NODE_SHARED}/{FOLDER}"}}},
        "curvine": {"linesOfBusiness": [*file["curvine"]["linesOfBusiness"], *more]},
        "inferenceOperator": {
            "l2Patch": {"namespaces": {name: {**pattern, "claimName": f"{name}-l2"} for name in more}}
        },
    }


def make_part(name: str) -> None:
    """Its part of the pool, empty and writable, as the mounts make it."""
    part = POOL / name
    part.mkdir(parents=True)
    part.chmod(0o1777)


def tree(name: str) -> dict[str, int]:
    """Blocks of a line of business in its part of the pool, and their sizes in bytes."""
    part = POOL / name
    return {str(path.relative_to(part)): path.stat().st_size for path in part.rglob("objects/*/*/*.kv")}
