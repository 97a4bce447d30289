"""What the tests ask the API server, and the service through its proxy."""

from __future__ import annotations

import copy
import json
import ssl
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
from kubernetes import client
from kubernetes.client.exceptions import ApiException
from kubernetes.stream import stream

from local_cluster import kube
from tiered_kv_cache.pods import Pod
from tiered_kv_cache.portforward import PortForward, kubernetes_dial

PodTemplate = dict[str, Any]


def wait_for(what: str, condition: Callable[[], object], timeout_s: float = 60.0) -> None:
    """Poll once a second until the condition is true.

    Raises:
        AssertionError: it never was within `timeout_s` seconds; names `what`.
    """
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {timeout_s:.0f} s"
        time.sleep(1)


class Api:
    """One cluster.

    Args:
        kubeconfig: its kubeconfig.
    """

    def __init__(self, kubeconfig: Path) -> None:
        self.client = kube.api(kubeconfig)
        self.core = client.CoreV1Api(self.client)
        self.apps = client.AppsV1Api(self.client)
        settings = self.client.configuration
        tls = ssl.create_default_context(cafile=settings.ssl_ca_cert)
        tls.load_cert_chain(settings.cert_file, settings.key_file)
        self.http = httpx.Client(base_url=settings.host, verify=tls, timeout=120)
        self._kubeconfig = kubeconfig
        dial, one = kubernetes_dial(self._stream_client()), threading.Lock()

        def dial_one(namespace: str, pod: str, port: int) -> Any:
            # While a stream is opened, the client library sends all requests of that client there.
            with one:
                return dial(namespace, pod, port)

        self._forward = PortForward(dial_one)

    def _stream_client(self) -> client.CoreV1Api:
        return client.CoreV1Api(kube.api(self._kubeconfig))

    def namespace_exists(self, namespace: str) -> bool:
        try:
            self.core.read_namespace(namespace)
        except ApiException as error:
            if error.status == 404:
                return False
            raise
        return True

    def wait_namespace_gone(self, namespace: str) -> None:
        wait_for(f"namespace {namespace} gone", lambda: not self.namespace_exists(namespace), 300)

    def engine_pods(self, namespace: str, release: str) -> list[client.V1Pod]:
        selector = f"app.kubernetes.io/instance={release},app.kubernetes.io/component=engine"
        pods = self.core.list_namespaced_pod(namespace, label_selector=selector).items
        return [pod for pod in pods if not pod.metadata.deletion_timestamp]

    def verify_result(self, namespace: str, release: str) -> dict[str, Any]:
        """The JSON that the verify Pod of the last `helm test` left behind."""
        status = self.core.read_namespaced_pod(f"{release}-verify", namespace).status
        return dict(json.loads(status.container_statuses[0].state.terminated.message))

    def request(self, method: str, path: str, **more: Any) -> httpx.Response:
        """A request to the API server as the kubeconfig's user.

        Raises:
            httpx.HTTPStatusError: the answer is an error.
        """
        answer = self.http.request(method, path, **more)
        if answer.is_error:
            raise httpx.HTTPStatusError(f"{answer.status_code}: {answer.text}", request=answer.request, response=answer)
        return answer

    def post(self, namespace: str, service: str, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """POST JSON to a Service through the API server's proxy."""
        url = f"/api/v1/namespaces/{namespace}/services/{service}:80/proxy{path}"
        return dict(self.request("POST", url, json=body).json())

    def pod_text(self, pod: client.V1Pod, port: int, path: str) -> str:
        """GET a Pod's port from inside its network namespace, where no NetworkPolicy stands in the way."""
        return httpx.get(self.url(pod, port) + path, timeout=120).raise_for_status().text

    def url(self, pod: client.V1Pod, port: int) -> str:
        """A loopback address that leads into the Pod, past every NetworkPolicy."""
        return self._forward.url(Pod.parse(self.client.sanitize_for_serialization(pod)), port)

    def run(self, namespace: str, pod: str, container: str, command: list[str]) -> str:
        """Run a program in a container; what it printed, both streams.

        Raises:
            AssertionError: it failed.
        """
        opened = stream(
            self._stream_client().connect_get_namespaced_pod_exec, pod, namespace, container=container, command=command,
            stdout=True, stderr=True, stdin=False, tty=False, _preload_content=False,
        )  # fmt: skip
        opened.run_forever(timeout=60)
        code = opened.returncode  # before read_all, which throws away what it is read from
        printed = str(opened.read_all())
        assert code == 0, f"{command} in {pod}/{container}: {code}: {printed}"
        return printed

    def proxy(self, pod: client.V1Pod, port: int, path: str) -> httpx.Response:
        """GET a Pod's port from the API server's address, as any stranger on the Pod network would."""
        url = f"/api/v1/namespaces/{pod.metadata.namespace}/pods/{pod.metadata.name}:{port}/proxy{path}"
        return self.request("GET", url)

    def l2_root(self, pod: client.V1Pod) -> dict[str, Any]:
        """What the Pod's l2-root container found: the root, its fingerprint, the weights' identity."""
        (state,) = [s.state for s in pod.status.init_container_statuses if s.name == "l2-root"]
        return dict(json.loads(state.terminated.message))

    def engine_template(self, namespace: str, release: str) -> PodTemplate:
        """The engine Deployment's Pod template as plain JSON."""
        selector = f"app.kubernetes.io/instance={release},app.kubernetes.io/component=engine"
        (deployment,) = self.apps.list_namespaced_deployment(namespace, label_selector=selector).items
        return dict(self.client.sanitize_for_serialization(deployment.spec.template))

    def stray_pod(self, namespace: str, name: str, template: PodTemplate) -> None:
        """A Pod of its own that looks like one of the release's: what a half-done change leaves behind."""
        body = copy.deepcopy(template)
        body["metadata"]["name"] = name
        self.core.create_namespaced_pod(namespace, body)

    def remove_pod(self, namespace: str, name: str) -> None:
        self.core.delete_namespaced_pod(name, namespace, grace_period_seconds=0)
        wait_for(f"Pod {name} gone", lambda: name not in self._pod_names(namespace), 60)

    def _pod_names(self, namespace: str) -> set[str]:
        return {pod.metadata.name for pod in self.core.list_namespaced_pod(namespace).items}
