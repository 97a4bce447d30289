"""IEC and options -> every object that the operator makes: a pure function."""

from __future__ import annotations

import yaml

from .env import CONFIG_FILE, caches
from .names import GROUP, Names
from .options import Json, Options
from .pod import template
from .router import router, services


def replicas(iec: Json) -> int:
    """How many Pods an IEC asks for."""
    return int(iec["spec"].get("replicas", 1))


def render(iec: Json, options: Options) -> list[Json]:
    """All objects, with the emulator's labels. Those in the IEC's namespace are owned by it and end with it.

    Raises:
        Refused: see pod.template.
    """
    made = [*_config(iec, options), _deployment(iec, options), *services(iec), *router(iec, options)]
    names = Names(iec)
    for each in made:
        metadata = each["metadata"]
        metadata["labels"] = {**metadata.get("labels", {}), **names.own_labels}
        # An owner in another namespace would not be found, and the garbage collector would remove what it owns.
        if metadata["namespace"] == names.namespace:
            metadata["ownerReferences"] = [_owner(iec)]
    return made


def _owner(iec: Json) -> Json:
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "InferenceEndpointConfig",
        "name": iec["metadata"]["name"],
        "uid": iec["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _deployment(iec: Json, options: Options) -> Json:
    """Named after the IEC, in its namespace (observed)."""
    names = Names(iec)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": names.iec, "namespace": names.namespace, "labels": names.pod_labels},
        "spec": {
            "replicas": replicas(iec),
            "progressDeadlineSeconds": int(iec["spec"].get("maxDeployTimeInSeconds") or 3600),
            "selector": {"matchLabels": {"app": names.iec}},
            "template": template(iec, options),
        },
    }


def _config(iec: Json, options: Options) -> list[Json]:
    """What the volume `lmcache-config` shows in-process (inferred, with all that is in it)."""
    l1, l2 = caches(iec)
    if options.mode_of(iec) == "MultiProcess" or not (l1 or l2):
        return []
    names = Names(iec)
    text = yaml.safe_dump({"chunk_size": 256, "local_cpu": l1, "max_local_cpu_size": 5})
    return [
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": names.lmcache_config, "namespace": names.namespace},
            "data": {CONFIG_FILE.rpartition("/")[2]: text},
        }
    ]
