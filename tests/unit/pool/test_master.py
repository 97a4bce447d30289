"""pool-master: masters start where they have their data, or where the group starts; never empty into a group that goes on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tiered_kv_cache.deadline import Deadline
from tiered_kv_cache.findings import UsageError
from tiered_kv_cache.pool import master
from tiered_kv_cache.pool.claims import Claim, Members, Refused, parse
from tiered_kv_cache.pool.master import Content

from .server import PoolServer, api

NAMES = ("data-masters-0", "data-masters-1", "data-masters-2")
UIDS = [f"uid-{name}" for name in NAMES]


class Group:
    """Masters on volumes in folders, each started as its Pod's init container would."""

    def __init__(self, server: PoolServer, folder: Path, count: int = 3, cluster: str = "kv-pool") -> None:
        self.server, self.folder, self.count, self.cluster = server, folder, count, cluster
        for ordinal in range(count):
            self.volume(ordinal).mkdir(parents=True)
            server.claim(f"data-masters-{ordinal}")
        self.said: list[str] = []

    def volume(self, ordinal: int) -> Path:
        return self.folder / f"volume-{ordinal}"

    def start(self, ordinal: int, seconds: float = 0, **change: object) -> list[str]:
        """Run it; the clock moves only by its waits."""
        now = [0.0]

        def sleep(wait: float) -> None:
            now[0] += wait
            self.slept()

        known: dict[str, object] = {"replicas": self.count, "cluster_id": self.cluster} | change
        todo = master.job(
            str(self.volume(ordinal)), str(known["cluster_id"]), int(str(known["replicas"])), f"masters-{ordinal}", "kv"
        )
        return master.prepare(todo, api(self.server), Deadline(seconds, lambda: now[0], sleep), self.said.append)

    def slept(self) -> None:
        """What happens while one waits."""

    def run(self, *ordinals: int) -> None:
        """Let Curvine write."""
        for ordinal in ordinals:
            for name in master.DIRECTORIES:
                (self.volume(ordinal) / name / "log").write_text("x")

    def started(self) -> Group:
        """All have run, and were started again since."""
        for ordinal in range(self.count):
            self.start(ordinal)
        self.run(*range(self.count))
        for ordinal in range(self.count):
            self.start(ordinal)
        return self

    def lose(self, ordinal: int, *directories: str) -> None:
        """Its content."""
        for name in directories or master.DIRECTORIES:
            shutil.rmtree(self.volume(ordinal) / name)

    def replace(self, ordinal: int) -> None:
        """Its claim and its content."""
        self.lose(ordinal)
        self.server.claim(f"data-masters-{ordinal}", uid=f"uid-new-{ordinal}")


@pytest.fixture
def group(server: PoolServer, tmp_path: Path) -> Group:
    return Group(server, tmp_path)


def refused(group: Group, ordinal: int, *parts: str, number: int = 1, seconds: float = 0, **change: object) -> str:
    """Its message has as many findings, each with a fix, and these parts; nothing was written anywhere."""
    before = json.dumps([group.server.members(f"data-masters-{i}") for i in range(group.count)])
    made = sorted(group.volume(ordinal).rglob("*"))
    with pytest.raises(Refused) as caught:
        group.start(ordinal, seconds, **change)
    text = str(caught.value)
    assert len(text.splitlines()) == number, text
    for line in text.splitlines():
        assert ". Fix: " in line
    for part in parts:
        assert part in text
    assert json.dumps([group.server.members(f"data-masters-{i}") for i in range(group.count)]) == before
    assert sorted(group.volume(ordinal).rglob("*")) == made
    return text


def test_a_first_start_records_the_group_and_makes_the_directories(group: Group) -> None:
    (group.volume(0) / "lost+found").mkdir()
    for ordinal in range(3):
        group.start(ordinal)
        assert group.server.members(NAMES[ordinal]) == {"clusterId": "kv-pool", "uids": UIDS, "held": False}
        for name in master.DIRECTORIES:
            assert (group.volume(ordinal) / name).stat().st_mode & 0o777 == 0o700


def test_a_first_start_broken_off_goes_on(group: Group) -> None:
    group.start(0)
    before = list(group.server.asked)
    group.start(0)
    assert ("PATCH", NAMES[0]) not in group.server.asked[len(before) :], "it is right as it is"


def test_a_record_of_before_that_names_another_claim_is_made_anew(group: Group) -> None:
    group.server.claim(NAMES[0], annotation=Members("kv-pool", ("older", *UIDS[1:]), False).text())
    group.start(0)
    assert group.server.members(NAMES[0]) == {"clusterId": "kv-pool", "uids": UIDS, "held": False}


