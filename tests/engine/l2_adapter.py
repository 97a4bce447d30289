"""The L2 adapter in LMCache's own storage manager: run where LMCache is installed, without pytest.

    PYTHONPATH=hooks python tests/engine/l2_adapter.py

Each check stands for itself and has a directory of its own; the exit status is the number of failed ones.
"""

from __future__ import annotations

import errno
import json
import os
import select
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from lmcache.v1.distributed.api import (
    GroupedObjectKeys,
    MemoryLayoutDesc,
    ObjectKey,
    PrefetchLockMode,
    PrefetchTaskSpec,
)
from lmcache.v1.distributed.config import parse_args
from lmcache.v1.distributed.l2_adapters import create_l2_adapter
from lmcache.v1.distributed.l2_adapters.config import get_l2_adapter_config_class
from lmcache.v1.distributed.l2_adapters.plugin_l2_adapter import PluginL2AdapterConfig
from lmcache.v1.distributed.storage_manager import StorageManager

PATIENCE = 60.0
LAYOUT = MemoryLayoutDesc(shapes=[torch.Size([2, 4, 256, 128])], dtypes=[torch.float16])
MODEL = "/models/tiny"


def until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"{what} did not come true"
        time.sleep(0.01)


def keys(count: int, salt: str = "") -> list[ObjectKey]:
    return [ObjectKey(n.to_bytes(2, "big") * 16, MODEL, 0x01000100, 0, salt) for n in range(count)]


def adapter_json(base: Path, **params: Any) -> str:
    return json.dumps(
        {
            "type": "plugin",
            "module_path": "tiered_kv_cache.l2.adapter",
            "class_name": "FilesystemL2Adapter",
            "adapter_params": {"base_path": str(base), "pod": "tiny-0", "probe_interval_ms": 50, **params},
        }
    )


@contextmanager
def manager(base: Path, **params: Any) -> Iterator[StorageManager]:
    """LMCache as one Pod starts it."""
    arguments = ["--l1-size-gb", "0.25", "--no-l1-use-lazy", "--eviction-policy", "LRU"]
    arguments += ["--l2-prefetch-policy", "retain", "--l2-adapter", adapter_json(base, **params)]
    made = StorageManager(parse_args(arguments))
    try:
        yield made
    finally:
        made.close()


def fill(store: StorageManager, wanted: list[ObjectKey]) -> None:
    """What an engine does after it has computed."""
    reserved = store.reserve_write(wanted, LAYOUT)
    assert len(reserved) == len(wanted)
    for key in wanted:
        reserved[key].tensor.fill_(key.chunk_hash[1] + 1)
    store.finish_write(wanted)


def prefetch(store: StorageManager, wanted: list[ObjectKey]) -> tuple[int, int]:
    """What a request does first: chunks of its prefix that it gets, and how many of them came from L2."""
    row = GroupedObjectKeys(keys=wanted, object_group_id=0, layout_desc=LAYOUT)
    handle = store.submit_prefetch_task(PrefetchTaskSpec(key_groups=[row], lock_mode=PrefetchLockMode.NO_LOCK))
    end = time.monotonic() + PATIENCE
    while (result := store.query_prefetch_status(handle)) is None:
        assert time.monotonic() < end, "no answer"
        time.sleep(0.005)
    hits = result.hit_cells[0].popcount()
    assert result.hit_cells[0].get_indices_list() == list(range(hits)), "a prefix"
    return hits, result.l2_hit_cells[0].popcount()


def content(store: StorageManager, wanted: list[ObjectKey]) -> list[set[float]]:
    """Values of the objects in L1, as an engine would get them."""
    row = GroupedObjectKeys(keys=wanted, object_group_id=0, layout_desc=LAYOUT)
    handle = store.submit_prefetch_task(PrefetchTaskSpec(key_groups=[row]), skip_l2=True)
    result = store.query_prefetch_status(handle)
    assert result is not None and result.hit_cells[0].popcount() == len(wanted)
    with store.read_prefetched_results(wanted) as objects:
        assert objects is not None
        found = [set(obj.tensor.flatten().tolist()) for obj in objects]
    store.finish_read_prefetched(wanted)
    return found


