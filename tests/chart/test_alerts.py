"""The rules: PromQL that parses, about series that exist, of this release's own jobs; one alert is one runbook."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import promql_parser as promql
import pytest
from prometheus_client import CollectorRegistry
from prometheus_client.registry import Collector

from chart.cases import CASES, OBSERVED
from chart.helm import REPO, Helm, Json, Manifests, model
from tiered_kv_cache.keeper.config import Settings
from tiered_kv_cache.keeper.metrics import KeeperCollector
from tiered_kv_cache.keeper.state import State
from tiered_kv_cache.keeper.watch import Watch
from tiered_kv_cache.l2.metrics import Metrics as L2Metrics
from tiered_kv_cache.pool.board import Board
from tiered_kv_cache.pool.metrics import Metrics as PoolMetrics

RUNBOOKS = REPO / "docs" / "runbooks"
RECORDED = REPO / "tests" / "chart" / "recorded"
RECORDS = "tiered_kv_cache:"
TARGET = {"job", "namespace", "pod", "container", "endpoint", "instance", "tiered_kv_cache_io_model"}
"""Labels that Prometheus gives every series of a PodMonitor like ours."""
SECTIONS = ("## What it means", "## What users see", "## Where to look", "## What to do")


def _shown(collectors: list[Collector]) -> set[str]:
    """Names of the series of our own code, from the code."""
    names = set()
    for collector in collectors:
        for family in collector.collect():
            endings = {"counter": ["_total"], "histogram": ["_bucket", "_sum", "_count"]}.get(family.type, [""])
            names |= {family.name + ending for ending in endings}
    return names


def _registered(registry: CollectorRegistry) -> list[Collector]:
    class All(Collector):
        def collect(self) -> Any:
            return registry.collect()

    return [All()]


@cache
def series() -> dict[str, set[str]]:
    """Names that each component's endpoints show."""
    l2 = CollectorRegistry()
    L2Metrics(l2)
    keeper = KeeperCollector(State(Settings("/mnt"), Watch()))
    watch = PoolMetrics(Board(["retail"], 30))
    engines = {n for n in (RECORDED / "engine-metrics.txt").read_text().splitlines() if not n.startswith("#")}
    found = {"engine": engines | _shown(_registered(l2)), "keeper": _shown([keeper])}
    for line in (RECORDED / "curvine-metrics.txt").read_text().splitlines():
        if not line.startswith("#"):
            component, name = line.split()
            found.setdefault(component, set()).add(name)
    found["curvine-client"] |= _shown(_registered(watch.registry))
    return found


@pytest.fixture(scope="module")
def manifests(helm: Helm) -> Manifests:
    return helm.run("-f", "-", given=json.dumps(CASES["observed"]))


def rules(manifests: Manifests) -> list[Json]:
    (found,) = manifests.of("PrometheusRule")
    groups = found["spec"]["groups"]
    assert len({group["name"] for group in groups}) == len(groups)
    return [rule for group in groups for rule in group["rules"]]


def alerts(manifests: Manifests) -> list[Json]:
    return [rule for rule in rules(manifests) if "alert" in rule]


def selectors(expression: str) -> Iterator[promql.VectorSelector]:
    """All series that an expression reads."""
    found: list[promql.VectorSelector] = []

    def visit(node: promql.Expr) -> None:
        if isinstance(node, promql.MatrixSelector):
            found.append(node.vector_selector)
        elif isinstance(node, promql.VectorSelector):
            found.append(node)

    promql.walk(promql.parse(expression), visit)
    # A matrix selector's own selector is visited or not, by version.
    return iter({str(each): each for each in found}.values())


def labels(node: promql.Expr) -> set[str] | None:
    """Labels that a result has for sure; None: those of a target and of the metric itself."""
    if isinstance(node, promql.AggregateExpr):
        return set(node.modifier.labels) if node.modifier else set()
    if isinstance(node, promql.BinaryExpr):
        left = labels(node.lhs)
        return labels(node.rhs) if left is None and isinstance(node.lhs, promql.NumberLiteral) else left
    if isinstance(node, promql.ParenExpr):
        return labels(node.expr)
    return None


