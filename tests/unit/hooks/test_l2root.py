"""l2-root on a real directory (tmpfs if there is one): two writers, leftovers, hostile names, volumes gone."""

from __future__ import annotations

import errno
import json
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tiered_kv_cache import l2root
from tiered_kv_cache.l2root import Job, L2RootError, differences, job, prepare, prepare_within

CONFIG = {"model": {"source": "claim:models/tiny"}, "dtype": "float32", "chunkSize": 256, "hashSeed": 0}


@pytest.fixture
def mount() -> Iterator[Path]:
    tmpfs = Path("/dev/shm")
    with TemporaryDirectory(dir=tmpfs if os.access(tmpfs, os.W_OK) else None) as path:
        yield Path(path)


def root_of(mount: Path) -> Path:
    return mount / "v1" / "demo" / "tiny" / "0123456789abcdef"


def todo(mount: Path, pod: str = "pod-a", **change: Any) -> Job:
    return job(str(root_of(mount)), pod, json.dumps(CONFIG | change))


def tree(root: Path) -> list[str]:
    return sorted(str(p.relative_to(root)) for p in root.rglob("*"))


def test_makes_everything(mount: Path) -> None:
    done = prepare(todo(mount))
    root = root_of(mount)
    assert tree(root) == [".tmp-pod-a", "config.json"]
    assert json.loads((root / "config.json").read_text()) == CONFIG
    assert f"made {mount}/v1" in done
    assert done[-2:] == [f"wrote {root}/config.json", f"{root} is ready for Pod pod-a"]


