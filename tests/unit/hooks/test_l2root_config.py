"""l2-root as a command: weights and rendered values name the root, others are told why they do not share it."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from faultfs.daemon import FaultFs
from faultfs.pytest_plugin import fault_fs, fault_fs_options, fuse
from tiered_kv_cache import l2root, l2root_config, names
from tiered_kv_cache.l2root import L2RootError

from .models import make_model

__all__ = ["fault_fs", "fault_fs_options", "fuse"]

RENDERED = {"dtype": "float32", "chunkSize": 256, "engineArgs": [["--x", '"ä"']], "format": "v1"}


def command(tmp: Path, *more: str, verb: str = "l2-root", **change: Any) -> subprocess.CompletedProcess[str]:
    where = {"--parent": str(tmp / "kv/v1/demo/tiny"), "--pod": "pod-a", "--link": str(tmp / "run/l2")}
    options = {"--model": "tiny", "--weights": str(tmp / "model")} | (where if verb == "l2-root" else {})
    words = [word for pair in options.items() for word in pair]
    env = os.environ | {
        "PYTHONPATH": str(Path(l2root.__file__).parents[1]),
        names.ENV_L2_CONFIG: json.dumps(RENDERED | change),
    }
    for folder in ("kv", "run"):
        (tmp / folder).mkdir(exist_ok=True)
    return subprocess.run(
        [sys.executable, "-m", "tiered_kv_cache", verb, *words, *more],
        capture_output=True,
        text=True,
        env=env,
        timeout=30,
        check=False,
    )


@pytest.fixture
def tmp(tmp_path: Path) -> Path:
    make_model(tmp_path / "model")
    return tmp_path


def link(tmp: Path) -> Path:
    return (tmp / "run/l2").readlink()


def test_root_is_named_by_the_hash_of_its_config(tmp: Path) -> None:
    done = command(tmp)
    assert (done.returncode, done.stderr) == (0, "")
    root = link(tmp)
    config = json.loads((root / "config.json").read_bytes())
    assert {key: config[key] for key in RENDERED} == RENDERED
    assert config.keys() - RENDERED.keys() == {"weights"}
    text = json.dumps(config, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert root == tmp / "kv/v1/demo/tiny" / hashlib.sha256(text.encode()).hexdigest()[:16]
    assert f"{root} is ready for Pod pod-a" in done.stdout


def test_a_context_length_counts_for_models_that_depend_on_it(tmp: Path) -> None:
    def root(length: int) -> Path:
        assert command(tmp, "--max-model-len", str(length)).returncode == 0
        return link(tmp)

    assert root(2048) == root(8192)
    config = json.loads((tmp / "model/config.json").read_bytes())
    rope = {"type": "longrope", "original_max_position_embeddings": 4096}
    (tmp / "model/config.json").write_text(json.dumps(config | {"rope_scaling": rope}))
    assert root(2048) == root(4096) != root(8192)
    assert json.loads((root(8192) / "config.json").read_bytes())["contextLength"] == {"longRope": True}


def test_again_gives_the_same_root(tmp: Path) -> None:
    command(tmp)
    first = link(tmp)
    assert command(tmp).returncode == 0
    assert link(tmp) == first
    assert len(list(first.parent.iterdir())) == 1


def test_weights_replaced_in_place_get_another_root_and_the_reason(tmp: Path) -> None:
    command(tmp)
    first = link(tmp)
    before = (tmp / "model/model.safetensors").stat()
    make_model(tmp / "model", seed=1)
    os.utime(tmp / "model/model.safetensors", ns=(before.st_atime_ns, before.st_mtime_ns))
    done = command(tmp)
    assert link(tmp) != first
    assert f"l2-root: not shared with {first.name}: weights.digest: the volume has " in done.stdout
    assert "weights.files.model.safetensors: the volume has " in done.stdout
    assert "dtype" not in done.stdout


def test_other_values_get_another_root_and_the_reason(tmp: Path) -> None:
    command(tmp)
    first = link(tmp)
    done = command(tmp, dtype="bfloat16")
    assert link(tmp) != first
    assert f'not shared with {first.name}: dtype: the volume has "float32", this Pod has "bfloat16"\n' in done.stdout


def test_what_fetch_brought_counts_with_its_revision(tmp: Path) -> None:
    command(tmp)
    first = link(tmp)
    (tmp / "model" / names.MODEL_MARKER).write_text(json.dumps({"revision": "abc", "files": {}}))
    command(tmp)
    assert link(tmp) != first
    assert json.loads((link(tmp) / "config.json").read_bytes())["revision"] == "abc"


def test_many_siblings_are_not_all_told(tmp: Path) -> None:
    for seed in range(7):
        done = command(tmp, seed=seed)
    assert done.stdout.count("not shared with") == l2root_config.MOST_SIBLINGS + 1
    assert "not shared with 2 older directories" in done.stdout


def test_message_for_verify(tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # In this process, since only root may make /dev/termination-log.
    from tiered_kv_cache import __main__ as main  # noqa: PLC0415

    left: list[str] = []
    monkeypatch.setattr(main, "leave_message", left.append)
    monkeypatch.setenv(names.ENV_L2_CONFIG, json.dumps(RENDERED))
    (tmp / "kv").mkdir()
    (tmp / "run").mkdir()
    parent = tmp / "kv/v1/demo/tiny"
    words = ["l2-root", "--parent", str(parent), "--pod", "pod-a", "--model", "tiny", "--weights", str(tmp / "model")]
    assert main.main(words) == 0
    (told,) = [json.loads(text) for text in left]
    assert told.keys() == {"root", "fingerprint", "weights", "model"}
    assert told["root"] == f"{parent}/{told['fingerprint']}"
    assert told["model"] == "tiny"
    assert told["weights"] == json.loads((Path(told["root"]) / "config.json").read_bytes())["weights"]["digest"]


def test_a_pool_that_is_away_does_not_keep_an_engine_from_starting(tmp: Path) -> None:
    # Nothing is mounted at kv/ itself: it lies on the test's own disk.
    done = command(tmp, "--pool-wait", "0.5")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"warning: the pool is not mounted at {tmp / 'kv'} after 0.5 s" in done.stdout
    assert "starts without L2" in done.stdout
    # Nothing may lie beside the pool; the link is there for when it comes back.
    assert not list((tmp / "kv").iterdir())
    assert str(link(tmp)).startswith(str(tmp / "kv/v1/demo/tiny/"))


def test_faults_of_the_content_are_faults_of_a_pool_too(tmp: Path, fault_fs: FaultFs) -> None:
    parent = fault_fs.mount / "v1/demo/tiny"
    pool = ("--parent", str(parent), "--pool-wait", "5")
    assert command(tmp, *pool).returncode == 0
    (root,) = parent.iterdir()
    good = (root / "config.json").read_text()
    (root / "config.json").write_text('{"dtype": "other"}')
    done = command(tmp, *pool)
    assert done.returncode == 1
    assert "config.json" in done.stderr
    (root / "config.json").write_text(good)
    with fault_fs.faults.enotconn():
        done = command(tmp, *pool)
        assert (done.returncode, done.stderr) == (0, "")
        assert "starts without L2" in done.stdout
        # A volume of another kind must be mended first: nobody else makes its mount again.
        assert command(tmp, *pool[:2]).returncode == 1


HYBRID = {"model_type": "gemma3_text", "sliding_window": 512, "layer_types": ["sliding_attention", "full_attention"]}


@pytest.mark.parametrize("verb", ["l2-root", "check-model"])
def test_layers_of_several_kinds_are_refused(tmp: Path, verb: str) -> None:
    make_model(tmp / "model", config=HYBRID)
    done = command(tmp, verb=verb)
    assert done.returncode == 1
    assert done.stderr.startswith(f"{verb}: models.tiny.cache: l1 or l2 is on, and layers of this model keep different")
    assert "layer_types: full_attention, sliding_attention" in done.stderr
    assert "engine.acknowledge.hybridKvCache: true" in done.stderr
    assert not (tmp / "kv/v1").exists()
    taken = command(tmp, "--allow-hybrid", verb=verb)
    assert taken.returncode == 0
    assert "acknowledged (engine.acknowledge.hybridKvCache): layer_types" in taken.stdout


def test_no_model_there(tmp: Path) -> None:
    for file in (tmp / "model").iterdir():
        file.unlink()
    done = command(tmp)
    assert done.returncode == 1
    assert "models.tiny.source: " in done.stderr
    assert "has no config.json (it is empty). Fix: let source name the folder that holds it" in done.stderr


def test_all_bad_arguments_at_once(tmp: Path) -> None:
    asked = l2root_config.Request("x", "..", None, "tiny", tmp / "model")
    with pytest.raises(L2RootError) as err:
        l2root_config.resolve(asked)
    assert len(str(err.value).splitlines()) == 3


def test_link_without_a_folder(tmp: Path) -> None:
    (tmp / "kv").mkdir()
    done = command(tmp, "--link", str(tmp / "nothing/l2"))
    assert done.returncode == 1
    assert "Fix: mount an emptyDir that this user may write at" in done.stderr


def test_code_runs_where_it_was_copied(tmp: Path) -> None:
    """In the engine's image none of the hooks' libraries exist: l2-root takes the standard library alone."""
    hooks = Path(l2root.__file__).parents[1]
    env = os.environ | {"PYTHONPATH": str(hooks)}
    copy = [sys.executable, "-m", "tiered_kv_cache", "copy-code", "--to", str(tmp / "code")]
    subprocess.run(copy, env=env, check=True, timeout=30)
    subprocess.run(copy, env=env, check=True, timeout=30)
    words = ["check-model", "--model", "m", "--weights", str(tmp / "model")]
    # -I and -S: nothing of this environment, not even its site-packages.
    program = f"import sys; sys.path.insert(0, {str(tmp / 'code')!r}); from tiered_kv_cache.__main__ import main; sys.exit(main({words!r}))"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", program], capture_output=True, text=True, timeout=30, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_pod_of_the_operator_without_the_patch_is_held(tmp: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The variable is the annotation that the patch puts on the Pod; without one the kubelet leaves it empty."""
    monkeypatch.setenv(names.ENV_L2_PATCH, "")
    done = command(tmp, "--needs-patch")
    assert done.returncode != 0
    assert "made without the L2 patch" in done.stderr
    assert not (tmp / "run/l2").is_symlink()
    monkeypatch.setenv(names.ENV_L2_PATCH, "v1")
    assert command(tmp, "--needs-patch").returncode == 0
    assert link(tmp).exists()