def test_data_is_noted_once_and_starts(group: Group) -> None:
    group.started()
    assert all((group.server.members(name) or {})["held"] is True for name in NAMES)
    before = len(group.server.asked)
    group.start(1)
    assert ("PATCH", NAMES[1]) not in group.server.asked[before:]


def test_a_volume_without_annotation_is_adopted(group: Group) -> None:
    for name in master.DIRECTORIES:
        (group.volume(1) / name).mkdir()
    group.run(1)
    group.start(1)
    assert group.server.members(NAMES[1]) == {"clusterId": "kv-pool", "uids": UIDS, "held": True}


@pytest.mark.parametrize("lost", master.DIRECTORIES)
def test_half_of_the_data_is_refused(group: Group, lost: str) -> None:
    group.started().lose(1, lost)
    refused(group, 1, "one of meta and journal is empty", f"delete pvc {' '.join(NAMES)}")


def test_a_volume_that_lost_its_content_is_refused(group: Group) -> None:
    group.started().lose(2)
    refused(group, 2, "claim data-masters-2 has held", "breaks its group", "2 of its 3 masters run", " ".join(NAMES))
    group.start(0)


def test_empty_directories_are_lost_content_too(group: Group) -> None:
    group.started()
    for name in master.DIRECTORIES:
        (group.volume(2) / name / "log").unlink()
    refused(group, 2, "has held")


def test_the_only_master_that_lost_its_content_is_refused_until_a_person_says_so(
    server: PoolServer, tmp_path: Path
) -> None:
    group = Group(server, tmp_path, 1).started()
    group.lose(0)
    text = refused(group, 0, "would forget all files")
    command = "kubectl -n kv annotate pvc data-masters-0 tiered-kv-cache.io/curvine-members-"
    assert text.endswith(command)
    del server.objects["persistentvolumeclaims", "data-masters-0"]["metadata"]["annotations"]
    group.start(0)
    assert server.members("data-masters-0") == {"clusterId": "kv-pool", "uids": UIDS[:1], "held": False}


def test_a_replaced_disk_is_refused_while_the_group_goes_on(group: Group) -> None:
    group.started().replace(1)
    refused(
        group, 1, "claim data-masters-1 is new (uid uid-new-1)", "data-masters-0, data-masters-2 say", " ".join(NAMES)
    )


def test_it_is_refused_also_where_only_one_other_remembers(group: Group) -> None:
    group.started().replace(1)
    group.replace(2)
    refused(group, 1, "data-masters-0 say")


def test_all_claims_anew_are_an_empty_pool(group: Group) -> None:
    group.started()
    for ordinal in range(3):
        group.replace(ordinal)
    for ordinal in range(3):
        group.start(ordinal)
    assert (group.server.members(NAMES[0]) or {})["uids"] == [f"uid-new-{i}" for i in range(3)]


def test_another_cluster_id_is_refused(group: Group) -> None:
    group.started()
    refused(group, 0, "'kv-pool'", "'other'", "back to 'kv-pool'", cluster_id="other")


@pytest.mark.parametrize(("replicas", "claims"), [(1, 3), (5, 5)])
def test_another_size_is_refused(group: Group, replicas: int, claims: int) -> None:
    group.started()
    for ordinal in range(3, 5):
        group.server.claim(f"data-masters-{ordinal}")
        group.volume(ordinal).mkdir()
    named = " ".join(f"data-masters-{i}" for i in range(claims))
    refused(
        group, 0, f"curvine.masters.replicas: {replicas}", "back to 3", f"delete pvc {named}", replicas=replicas
    )  # fmt: skip


def test_a_new_master_of_a_group_that_was_made_larger_says_the_same(group: Group) -> None:
    group.started()
    for ordinal in range(3, 5):
        group.server.claim(f"data-masters-{ordinal}")
        group.volume(ordinal).mkdir()
    group.count = 5
    refused(group, 4, "curvine.masters.replicas: 5", "first started with 3", "back to 3")


def test_several_faults_are_told_together(group: Group) -> None:
    group.started().lose(0)
    (group.volume(0) / "meta").write_text("a file")
    refused(group, 0, "meta cannot be read", "cluster id 'kv-pool'", "replicas: 1", "has held", number=4,
            cluster_id="other", replicas=1)  # fmt: skip


