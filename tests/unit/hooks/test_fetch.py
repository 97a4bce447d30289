"""fetch as Pods run it: several at once, killed half way, stopped and woken, on a filesystem whose locks are worthless.

Nobody may ever see a half model, and each byte is to be downloaded once.
"""

from __future__ import annotations

import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from emulators.hub import COMMIT, Hub, HubFaults
from emulators.s3 import S3
from tiered_kv_cache.names import MODEL_MARKER

from .fetching import NEEDED, Pod, contents, ended, hub_source, leftovers, model_files, s3_source, until

SHARD = "model-00001-of-00002.safetensors"


@pytest.fixture
def hub() -> Iterator[Hub]:
    made = Hub(model_files()).start()
    yield made
    made.stop()


@pytest.fixture
def store(tmp_path: Path) -> Path:
    (tmp_path / "store").mkdir()
    return tmp_path / "store"


def final(store: Path, hub: Hub) -> Path:
    return store / "hf" / hub.id.replace("/", "--") / COMMIT


def right(store: Path, hub: Hub) -> bool:
    return contents(final(store, hub)) == {name: hub.files[name] for name in NEEDED}


class Watcher:
    """An engine that looks all the time, and never may see a model that is not whole."""

    def __init__(self, folder: Path, files: dict[str, bytes]) -> None:
        self.folder, self.files = folder, files
        self.seen_half = 0
        self._stop = False
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Watcher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop = True
        self._thread.join()

    def _run(self) -> None:
        while not self._stop:
            if self.folder.exists():
                sizes = {p.name: p.stat().st_size for p in self.folder.iterdir() if p.name != MODEL_MARKER}
                self.seen_half += sizes != {name: len(self.files[name]) for name in NEEDED}
            time.sleep(0.002)


def test_one_pod(hub: Hub, store: Path) -> None:
    pod = Pod(store, hub_source(hub), "a")
    done = pod.run()
    assert (done.code, done.err) == (0, "")
    assert pod.link.resolve() == final(store, hub)
    assert right(store, hub)
    marker = json.loads((pod.link / MODEL_MARKER).read_bytes())
    assert marker["revision"] == COMMIT
    assert {name: entry["size"] for name, entry in marker["files"].items()} == {n: len(hub.files[n]) for n in NEEDED}
    assert leftovers(store) == []
    assert "downloaded in" in done.out


def test_a_model_that_is_there_needs_no_network(hub: Hub, store: Path) -> None:
    Pod(store, hub_source(hub), "a").run()
    asked = hub.asked.total()
    done = Pod(store, hub_source(hub), "b").run()
    assert done.code == 0
    assert "is there" in done.out
    assert hub.asked.total() == asked


NO_LOCKS = """
import fcntl, pathlib
def shim(*args, **kwargs):
    pathlib.Path({log!r}).open("a").write("called\\n")
fcntl.flock = fcntl.lockf = shim
"""


def test_four_pods_at_once_download_once_without_locks(hub: Hub, store: Path, tmp_path: Path) -> None:
    """Locks succeed for everybody here, as on some shared filesystems; nobody even asks for one."""
    shim = tmp_path / "shim"
    shim.mkdir()
    (shim / "sitecustomize.py").write_text(NO_LOCKS.format(log=str(tmp_path / "locks")))
    hub.faults.bytes_per_second = 3 << 20
    pods = [Pod(store, hub_source(hub), str(i), env={"PYTHONPATH": f"{shim}:{os.environ['HOOKS']}"}) for i in range(4)]
    with Watcher(final(store, hub), hub.files) as watcher:
        results = [ended(process) for process in [pod.start() for pod in pods]]
    assert [(r.code, r.err) for r in results] == [(0, "")] * 4
    assert right(store, hub)
    assert watcher.seen_half == 0
    assert {name: hub.sent[name] for name in NEEDED} == {name: len(hub.files[name]) for name in NEEDED}
    assert sorted("waited" in r.out for r in results) == [False, True, True, True]
    assert {pod.link.resolve() for pod in pods} == {final(store, hub)}
    assert leftovers(store) == []
    assert not (tmp_path / "locks").exists()


@pytest.fixture(autouse=True)
def hooks_path(monkeypatch: pytest.MonkeyPatch) -> None:
    from .fetching import HOOKS  # noqa: PLC0415

    monkeypatch.setenv("HOOKS", str(HOOKS))


