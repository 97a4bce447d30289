"""What a Pod that came back must look like (docs/l2-patch.md).

Told without the patch's own code: a fault of the one is none of the other.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from ..cluster import JsonObject
from ..names import L2_LINK
from ..patch import names
from .config import Model, Place
from .shapes import IN_PROCESS, OPERATOR_JSON, SERVER, SIDECARS


def faults(place: Place, model: Model, mode: str, sent: JsonObject, back: JsonObject) -> list[str]:
    """All that is wrong with the operator's Pod; nothing if it is patched as specified."""
    target = model.name if mode == IN_PROCESS else SERVER
    base = model.root or L2_LINK
    found = list(_volume(place, model, target, back))
    if mode == IN_PROCESS:
        found += _in_process(model, base, _container(back, target))
    else:
        found += _multi_process(place, model, base, sent, back)
    found += _seed(model, _container(back, model.name))
    annotation = ((back.get("metadata") or {}).get("annotations") or {}).get(names.ANNOTATION)
    if annotation != names.VERSION:
        found.append(f"annotation {names.ANNOTATION} is {annotation or 'absent'}, not {names.VERSION}")
    for name in SIDECARS:
        found += [
            f"container {name} was changed: {what}" for what in _changes(_container(sent, name), _container(back, name))
        ]
    return found


def touched(sent: JsonObject, back: JsonObject) -> list[str]:
    """What was changed of a Pod that the patch must leave alone."""
    found = []
    if names.ANNOTATION in ((back.get("metadata") or {}).get("annotations") or {}):
        found.append(f"it has annotation {names.ANNOTATION}")
    if names.VOLUME_L2 in [each.get("name") for each in back["spec"].get("volumes") or []]:
        found.append(f"it has volume {names.VOLUME_L2}")
    for container in sent["spec"]["containers"]:
        name = container["name"]
        found += [f"container {name} was changed: {what}" for what in _changes(container, _container(back, name))]
    return found


def _in_process(model: Model, base: str, worker: JsonObject) -> Iterator[str]:
    where = f"container {model.name} has"
    for name, wanted in (("LMCACHE_REMOTE_URL", f"fs://localhost:0{base}/"), ("LMCACHE_REMOTE_SERDE", "naive")):
        values = _values(worker, name)
        if values != [wanted]:
            yield f"{where} {name} {_shown(values)}, not {wanted} once"
    yield from _pod_name(worker)
    extra = _values(worker, "LMCACHE_EXTRA_CONFIG")
    wanted_extra = OPERATOR_JSON | {"fs_connector_relative_tmp_dir": names.TMP_DIR}
    if len(extra) != 1 or _json(extra[0]) != wanted_extra:
        yield f"{where} LMCACHE_EXTRA_CONFIG {_shown(extra)}, not {json.dumps(wanted_extra)} once"


def _multi_process(place: Place, model: Model, base: str, sent: JsonObject, back: JsonObject) -> Iterator[str]:
    server = _container(back, SERVER)
    words = [str(word) for word in server.get("args") or []]
    adapters = [after for word, after in zip(words, [*words[1:], ""], strict=True) if word == "--l2-adapter"]
    adapters += [word.partition("=")[2] for word in words if word.startswith("--l2-adapter=")]
    if len(adapters) != 1:
        yield f"container {SERVER} has --l2-adapter {len(adapters)} times, not once"
    else:
        given = _json(adapters[0])
        wanted = _adapter(place, model, base)
        if not isinstance(given, dict) or not _within(wanted, given):
            yield f"container {SERVER} has --l2-adapter {adapters[0]}, not {json.dumps(wanted)}"
        elif wanted["type"] == "plugin" and _values(server, "PYTHONPATH")[:1] != [names.CODE_PATH]:
            yield f"container {SERVER} has PYTHONPATH {_shown(_values(server, 'PYTHONPATH'))}, not {names.CODE_PATH}"
    if "--l2-prefetch-policy" not in words:
        yield f"container {SERVER} has no --l2-prefetch-policy"
    yield from _pod_name(server)
    yield from _seed(model, server)
    worker, was = _container(back, model.name), _container(sent, model.name)
    kept = worker | {"env": [each for each in worker.get("env") or [] if each.get("name") != names.ENV_HASH_SEED]}
    yield from (f"container {model.name} was changed: {what}" for what in _changes(was, kept))


def _adapter(place: Place, model: Model, base: str) -> JsonObject:
    if place.adapter != "guarded" or model.root:
        return {"type": "fs", "base_path": base, "relative_tmp_dir": names.TMP_DIR}
    return {"type": "plugin", "adapter_params": {"base_path": base, "pod": "$(POD_NAME)"}}


def _within(wanted: JsonObject, given: JsonObject) -> bool:
    """All of one in the other, which may hold more."""
    return all(
        _within(value, given[key])
        if isinstance(value, dict) and isinstance(given.get(key), dict)
        else given.get(key) == value
        for key, value in wanted.items()
    )


def _seed(model: Model, container: JsonObject) -> Iterator[str]:
    have = _values(container, names.ENV_HASH_SEED)
    if model.hashSeed and have != [model.hashSeed]:
        yield f"container {container.get('name')} has {names.ENV_HASH_SEED} {_shown(have)}, not {model.hashSeed}"


def _pod_name(container: JsonObject) -> Iterator[str]:
    first = (container.get("env") or [{}])[0]
    path = ((first.get("valueFrom") or {}).get("fieldRef") or {}).get("fieldPath")
    if first.get("name") != names.ENV_POD_NAME or path != "metadata.name":
        yield f"container {container.get('name')} does not begin its env with {names.ENV_POD_NAME} of metadata.name, which later values use"


def _volume(place: Place, model: Model, target: str, back: JsonObject) -> Iterator[str]:
    volumes = {each.get("name"): each for each in back["spec"].get("volumes") or []}
    claim = ((volumes.get(names.VOLUME_L2) or {}).get("persistentVolumeClaim") or {}).get("claimName")
    if claim != place.claim:
        yield f"volume {names.VOLUME_L2} is {f'claim {claim}' if claim else 'absent'}, not claim {place.claim}"
    mounts = {
        (each.get("name"), each.get("mountPath")): each for each in _container(back, target).get("volumeMounts") or []
    }
    mount = mounts.get((names.VOLUME_L2, place.mountPath))
    if mount is None:
        yield f"container {target} does not mount {names.VOLUME_L2} at {place.mountPath}"
    elif place.propagation and mount.get("mountPropagation") != place.propagation:
        yield f"container {target} mounts {names.VOLUME_L2} without mountPropagation {place.propagation}"
    if not model.root and (names.VOLUME_RUN, names.RUN_PATH) not in mounts:
        yield f"container {target} does not mount {names.VOLUME_RUN} at {names.RUN_PATH}"


def _changes(sent: JsonObject, back: JsonObject) -> list[str]:
    return [
        key
        for key in ("env", "command", "args", "volumeMounts", "image")
        if (sent.get(key) or []) != (back.get(key) or [])
    ]


def _container(pod: JsonObject, name: str) -> JsonObject:
    found: JsonObject = next((each for each in pod["spec"].get("containers") or [] if each.get("name") == name), {})
    return found


def _values(container: JsonObject, name: str) -> list[str]:
    return [
        str(each.get("value", "<from elsewhere>")) for each in container.get("env") or [] if each.get("name") == name
    ]


def _shown(values: list[str]) -> str:
    return " and ".join(values) or "not at all"


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None