def test_it_waits_for_claims_that_are_made(group: Group) -> None:
    about = group.server.objects.pop(("persistentvolumeclaims", NAMES[2]))

    def slept() -> None:
        group.server.objects["persistentvolumeclaims", NAMES[2]] = about

    group.slept = slept  # type: ignore[method-assign]
    group.start(0, seconds=5)
    assert group.said == ["waits: claim data-masters-2 does not exist"]
    assert (group.server.members(NAMES[0]) or {})["uids"] == UIDS


def test_claims_that_never_come(group: Group) -> None:
    del group.server.objects["persistentvolumeclaims", NAMES[2]]
    refused(group, 0, "claim data-masters-2 does not exist, within 5 s", "describe statefulset masters", seconds=5.0)


def test_a_first_start_waits_for_claims_that_go(group: Group) -> None:
    group.server.claim(NAMES[1], uid="old", going=True)

    def slept() -> None:
        group.server.claim(NAMES[1])

    group.slept = slept  # type: ignore[method-assign]
    group.start(0, seconds=5)
    assert group.said == ["waits: claim data-masters-1 is being deleted"]
    assert (group.server.members(NAMES[0]) or {})["uids"] == UIDS


def test_data_does_not_wait_for_claims_that_go(group: Group) -> None:
    group.started()
    group.server.objects["persistentvolumeclaims", NAMES[1]]["metadata"]["deletionTimestamp"] = "now"
    group.start(0)


@pytest.mark.parametrize(
    ("status", "fix"), [(403, "let the masters' ServiceAccount get and patch the claims"), (500, "mend the network")]
)
def test_an_api_server_that_says_no(group: Group, status: int, fix: str) -> None:
    def slept() -> None:
        group.server.status = status

    slept()
    with pytest.raises(Refused, match=fix) as caught:
        group.start(0, seconds=3)
    assert str(status) in str(caught.value)
    assert len(group.server.asked) == 4, "it tried again each second"


def test_a_conflict_is_read_again(group: Group) -> None:
    group.server.conflicts = 1
    group.start(0, seconds=5)
    assert group.server.members(NAMES[0]) is not None
    assert group.server.asked.count(("PATCH", NAMES[0])) == 2


@pytest.mark.parametrize("text", ["{", "[]", '{"clusterId": 1, "uids": [], "held": true}', '{"clusterId": "x", "uids": "a", "held": true}',
                                  '{"clusterId": "x", "uids": ["a"], "held": "yes"}'])  # fmt: skip
@pytest.mark.parametrize("ordinal", [0, 1])
def test_an_annotation_that_cannot_be_read(group: Group, text: str, ordinal: int) -> None:
    group.server.claim(NAMES[1], annotation=text)
    with pytest.raises(Refused, match=r"claim data-masters-1: annotation .* cannot be read") as caught:
        group.start(ordinal)
    assert "annotate pvc data-masters-1 tiered-kv-cache.io/curvine-members-" in str(caught.value)


def test_arguments() -> None:
    with pytest.raises(UsageError) as caught:
        master.job("/data", "", 0, "masters", "kv")
    assert [line.partition(" ")[0] for line in str(caught.value).splitlines()] == [
        "--pod",
        "--replicas",
        "--cluster-id",
    ]
    with pytest.raises(UsageError, match="kubectl -n kv scale statefulset masters --replicas 3"):
        master.job("/data", "kv-pool", 3, "masters-3", "kv")


UID = st.sampled_from([*UIDS, "uid-new-0", "uid-new-1"])
MEMBERS = st.builds(
    Members, st.sampled_from(["kv-pool", "other"]), st.lists(UID, min_size=1, max_size=5).map(tuple), st.booleans()
)


@given(MEMBERS)
def test_an_annotation_is_read_as_written(members: Members) -> None:
    assert parse(members.text()) == members


@given(
    st.lists(st.none() | MEMBERS, min_size=3, max_size=3),
    st.lists(UID, min_size=3, max_size=3, unique=True),
    st.sampled_from(Content),
)
def test_nobody_starts_empty_where_somebody_knows_another_group(
    members: Sequence[Members | None], uids: Sequence[str], content: Content
) -> None:
    todo = master.Job(Path("/data"), "kv-pool", 3, "masters-0", "kv", "masters", 0)
    claims = [Claim(*row[:2], "1", row[2]) for row in zip(NAMES, uids, members, strict=True)]
    findings, record = master.judge(todo, content, claims)
    own = members[0]
    if findings:
        return
    assert content is not Content.HALF
    assert own is None or (own.cluster_id == "kv-pool" and len(own.uids) == 3)
    if content is Content.EMPTY:
        assert own is None or not own.held
        assert all(uids[0] in other.uids for other in members[1:] if other)
        assert record is None or not record.held
    else:
        assert record.held if record else own is not None and own.held