def mode(path: Path) -> str:
    return oct(path.stat().st_mode & 0o7777)


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_the_version_is_everybodys_to_add_to_and_the_rest_the_groups(mount: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        prepare(todo(mount))
    finally:
        os.umask(before)
    root = root_of(mount)
    assert mode(mount / "v1") == "0o1777"
    assert {mode(path) for path in (root, root.parent, root.parent.parent)} == {"0o2770"}
    assert mode(root / "config.json") in ("0o640", "0o600")


def test_a_version_directory_of_before_is_opened_and_what_lies_there_stays_as_it_is(mount: Path) -> None:
    lob = mount / "v1" / "demo"
    lob.mkdir(parents=True)
    (mount / "v1").chmod(0o750)
    lob.chmod(0o750)
    prepare(todo(mount))
    assert (mode(mount / "v1"), mode(lob)) == ("0o1777", "0o750")


@pytest.mark.skipif(os.getuid() != 0, reason="only root can become two users")
def test_two_owners_share_a_volume_and_neither_gets_into_the_others_tree(mount: Path) -> None:
    mount.chmod(0o1777)
    assert as_user(20001, lambda: prepare(todo(mount))) == (0, "")
    other = mount / "v1" / "other" / "tiny" / ("f" * 16)
    assert as_user(20002, lambda: prepare(job(str(other), "pod-b", json.dumps(CONFIG)))) == (0, "")
    theirs = mount / "v1" / "demo"
    assert (theirs.stat().st_uid, theirs.stat().st_gid) == (20001, 20001)

    def refused(attack: Callable[[], object]) -> None:
        code, text = as_user(20002, attack)
        assert code == 1, "it was let in"
        assert "ermi" in text, text

    refused(lambda: list(theirs.iterdir()))
    refused((root_of(mount) / "config.json").read_text)
    refused((theirs / "forged").mkdir)
    refused(lambda: theirs.rename(mount / "v1" / "taken"))
    refused(lambda: prepare(todo(mount, "pod-x")))


def test_again_changes_nothing(mount: Path) -> None:
    prepare(todo(mount))
    config = root_of(mount) / "config.json"
    before = config.stat()
    assert prepare(todo(mount)) == [f"{root_of(mount)} is ready for Pod pod-a"]
    prepare(todo(mount, "pod-b"))
    assert (config.stat().st_ino, config.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert tree(root_of(mount)) == [".tmp-pod-a", ".tmp-pod-b", "config.json"]


def test_key_order_and_spaces_do_not_matter(mount: Path) -> None:
    prepare(todo(mount))
    (root_of(mount) / "config.json").write_text(json.dumps(dict(reversed(CONFIG.items()))))
    prepare(todo(mount, "pod-b"))


def test_a_mismatch_names_every_key_and_value(mount: Path) -> None:
    prepare(todo(mount))
    before = (root_of(mount) / "config.json").read_bytes()
    with pytest.raises(L2RootError) as err:
        prepare(todo(mount, "pod-b", chunkSize=512, model={"source": "image:/models/tiny"}, extra=True))
    text = str(err.value)
    assert text.startswith(f"{root_of(mount)}/config.json was written for other values: ")
    assert "chunkSize: the volume has 256, this Pod has 512" in text
    assert 'model.source: the volume has "claim:models/tiny", this Pod has "image:/models/tiny"' in text
    assert "extra: the volume has nothing, this Pod has true" in text
    assert "dtype" not in text
    assert f"Fix: delete {root_of(mount)} while no Pod uses it" in text
    assert (root_of(mount) / "config.json").read_bytes() == before


@pytest.mark.parametrize("content", ["", "{", "\x00\x00"])
def test_a_broken_config(mount: Path, content: str) -> None:
    prepare(todo(mount))
    (root_of(mount) / "config.json").write_text(content)
    with pytest.raises(L2RootError, match=r"config\.json is not JSON.*Fix: stop the model, delete"):
        prepare(todo(mount))


def test_leftovers_of_this_pod_go_and_those_of_others_stay(mount: Path) -> None:
    root = root_of(mount)
    for name in (".tmp-pod-a", ".tmp-pod-b"):
        (root / name).mkdir(parents=True)
        (root / name / "config.json").write_text("{half")
        (root / name / "@1.data").write_text("half")
    (root / "@1.data").write_text("whole")
    assert f"removed 2 leftover files from {root}/.tmp-pod-a" in prepare(todo(mount))
    assert tree(root) == [
        ".tmp-pod-a",
        ".tmp-pod-b",
        ".tmp-pod-b/@1.data",
        ".tmp-pod-b/config.json",
        "@1.data",
        "config.json",
    ]


def write_at(start: float, mount: str, pod: str, queue: Any) -> None:
    time.sleep(max(0.0, start - time.time()))
    try:
        prepare(todo(Path(mount), pod))
        queue.put("")
    except BaseException as err:
        queue.put(f"{type(err).__name__}: {err}")


def test_many_writers_at_once_leave_one_whole_config(mount: Path) -> None:
    context = multiprocessing.get_context("fork")
    queue = context.Queue()
    start = time.time() + 0.2
    writers = [context.Process(target=write_at, args=(start, str(mount), f"pod-{i}", queue)) for i in range(6)]
    for writer in writers:
        writer.start()
    assert [queue.get(timeout=20) for _ in writers] == [""] * 6
    for writer in writers:
        writer.join()
    assert json.loads((root_of(mount) / "config.json").read_text()) == CONFIG
    assert tree(root_of(mount)) == [*(f".tmp-pod-{i}" for i in range(6)), "config.json"]


def test_a_writer_that_loses_to_another_config_is_refused(mount: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.link

    def link(*args: Any, **kwargs: Any) -> None:
        (root_of(mount) / "config.json").write_text(json.dumps(CONFIG | {"dtype": "bfloat16"}))
        real(*args, **kwargs)

    monkeypatch.setattr(os, "link", link)
    with pytest.raises(L2RootError, match='dtype: the volume has "bfloat16", this Pod has "float32"'):
        prepare(todo(mount))


def test_a_volume_without_hard_links(mount: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*_: Any, **__: Any) -> None:
        raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))

    monkeypatch.setattr(os, "link", link)
    prepare(todo(mount))
    prepare(todo(mount, "pod-b"))
    assert tree(root_of(mount)) == [".tmp-pod-a", ".tmp-pod-b", "config.json"]


@pytest.mark.parametrize(
    "level", ["v1", "v1/demo", "v1/demo/tiny/0123456789abcdef", "v1/demo/tiny/0123456789abcdef/.tmp-pod-a"]
)
@pytest.mark.parametrize("kind", ["link", "file"])
def test_links_and_files_in_the_way(mount: Path, tmp_path: Path, level: str, kind: str) -> None:
    at = mount / level
    at.parent.mkdir(parents=True, exist_ok=True)
    if kind == "link":
        at.symlink_to(tmp_path)
    else:
        at.write_text("")
    with pytest.raises(L2RootError, match="symbolic link" if kind == "link" else "not a directory") as err:
        prepare(todo(mount))
    assert "Fix: remove the symbolic link or file" in str(err.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["config.json", ".tmp-pod-a/probe"])
def test_a_link_for_a_file_writes_nothing_elsewhere(mount: Path, tmp_path: Path, name: str) -> None:
    at = root_of(mount) / name
    at.parent.mkdir(parents=True)
    outside = tmp_path / "outside"
    outside.write_text("{}")
    at.symlink_to(outside)
    with pytest.raises(L2RootError):
        prepare(todo(mount))
    assert outside.read_text() == "{}"


def test_volume_not_mounted(mount: Path) -> None:
    gone = mount / "nothing"
    with pytest.raises(
        L2RootError, match=f"the L2 volume is not mounted: {gone} does not exist. Fix: mount the volume"
    ):
        prepare(todo(gone))
    assert not gone.exists()


@pytest.mark.parametrize(
    ("number", "fix"),
    [
        (errno.ENOTCONN, "which is gone"),
        (errno.ESTALE, "which is gone"),
        (errno.EROFS, "it is read-only, or nothing is mounted there"),
        (errno.ENOSPC, "free space on the L2 volume"),
        (errno.EACCES, "for hostPath, chown"),
        (errno.EINVAL, "see the error"),
    ],
)
@pytest.mark.parametrize("call", ["mkdir", "rename"])
def test_errors_of_the_volume(mount: Path, monkeypatch: pytest.MonkeyPatch, call: str, number: int, fix: str) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(L2RootError, match=f"{os.strerror(number)}. Fix: .*{fix}"):
        prepare(todo(mount))


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere; the next test drops root")
def test_unwritable_as_user(mount: Path) -> None:
    mount.chmod(0o555)
    with pytest.raises(L2RootError, match="Permission denied"):
        prepare(todo(mount))


@pytest.mark.skipif(os.getuid() != 0, reason="only root can drop root")
def test_unwritable_for_the_image_user(mount: Path) -> None:
    mount.chmod(0o755)
    code, text = drop_root_and_prepare(mount)
    assert code == 1
    assert f"cannot open {mount}/v1: Permission denied. Fix: let uid 10001 gid 10001 write there" in text
    os.chown(mount, 10001, 10001)
    assert drop_root_and_prepare(mount) == (0, "")


def drop_root_and_prepare(mount: Path) -> tuple[int, str]:
    return as_user(10001, lambda: prepare(todo(mount)))


def as_user(number: int, work: Callable[[], object]) -> tuple[int, str]:
    """Exit code and error text of ``work`` in a process of this uid and gid."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        code = 0
        try:
            os.setgroups([])
            os.setgid(number)
            os.setuid(number)
            work()
        except (L2RootError, OSError) as err:
            os.write(write, str(err).encode())
            code = 1
        finally:
            os._exit(code)
    os.close(write)
    with os.fdopen(read) as file:
        text = file.read()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), text


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_volume_that_cannot_rename(mount: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(
        L2RootError, match=r"cannot rename \(.*\): no block would ever be stored\. Fix: use a shared"
    ) as error:
        prepare(todo(mount))
    assert "cache.l2.enabled: false" in str(error.value)


@pytest.mark.parametrize("number", [errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL])
def test_a_volume_without_fsync_is_used(mount: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    def refuse(_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(os, "fsync", refuse)
    assert f"{root_of(mount)} is ready for Pod pod-a" in prepare(todo(mount))


def test_a_volume_that_gives_back_other_bytes(mount: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(l2root, "_read", lambda root, name: b"other")
    with pytest.raises(L2RootError, match="gave back other bytes than were written"):
        prepare(todo(mount))


def test_a_volume_that_hangs(mount: Path) -> None:
    def hang(_: Job) -> list[str]:
        time.sleep(3)
        return []

    start = time.monotonic()
    with pytest.raises(L2RootError, match=f"the volume at {mount} does not answer within 0.1 s"):
        prepare_within(todo(mount), 0.1, hang)
    assert time.monotonic() - start < 1


@pytest.mark.parametrize(
    "root",
    [
        "relative/v1/demo/tiny/f",
        "/mnt/v1/demo/../../etc/f",
        "/mnt//v1/demo/tiny/f",
        "/v1/demo/tiny/f",
        "/mnt/./v1/demo/tiny/f",
        "",
    ],
)
def test_bad_roots(root: str) -> None:
    with pytest.raises(L2RootError, match="is no absolute, plain path"):
        job(root, "pod-a", "{}")


@pytest.mark.parametrize("pod", ["../x", "a..b", "a/b", "", "UPPER", "-a", "a.", "x\n", "x" * 254])
def test_bad_pod_names(pod: str) -> None:
    with pytest.raises(L2RootError, match="is no Pod name"):
        job("/mnt/v1/demo/tiny/f", pod, "{}")


def test_all_bad_arguments_at_once() -> None:
    for config, part in ((None, "has no TKC_L2_CONFIG"), ("{", "is not JSON"), ("[]", "is no JSON object")):
        with pytest.raises(L2RootError) as err:
            job("x", "..", config)
        assert len(str(err.value).splitlines()) == 3
        assert part in str(err.value)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2), inner, max_size=3),
    max_leaves=8,
)


@example([True, True], [1, 1])
@example({"a": None}, {})
@given(json_values, json_values)
def test_differences_are_empty_exactly_for_equal_json(one: Any, two: Any) -> None:
    same = json.dumps(one, sort_keys=True) == json.dumps(two, sort_keys=True)
    assert (differences(one, two) == []) == same
    assert differences(one, one) == []
