"""LMCache's L2 adapter: ``{"type": "plugin", "module_path": "tiered_kv_cache.l2.adapter", "class_name": "FilesystemL2Adapter"}``.

Interface: lmcache/v1/distributed/l2_adapters/base.py, LMCache 0.5.6. This module alone imports lmcache; what it does is in
``tier``. No submit call raises or blocks in the filesystem, and each task is answered once.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from lmcache.lmcache_native import Bitmap
from lmcache.v1.distributed.api import EncodedObjectKey, KeyEntry, KeyListPage, ObjectKey
from lmcache.v1.distributed.internal_api import L2StoreResult
from lmcache.v1.distributed.l2_adapters.base import L2AdapterInterface
from lmcache.v1.distributed.l2_adapters.config import L2AdapterConfigBase
from lmcache.v1.platform import create_event_notifier

from . import config, errors, format, listing, paths
from .lookup import LookupTask
from .task import Ref, Task
from .tier import Tier

if TYPE_CHECKING:
    from lmcache.v1.distributed.api import MemoryLayoutDesc
    from lmcache.v1.distributed.internal_api import L1MemoryDesc
    from lmcache.v1.memory_management import MemoryObj

T = TypeVar("T")
logger = logging.getLogger(__name__)

ADMIN_SECONDS = 10.0
"""How long delete and list_l2_keys, which nobody's request waits for, wait for the filesystem."""


class FilesystemL2AdapterConfig(L2AdapterConfigBase):  # type: ignore[misc]
    """The parameters of ``adapter_params``; see ``help``."""

    def __init__(self, settings: config.Settings) -> None:
        self.settings = settings

    @classmethod
    def from_dict(cls, d: dict[str, Any]) -> FilesystemL2AdapterConfig:
        """Raises ValueError with all faults of the parameters together."""
        return cls(config.parse(d))

    @classmethod
    def help(cls) -> str:
        """Every parameter, its meaning and default."""
        return config.describe()


