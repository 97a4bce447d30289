"""The L2 patch outlives whatever happens to an endpoint: not one Pod is created without it. Both mechanisms, both of LMCache's modes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

import pytest

from iec_operator.running import Operator
from local_cluster.helm import Helm
from local_cluster.providers.kind import Kind
from local_cluster.run import output

from ..api import Api, wait_for
from .endpoint import Endpoint
from .patched import Watched

Sleepers = list[str]
Lost = Callable[[str], AbstractContextManager[None]]


@pytest.fixture(scope="module", params=["policy", "webhook"])
def installed(
    request: pytest.FixtureRequest, light: Helm, operator: Operator, with_sleepers: Sleepers
) -> Iterator[Helm]:
    """A release with this mechanism, rendered by an operator of v3.2."""
    operator.run("3.2", *with_sleepers)
    done = light.upgrade("--set", f"inferenceOperator.l2Patch.mechanism={request.param}", wait_s=300)
    assert done.ok, done.text
    yield light
    light.uninstall()


@pytest.fixture(scope="module")
def watched(installed: Helm) -> Watched:
    return Watched(installed.kubeconfig, installed.namespace)


@pytest.fixture
def serving(watched: Watched, operator: Operator, with_sleepers: Sleepers, endpoint: Endpoint) -> Iterator[Endpoint]:
    """Two patched Pods of v3.2 before, and no unpatched Pod until the end."""
    operator.run("3.2", *with_sleepers)
    endpoint.ready(2)
    endpoint.deployed()
    yield endpoint
    watched.unharmed()


def test_an_edit_of_the_resource(serving: Endpoint) -> None:
    before = serving.uids()
    mode = {"name": "VLLM_LOGGING_LEVEL", "value": "DEBUG"}
    serving.edit({"worker": {"environmentVariables": [*serving.iec()["spec"]["worker"]["environmentVariables"], mode]}})
    serving.replaced(before)


def test_the_deployment_deleted(serving: Endpoint) -> None:
    before = serving.uids()
    serving.api.apps.delete_namespaced_deployment(serving.name, serving.namespace)
    serving.replaced(before)


def test_a_foreign_edit_of_the_deployment(serving: Endpoint) -> None:
    """What somebody who knows the walkthrough would do by hand: the operator reverts it, and Pods are patched before and after."""
    deployment = serving.api.apps.read_namespaced_deployment(serving.name, serving.namespace)
    change = {"spec": {"template": {"metadata": {"annotations": {"by-hand": "1"}}}}}
    serving.api.apps.patch_namespaced_deployment(serving.name, serving.namespace, change)

    def reverted() -> bool:
        now = serving.api.apps.read_namespaced_deployment(serving.name, serving.namespace)
        return bool(now.spec == deployment.spec)

    wait_for("reverted", reverted)
    serving.ready(2)
    serving.deployed()


def test_the_operator_restarted(serving: Endpoint, operator: Operator) -> None:
    operator.stop()
    serving.api.apps.delete_namespaced_deployment(serving.name, serving.namespace)
    wait_for("no Pods", lambda: not serving.pods(), 120)
    operator.start()
    serving.ready(2)
    serving.deployed()


def test_the_operator_upgraded(serving: Endpoint, operator: Operator, with_sleepers: Sleepers) -> None:
    """Within the in-process mode, to the multi-process one, and back."""
    for version in ("3.3", "3.7", "3.2"):
        before = serving.uids()
        operator.run(version, *with_sleepers)
        serving.replaced(before)
        serving.deployed()


def test_operators_that_hand_on_the_users_variables_otherwise(
    serving: Endpoint, operator: Operator, with_sleepers: Sleepers
) -> None:
    for variant in ("--duplicate-env", "--strip-lmcache"):
        before = serving.uids()
        operator.run("3.2", *with_sleepers, variant)
        serving.edit({"worker": {"workingDir": f"/tmp/.{variant}"}})
        serving.replaced(before)
    serving.edit({"worker": {"workingDir": None}})


def test_scale_out(serving: Endpoint) -> None:
    serving.edit({"replicas": 4})
    serving.ready(4)
    serving.edit({"replicas": 2})
    serving.ready(2)


def test_a_node_lost(serving: Endpoint, lost: Lost) -> None:
    before = serving.pods()
    node = before[0].spec.node_name
    there = {each.metadata.uid for each in before if each.spec.node_name == node}
    with lost(node):
        wait_for("Pods elsewhere", lambda: not there & serving.uids(), 300)
        serving.ready(2)
        assert all(each.spec.node_name != node for each in serving.pods())
    serving.ready(2)


@pytest.fixture
def lost(api: Api) -> Lost:
    """A node as if its power were cut: its kubelet stops, and an administrator says so."""
    kind = Kind()

    def systemctl(node: str, verb: str) -> None:
        output(kind.engine.words("exec", node, "systemctl", verb, "kubelet"), env=kind.engine.env)

    def ready(node: str) -> bool:
        conditions = {each.type: each.status for each in api.core.read_node(node).status.conditions}
        return bool(conditions["Ready"] == "True")

    @contextmanager
    def away(node: str) -> Iterator[None]:
        taint = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}
        systemctl(node, "stop")
        try:
            wait_for(f"{node} lost", lambda: not ready(node), 180)
            api.core.patch_node(node, {"spec": {"taints": [taint]}})
            yield
        finally:
            api.core.patch_node(node, {"spec": {"taints": None}})
            systemctl(node, "start")
            wait_for(f"{node} back", lambda: ready(node), 180)

    return away
