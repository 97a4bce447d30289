"""20 lines of business with ten models each, which fill every GPU of the nodes."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from chart.helm import Json
from property.renderer import Question, Renderer

from .api import Api
from .nodes import GPUS_PER_NODE, MIXED, POOLS
from .state import COMPONENT

LINES = [f"line-{index:02}" for index in range(20)]
"""Each model in the pool of nodes for its size."""

MIXED_LINES = [f"mixed-{index}" for index in range(4)]
"""All models on the same nodes."""

REPLICAS = 2
SIZES = (1, 1, 1, 1, 2, 2, 2, 2, 4, 4)
"""GPUs of a Pod of each of a line's models."""

for _size, _pool in POOLS.items():
    assert REPLICAS * _size * SIZES.count(_size) * len(LINES) == _pool.nodes * GPUS_PER_NODE, "nothing may be left over"
assert REPLICAS * sum(SIZES) * len(MIXED_LINES) == MIXED.nodes * GPUS_PER_NODE

SMALL: Json = {"requests": {"cpu": "10m", "memory": "64Mi"}, "limits": {"cpu": "1", "memory": "4Gi"}}


def model(index: int, **more: object) -> Json:
    """Values of a line's model, in the pool of nodes for its size."""
    size = SIZES[index]
    return {
        "source": {"imagePath": {"path": f"/models/{index}"}},
        "engine": {"tensorParallelSize": size},
        "instanceTypes": [POOLS[size].instance_type],
        **more,
    }


def values(line: str, env: Json, **models: Json) -> Json:
    """Values of one line of business.

    Args:
        line: its name.
        env: environment of the engines; a change of it is an upgrade.
        models: by key, in place of `model`.
    """
    return {
        "lineOfBusiness": line,
        "l2": {"volume": {"type": "hostPath", "hostPath": {"path": f"/mnt/{line}"}}},
        "hooks": {name: {"enabled": False} for name in ("verify", "storageCheck", "preflight")},
        "networkPolicy": {"enabled": False},
        "defaults": {
            "replicas": REPLICAS,
            "engine": {"device": "cuda", "env": env},
            "resources": {
                "engine": {"requests": {"cpu": "1", "memory": "4Gi"}, "limits": {"cpu": "8", "memory": "64Gi"}},
                "lmcache": SMALL,
                "router": SMALL,
            },
        },
        "models": {f"model-{index}": model(index) for index in range(len(SIZES))} | models,
    }


@dataclass
class Releases:
    """All releases, one per namespace.

    Args:
        renderer: renders them.
        api: takes their objects, as helm would hand them over; a real `helm upgrade` of 20 releases takes a minute.
    """

    renderer: Renderer
    api: Api
    _applied: dict[tuple[str, str, str], Json] = field(default_factory=dict)

    def namespaces(self, lines: Sequence[str]) -> None:
        """Make a namespace for each line."""
        for line in lines:
            self.api.create("/api/v1/namespaces", {"metadata": {"name": line}})

    def upgrade(self, lines: Sequence[str], env: Json, **models: Json) -> None:
        """Install or upgrade lines at once; the rest as for `values`.

        Raises:
            AssertionError: the chart refused the values.
            httpx.HTTPStatusError: the API server refused an object.
        """
        rendered = {line: self.objects(line, values(line, env, **models)) for line in lines}
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(lambda line: self._apply(rendered[line]), lines))

    def one(self, line: str, given: Json) -> None:
        """The same for a single line."""
        self._apply(self.objects(line, given))

    def objects(self, line: str, given: Json) -> list[Json]:
        """What a release of these values is made of, less the routers, which need no GPU."""
        answer = self.renderer.ask(Question(given, name=line, namespace=line))
        assert not (answer.error or answer.faults), answer.error or answer.faults
        return [found for found in answer.objects if found["metadata"]["labels"][COMPONENT] != "router"]

    def _apply(self, objects: list[Json]) -> None:
        """Hand over what differs from what was handed over before."""
        for found in objects:
            key = (found["kind"], found["metadata"].get("namespace", ""), found["metadata"]["name"])
            if self._applied.get(key) != found:
                self.api.apply(found)
                self._applied[key] = found