def files(base: Path) -> list[Path]:
    return sorted((base / "objects").rglob("*.kv"))


class Sized:
    """An object whose bytes nobody looks at."""

    def __init__(self, size: int) -> None:
        self.byte_array = bytearray(size)
        self.metadata = self
        self.shapes, self.dtypes = LAYOUT.shapes, LAYOUT.dtypes


def check_what_one_pod_stored_another_loads(base: Path) -> None:
    wanted = keys(7)
    with manager(base) as a:
        fill(a, wanted)
        until(lambda: len(files(base)) == 7, "stores")
    with manager(base) as b:
        assert prefetch(b, wanted) == (7, 7)
        assert content(b, wanted) == [{n + 1.0} for n in range(7)]
        assert prefetch(b, wanted) == (7, 0), "L1 has them now"
        assert prefetch(b, keys(7, salt="bob")) == (0, 0)


def check_a_bad_file_ends_the_prefix_and_is_repaired(base: Path) -> None:
    wanted = keys(7)
    with manager(base) as a:
        fill(a, wanted)
        until(lambda: len(files(base)) == 7, "stores")
    bad = files(base)[3]
    data = bytearray(bad.read_bytes())
    data[300_000] ^= 1
    bad.write_bytes(data)
    with manager(base) as b:
        assert prefetch(b, wanted) == (3, 3)
        assert not bad.exists()
        fill(b, wanted[3:4])
        until(bad.exists, "the repair")
    with manager(base) as c:
        assert prefetch(c, wanted) == (7, 7)


def check_a_hung_mount_is_a_miss_and_comes_back(base: Path) -> None:
    wanted = keys(7)
    with manager(base) as a:
        fill(a, wanted)
        until(lambda: len(files(base)) == 7, "stores")
    ends = os.pipe()
    real = os.preadv

    def hang(*args: Any) -> int:
        if len(args) > 3:
            raise OSError(errno.EAGAIN, "not in the page cache")
        select.select([ends[0]], [], [], PATIENCE)  # In the kernel, as a filesystem lets wait.
        return real(*args)

    with manager(base, positive_cache_ms=0) as b:
        os.preadv = hang
        try:
            assert prefetch(b, wanted) == (0, 0)
            begun = time.monotonic()
            assert prefetch(b, wanted) == (0, 0)
            assert time.monotonic() - begun < 10, "the second request waits for nothing"
            fill(b, wanted)  # L1 has its buffers back, and uses them.
            os.preadv = real
        finally:
            os.preadv = real
            os.close(ends[1])
        time.sleep(0.2)
        assert content(b, wanted) == [{n + 1.0} for n in range(7)], "late reads did not touch them"
        b.clear(force=True)
        until(lambda: prefetch(b, wanted)[1] == 7, "hits from L2")
        assert content(b, wanted) == [{n + 1.0} for n in range(7)]


def check_submit_never_raises_and_signals_each_task(base: Path) -> None:
    spec = json.loads(adapter_json(base))
    spec.pop("type")
    adapter = create_l2_adapter(PluginL2AdapterConfig.from_dict(spec))
    try:
        fds = {adapter.get_store_event_fd(), adapter.get_lookup_and_lock_event_fd(), adapter.get_load_event_fd()}
        assert len(fds) == 3
        odd = [ObjectKey(b"\x01", MODEL, 1), ObjectKey(b"\x01\x02", MODEL, 1 << 40)]

        class Broken:
            @property
            def byte_array(self) -> bytes:
                raise RuntimeError("no memory")

        task = adapter.submit_lookup_and_lock_task(odd, {})
        until(lambda: (r := adapter.query_lookup_and_lock_result(task)) is not None and r.popcount() == 0, "a miss")
        task = adapter.submit_load_task(odd, [Broken(), Broken()])
        until(lambda: (r := adapter.query_load_result(task)) is not None and r.popcount() == 0, "a miss")
        task = adapter.submit_store_task(odd, [Broken(), Broken()])
        until(lambda: (r := adapter.pop_completed_store_tasks()) != {} and not r[task].is_successful(), "a failure")
        for task in (adapter.submit_lookup_and_lock_task([], {}), adapter.submit_load_task([], [])):
            assert task > 0
    finally:
        adapter.close()
        adapter.close()


