"""Every key of the values has an effect that a render shows (tools/key_coverage); what has none is no key."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import yaml

from chart.helm import CHART, Json, model, overlay
from key_coverage.leaves import leaves
from key_coverage.remember import Remembering
from key_coverage.search import EXCEPTIONS, JUDGED, effect
from key_coverage.trees import ABSENT, at, changed, depth
from property.renderer import Answer, Question, of_the_chart

PARTS = 8
LEAVES = list(leaves())


@pytest.fixture(scope="module")
def renderer() -> Iterator[Remembering]:
    """Without an API server's judgement, which other tests ask for."""
    with of_the_chart("-validate=false") as running:
        yield Remembering(running)


@pytest.mark.parametrize("part", range(PARTS))
def test_every_key_has_an_effect(renderer: Remembering, part: int) -> None:
    wrong = [
        f"{leaf}: {'no effect was seen' if not found else f'excepted, but {found.one!r} and {found.other!r} differ'}"
        for leaf in LEAVES[part::PARTS]
        if bool(found := effect(renderer, leaf)) == (str(leaf) in EXCEPTIONS)
    ]
    assert not wrong, "\n".join(
        [*wrong, "fix: wire the key, remove it, or tell tools/key_coverage/contexts.yaml with what it matters"]
    )


def test_exceptions_are_few_and_each_has_its_reason() -> None:
    assert len(EXCEPTIONS) <= 5
    assert all(len(reason) > 5 for reason in EXCEPTIONS.values())
    names = {str(leaf) for leaf in LEAVES}
    assert names >= EXCEPTIONS.keys()
    for key in JUDGED:
        assert key in names or f"defaults.{key}" in names


def test_every_default_is_tried() -> None:
    """Each key of values.yaml is one of them, or a map or list of the user's that is empty there."""
    paths = [leaf.path for leaf in LEAVES]

    def below(node: Json, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
        for key, value in node.items():
            if isinstance(value, dict) and value:
                yield from below(value, (*path, key))
            else:
                yield (*path, key)

    def tried(path: tuple[str, ...]) -> bool:
        return any(
            all(part in (own, "*") for own, part in zip(path, each, strict=False)) and len(each) >= len(path)
            for each in paths
        )

    missing = [path for path in below(yaml.safe_load((CHART / "values.yaml").read_text())) if not tried(path)]
    assert not missing


class _Deaf:
    """Renders the same whatever it is asked."""

    def ask(self, question: Question) -> Answer:
        return Answer(manifests="the same")


def test_a_key_without_an_effect_is_found() -> None:
    (leaf,) = [leaf for leaf in LEAVES if str(leaf) == "l2.mountPath"]
    assert effect(_Deaf(), leaf) is None


def test_changing_a_key_of_a_tree() -> None:
    tree = overlay(model(tolerations=[{"key": "a"}]))
    path = ("models", "*", "tolerations", "[]", "key")
    assert depth(tree, path) == len(path)
    assert at(changed(tree, path, "b", {}), path) == "b"
    assert at(tree, path) == "a"
    assert depth(changed(tree, path, ABSENT, {}), path) == len(path) - 1
    made = changed({}, ("imagePullSecrets", "[]", "name"), "a", {"imagePullSecrets": {"name": "x", "more": 1}})
    assert made == {"imagePullSecrets": [{"name": "a", "more": 1}]}
    assert changed({}, ("curvine", "config", "fuse", "*"), 1, {}, {"curvine.config.fuse": "max_background"}) == {
        "curvine": {"config": {"fuse": {"max_background": 1}}}
    }
