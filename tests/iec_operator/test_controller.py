"""What the emulated operator does on a real API server: its renderings outlive whatever is done to them."""

from __future__ import annotations

from emulators.operator.names import SYSTEM
from unit.emulators.iecs import variables, worker

from .conftest import example
from .running import SMALL, Endpoint, Operator


def test_an_iec_becomes_an_endpoint(complete: Endpoint, version: str) -> None:
    assert len(complete.pods()) == 2
    (servers,) = {len(pod["spec"]["containers"]) for pod in complete.pods()}
    assert servers == (3 if version == "3.2" else 4)
    assert all(pod["metadata"]["labels"]["deploying-service"] == "hyperpod-inference" for pod in complete.pods())
    status = complete.iec()["status"]
    assert (status["replicas"], status["selector"]) == (2, "app=qwen")
    assert complete.found(f"/api/v1/namespaces/{complete.namespace}/services/qwen-routing-service")
    service = complete.found(f"/api/v1/namespaces/{SYSTEM}/services/qwen-{complete.namespace}-routing-service")
    assert service
    complete.until(
        "the router's Pod", lambda: (complete.found(complete.router_path) or {}).get("status", {}).get("readyReplicas")
    )


def test_an_edit_of_the_iec_is_rendered(complete: Endpoint) -> None:
    before = {pod["metadata"]["uid"] for pod in complete.pods()}
    complete.edit({"worker": {"args": ["--model", "/opt/ml/model", "--max-model-len", "8192"]}})
    complete.until("the new argument", lambda: "8192" in complete.containers()[0]["args"])
    complete.until("new Pods only", lambda: not before & {pod["metadata"]["uid"] for pod in complete.pods()})
    complete.complete()


def test_an_iec_that_says_the_same_is_no_change(complete: Endpoint) -> None:
    deployment = complete.deployment()
    assert deployment
    complete.edit({"tags": [{"name": "a", "value": "b"}]})
    generation = complete.iec()["metadata"]["generation"]
    complete.until("the edit was seen", lambda: complete.iec()["status"]["observedGeneration"] == generation)
    after = complete.deployment()
    assert after
    assert after["metadata"]["generation"] == deployment["metadata"]["generation"]


def test_a_deleted_deployment_comes_back(complete: Endpoint) -> None:
    deployment = complete.deployment()
    assert deployment
    complete.api.delete(complete.deployment_path)
    complete.until(
        "another one",
        lambda: (complete.deployment() or deployment)["metadata"]["uid"] != deployment["metadata"]["uid"],
    )
    complete.complete()


def test_foreign_edits_are_reverted(complete: Endpoint) -> None:
    """Of what the operator set, of lists that grew, and of the labels by which it knows its own."""
    before = complete.deployment()
    assert before
    containers = [{**complete.containers()[0], "env": variables(LMCACHE_REMOTE_URL="fs://localhost:0/mine/")}]
    edits = (
        {"spec": {"template": {"spec": {"containers": containers}}}},
        {"spec": {"template": {"spec": {"volumes": [*before["spec"]["template"]["spec"]["volumes"], {"name": "mine", "emptyDir": {}}]}}}},
        {"spec": {"template": {"metadata": {"annotations": {"mine": "1"}}}}},
        {"spec": {"replicas": 5}},
        {"metadata": {"labels": dict.fromkeys(before["metadata"]["labels"])}},
    )  # fmt: skip

    def as_before() -> bool:
        now = complete.deployment()
        assert now
        return bool(now["spec"] == before["spec"] and now["metadata"].get("labels") == before["metadata"]["labels"])

    for edit in edits:
        complete.api.patch(complete.deployment_path, edit)
        complete.until(f"reverted: {edit}", as_before)
    complete.complete()


def test_a_routers_edit_is_reverted(complete: Endpoint) -> None:
    complete.api.patch(complete.router_path, {"spec": {"replicas": 4}})
    complete.until("reverted", lambda: complete.api.get(complete.router_path)["spec"]["replicas"] == 1)


def test_the_scale_subresource_scales(complete: Endpoint) -> None:
    complete.api.patch(f"{complete.path}/qwen/scale", {"spec": {"replicas": 4}})
    complete.until("four Pods", lambda: len(complete.pods()) == 4)
    complete.until(
        "known to the scale", lambda: complete.api.get(f"{complete.path}/qwen/scale")["status"].get("replicas") == 4
    )
    complete.edit({"replicas": 1})
    complete.until("one Pod", lambda: len(complete.pods()) == 1)