def half(hub: Hub, pod: Pod) -> int:
    """Start the Pod's container and kill it hard when half of the shard is there; returns the shard's bytes sent."""
    process = pod.start()
    until(lambda: hub.sent[SHARD] >= len(hub.files[SHARD]) // 2)
    process.kill()
    ended(process)
    time.sleep(0.2)
    return hub.sent[SHARD]


def test_a_killed_writer_is_taken_over_where_it_was(hub: Hub, store: Path) -> None:
    hub.faults.bytes_per_second = 3 << 20
    half(hub, Pod(store, hub_source(hub), "dead"))
    assert not final(store, hub).exists()
    assert any("claim-0" in name for name in map(str, store.rglob("claim-*")))
    # A lock file and a partial file, as other programs leave them.
    (final(store, hub).parent / ".lock").touch()
    before = hub.sent[SHARD]
    hub.faults.bytes_per_second = 0
    with Watcher(final(store, hub), hub.files) as watcher:
        results = [ended(p) for p in [Pod(store, hub_source(hub), str(i)).start() for i in range(3)]]
    assert [(r.code, r.err) for r in results] == [(0, "")] * 3
    assert right(store, hub)
    assert watcher.seen_half == 0
    assert sum("gives no sign of life" in r.out for r in results) == 1
    # What was on the disk was not downloaded again.
    assert hub.sent[SHARD] - before < len(hub.files[SHARD]) * 0.75
    assert [name for name in leftovers(store) if not name.endswith(".lock")] == []


def test_a_restarted_container_goes_on_at_once(hub: Hub, store: Path) -> None:
    hub.faults.bytes_per_second = 3 << 20
    pod = Pod(store, hub_source(hub), "a", lease=600)
    half(hub, pod)
    hub.faults.bytes_per_second = 0
    done = pod.run()
    assert (done.code, done.err) == (0, "")
    assert right(store, hub)


def test_a_writer_that_only_slept_does_no_harm(hub: Hub, store: Path) -> None:
    hub.faults.bytes_per_second = 3 << 20
    sleeper = Pod(store, hub_source(hub), "sleeper").start()
    until(lambda: hub.sent[SHARD] >= len(hub.files[SHARD]) // 2)
    sleeper.send_signal(signal.SIGSTOP)
    try:
        done = Pod(store, hub_source(hub), "other").run()
        assert (done.code, done.err) == (0, "")
        assert right(store, hub)
        inode = (final(store, hub) / SHARD).stat().st_ino
    finally:
        sleeper.send_signal(signal.SIGCONT)
    woken = ended(sleeper)
    assert (woken.code, woken.err) == (0, "")
    assert "another Pod has taken the download over" in woken.out
    assert right(store, hub)
    assert (final(store, hub) / SHARD).stat().st_ino == inode
    assert leftovers(store) == []


def test_a_sleeper_that_wakes_while_the_other_downloads(hub: Hub, store: Path) -> None:
    """Both are alive at once: the sleeper still has its partial file open."""
    hub.faults.bytes_per_second = 3 << 20
    sleeper = Pod(store, hub_source(hub), "sleeper").start()
    until(lambda: hub.sent[SHARD] >= len(hub.files[SHARD]) // 2)
    sleeper.send_signal(signal.SIGSTOP)
    other = Pod(store, hub_source(hub), "other").start()
    try:
        until(lambda: bool(list(store.rglob("claim-1/beat"))))
    finally:
        sleeper.send_signal(signal.SIGCONT)
    results = [ended(sleeper), ended(other)]
    assert [(r.code, r.err) for r in results] == [(0, "")] * 2
    assert right(store, hub)
    assert leftovers(store) == []


def test_told_to_stop_it_hands_over(hub: Hub, store: Path) -> None:
    hub.faults.bytes_per_second = 3 << 20
    first = Pod(store, hub_source(hub), "a", lease=600).start()
    until(lambda: hub.sent[SHARD] >= len(hub.files[SHARD]) // 2)
    first.terminate()
    assert ended(first).code == 143
    hub.faults.bytes_per_second = 0
    # The lease of 600 s is not waited for.
    assert Pod(store, hub_source(hub), "b", lease=600).run().code == 0
    assert right(store, hub)


def test_the_deadline_of_the_writer(hub: Hub, store: Path) -> None:
    hub.faults.bytes_per_second = 32 << 10
    # Long enough to have begun on a busy machine.
    done = Pod(store, hub_source(hub), "a", ("--deadline", "10")).run()
    assert done.code == 1
    assert done.err.startswith("fetch: modelStore.deadlineSeconds: 10: not complete in this time; downloading: ")
    assert "Fix: raise it, or look at the network" in done.err
    hub.faults.bytes_per_second = 0
    assert Pod(store, hub_source(hub), "b", lease=600).run().code == 0


def test_a_waiter_has_a_deadline_and_says_whom_it_waits_for(hub: Hub, store: Path) -> None:
    hub.faults.bytes_per_second = 256 << 10
    writer = Pod(store, hub_source(hub), "a").start()
    until(lambda: hub.sent[SHARD] > 0)
    done = Pod(store, hub_source(hub), "b", ("--deadline", "3")).run()
    writer.terminate()
    ended(writer)
    assert done.code == 1
    assert "fetch: waiting: Pod pod-a downloads the model" in done.out
    assert "not complete in this time; waiting: Pod pod-a downloads the model" in done.err


def test_progress_is_told(hub: Hub, store: Path) -> None:
    hub.faults.bytes_per_second = 1 << 20
    done = Pod(store, hub_source(hub), "a", ("--deadline", "20")).run()
    assert done.code == 0
    assert done.out.count("fetch: downloading: ") >= 1
    assert " MiB of 6 MiB (" in done.out


def test_a_damaged_model_is_fetched_again(hub: Hub, store: Path) -> None:
    Pod(store, hub_source(hub), "a").run()
    (final(store, hub) / SHARD).write_bytes(b"short")
    done = Pod(store, hub_source(hub), "b").run()
    assert done.code == 0
    assert "which was not whole" in done.out
    assert right(store, hub)


def test_a_folder_without_a_marker_is_not_believed(hub: Hub, store: Path) -> None:
    final(store, hub).mkdir(parents=True)
    for name in NEEDED:
        (final(store, hub) / name).write_bytes(hub.files[name])
    assert Pod(store, hub_source(hub), "a").run().code == 0
    assert hub.sent[SHARD] == len(hub.files[SHARD])


def test_what_dead_downloads_of_other_commits_left_is_swept(hub: Hub, store: Path) -> None:
    base = final(store, hub).parent
    for name, age in (("old", 3 * 24 * 3600), ("new", 60)):
        left = base / f".fetch-{name}" / "work-0-x"
        left.mkdir(parents=True)
        (left / "model.safetensors.part").touch()
        for path in (left / "model.safetensors.part", left, left.parent):
            os.utime(path, (time.time() - age, time.time() - age))
    done = Pod(store, hub_source(hub), "a").run()
    assert "removed .fetch-old, left by a download that died" in done.out
    assert sorted(p.name for p in base.iterdir()) == [".fetch-new", COMMIT]


def test_two_models_share_a_store(hub: Hub, store: Path) -> None:
    other = Hub(model_files(1 << 20), HubFaults(), id="org/other").start()
    try:
        processes = [Pod(store, hub_source(h), h.id[-1]).start() for h in (hub, other)]
        assert [ended(p).code for p in processes] == [0, 0]
    finally:
        other.stop()
    assert right(store, hub)
    assert right(store, other)


@pytest.fixture
def bucket() -> Iterator[S3]:
    made = S3(
        {f"tiny/{name}": content for name, content in model_files().items()} | {"tiny2/config.json": b"{}"}
    ).start()
    yield made
    made.stop()


def test_a_bucket(bucket: S3, store: Path) -> None:
    pods = [Pod(store, s3_source(bucket), str(i)) for i in range(3)]
    results = [ended(p) for p in [pod.start() for pod in pods]]
    assert [(r.code, r.err) for r in results] == [(0, "")] * 3
    assert contents(pods[0].link) == {name: bucket.files[f"tiny/{name}"] for name in NEEDED}
    assert bucket.sent[f"tiny/{SHARD}"] == len(bucket.files[f"tiny/{SHARD}"])
    assert pods[0].link.resolve().parent.parent == store / "s3" / "models"
    assert leftovers(store) == []


def test_a_bucket_with_other_content_is_another_revision(bucket: S3, store: Path) -> None:
    pod = Pod(store, s3_source(bucket), "a")
    pod.run()
    first = pod.link.resolve()
    bucket.files["tiny/config.json"] += b" "
    assert pod.run().code == 0
    assert pod.link.resolve() != first
    assert contents(pod.link)["config.json"] == bucket.files["tiny/config.json"]
    assert contents(first)["config.json"] + b" " == bucket.files["tiny/config.json"]


def test_a_killed_download_from_a_bucket_goes_on(bucket: S3, store: Path) -> None:
    key = f"tiny/{SHARD}"
    bucket.faults.bytes_per_second = 3 << 20
    process = Pod(store, s3_source(bucket), "dead").start()
    until(lambda: bucket.sent[key] >= len(bucket.files[key]) // 2)
    process.kill()
    ended(process)
    time.sleep(0.2)
    before = bucket.sent[key]
    bucket.faults.bytes_per_second = 0
    pod = Pod(store, s3_source(bucket), "dead")
    assert pod.run().code == 0
    assert contents(pod.link) == {name: bucket.files[f"tiny/{name}"] for name in NEEDED}
    assert bucket.sent[key] - before < len(bucket.files[key]) * 0.75


def test_a_file_replaced_during_the_download(bucket: S3, store: Path) -> None:
    new = b"new" * 500_000
    bucket.faults.replace_on_get[f"tiny/{SHARD}"] = new
    pod = Pod(store, s3_source(bucket), "a")
    done = pod.run()
    assert done.code == 0
    assert f"{SHARD} was replaced in the bucket: beginning with a new listing" in done.out
    assert contents(pod.link)[SHARD] == new