def test_every_expression_reads_series_that_exist(manifests: Manifests) -> None:
    components = {
        f"{monitor['metadata']['namespace']}/{monitor['metadata']['name']}": monitor["metadata"]["labels"]["app.kubernetes.io/component"]
        for monitor in manifests.of("PodMonitor")
    }  # fmt: skip
    recorded: set[str | None] = set()
    for rule in rules(manifests):
        for selector in selectors(rule["expr"]):
            matchers = {each.name: each for each in selector.matchers.matchers}
            if selector.name and selector.name.startswith(RECORDS):
                # Rules of a group run one after the other.
                assert selector.name in recorded
                assert matchers["tiered_kv_cache_release"].value == "demo"
                assert matchers["namespace"].value == "tiered-kv-cache"
                continue
            job = matchers["job"].value
            if selector.name == "up":
                assert set(job.split("|")) == components.keys()
                continue
            assert selector.name in series()[components[job]], f"{selector.name} is shown by no {components[job]}"
        recorded.add(rule.get("record"))


def test_every_part_has_an_alert(manifests: Manifests) -> None:
    read = {selector.name for rule in alerts(manifests) for selector in selectors(rule["expr"])}
    for component, names in series().items():
        assert read & names, component


def test_own_names_come_from_the_code() -> None:
    """What the other tests compare with must not be empty, or they could not fail."""
    assert {"tkc_l2_hits_total", "tkc_l2_breaker_open", "tkc_l2_seconds_bucket"} <= series()["engine"]
    assert {"tiered_kv_cache_keeper_leading", "tiered_kv_cache_keeper_removed_objects_total"} <= series()["keeper"]
    assert "tiered_kv_cache_pool_mount_up" in series()["curvine-client"]


def test_what_an_alert_says_can_be_filled_in(manifests: Manifests) -> None:
    for alert in alerts(manifests):
        text = " ".join(alert["annotations"].values())
        used = set(re.findall(r"\$labels\.(\w+)", text))
        own = labels(promql.parse(alert["expr"]))
        if own is None:
            # line_of_business is the one label of a metric that is named.
            assert used <= TARGET | {"line_of_business"}, alert["alert"]
        else:
            assert used <= own | alert["labels"].keys(), alert["alert"]
        assert not re.search(r"{{(?! \$(labels\.\w+|value)( \| humanize(1024|Duration|Percentage)?)? }})", text), text


def test_every_alert_is_whole(manifests: Manifests) -> None:
    names = [alert["alert"] for alert in alerts(manifests)]
    assert len(set(names)) == len(names)
    for alert in alerts(manifests):
        assert re.fullmatch(r"TieredKvCache[A-Z][A-Za-z0-9]+", alert["alert"])
        assert alert["labels"] == {"severity": alert["labels"]["severity"], "namespace": "tiered-kv-cache"}
        assert alert["labels"]["severity"] in ("warning", "critical")
        assert re.fullmatch(r"[0-9]+[sm]", alert["for"])
        assert alert["annotations"].keys() == {"summary", "description", "runbook_url"}
        assert alert["annotations"]["runbook_url"] == f"docs/runbooks/{alert['alert']}.md"


def test_one_alert_is_one_runbook(manifests: Manifests) -> None:
    assert {alert["alert"] for alert in alerts(manifests)} == {file.stem for file in RUNBOOKS.glob("*.md")}


@pytest.mark.parametrize("runbook", sorted(RUNBOOKS.glob("*.md")), ids=lambda file: str(file.stem))
def test_a_runbook_says_what_is_needed(manifests: Manifests, runbook: Any) -> None:
    text = runbook.read_text()
    assert text.startswith(f"# {runbook.stem}\n")
    places = [text.index(section) for section in SECTIONS]
    assert places == sorted(places)
    parts = re.split(r"^## .*\n", text, flags=re.M)[1:]
    assert all(len(part.split()) >= 8 for part in parts)
    (alert,) = [each for each in alerts(manifests) if each["alert"] == runbook.stem]
    # Metrics that it names exist; a label behind one is not looked at.
    named = set(re.findall(r"`((?:tkc_l2|tiered_kv_cache_(?:keeper|pool)|lmcache_mp|vllm:|curvine_fuse)[\w:]*)", text))
    known = set().union(*series().values())
    assert named <= known, named - known
    assert named or {selector.name for selector in selectors(alert["expr"])} & set(re.findall(r"`(\w+)", text))
    for target in re.findall(r"\]\(([^)#]+)", text):
        assert (runbook.parent / target).resolve().exists(), target


