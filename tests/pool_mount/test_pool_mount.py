"""One mount of the pool on a node: Pods see its files again without a restart, whatever happens to the mount."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import stat
import time
from pathlib import Path

import pytest

from .conftest import SHELLS
from .node import OWNER, Node, until

every_shell = pytest.mark.parametrize("shell", SHELLS)


def _mode(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)


def _kill(node: Node) -> int:
    """kill -9 of who serves the pool; its number."""
    pid = node.server()
    os.kill(pid, signal.SIGKILL)
    return pid


@every_shell
def test_first_mount(node: Node) -> None:
    node.started()
    disk = node.seen(node.pool)
    assert _mode(disk / ".pool") == (0, 0, 0o700)
    for line in ("retail", "cards"):
        assert _mode(disk / line) == (0, 0, 0o755)
        assert _mode(disk / line / "fs") == (OWNER, OWNER, 0o770) == _mode(node.backing / "tenants" / line)
    assert _mode(node.backing / "tenants") == (0, 0, 0o755)
    assert node.in_pod("retail", "sh", "-c", "echo 1 >fs/f").returncode == 0
    assert (node.backing / "tenants/retail/f").read_text() == "1\n"
    assert node.in_pod("retail", "ls", "fs").stdout == "f\n"
    assert node.in_pod("cards", "ls", "fs").stdout == ""


@every_shell
def test_without_the_pool_an_engine_cannot_write(node: Node) -> None:
    node.started()
    assert node.in_pod("retail", "touch", "fs/f").returncode == 0
    assert node.terminate() == 0
    for place in ("fs/f", "f"):
        assert "Permission denied" in node.in_pod("retail", "touch", place).stderr


@every_shell
def test_a_killed_process_is_replaced_under_a_running_pod(node: Node) -> None:
    node.started()
    (node.backing / "tenants/retail/f").write_text("1\n")
    reader = node.reader("retail", "f")
    reader.sees("1")
    _kill(node)
    killed = time.monotonic()
    reader.sees("gone")
    gone = time.monotonic()
    reader.sees("1")
    back = time.monotonic()
    print(f"readable {back - killed:.1f} s after the kill, {back - gone:.1f} s after the first failed read")
    (node.backing / "tenants/retail/f").write_text("2\n")
    reader.sees("2")
    assert "the pool's process ended with status 137" in node.log()
    node.bound()
    assert len(node.pool_mounts()) == 3


def test_pauses_grow_while_the_process_goes_on_dying(node: Node) -> None:
    node.start(POOL_COMMAND="false")
    started = time.monotonic()
    for seconds in (0, 1, 2, 4):
        node.said(f"starting again in {seconds} s")
    assert time.monotonic() - started > 2.9, "it waits as long as it says"
    assert "ended with status 1 before its mount was there" in node.log()
    started = time.monotonic()
    assert node.terminate() == 0
    assert time.monotonic() - started < 3, "a pause holds the end up"


def test_a_killed_process_is_replaced_each_time(node: Node) -> None:
    node.started()
    for seconds in (0, 1):
        _kill(node)
        node.said(f"starting again in {seconds} s")
        node.bound()


@every_shell
def test_dead_mounts_of_an_earlier_run_are_taken_away(node: Node) -> None:
    node.started()
    (node.backing / "tenants/retail/f").write_text("1\n")
    reader = node.reader("retail", "f")
    node.kill_all()
    for place in (".pool/fs", "retail/fs", "cards/fs"):
        with pytest.raises(OSError) as caught:
            node.seen(node.pool / place).stat()
        # The second one for who asks just as the process dies.
        assert caught.value.errno in (errno.ENOTCONN, errno.ECONNABORTED)
    reader.sees("gone")
    node.started()
    assert "took 3 mounts of an earlier run away" in node.log()
    assert len(node.pool_mounts()) == 3
    reader.sees("1")


@every_shell
def test_mounts_over_one_another_are_all_taken_away_and_no_others(node: Node) -> None:
    ours, others = [".pool/fs", "retail/fs"], ["../other/fs", "retail/deep/fs", "retail/own"]
    for place in (*ours, *ours, *others):
        where = node.pool / place
        assert node.on_node("mkdir", "-p", where).returncode == 0
        assert node.on_node("mount", "-t", "tmpfs", "older", where).returncode == 0
        assert node.on_node("touch", where / "f").returncode == 0
    node.started()
    assert "took 4 mounts of an earlier run away" in node.log()
    left = [str(one.point) for one in node.mounted() if one.source == "older"]
    assert left == [os.path.normpath(node.pool / place) for place in others]
    for place in others:
        assert node.seen(node.pool / place / "f").exists()
        assert node.on_node("umount", node.pool / place).returncode == 0


@every_shell
def test_a_bind_that_somebody_removed_is_made_again(node: Node) -> None:
    node.started()
    (node.backing / "tenants/retail/f").write_text("1\n")
    server, reader = node.server(), node.reader("retail", "f")
    reader.sees("1")
    assert node.on_node("umount", "-l", node.pool / "retail/fs").returncode == 0
    reader.sees("gone")
    reader.sees("1")
    assert node.server() == server, "one bind is no reason to mount the pool anew"


def test_a_bind_that_somebody_covered_is_made_again(node: Node) -> None:
    node.started()
    assert node.on_node("mount", "-t", "tmpfs", "older", node.pool / "retail/fs").returncode == 0
    until(lambda: {one.source for one in node.mounted()} & {"older"} == set(), "the cover is gone")
    node.bound()
    assert len(node.mounted()) == 3


def test_a_directory_of_the_pool_that_somebody_removed_is_made_again(node: Node) -> None:
    node.started()
    assert node.on_node("rmdir", node.pool / ".pool/fs/tenants/retail").returncode == 0
    until((node.backing / "tenants/retail").is_dir, "the directory is there again")
    node.said("retail: bound")
    until(lambda: node.in_pod("retail", "touch", "fs/f").returncode == 0, "it can be written")


@pytest.mark.parametrize("stopped", [False, True])
def test_a_pool_that_somebody_unmounted_is_mounted_again(node: Node, stopped: bool) -> None:
    """`stopped`: its process does not take SIGTERM, and may not stay beside the next one."""
    node.started()
    server = node.server()
    if stopped:
        os.kill(server, signal.SIGSTOP)
    assert node.on_node("umount", "-l", node.pool / ".pool/fs").returncode == 0
    node.said("somebody unmounted the pool")
    until(lambda: len(node.pool_mounts()) == 3 and node.server() != server, "the pool is served anew")
    assert not Path(f"/proc/{server}").exists()


@every_shell
@pytest.mark.parametrize("stopped", [False, True])
def test_the_end_is_in_time_while_the_pool_hangs(node: Node, stopped: bool) -> None:
    """`stopped`: its process does not even take SIGTERM."""
    faults = node.started()
    (node.backing / "tenants/retail/f").write_text("1\n")
    reader = node.reader("retail", "f")
    reader.sees("1")
    server = node.server()
    faults.hang()
    until(lambda: bool(faults.under_way()), "a Pod that hangs")
    if stopped:
        os.kill(server, signal.SIGSTOP)
    started = time.monotonic()
    assert node.terminate() == 0
    took = time.monotonic() - started
    print(f"ended {took:.1f} s after SIGTERM")
    assert took < 8
    assert ("did not end within 5 s" in node.log()) == stopped
    assert node.mounted() == []
    reader.sees("gone")


def test_a_pool_that_hangs_is_left_alone(node: Node) -> None:
    faults = node.started()
    server = node.server()
    with faults.hang():
        reader = node.reader("retail", "f")
        until(lambda: bool(faults.under_way()), "a Pod that hangs")
        assert node.on_node("umount", "-l", node.pool / "cards/fs").returncode == 0
        node.said("cards: not bound: the pool does not answer")
    (node.backing / "tenants/retail/f").write_text("1\n")
    reader.sees("1")
    node.bound()
    assert node.server() == server


def test_a_line_of_business_that_is_gone_loses_its_mount_and_keeps_its_data(node: Node) -> None:
    node.started()
    (node.backing / "tenants/cards/f").write_text("1\n")
    node.kill_all()
    node.started("retail")
    assert {one.point.parent.name for one in node.pool_mounts()} == {".pool", "retail"}
    assert (node.backing / "tenants/cards/f").read_text() == "1\n"


def test_who_comes_late_writes_nothing_beside_the_pool(node: Node, tmp_path: Path) -> None:
    """The pool dies while its directories are made. What is made later must not lie on the node's disk below the mount."""
    waits = f'case $* in *tenants) touch "{tmp_path}/late"; until [ -e "{tmp_path}/go" ]; do sleep 0.05; done ;; esac'
    node.program("mkdir", f'{waits}\nexec {shutil.which("mkdir")} "$@"')
    node.start(PATH=f"{tmp_path}:{os.environ['PATH']}")
    until((tmp_path / "late").exists, "a mkdir that waits")
    _kill(node)
    node.said("all mounts of the pool are taken away")
    (tmp_path / "go").touch()
    node.bound()


