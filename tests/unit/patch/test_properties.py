"""What holds for every Pod, not only for those that somebody thought of."""

from __future__ import annotations

import copy
import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from patch.cases.model import BASE
from patch.cases.shapes import MODEL, v32, v37
from tiered_kv_cache.patch import apply, extra_config, names, outcome

Json = dict[str, Any]
UNTIMED = settings(deadline=None)
DATA = {f"ns.{key}": text for key, text in BASE.items()}
TEXTS = some.text(max_size=12)
NAMES = some.sampled_from([
    names.ENV_POD_NAME, names.ENV_URL, names.ENV_SERDE, names.ENV_EXTRA, names.ENV_HASH_SEED, names.ENV_FILE,
    names.ENV_PYTHON_PATH, "A", "B", "NODE_IP",
])  # fmt: skip
TOKENS = some.sampled_from([
    "lmcache", "server", "--l2-adapter", "--l2-adapter=x", "--l2-prefetch-policy", "LMCacheMPConnector", "--port", "5", "",
    "/bin/lmcache", "sh", "lmcache server",
])  # fmt: skip
SCALARS = some.none() | some.booleans() | some.integers() | some.floats(allow_nan=False, allow_infinity=False) | TEXTS
PLAIN = some.text("abcdef_", max_size=4)
MEMBERS = some.dictionaries(
    PLAIN, SCALARS | some.lists(SCALARS, max_size=3) | some.dictionaries(PLAIN, SCALARS, max_size=3), max_size=4
)


@some.composite
def entries(draw: some.DrawFn) -> Json:
    """An environment variable: one of the patch's own, or another."""
    name = draw(NAMES)
    kind = draw(some.sampled_from(["plain", "field", "bare"]))
    if kind == "field" or name == names.ENV_POD_NAME:
        return {"name": name, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.name"}}}
    if kind == "bare":
        return {"name": name}
    text = draw(MEMBERS.map(json.dumps)) if name == names.ENV_EXTRA else draw(TEXTS)
    return {"name": name, "value": text}


@some.composite
def pods(draw: some.DrawFn) -> Json:
    """Operator-shaped Pods with other environments and arguments."""
    pod = draw(some.sampled_from([v32, v37]))()
    for container in pod["spec"]["containers"]:
        if draw(some.booleans()):
            container["env"] = draw(some.lists(entries(), max_size=6))
        if container["name"] == "lmcache-server" and draw(some.booleans()):
            container["args"] = draw(some.lists(TOKENS, max_size=6))
    return pod


def _patch(pod: Json) -> Json | None:
    try:
        return apply.patch(pod, DATA, "ns").pod
    except outcome.Refused as err:
        assert str(err).startswith(outcome.PREFIX)
        assert ". Fix: " in str(err)
        return None


@UNTIMED
@given(pods())
def test_patched_once_is_patched_for_good(pod: Json) -> None:
    if (once := _patch(pod)) is not None:
        assert _patch(once) == once


@UNTIMED
@given(pods())
def test_the_given_pod_is_not_changed(pod: Json) -> None:
    before = copy.deepcopy(pod)
    _patch(pod)
    assert pod == before


@UNTIMED
@given(pods())
def test_only_named_places_change(pod: Json) -> None:
    after = _patch(pod)
    if after is None:
        return
    for each in (before := copy.deepcopy(pod), after):
        each["metadata"].pop("annotations", None)
        each["spec"].pop("volumes")
        for container in each["spec"]["containers"]:
            if container["name"] in (MODEL, "lmcache-server"):
                for key in ("env", "args", "command", "volumeMounts"):
                    container.pop(key, None)
    assert after == before


@UNTIMED
@given(pods())
def test_an_in_process_worker_has_one_of_each_and_keeps_the_rest(pod: Json) -> None:
    after = _patch(pod)
    if after is None or len(pod["spec"]["containers"]) > 3:
        return
    before = pod["spec"]["containers"][0]["env"]
    env = after["spec"]["containers"][0]["env"]
    for name in (names.ENV_POD_NAME, names.ENV_URL, names.ENV_SERDE, names.ENV_EXTRA):
        assert [entry["name"] for entry in env].count(name) == 1
    assert env[0]["name"] == names.ENV_POD_NAME
    owned = (names.ENV_POD_NAME, names.ENV_URL, names.ENV_SERDE, names.ENV_EXTRA)
    kept = [entry for entry in before if entry["name"] not in owned]
    rest = [entry for entry in env if entry["name"] not in owned]
    assert rest[: len(kept)] == kept
    assert [entry["name"] for entry in rest[len(kept) :]] in ([], [names.ENV_HASH_SEED])


@UNTIMED
@given(MEMBERS, some.sampled_from(["", " ", "\n\t"]))
def test_members_of_the_operator_stay_byte_by_byte(members: Json, space: str) -> None:
    text = json.dumps(members, indent=1 if space else None)
    merged = extra_config.merge(f"{space}{text}{space}")
    assert merged.startswith(text[:-1])
    assert json.loads(merged) == {**members, extra_config.MEMBER: names.TMP_DIR}
    assert extra_config.merge(merged) == merged


@UNTIMED
@given(MEMBERS, SCALARS, some.integers(min_value=0, max_value=4))
def test_our_member_is_replaced_where_it_stands(members: Json, there: Any, place: int) -> None:
    items = list(members.items())
    items.insert(place, (extra_config.MEMBER, there))
    text = json.dumps(dict(items))
    if not isinstance(there, str):
        with pytest.raises(ValueError, match="no text"):
            extra_config.merge(text)
        return
    assert list(json.loads(extra_config.merge(text)).items()) == [
        (name, names.TMP_DIR if name == extra_config.MEMBER else value) for name, value in items
    ]


@UNTIMED
@given(some.text('{}[]",:\\ \n0123abtruefalsn-.eE', max_size=30))
def test_what_is_taken_is_json_and_nothing_else_is(text: str) -> None:
    try:
        merged = extra_config.merge(text)
    except ValueError:
        return
    assert isinstance(json.loads(merged), dict)


def test_the_expressions_are_re2() -> None:
    """No look-around, no back reference, nothing atomic: CEL has none of them."""
    for expression in (extra_config.OBJECT, extra_config.OURS, extra_config.OURS_TEXT, extra_config.OURS_TOP):
        assert not re.search(r"\(\?[=!<>P]|\\[1-9]|[*+?}]\+", expression)