THRESHOLDS: list[tuple[str, Any, str, str]] = [
    ("poolWorkers", 4, "TieredKvCachePoolWorkersMissing", "< 4"),
    ("poolFree", 0.25, "TieredKvCachePoolAlmostFull", "< 0.25"),
    ("notServed", 0.2, "TieredKvCacheL2FoundNotServed", "> 0.2"),
    ("notServed", 0.2, "TieredKvCacheFoundNotLoaded", "> 0.2"),
    ("storesDropped", 0.3, "TieredKvCacheL2StoresDropped", "> 0.3"),
    ("keeperLagSeconds", 1000000, "TieredKvCacheKeeperLag", "> 1000000"),
]


@pytest.mark.parametrize(("key", "value", "name", "text"), THRESHOLDS)
def test_thresholds_reach_their_alerts(helm: Helm, key: str, value: Any, name: str, text: str) -> None:
    values = json.loads(json.dumps(CASES["observed"]))
    before = {alert["alert"]: alert["expr"] for alert in alerts(helm.run("-f", "-", given=json.dumps(values)))}
    values["observability"]["alerts"]["thresholds"] = {key: value}
    after = {alert["alert"]: alert["expr"] for alert in alerts(helm.run("-f", "-", given=json.dumps(values)))}
    assert re.search(rf"{re.escape(text)}(\n|$)", after[name])
    meant = {each for k, _, each, _ in THRESHOLDS if k == key}
    assert {each for each in after if after[each] != before[each]} == meant


def test_labels_and_place_of_the_runbooks(helm: Helm) -> None:
    alerting = {**OBSERVED["observability"]["alerts"], "runbooks": "https://git.example.com/docs/runbooks/"}
    values = {**OBSERVED, "observability": {**OBSERVED["observability"], "alerts": alerting}}
    manifests = helm.template(values)
    (found,) = manifests.of("PrometheusRule")
    assert found["metadata"]["labels"]["release"] == "monitoring"
    for alert in alerts(manifests):
        assert alert["annotations"]["runbook_url"] == f"https://git.example.com/docs/runbooks/{alert['alert']}.md"


@pytest.mark.parametrize(
    ("layer", "gone"),
    [
        ({}, "Pool"),
        ({"l2": {"keeper": {"enabled": False}}}, "Keeper"),
        ({"l2": {"enabled": False}}, "L2"),
        (model(cache={"l2": {"adapter": "fs"}}), "L2Breaker"),
        (model(cache={"l1": {"enabled": False}, "l2": {"enabled": False}}), "FoundNotLoaded"),
    ],
    ids=["no pool", "no keeper", "no L2", "another adapter", "no LMCache"],
)  # fmt: skip
def test_no_alert_for_what_is_not_there(helm: Helm, layer: Json, gone: str) -> None:
    names = [alert["alert"] for alert in alerts(helm.template(OBSERVED, layer))]
    assert names
    assert not [name for name in names if name.startswith(f"TieredKvCache{gone}")]


def test_the_page_of_all_runbooks_lists_every_alert_as_it_is(manifests: Manifests) -> None:
    page = (REPO / "docs" / "runbooks.md").read_text().splitlines()
    wanted = []
    for alert in alerts(manifests):
        name, severity, summary = alert["alert"], alert["labels"]["severity"], alert["annotations"]["summary"]
        wanted.append(f"| [{name}](runbooks/{name}.md) | {severity} | {alert['for']} | {summary} |")
    assert [line for line in page if line.startswith("| [")] == wanted
