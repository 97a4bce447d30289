"""What only the webhook can get wrong: away, slow to learn, or with another certificate."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from scheduling.api import Api, Json
from scheduling.controlplane import ControlPlane
from tiered_kv_cache.patch import renewal
from tiered_kv_cache.patch.certificate import hosts
from tiered_kv_cache.patch.kube import decoded, encoded

from .apiserver import SYSTEM
from .cases import CASES
from .conftest import LISTED, PARAMETERS
from .judge import attempt, faults
from .steady import Steady
from .webhook import CONFIGURATIONS, NAME, SECRET, SERVICE, Server, certificate, configuration

pytestmark = pytest.mark.parametrize("mechanism", ["webhook"], indirect=True)
PLAIN = next(case for case in CASES if case.name == "plain")
STRANGER = next(case for case in CASES if case.name == "other-workload")
SECRETS = f"/api/v1/namespaces/{SYSTEM}/secrets"
MOUNT_SECONDS = 0.5
"""A kubelet takes a minute for it; what matters is that it comes later than everything else."""


def _until(condition: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def test_away_it_lets_no_worker_in_and_back_it_needs_nobody(mechanism: Server, plane: ControlPlane) -> None:
    assert mechanism.stop() == 0
    try:
        for _ in range(3):
            tried = attempt(plane.api, PLAIN.place, PLAIN.pod)
            assert tried.pod is None
            assert f'failed calling webhook "{NAME}"' in tried.message
        assert faults(plane.api, STRANGER) == []
    finally:
        mechanism.start()
    _until(lambda: attempt(plane.api, PLAIN.place, PLAIN.pod).pod is not None, "Pods are still refused")
    assert faults(plane.api, PLAIN) == []


def test_leaving_it_answers_until_its_end(mechanism: Server, plane: ControlPlane) -> None:
    with Steady(plane.api, PLAIN) as steady:
        steady.more(3)
        mechanism.ask_to_leave()
        _until(lambda: not mechanism.ready(), "still ready")
        steady.more(3)
        assert steady.faults == []
    assert mechanism.stop() == 0
    mechanism.start()


def test_a_revision_that_it_does_not_know_yet_is_refused(mechanism: Server, plane: ControlPlane) -> None:
    bundle = _bundle(plane.api)
    mechanism.parameters({**PARAMETERS, "revision": "old"})
    plane.api.apply(configuration(mechanism.port, bundle, LISTED, revision="new"))
    try:
        _until(lambda: attempt(plane.api, PLAIN.place, PLAIN.pod).pod is None, "the old revision is good enough")
        message = attempt(plane.api, PLAIN.place, PLAIN.pod).message
        assert "tiered-kv-cache L2 patch: the parameter object is of revision 'old'" in message
        assert faults(plane.api, STRANGER) == []
        mechanism.parameters({**PARAMETERS, "revision": "new"})
        assert faults(plane.api, PLAIN) == []
    finally:
        plane.api.apply(configuration(mechanism.port, bundle, LISTED))
        mechanism.parameters(PARAMETERS)
    _until(lambda: faults(plane.api, PLAIN) == [], "the configuration is not back")


@pytest.fixture
def no_secret(plane: ControlPlane) -> Iterator[None]:
    yield
    plane.api.delete(f"{SECRETS}/{SECRET}")


@pytest.mark.usefixtures("no_secret")
def test_certificates_change_without_a_gap(mechanism: Server, plane: ControlPlane) -> None:
    """First run, no change, Secret deleted by hand, certificate due, authority due: a Pod is tried all the time."""
    api = plane.api
    running = mechanism.pid
    seen = [mechanism.shown()]
    with Steady(api, PLAIN) as steady:
        for step in (lambda: None, lambda: api.delete(f"{SECRETS}/{SECRET}"), _age(api, 300), _age(api, 2600)):
            step()
            done = certificate(plane.kubeconfig)
            assert done.returncode == 0, done.stderr
            steady.more(3)
            time.sleep(MOUNT_SECONDS)
            mechanism.certificate(decoded(api.get(f"{SECRETS}/{SECRET}")))
            steady.more(3)
            seen.append(mechanism.shown())
            _again_changes_nothing(plane)
    assert steady.faults == []
    assert mechanism.pid == running
    assert len({each.serial_number for each in seen}) == len(seen), "a new certificate was not taken"
    assert len({each.issuer for each in seen}) == 1
    secret = decoded(api.get(f"{SECRETS}/{SECRET}"))
    assert seen[-1] == x509.load_pem_x509_certificate(secret["tls.crt"])
    assert mechanism.page("/metrics").text.count("certificate_end_timestamp_seconds 1.") == 1


def _age(api: Api, days: int) -> Callable[[], None]:
    """Makes Secret and caBundle such as they are so long after they were made: of the authority too, where it is years."""

    def act() -> None:
        before = decoded(api.get(f"{SECRETS}/{SECRET}"))
        kept = {} if days > 365 else {key: before[key] for key in ("ca.crt", "ca.key")}
        aged = renewal.plan(kept, b"", hosts(SERVICE, SYSTEM), datetime.now(UTC) - timedelta(days=days))
        # What the server shows stays trusted: it is what this test cannot age.
        _write(api, aged, before["ca.crt"])

    return act


def _write(api: Api, plan: renewal.Plan, trusted: bytes) -> None:
    texts = {key: encoded(content) for key, content in plan.secret.items()}
    api.patch(f"{SECRETS}/{SECRET}", {"data": texts})
    found = api.get(f"{CONFIGURATIONS}/{NAME}")
    found["webhooks"][0]["clientConfig"]["caBundle"] = encoded(plan.bundle + trusted)
    api.patch(f"{CONFIGURATIONS}/{NAME}", {"webhooks": found["webhooks"]})


def _again_changes_nothing(plane: ControlPlane) -> None:
    paths = (f"{SECRETS}/{SECRET}", f"{CONFIGURATIONS}/{NAME}")
    before = [_version(plane.api.get(path)) for path in paths]
    done = certificate(plane.kubeconfig)
    assert (done.returncode, done.stdout) == (0, "")
    assert [_version(plane.api.get(path)) for path in paths] == before


def _version(found: Json) -> str:
    return str(found["metadata"]["resourceVersion"])


def _bundle(api: Api) -> bytes:
    found = api.get(f"{CONFIGURATIONS}/{NAME}")
    return decoded({"data": {"ca": found["webhooks"][0]["clientConfig"]["caBundle"]}})["ca"]