def check_objects_are_listed_deleted_and_counted(base: Path) -> None:
    wanted = keys(5)
    with manager(base) as a:
        fill(a, wanted)
        until(lambda: len(files(base)) == 5, "stores")
        ((_, adapter),) = a.l2_adapters()
        until(lambda: adapter.get_usage().total_bytes_used == 5 * 524_288, "usage")
        adapter.submit_store_task(wanted[:1], [Sized(524_288)])
        until(lambda: adapter._tier.store_queue_bytes() == 0, "the store of what is there")
        assert adapter.get_usage().total_bytes_used == 5 * 524_288, "what is there is not counted twice"
        first = adapter.list_l2_keys(page_size=3)
        rest = adapter.list_l2_keys(page_size=3, cursor=first.next_page_token)
        assert rest.next_page_token is None
        shown = [
            (e.key.chunk_hash_hex, e.key.model_name, e.key.kv_rank, e.size_bytes) for e in first.entries + rest.entries
        ]
        assert shown == [(k.chunk_hash.hex(), MODEL, 0x01000100, 524_288) for k in wanted]
        adapter.delete(wanted[:2])
        assert len(files(base)) == 3
        assert adapter.get_usage().total_bytes_used == 3 * 524_288
        assert adapter.report_status()["is_healthy"] is True


def check_metrics_are_on_lmcaches_port(base: Path) -> None:
    from prometheus_client import REGISTRY, generate_latest  # noqa: PLC0415 - what LMCache's /metrics shows

    with manager(base) as a:
        fill(a, keys(2))
        until(lambda: len(files(base)) == 2, "stores")
        assert prefetch(a, keys(2)) == (2, 0)
        text = generate_latest(REGISTRY).decode()
    assert 'tkc_l2_bytes_total{operation="store"}' in text
    assert 'tkc_l2_breaker_open{breaker="read"} 0.0' in text


def check_an_l1_hit_marks_use_in_l2(base: Path) -> None:
    wanted = keys(3)
    with manager(base, use_interval_s=1) as a:
        fill(a, wanted)
        until(lambda: len(files(base)) == 3, "stores")
        assert prefetch(a, wanted) == (3, 0), "L1 serves it"
        used = " use " + " ".join(path.name.removesuffix(".kv") for path in files(base))
        until(lambda: any(used in log.read_text() for log in (base / "use").rglob("*.log")), "its use in L2")


def check_bad_parameters_are_told_together(base: Path) -> None:
    from tiered_kv_cache.l2.adapter import FilesystemL2AdapterConfig  # noqa: PLC0415

    assert get_l2_adapter_config_class("plugin") is PluginL2AdapterConfig
    try:
        FilesystemL2AdapterConfig.from_dict({"base_path": "x", "stall_ms": 0})
    except ValueError as err:
        assert "base_path" in str(err) and "stall_ms" in str(err)
    else:
        raise AssertionError("taken")
    assert "base_path" in FilesystemL2AdapterConfig.help()


def main() -> int:
    failed = 0
    for name, check in sorted(globals().items()):
        if not name.startswith("check_"):
            continue
        with tempfile.TemporaryDirectory() as folder:
            begun = time.monotonic()
            try:
                check(Path(folder) / "fingerprint")
            except Exception:
                failed += 1
                traceback.print_exc()
                print(f"FAILED {name}", flush=True)
            else:
                print(f"ok     {name} {time.monotonic() - begun:.1f} s", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
