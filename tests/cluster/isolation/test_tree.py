"""From a Pod of one line of business the other's tree is not there: not by listing, by "..", by links, by mounts."""

from __future__ import annotations

from functools import partial

import pytest

from ..api import wait_for
from ..engines import prompt_of
from .conftest import Tenant

MOUNT = "/mnt/kv-l2"
GONE = "2>/dev/null || true"
"""Behind find: adapter and keeper make and remove files while it walks, and then it ends with 1."""


@pytest.fixture(scope="module")
def stored(tenants: list[Tenant]) -> list[Tenant]:
    """Both have objects on the volume."""
    for tenant in tenants:
        tenant.engines.fill(tenant.pod(), prompt_of(f"tree {tenant.name}"))
        wait_for("objects on the volume", partial(tenant.run, f"find {MOUNT} -name '*.kv' {GONE}"))
    return tenants


def test_only_its_own_tree_is_there(stored: list[Tenant]) -> None:
    for tenant, other in (stored, stored[::-1]):
        assert tenant.run(f"ls -A {MOUNT}/v1").split() == [tenant.name]
        assert tenant.run(f"ls -A {MOUNT}/v1/{tenant.name}/..").split() == [tenant.name]
        assert tenant.run(f"find / -xdev -name {other.name} {GONE}; find {MOUNT} -name {other.name} {GONE}") == ""
        assert other.name not in tenant.run("cat /proc/self/mountinfo")
        # Nothing can be put beside it.
        assert "denied" in tenant.run(f"touch {MOUNT}/v1/x 2>&1 || echo denied").lower()


@pytest.mark.parametrize("link", ["../isob", "../../v1/isob", "/mnt/kv-l2/v1/isob", "../isob/tiny"])
def test_links_lead_nowhere(stored: list[Tenant], link: str) -> None:
    first = stored[0]
    at = f"{MOUNT}/v1/{first.name}/link"
    first.run(f"ln -sfn {link} {at}")
    try:
        assert first.run(f"ls {at}/ 2>/dev/null || echo nothing").strip() == "nothing"
    finally:
        first.run(f"rm {at}")


def test_files_belong_to_the_line_of_business_and_are_closed_to_others(stored: list[Tenant]) -> None:
    for tenant in stored:
        lines = tenant.run(f"find {MOUNT}/v1/{tenant.name} -printf '%y %U:%G %m\\n' {GONE}").splitlines()
        assert any(line.startswith("f ") for line in lines)
        own = f"{tenant.uid}:{tenant.uid}"
        # The keeper's record is its own.
        odd = {line for line in lines if own not in line and not line.endswith(("600", "700"))}
        assert not odd, odd
        assert not {line for line in lines if line.split()[2][-1] != "0"}, "others may enter or read"
        assert tenant.run("id -u").strip() == str(tenant.uid)


def test_the_keeper_keeps_both(stored: list[Tenant]) -> None:
    """It has the other's group, so that it can look into a tree that is closed to all others."""
    first, second = stored
    core = first.engines.api.core
    (keeper,) = core.list_namespaced_pod(
        first.helm.namespace, label_selector="app.kubernetes.io/component=keeper"
    ).items

    def counted() -> bool:
        text = first.engines.api.pod_text(keeper, 9400, "/metrics")
        return all(f'line_of_business="{tenant.name}"' in text for tenant in (first, second))

    wait_for("both counted by the keeper", counted, 120)
    assert "EACCES" not in first.engines.api.pod_text(keeper, 9400, "/metrics")