class FilesystemL2Adapter(L2AdapterInterface):  # type: ignore[misc]
    """See the module."""

    def __init__(self, config: FilesystemL2AdapterConfig, l1_memory_desc: L1MemoryDesc | None = None) -> None:
        super().__init__()
        self._settings = config.settings
        self._tier = Tier(config.settings)
        self._store_event, self._lookup_event, self._load_event = (create_event_notifier() for _ in range(3))
        self._lock = threading.Lock()
        self._next = 0
        self._stored: dict[int, L2StoreResult] = {}
        self._looked_up: dict[int, Bitmap] = {}
        self._loaded: dict[int, Bitmap] = {}
        self._lengths: dict[tuple[str, int, int], int] = {}
        """Bytes of an object by model, rank and group, learnt from what was stored or loaded: it never changes."""
        self._layouts: dict[tuple[Any, ...], int] = {}
        self._model = ""
        self._fingerprint = config.settings.base_path.rpartition("/")[2]
        self._closed = False

    def get_store_event_fd(self) -> int:
        """Signalled when a store is done."""
        return int(self._store_event.fileno())

    def get_lookup_and_lock_event_fd(self) -> int:
        """Signalled when a lookup is done."""
        return int(self._lookup_event.fileno())

    def get_load_event_fd(self) -> int:
        """Signalled when a load is done."""
        return int(self._load_event.fileno())

    def submit_store_task(self, keys: list[ObjectKey], objects: list[MemoryObj]) -> int:
        """Store objects; each as a whole or not at all. Dropped, and answered as failed, where the queue is full."""

        def answer(written: int, failed: bool, stored: Sequence[int]) -> None:
            if stored:
                self._notify_keys_stored([keys[i] for i in stored], [len(views[i]) for i in stored])
            self._answer(self._stored, number, L2StoreResult(not failed, written), self._store_event)

        def done(task: Task) -> None:
            good = sum(1 for slot in task.slots if slot.cause is None)
            # What was there already is not counted again.
            written = [i for i, slot in zip(places, task.slots, strict=True) if slot.cause is None and slot.written]
            answer(sum(len(views[i]) for i in written), good < len(keys), written)

        number = self._number()
        views: list[memoryview] = []
        places: list[int] = []
        try:
            items = self._items(keys, objects, views, places, self._tier.metrics.drops.labels(errors.KEY).inc)
            if items:
                self._tier.store(items, done)
            else:
                answer(0, bool(keys), [])
        except Exception:
            logger.exception("L2 store")
            self._answer(self._stored, number, L2StoreResult(False, 0), self._store_event)
        return number

    def pop_completed_store_tasks(self) -> dict[int, L2StoreResult]:
        """Results since the last call."""
        with self._lock:
            stored = dict(self._stored)
            self._stored.clear()
        return stored

    def submit_lookup_and_lock_task(
        self, keys: list[ObjectKey], group_layout_descs: dict[int, MemoryLayoutDesc]
    ) -> int:
        """Which objects are there. Nothing is locked: an object that vanishes before its load is a miss."""

        def done(task: LookupTask) -> None:
            bitmap = Bitmap(len(keys))
            bitmap.batched_set([places[at] for at, found in enumerate(task.found) if found])
            self._answer(self._looked_up, number, bitmap, self._lookup_event)

        number = self._number()
        try:
            refs, places, rows = self._refs(keys)
            if refs:
                self._tier.lookup(refs, rows, done)
            else:
                self._answer(self._looked_up, number, Bitmap(len(keys)), self._lookup_event)
        except Exception:
            logger.exception("L2 lookup")
            self._answer(self._looked_up, number, Bitmap(len(keys)), self._lookup_event)
        return number

    def query_lookup_and_lock_result(self, task_id: int) -> Bitmap | None:
        """The result, once."""
        with self._lock:
            return self._looked_up.pop(task_id, None)

    def submit_unlock(self, keys: list[ObjectKey]) -> None:
        """Nothing is locked."""

    def submit_load_task(self, keys: list[ObjectKey], objects: list[MemoryObj]) -> int:
        """Fill the objects; a bit is set only for bytes that were verified. After the answer no thread writes to them."""

        def done(task: Task) -> None:
            bitmap = Bitmap(len(keys))
            good = [i for i, slot in zip(places, task.slots, strict=True) if slot.cause is None]
            bitmap.batched_set(good)
            if good:
                self._notify_keys_accessed([keys[i] for i in good])
            self._answer(self._loaded, number, bitmap, self._load_event)

        number = self._number()
        places: list[int] = []
        try:
            items = self._items(keys, objects, [], places, self._tier.metrics.misses.labels("load", errors.KEY).inc)
            if items:
                self._tier.load(items, len({key.chunk_hash for key in keys}), done)
            else:
                self._answer(self._loaded, number, Bitmap(len(keys)), self._load_event)
        except Exception:
            logger.exception("L2 load")
            self._answer(self._loaded, number, Bitmap(len(keys)), self._load_event)
        return number

    def query_load_result(self, task_id: int) -> Bitmap | None:
        """The result, once."""
        with self._lock:
            return self._loaded.pop(task_id, None)

    def delete(self, keys: list[ObjectKey]) -> None:
        """Unlink the objects. Waits for the filesystem, at most ADMIN_SECONDS; the keeper does what is left."""
        by_name: dict[str, ObjectKey] = {}
        for key in keys:
            try:
                by_name[self._name(key)] = key
            except ValueError:
                continue
        try:
            sizes = self._within(lambda: self._tier.delete(list(by_name)))
        except (OSError, TimeoutError) as err:
            logger.warning("L2 delete of %d objects: %s", len(keys), err)
            return
        if sizes:
            self._notify_keys_deleted(
                [by_name[name] for name in sizes], [size - format.HEADER for size in sizes.values()]
            )

    def list_l2_keys(
        self, model_name: str | None = None, page_size: int = 500, cursor: str | None = None
    ) -> KeyListPage:
        """Objects in the order of their names, from all Pods of this fingerprint. ``cursor``: the last name of a page.

        The model is the one of the keys that this adapter was asked for: it is not in a name, since a fingerprint has one.
        Raises ValueError for a bad page size or cursor, TimeoutError and OSError where the filesystem does not answer.
        """
        if page_size <= 0:
            raise ValueError(f"page_size must be positive, got {page_size}")
        if cursor is not None and paths.parse_name(cursor) is None:
            raise ValueError(f"cursor {cursor!r} is none that a page ended with")
        if model_name is not None and model_name != self._model:
            return KeyListPage(entries=(), next_page_token=None)
        found = self._within(lambda: listing.page(self._settings.base_path, page_size, cursor))
        entries = tuple(
            KeyEntry(
                key=EncodedObjectKey(
                    chunk_hash_hex=parsed.chunk_hash.hex(),
                    model_name=self._model,
                    kv_rank=parsed.kv_rank,
                    object_group_id=parsed.group,
                    cache_salt=salt,
                ),
                size_bytes=size,
            )
            for _, parsed, salt, size in found
        )
        return KeyListPage(entries=entries, next_page_token=found[-1][0] if len(found) == page_size else None)

    def report_status(self) -> dict[str, Any]:
        """From memory alone: it answers while the filesystem hangs."""
        return {"type": type(self).__name__, **self._tier.status()}

    def close(self) -> None:
        """Answer what is open as misses, and end. Threads that hang stay behind and touch none of LMCache's memory."""
        if self._closed:
            return
        self._closed = True
        self._tier.close()
        with self._lock:
            for event in (self._store_event, self._lookup_event, self._load_event):
                event.close()

    def _number(self) -> int:
        with self._lock:
            self._next += 1
            return self._next

    def _answer(self, results: dict[int, T], number: int, result: T, event: Any) -> None:
        with self._lock:
            results[number] = result
            if not self._closed:
                event.notify()

    def _name(self, key: ObjectKey) -> str:
        return paths.object_name(key.chunk_hash, key.kv_rank, key.object_group_id, key.cache_salt)

    def _refs(self, keys: Sequence[ObjectKey]) -> tuple[list[Ref], list[int], list[range]]:
        """Refs of the keys that have a name, their positions, and the rows: runs of keys that differ in the chunk alone."""
        refs: list[Ref] = []
        places: list[int] = []
        rows: list[range] = []
        row: tuple[object, ...] | None = None
        start = 0
        for at, key in enumerate(keys):
            try:
                name = self._name(key)
            except ValueError:
                self._tier.metrics.misses.labels("lookup", errors.KEY).inc()
                continue
            kind = (key.model_name, key.kv_rank, key.object_group_id)
            if kind != row:
                if len(refs) > start:
                    rows.append(range(start, len(refs)))
                row, start = kind, len(refs)
            refs.append(Ref(name, key.cache_salt, 0, self._lengths.get(kind, 0)))
            places.append(at)
        if len(refs) > start:
            rows.append(range(start, len(refs)))
        if keys and not self._model:
            self._model = keys[0].model_name
        return refs, places, rows

    def _items(
        self,
        keys: Sequence[ObjectKey],
        objects: Sequence[MemoryObj],
        views: list[memoryview],
        places: list[int],
        unnamed: Callable[[], None],
    ) -> list[tuple[Ref, memoryview]]:
        items = []
        for at, (key, obj) in enumerate(zip(keys, objects, strict=True)):
            view = memoryview(obj.byte_array).cast("B")
            views.append(view)
            try:
                name = self._name(key)
            except ValueError:
                unnamed()
                continue
            self._lengths[key.model_name, key.kv_rank, key.object_group_id] = len(view)
            items.append((Ref(name, key.cache_salt, self._layout(key.model_name, obj), len(view)), view))
            places.append(at)
        if keys:
            self._model = keys[0].model_name
        return items

    def _layout(self, model: str, obj: MemoryObj) -> int:
        meta = obj.metadata
        # The lists are what LMCache moves to; objects made without them have one tensor.
        shapes, dtypes = (meta.shapes, meta.dtypes) if meta.shapes and meta.dtypes else ([meta.shape], [meta.dtype])
        known = (model, tuple(shapes), tuple(dtypes))
        found = self._layouts.get(known)
        if found is None:
            parts = [
                (tuple(int(n) for n in shape), str(dtype).removeprefix("torch."))
                for shape, dtype in zip(shapes, dtypes, strict=True)
            ]
            found = self._layouts[known] = format.layout_fingerprint(self._fingerprint, model, parts)
        return found

    def _within(self, work: Callable[[], T]) -> T:
        """``work`` in a thread of its own, for ADMIN_SECONDS at most. Raises TimeoutError, and what ``work`` raises."""
        outcome: list[T] = []
        failed: list[BaseException] = []

        def run() -> None:
            try:
                outcome.append(work())
            except BaseException as err:
                failed.append(err)

        if self._tier.read_breaker.is_open:
            # At most one call hangs for each time that the breaker is closed.
            raise TimeoutError("the filesystem does not answer")
        thread = threading.Thread(target=run, name="l2-admin", daemon=True)
        thread.start()
        thread.join(ADMIN_SECONDS)
        if failed:
            raise failed[0]
        if not outcome:
            self._tier.read_breaker.trip(errors.STUCK)
            raise TimeoutError(f"the filesystem did not answer within {ADMIN_SECONDS:g} s")
        return outcome[0]
