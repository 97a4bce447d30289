"""From the chart before this one, under traffic: no request fails, and blocks are found again where the fingerprint is the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

import previous
from chart.helm import Manifests, environment
from local_cluster.helm import CHART, Helm

from .api import Api
from .conftest import MODEL
from .driver import Traffic, traffic
from .engines import Engines, prompt_of

RELEASE = "before"
OWN = ("--set", "lineOfBusiness=before")


@pytest.fixture(scope="module")
def before(helm: Helm) -> Iterator[Helm]:
    """A release of the chart before this one."""
    release = replace(helm, release=RELEASE, chart=previous.CHART)
    done = release.upgrade(*OWN, wait_s=600)
    assert done.ok, done.text
    yield release
    release.uninstall()


@pytest.fixture(scope="module")
def going(before: Helm, api: Api, images: dict[str, str]) -> Iterator[Traffic]:
    url = f"http://{before.release}-{MODEL}.{before.namespace}"
    with traffic(api, before.namespace, url, MODEL, images["hooks"]) as started:
        yield started


def _config(helm: Helm) -> dict[str, str]:
    """What the directory of a model's blocks is named by, as the release's chart renders it."""
    files = [word for path in helm.values for word in ("-f", str(path))]
    done = helm.call("template", helm.release, str(helm.chart), *files, *OWN)
    assert done.ok, done.text
    manifests = Manifests(done.out)
    return {
        name: value for name, value in environment(manifests.container("l2-root")).items() if name == "TKC_L2_CONFIG"
    }


def test_reused_values_are_refused_and_change_nothing(before: Helm, going: Traffic) -> None:
    done = replace(before, chart=CHART, values=()).upgrade("--reuse-values", wait_s=0)
    assert not done.ok
    assert "--reset-then-reuse-values" in done.text
    assert before.state() == "deployed"
    going.unharmed()


def test_upgrade_under_traffic(before: Helm, going: Traffic, api: Api) -> None:
    engines = Engines(api, before.namespace, before.release, MODEL)
    prompt = prompt_of("previous")
    cold = engines.fill(engines.pods()[0], prompt)
    now = replace(before, chart=CHART)
    # A chart that names the directory otherwise has to say so in the changelog, and here.
    assert _config(before) == _config(now)
    done = now.upgrade(*OWN, wait_s=600)
    assert done.ok, done.text
    for pod in engines.ready(2):
        warm, hits = engines.hits(pod, prompt)
        assert warm.text == cold.text
        assert hits.l2 + hits.l1 + hits.l0 >= cold.full_chunks
    going.unharmed()


def test_no_request_of_all_failed(going: Traffic) -> None:
    report = going.stop()
    assert report["failures"] == []
    assert report["sent"] > 0
