"""What certificate and caBundle must hold, at any time of their lives."""

from __future__ import annotations

import ssl
from datetime import UTC, datetime, timedelta

import pytest

from tiered_kv_cache.patch import authority, renewal
from tiered_kv_cache.patch.renewal import CA, CA_KEY, CERTIFICATE, KEY, Plan

NOW = datetime(2026, 12, 1, tzinfo=UTC)
HOSTS = ["l2-patch.tkc.svc", "l2-patch.tkc"]
DAY = timedelta(days=1)


def plan(before: Plan | None = None, after: timedelta = timedelta(0), hosts: list[str] = HOSTS) -> Plan:
    """After a time, from what the last run left."""
    return renewal.plan(before.secret if before else {}, before.bundle if before else b"", hosts, NOW + after)


def count(bundle: bytes) -> int:
    return len(authority.read_bundle(bundle))


def test_the_first_run_makes_everything() -> None:
    found = plan()
    ca, leaf = authority.read_bundle(found.secret[CA])[0], authority.read_bundle(found.secret[CERTIFICATE])[0]
    assert sorted(found.secret) == sorted([CERTIFICATE, KEY, CA, CA_KEY])
    assert found.bundle == found.secret[CA]
    assert ca.not_valid_after_utc - ca.not_valid_before_utc == timedelta(days=3650)
    assert leaf.not_valid_after_utc - leaf.not_valid_before_utc == timedelta(days=365)
    assert leaf.not_valid_before_utc < NOW
    assert authority.hosts_of(leaf) == HOSTS
    assert authority.signed_by(leaf, ca)
    ssl.create_default_context(cadata=found.bundle.decode())


@pytest.mark.parametrize("after", [timedelta(0), DAY, 243 * DAY])
def test_nothing_changes_before_it_is_due(after: timedelta) -> None:
    first = plan()
    second = plan(first, after)
    assert second == Plan(first.secret, first.bundle)


def test_a_certificate_is_renewed_at_two_thirds_by_the_same_authority() -> None:
    first = plan()
    second = plan(first, 244 * DAY)
    assert second.said == ("new certificate: two thirds of the old one's time are over",)
    assert second.secret[CERTIFICATE] != first.secret[CERTIFICATE]
    assert second.secret[KEY] != first.secret[KEY]
    assert second.bundle == first.bundle


def test_an_authority_is_renewed_with_both_in_the_bundle_for_a_while() -> None:
    first = plan()
    second = plan(first, 2434 * DAY)
    assert len(second.said) == 2
    assert count(second.bundle) == 2
    assert second.bundle.endswith(first.bundle)
    assert plan(second, 2434 * DAY + timedelta(hours=11)).bundle == second.bundle
    third = plan(second, 2435 * DAY)
    assert third.secret[CERTIFICATE] == second.secret[CERTIFICATE]
    assert count(third.bundle) == 1
    assert authority.signed_by(
        authority.read_bundle(third.secret[CERTIFICATE])[0], authority.read_bundle(third.bundle)[0]
    )


def test_an_ended_authority_is_trusted_no_more() -> None:
    first = plan()
    assert count(plan(first, 3650 * DAY).bundle) == 1


def test_a_lost_secret_keeps_what_servers_still_show_trusted() -> None:
    first = plan()
    second = renewal.plan({}, first.bundle, HOSTS, NOW + DAY)
    assert second.said == ("new authority: there was no whole one", "new certificate: there was no whole one")
    assert count(second.bundle) == 2


@pytest.mark.parametrize("lost", [CERTIFICATE, KEY, CA, CA_KEY])
@pytest.mark.parametrize("content", [None, b"", b"no PEM", renewal.plan({}, b"", HOSTS, NOW).secret[CA_KEY]])
def test_whatever_part_is_broken_is_made_again(lost: str, content: bytes | None) -> None:
    first = plan()
    secret = {key: text for key, text in first.secret.items() if key != lost} | ({lost: content} if content else {})
    found = renewal.plan(secret, first.bundle, HOSTS, NOW)
    ca, leaf = (
        authority.Pair.read(found.secret[CA], found.secret[CA_KEY]),
        authority.Pair.read(found.secret[CERTIFICATE], found.secret[KEY]),
    )
    assert ca and leaf
    assert authority.signed_by(leaf.certificate, ca.certificate)
    assert count(found.bundle) == (2 if lost in (CA, CA_KEY) else 1)


def test_another_service_gets_another_certificate() -> None:
    found = plan(plan(), hosts=["new.tkc.svc"])
    assert found.said == ("new certificate: the old one is for l2-patch.tkc.svc, l2-patch.tkc",)
    assert authority.hosts_of(authority.read_bundle(found.secret[CERTIFICATE])[0]) == ["new.tkc.svc"]


def test_a_clock_that_was_ahead_is_mended() -> None:
    assert len(plan(plan(after=400 * DAY)).said) == 2


def test_a_long_name_still_makes_a_certificate() -> None:
    host = f"{'a' * 63}.{'b' * 63}.svc"
    found = plan(hosts=[host])
    assert authority.hosts_of(authority.read_bundle(found.secret[CERTIFICATE])[0]) == [host]


def test_another_controllers_secret_only_gives_its_authority() -> None:
    ours, theirs = plan(), plan()
    secret = {key: theirs.secret[key] for key in (CERTIFICATE, KEY, CA)}
    found = renewal.plan_issued(secret, ours.bundle, NOW)
    assert found == Plan(secret, theirs.bundle + ours.bundle)
    assert renewal.plan_issued(secret, found.bundle, NOW + DAY).bundle == theirs.bundle


@pytest.mark.parametrize("secret", [{}, {CA: plan().bundle}, {CERTIFICATE: plan().secret[CERTIFICATE]}])
def test_another_controller_may_be_late(secret: dict[str, bytes]) -> None:
    with pytest.raises(ValueError, match="it has no"):
        renewal.plan_issued(secret, b"", NOW)
