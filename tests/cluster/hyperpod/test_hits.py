"""Real vLLM and LMCache behind an emulated endpoint: what one Pod computed, the other reads from L2. Proven by counters."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from emulators.operator.names import SYSTEM
from iec_operator.running import Operator
from local_cluster.helm import Helm

from ..api import Api
from ..conftest import MODEL
from ..engines import prompt_of
from ..test_apart import shares_within
from .endpoint import Endpoint
from .patched import Watched


@pytest.fixture(scope="module")
def served(hyperpod: Helm, operator: Operator, with_engines: list[str], api: Api) -> Iterator[Endpoint]:
    """The endpoint with two real engines in multi-process mode."""
    operator.run("3.7", *with_engines)
    done = hyperpod.upgrade(wait_s=300)
    assert done.ok, done.text
    endpoint = Endpoint(api, hyperpod.namespace, hyperpod.release, MODEL)
    endpoint.ready(2, timeout_s=600)
    endpoint.deployed()
    yield endpoint
    hyperpod.uninstall()


def test_every_pod_is_patched(served: Endpoint, hyperpod: Helm) -> None:
    watched = Watched(hyperpod.kubeconfig, hyperpod.namespace)
    watched.unharmed()
    assert len(watched.seen) == 2


def test_the_second_pod_reads_what_the_first_computed(served: Endpoint) -> None:
    shares_within(served, prompt_of("hyperpod"))


@pytest.mark.parametrize("router", [True, False], ids=["router", "service"])
def test_clients_reach_it(served: Endpoint, api: Api, router: bool) -> None:
    """Through the router's Service in the operator's namespace, and through the endpoint's own."""
    namespace = SYSTEM if router else served.namespace
    name, port = (f"{served.name}-{served.namespace}", 8081) if router else (served.name, 443)
    url = f"/api/v1/namespaces/{namespace}/services/{name}-routing-service:{port}/proxy/v1/completions"
    body = {"model": MODEL, "prompt": "one two three", "max_tokens": 4, "temperature": 0}
    assert api.request("POST", url, json=body).json()["usage"]["completion_tokens"] == 4
