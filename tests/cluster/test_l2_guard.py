"""The L2 adapter in real engines: every block on the volume carries its checks, and a damaged one is a miss that gets repaired."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from local_cluster.helm import Helm
from local_cluster.settings import PLACES
from tiered_kv_cache.l2 import format as l2_format

from .api import Api, wait_for
from .conftest import MODEL
from .driver import engine_pod, script_pod
from .engines import CHUNK, Engines, prompt_of

LINE_OF_BUSINESS = "test"


@pytest.fixture
def engines(release: Helm, api: Api) -> Engines:
    return Engines(api, release.namespace, release.release, MODEL)


def objects() -> dict[str, Path]:
    """Key -> file of every object that the release has on the volume."""
    model = PLACES.state / "shared" / "l2" / "v1" / LINE_OF_BUSINESS / MODEL
    return {path.stem: path for path in model.glob("*/objects/*/*/*.kv")}


def filled(engines: Engines, label: str) -> tuple[list[int], str, list[Path]]:
    """Let the first Pod compute a prompt of its own; the prompt, the answer and the files that came of it."""
    before = objects()
    prompt = prompt_of(label)
    answer = engines.fill(engines.pods()[0], prompt)
    files = [path for key, path in objects().items() if key not in before]
    assert len(files) == answer.full_chunks // CHUNK
    return prompt, answer.text, files


def check(path: Path) -> None:
    """Raise, unless the file is the object of its name with all of its bytes."""
    content = path.read_bytes()
    header = l2_format.decode_header(content)
    assert (header.name, header.file_length) == (path.stem, len(content))
    assert header.payload_checksum == l2_format.payload_checksum(content[l2_format.HEADER :])


def test_every_object_is_whole(engines: Engines) -> None:
    _, _, files = filled(engines, "whole")
    for path in files:
        check(path)


def flip(content: bytearray) -> None:
    content[len(content) // 2] ^= 1


def cut(content: bytearray) -> None:
    del content[-4096:]


def empty(content: bytearray) -> None:
    content.clear()


@pytest.mark.parametrize("damage", [flip, cut, empty], ids=lambda damage: damage.__name__)
def test_damaged_block_is_a_miss_and_is_repaired(engines: Engines, damage: Callable[[bytearray], None]) -> None:
    prompt, text, files = filled(engines, damage.__name__)
    for path in files:
        content = bytearray(path.read_bytes())
        damage(content)
        path.write_bytes(content)
    first, second = engines.pods()
    answer, hits = engines.hits(second, prompt)
    assert answer.text == text
    assert hits.external == 0
    wait_for("the blocks stored again", lambda: all(path.exists() for path in files), 60)
    for path in files:
        check(path)
    engines.clear_l0(first)
    engines.clear_l1(first, force=True)
    answer, hits = engines.hits(first, prompt)
    assert answer.text == text
    assert hits.l2 == answer.full_chunks


def test_adapter_in_lmcaches_own_storage_manager(engines: Engines) -> None:
    """What needs LMCache's own classes, in the image and with the package that an engine's Pod has."""
    template = engines.api.engine_template(engines.namespace, engines.release)
    (lmcache,) = [c for c in template["spec"]["containers"] if c["name"] == "lmcache"]
    script = Path(__file__).parent.parent / "engine" / "l2_adapter.py"
    container = {key: lmcache[key] for key in ("image", "env", "resources", "securityContext", "volumeMounts")}
    container["command"] = ["python3", f"/script/{script.name}"]
    with script_pod(engines.api, engines.namespace, script, engine_pod(template, script, container)) as running:
        wait_for("the checks", running.ended, 300)