def test_owner_and_mode_are_set_where_they_differ_only(node: Node) -> None:
    folder = node.backing / "kv/tenants/retail"
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    faults = node.started(POOL_SUBDIRECTORY="kv/tenants", POOL_UID="20001", POOL_GID="20002")
    assert _mode(folder) == (20001, 20002, 0o770)
    assert faults.counters()["calls"]["chown"] == 2
    node.kill_all()
    faults = node.started(POOL_SUBDIRECTORY="kv/tenants", POOL_UID="20001", POOL_GID="20002")
    assert not {"chown", "chmod", "mkdir"} & faults.counters()["calls"].keys()


def test_a_line_that_cannot_be_bound_does_not_hold_the_others_up(node: Node) -> None:
    (node.backing / "tenants").mkdir()
    (node.backing / "tenants/retail").symlink_to("cards")
    node.start()
    node.bound("cards")
    node.said("retail: not bound: tenants/retail of the pool is a symbolic link. fix: remove it")
    (node.backing / "tenants/retail").unlink()
    node.bound()


def test_a_place_on_the_node_that_is_no_directory_is_named(node: Node) -> None:
    assert node.on_node("ln", "-s", "/etc", node.pool / "retail").returncode == 0
    node.start()
    node.said(f"{node.pool}/retail is not a directory. fix: remove it on the node")
    assert node.on_node("rm", node.pool / "retail").returncode == 0
    node.bound()


