"""Each alert in Prometheus' own rule engine: it fires in its trouble, after its time, with its text; and not without it."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from promrules import Observed, PromRules


@dataclass(frozen=True)
class Trouble:
    """What one alert is about.

    ``component``: whose job shows the series. ``bad``, ``good``: metric (with labels) to values (30 s apart) in trouble and without.
    ``early``: minutes after which it is not firing yet, ``minutes``: it is. ``says``: words of its text, filled in.
    """

    component: str
    bad: dict[str, str]
    good: dict[str, str]
    minutes: float
    early: float
    says: tuple[str, ...] = ()
    same: dict[str, str] = field(default_factory=dict)


TROUBLES: dict[str, Trouble] = {
    "TieredKvCacheTargetDown": Trouble(
        "engine",
        {'up{endpoint="http"}': "0x60"},
        {'up{endpoint="http"}': "1x60"},
        25,
        15,
        ("pod-1", "endpoint http"),
    ),
    "TieredKvCacheL2BreakerOpen": Trouble(
        "engine",
        {'tkc_l2_breaker_open{breaker="load"}': "1x60"},
        {'tkc_l2_breaker_open{breaker="load"}': "0x60"},
        6,
        4,
        ("load breaker", "pod-1"),
    ),
    # While everything goes wrong the counter of what went well is not there at all.
    "TieredKvCacheL2StoresDropped": Trouble(
        "engine",
        {"tkc_l2_store_drops_total": "0+10x60"},
        {"tkc_l2_store_drops_total": "0+1x60", "tkc_l2_stores_total": "0+99x60"},
        15,
        8,
        ("drops 100%",),
    ),
    "TieredKvCacheL2FoundNotServed": Trouble(
        "engine",
        {
            'lmcache_mp_l2_prefetch_failure_chunks_total{reason="not_found"}': "0+1x60",
            "lmcache_mp_l2_prefetch_load_completed_chunks_total": "0+9x60",
        },
        {
            'lmcache_mp_l2_prefetch_failure_chunks_total{reason="l1_contended"}': "0+9x60",
            "lmcache_mp_l2_prefetch_load_completed_chunks_total": "0+9x60",
        },
        15,
        8,
        ("could not load 10%",),
    ),
    "TieredKvCacheFoundNotLoaded": Trouble(
        "engine",
        {
            "vllm:external_prefix_cache_hits_total": "0+256x60",
            'vllm:prompt_tokens_by_source_total{source="external_kv_transfer"}': "0+192x60",
        },
        {
            "vllm:external_prefix_cache_hits_total": "0+256x60",
            'vllm:prompt_tokens_by_source_total{source="external_kv_transfer"}': "0+256x60",
            'lmcache_mp_l1_read_failure_chunks_total{during="prefetch"}': "0+1x60",
        },
        20,
        12,
        ("pod-1",),
    ),
    # The other one's series are those of a Pod that waits for the lease.
    "TieredKvCacheKeeperNotRunning": Trouble(
        "keeper", {}, {"tiered_kv_cache_keeper_leading": "1x60"}, 11, 8, ("claim",)
    ),
    "TieredKvCacheKeeperOverQuota": Trouble(
        "keeper",
        {'tiered_kv_cache_keeper_scope_used_bytes{scope="retail"}': "2147483648x60"},
        {'tiered_kv_cache_keeper_scope_used_bytes{scope="retail"}': "1000x60"},
        16,
        12,
        ("retail uses 2GiB",),
        {'tiered_kv_cache_keeper_scope_quota_bytes{scope="retail"}': "1073741824x60"},
    ),
    "TieredKvCacheKeeperUnreadableFiles": Trouble(
        "keeper",
        {"tiered_kv_cache_keeper_ghosts_kept": "3x80"},
        {"tiered_kv_cache_keeper_ghosts_kept": "0x80"},
        31,
        28,
        ("3 files",),
    ),
    "TieredKvCacheKeeperStuck": Trouble(
        "keeper",
        {"tiered_kv_cache_keeper_stuck_seconds": "0+30x60"},
        {"tiered_kv_cache_keeper_stuck_seconds": "0x60"},
        5,
        0.5,
        ("waits for 5m",),
    ),
    # A Pod that waits for the lease is behind as well, and must not count.
    "TieredKvCacheKeeperLag": Trouble(
        "keeper",
        {"tiered_kv_cache_keeper_snapshot_age_seconds": "301x60", "tiered_kv_cache_keeper_leading": "1x60"},
        {"tiered_kv_cache_keeper_snapshot_age_seconds": "301x60", "tiered_kv_cache_keeper_leading": "0x60"},
        6,
        4,
        ("5m 1s",),
    ),
    "TieredKvCachePoolWorkersMissing": Trouble(
        "curvine-masters",
        {'worker_num{tag="live"}': "3x10 2x60"},
        {'worker_num{tag="live"}': "3x70"},
        12,
        8,
        ("has 2 live workers",),
    ),
    "TieredKvCachePoolAlmostFull": Trouble(
        "curvine-masters",
        {"available": "5x60"},
        {"available": "50x60"},
        11,
        8,
        ("has 5% of its space",),
        {"capacity": "100x60"},
    ),
    "TieredKvCachePoolLeaderChanges": Trouble(
        "curvine-masters", {"journal_term": "1+1x60"}, {"journal_term": "1x20 2x60"}, 3, 1, ("elections",)
    ),
    "TieredKvCachePoolDiskFailed": Trouble(
        "curvine-workers", {"failed_disks": "1x60"}, {"failed_disks": "0x60"}, 3, 1, ("pod-1",)
    ),
    "TieredKvCachePoolMountErrors": Trouble(
        "curvine-client",
        {'curvine_fuse_errors_total{errno="EIO"}': "0+30x60"},
        {'curvine_fuse_errors_total{errno="ENOENT"}': "0+30x60"},
        15,
        8,
        ("gives EIO 1 times",),
    ),
    "TieredKvCachePoolMountSessionLost": Trouble(
        "curvine-client", {"curvine_fuse_kernel_fd_health": "0x60"}, {"curvine_fuse_kernel_fd_health": "1x60"}, 3, 1
    ),
    "TieredKvCachePoolMountDown": Trouble(
        "curvine-client",
        {'tiered_kv_cache_pool_mount_up{line_of_business="retail"}': "0x60"},
        {'tiered_kv_cache_pool_mount_up{line_of_business="retail"}': "1x60"},
        4,
        2,
        ("line of business retail",),
    ),
}


def scraped(observed: Observed, trouble: Trouble, values: dict[str, str]) -> list[tuple[str, str]]:
    return observed.scraped(trouble.component, {**values, **trouble.same})


def states(observed: Observed, prometheus: PromRules, name: str, values: dict[str, str], minutes: float) -> list[str]:
    alerts, _ = prometheus.ask(observed.spec, scraped(observed, TROUBLES[name], values), minutes)
    return [alert.state for alert in alerts if alert.name == name]


def test_each_alert_has_a_case(observed: Observed) -> None:
    assert {rule["alert"] for group in observed.spec["groups"] for rule in group["rules"] if "alert" in rule} == set(
        TROUBLES
    )


@pytest.mark.parametrize("name", TROUBLES)
def test_it_fires_in_its_trouble_and_says_so(observed: Observed, prometheus: PromRules, name: str) -> None:
    trouble = TROUBLES[name]
    alerts, _ = prometheus.ask(observed.spec, scraped(observed, trouble, trouble.bad), trouble.minutes)
    (alert,) = [alert for alert in alerts if alert.name == name and alert.state == "firing"]
    assert all(words in alert.text for words in trouble.says), alert.text
    assert "<no value>" not in alert.text
    assert "error expanding" not in alert.text
    assert alert.labels["namespace"] == "tiered-kv-cache"


@pytest.mark.parametrize("name", TROUBLES)
def test_not_before_its_time(observed: Observed, prometheus: PromRules, name: str) -> None:
    trouble = TROUBLES[name]
    assert "firing" not in states(observed, prometheus, name, trouble.bad, trouble.early)


@pytest.mark.parametrize("name", TROUBLES)
def test_not_without_trouble(observed: Observed, prometheus: PromRules, name: str) -> None:
    trouble = TROUBLES[name]
    assert states(observed, prometheus, name, trouble.good, trouble.minutes) == []


def test_another_releases_trouble_is_not_ours(observed: Observed, prometheus: PromRules) -> None:
    series = [
        (name.replace('job="tiered-kv-cache/', 'job="other/'), values)
        for trouble in TROUBLES.values()
        for name, values in scraped(observed, trouble, trouble.bad)
    ]
    alerts, _ = prometheus.ask(observed.spec, dict(series).items(), 25)
    # Nothing at all of ours is scraped there, the keeper neither.
    assert {alert.name for alert in alerts} == {"TieredKvCacheKeeperNotRunning"}