def test_all_ends_with_the_iec(complete: Endpoint) -> None:
    complete.delete()
    complete.until("no Deployment", lambda: complete.deployment() is None)
    complete.until("no Pods", lambda: not complete.pods())
    complete.until("no router", lambda: complete.found(complete.router_path) is None)
    for kind, name in (
        ("services", f"qwen-{complete.namespace}-routing-service"),
        ("serviceaccounts", f"qwen-{complete.namespace}-router"),
    ):
        complete.until(
            f"no {kind}", lambda k=kind, n=name: complete.found(f"/api/v1/namespaces/{SYSTEM}/{k}/{n}") is None
        )


def test_what_happened_while_it_was_away_is_made_good(complete: Endpoint, operator: Operator) -> None:
    before = complete.deployment()
    assert before
    operator.stop()
    complete.api.patch(complete.deployment_path, {"spec": {"template": {"metadata": {"annotations": {"mine": "1"}}}}})
    complete.api.delete(complete.router_path)
    complete.edit({"replicas": 3})
    operator.start()
    complete.until("the router is back", lambda: complete.found(complete.router_path))
    complete.until("three replicas", lambda: (complete.deployment() or before)["spec"]["replicas"] == 3)
    now = complete.deployment()
    assert now
    assert now["spec"]["template"] == before["spec"]["template"]


def test_an_iec_that_went_while_it_was_away_leaves_nothing(complete: Endpoint, operator: Operator) -> None:
    operator.stop()
    complete.delete()
    operator.start()
    complete.until("no router", lambda: complete.found(complete.router_path) is None)
    complete.until("no Deployment", lambda: complete.deployment() is None)


def test_an_upgrade_renders_anew(running: Operator, endpoint: Endpoint) -> None:
    running.run("3.2")
    endpoint.create(example())
    endpoint.complete()
    before = {pod["metadata"]["uid"] for pod in endpoint.pods()}
    for version, count in (("3.3", 3), ("3.7", 4)):
        running.run(version)
        endpoint.until("new Pods only", lambda: not before & {pod["metadata"]["uid"] for pod in endpoint.pods()})  # noqa: B023
        endpoint.complete()
        assert {len(pod["spec"]["containers"]) for pod in endpoint.pods()} == {count}
        before = {pod["metadata"]["uid"] for pod in endpoint.pods()}


def test_a_refused_iec_says_why_and_can_be_mended(running: Operator, endpoint: Endpoint) -> None:
    running.run("3.2")
    endpoint.create(example(modelSourceConfig={"modelSourceType": "kubernetesVolume"}))
    endpoint.until("refused", lambda: endpoint.state() == "DeploymentFailed")
    (condition,) = endpoint.iec()["status"]["conditions"]
    assert condition["reason"] == "KubernetesVolumeValidationFailed"
    assert endpoint.deployment() is None
    endpoint.edit({"kubernetes": {"volumes": [{"name": "model-weights", "emptyDir": {}}]}})
    endpoint.complete()


def test_duplicates_reach_the_pods(running: Operator, endpoint: Endpoint) -> None:
    running.run("3.2", "--duplicate-env")
    given = worker(environmentVariables=variables(LMCACHE_REMOTE_URL="redis://mine"), resources=SMALL)
    endpoint.create(example(worker=given))
    endpoint.complete()
    urls = ["sagemaker-hyperpod://$(NODE_IP):9200", "redis://mine"]
    assert endpoint.value("LMCACHE_REMOTE_URL") == urls
    for pod in endpoint.pods():
        env = next(each["env"] for each in pod["spec"]["containers"] if each["name"] == "qwen")
        assert [each["value"] for each in env if each["name"] == "LMCACHE_REMOTE_URL"] == urls


def test_stripped_variables_reach_no_pod(running: Operator, endpoint: Endpoint) -> None:
    running.run("3.2", "--strip-lmcache")
    endpoint.create(example())
    endpoint.complete()
    assert not endpoint.value("LMCACHE_REMOTE_SERDE")


def test_a_native_sidecar_is_accepted(running: Operator, endpoint: Endpoint) -> None:
    running.run("3.7", "--native-sidecar")
    endpoint.create(example())
    endpoint.until("Pods", lambda: len(endpoint.pods()) == 2)
    assert all(pod["spec"]["initContainers"][-1]["restartPolicy"] == "Always" for pod in endpoint.pods())