@every_shell
def test_a_mount_that_does_not_come_is_given_up(node: Node) -> None:
    node.start(POOL_COMMAND=str(node.program("idle", "exec sleep 100")), POOL_WAIT="1")
    node.said("the pool did not answer within POOL_WAIT=1 s")
    node.said("starting again in 0 s")


@every_shell
def test_a_mount_that_never_answers_is_given_up(node: Node) -> None:
    """Its process is stopped as soon as the mount is there, so that the first stat hangs."""
    stops = f'{node.command} "$1" &\nuntil grep -q " $1 " /proc/self/mountinfo; do :; done\nkill -STOP $!\nwait'
    node.start(POOL_COMMAND=str(node.program("stops", stops)), POOL_WAIT="2")
    node.said("the pool did not answer within POOL_WAIT=2 s")
    node.said("starting again in 0 s")
    node.kill_all()
    node.start(POOL_COMMAND="false")
    node.said("before its mount was there")


@every_shell
def test_a_wrong_environment_names_all_faults_and_does_nothing(node: Node) -> None:
    node.start(
        "Retail cards cards",
        POOL_COMMAND="no-such-program --mnt-path",
        POOL_UID="x",
        POOL_GID="-1",
        POOL_WAIT="0",
        POOL_SUBDIRECTORY="../tenants",
    )
    assert node.supervisor
    assert node.supervisor.wait(30) == 2
    for text in (
        'POOL_LINES: "Retail" is no line of business',
        'POOL_LINES: "cards" stands there twice',
        'POOL_COMMAND="no-such-program --mnt-path": there is no program "no-such-program"',
        'POOL_UID="x": not a number',
        'POOL_GID="-1": not a number',
        "POOL_WAIT=0: out of range",
        'POOL_SUBDIRECTORY="../tenants": not a directory below',
    ):
        assert text in node.log()
    assert node.log().count("fix:") == 7
    assert list(node.seen(node.pool).iterdir()) == []


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("POOL_DIR", "/nowhere", "not a directory here"),
        ("POOL_DIR", "pool", "not a place for mounts"),
        ("POOL_DIR", "/tmp/../tmp", "it is /tmp in truth. fix: POOL_DIR=/tmp"),
        (
            "POOL_DIR",
            "/proc",
            "its mount is not shared, so no Pod would see the pool. fix: mountPropagation: Bidirectional",
        ),
        ("POOL_LINES", " ", "empty, so nobody would get a mount"),
        ("POOL_LINES", "*", '"*" is no line of business'),
        ("POOL_COMMAND", "", 'there is no program ""'),
        ("POOL_WAIT", "010", "not a number"),
        ("POOL_SUBDIRECTORY", "", "not a directory below"),
    ],
)
def test_one_fault(node: Node, name: str, value: str, text: str) -> None:
    node.start(**({"lines": value} if name == "POOL_LINES" else {name: value}))
    assert node.supervisor
    assert node.supervisor.wait(30) == 2
    assert text in node.log()


def test_only_root_can(node: Node) -> None:
    node.start(prefix=("setpriv", "--reuid=10001", "--clear-groups"))
    assert node.supervisor
    assert node.supervisor.wait(30) == 2
    assert "user 10001: only root can mount. fix: runAsUser: 0" in node.log()


@every_shell
def test_as_the_only_process_of_its_container(node: Node) -> None:
    """As process 1, for which the kernel drops signals that it has no handler for."""
    node.start(prefix=("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "--propagation=unchanged"))
    node.bound()
    (node.backing / "tenants/retail/f").write_text("1\n")
    reader = node.reader("retail", "f")
    reader.sees("1")
    [first] = [int(pid.name) for pid in Path("/proc").glob("[0-9]*") if _is_first(pid, node)]
    os.kill(first, signal.SIGTERM)
    assert node.supervisor
    assert node.supervisor.wait(30) == 0
    assert "stopped" in node.log()
    assert node.mounted() == []


def _is_first(process: Path, node: Node) -> bool:
    assert node.supervisor
    try:
        return f"PPid:\t{node.supervisor.pid}\n" in (process / "status").read_text()
    except OSError:
        return False
