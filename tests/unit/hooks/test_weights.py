"""The weights' identity: every replaced tensor changes it; times, order and places do not."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tiered_kv_cache.weights import WeightsError, identity, read_config

from .models import SIZES, make_model, safetensors, tensors

MODES = ["sampled", "full"]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return make_model(tmp_path / "model")


@pytest.mark.parametrize("mode", MODES)
def test_same_wherever_and_whenever(model: Path, tmp_path: Path, mode: str) -> None:
    before = identity(model, mode)
    assert identity(model, mode) == before
    copy = tmp_path / "elsewhere" / "deeper"
    copy.mkdir(parents=True)
    for name in ("tokenizer.json", "model.safetensors", "config.json"):
        shutil.copy(model / name, copy / name)
        os.utime(copy / name, (0, 0))
    assert identity(copy, mode) == before
    links = tmp_path / "links"
    links.mkdir()
    for file in model.iterdir():
        (links / file.name).symlink_to(file)
    assert identity(links, mode) == before


def test_modes_differ(model: Path) -> None:
    assert identity(model, "sampled").digest != identity(model, "full").digest


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", SIZES)
def test_a_replaced_tensor_changes_it(model: Path, name: str, mode: str) -> None:
    before = identity(model, mode)
    path = model / "model.safetensors"
    stat = path.stat()
    path.write_bytes(safetensors(tensors() | {name: tensors(9)[name]}))
    assert path.stat().st_size == stat.st_size
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    after = identity(model, mode)
    assert after.digest != before.digest
    changed = [file for file in after.files if after.files[file] != before.files[file]]
    assert changed == ["model.safetensors"]


def test_exchanged_tensors_change_it(model: Path) -> None:
    before = identity(model)
    content = tensors()
    content["layer.0"], content["layer.1"] = content["layer.1"], content["layer.0"]
    (model / "model.safetensors").write_bytes(safetensors(content))
    assert identity(model).digest != before.digest


@pytest.mark.parametrize("place", [0, 1, 2])
def test_first_middle_and_last_bytes_of_a_large_tensor_count(model: Path, place: int) -> None:
    big = bytearray(3_000_000)
    (model / "model.safetensors").write_bytes(safetensors({"a": bytes(big)}))
    before = identity(model)
    big[[0, len(big) // 2, -1][place]] = 1
    (model / "model.safetensors").write_bytes(safetensors({"a": bytes(big)}))
    assert identity(model).digest != before.digest


def test_only_full_sees_a_byte_between_two_samples(model: Path) -> None:
    """The bound that the documentation names. If it goes away, the documentation is to be changed."""
    big = bytearray(3_000_000)
    (model / "model.safetensors").write_bytes(safetensors({"a": bytes(big)}))
    sampled, full = identity(model), identity(model, "full")
    big[700_000] = 1
    (model / "model.safetensors").write_bytes(safetensors({"a": bytes(big)}))
    assert identity(model).digest == sampled.digest
    assert identity(model, "full").digest != full.digest


@pytest.mark.parametrize("file", ["config.json", "hf_quant_config.json", "modeling_x.py", "lora/adapter_config.json"])
@pytest.mark.parametrize("mode", MODES)
def test_configuration_and_code_count_in_full(model: Path, file: str, mode: str) -> None:
    before = identity(model, mode)
    (model / file).parent.mkdir(exist_ok=True)
    (model / file).write_text('{"rope_theta": 10001}')
    one = identity(model, mode)
    (model / file).write_text('{"rope_theta": 10002}')
    assert len({before.digest, one.digest, identity(model, mode).digest}) == 3


@pytest.mark.parametrize(
    "file", ["tokenizer.json", "generation_config.json", "README.md", ".tkc-model.json", ".cache/x.json"]
)
def test_what_cannot_change_a_block_does_not_count(model: Path, file: str) -> None:
    before = identity(model)
    (model / file).parent.mkdir(exist_ok=True)
    (model / file).write_text('{"other": true}')
    assert identity(model) == before


def test_other_formats_by_size_and_samples(model: Path) -> None:
    (model / "model.safetensors").unlink()
    content = bytearray(100_000)
    (model / "pytorch_model.bin").write_bytes(content)
    digests = {identity(model).digest}
    for at in (0, 50_000, 99_999):
        changed = bytearray(content)
        changed[at] = 1
        (model / "pytorch_model.bin").write_bytes(changed)
        digests.add(identity(model).digest)
    (model / "pytorch_model.bin").write_bytes(content + b"x")
    digests.add(identity(model).digest)
    assert len(digests) == 5


def test_an_adapter_beside_the_model_counts(model: Path) -> None:
    before = identity(model)
    (model / "lora").mkdir()
    (model / "lora/adapter_model.safetensors").write_bytes(safetensors({"a": b"1" * 100}))
    with_one = identity(model)
    (model / "lora/adapter_model.safetensors").write_bytes(safetensors({"a": b"2" * 100}))
    assert len({before.digest, with_one.digest, identity(model).digest}) == 3


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 40_000), min_size=1, max_size=12), st.integers(0, 11), st.data())
def test_any_replaced_tensor_of_any_shape(
    tmp_path_factory: pytest.TempPathFactory, sizes: list[int], which: int, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("m")
    (folder / "config.json").write_text("{}")
    which %= len(sizes)
    content = {str(i): bytes(size) for i, size in enumerate(sizes)}
    (folder / "model.safetensors").write_bytes(safetensors(content))
    before = identity(folder)
    content[str(which)] = b"\1" * sizes[which]
    (folder / "model.safetensors").write_bytes(safetensors(content))
    assert (identity(folder).digest != before.digest) == (sizes[which] > 0)


def test_reads_little(tmp_path: Path) -> None:
    folder = make_model(tmp_path / "m")
    with (folder / "model.safetensors").open("wb") as file:
        # 2 GB of zeros that take no room on the disk.
        header = json.dumps(
            {"a": {"dtype": "U8", "shape": [2_000_000_000], "data_offsets": [0, 2_000_000_000]}}
        ).encode()
        file.write(len(header).to_bytes(8, "little") + header)
        file.truncate(8 + len(header) + 2_000_000_000)
    assert identity(folder).read_bytes < 1_000_000


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is no safetensors file, or not whole"),
        (b"\xff" * 100, "is no safetensors file, or not whole"),
        ((8).to_bytes(8, "little") + b"not json", "has a header that cannot be read"),
        (safetensors({"a": b"x" * 1000})[:-1], "is cut off"),
    ],
)
def test_broken_weights(model: Path, content: bytes, message: str) -> None:
    (model / "model.safetensors").write_bytes(content)
    with pytest.raises(WeightsError, match=message) as err:
        identity(model)
    assert "Fix: copy the model again" in str(err.value)


def test_weights_that_shrink_while_they_are_read(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.pread", lambda *_: b"")
    with pytest.raises(WeightsError, match="became shorter while it was read"):
        identity(model)


def test_no_weights(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(WeightsError, match=r"holds no weights \(config\.json\)"):
        identity(tmp_path)


def test_config_is_read(model: Path) -> None:
    assert read_config(model)["model_type"] == "llama"
    (model / "config.json").write_text("{")
    with pytest.raises(WeightsError, match=r"config\.json is not JSON"):
        read_config(model)
    (model / "config.json").write_text("[]")
    with pytest.raises(WeightsError, match="is no JSON object"):
        read_config(model)


def test_a_hub_cache_with_links_that_lead_out(tmp_path: Path) -> None:
    (tmp_path / "config.json").symlink_to("../../blobs/0123")
    with pytest.raises(WeightsError, match=r"is a link to \.\./\.\./blobs/0123, which is not there.*cp -rL"):
        read_config(tmp_path)
    (tmp_path / "model.safetensors").symlink_to("../../blobs/4567")
    with pytest.raises(WeightsError, match="is a link to a file that is not there"):
        identity(tmp_path)


def test_formats_without_config_json(model: Path) -> None:
    (model / "config.json").rename(model / "params.json")
    assert read_config(model)["model_type"] == "llama"
    (model / "params.json").unlink()
    with pytest.raises(WeightsError, match=r"has no config\.json \(model\.safetensors, tokenizer\.json\)"):
        read_config(model)
    (model / "model.gguf").write_bytes(b"")
    assert read_config(model) == {}
    with pytest.raises(WeightsError, match="no such folder"):
        read_config(model / "nothing")
