"""AWS's definitions, the emulated operator as a process, and a release on platform hyperpod, on the local cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kubernetes import client
from kubernetes.client.exceptions import ApiException

from emulators.operator.definitions import definitions
from emulators.operator.names import GROUP, PLURAL, SYSTEM
from iec_operator.running import Operator
from local_cluster.helm import Helm

from ..api import Api, wait_for
from ..conftest import MODEL, VALUES, fresh_namespace
from .endpoint import Endpoint
from .machines import engines, sleepers

NAMESPACE = "tkc-hyperpod"
RELEASE = "hyper"
HYPERPOD = VALUES.parent / "hyperpod.yaml"
LIGHT = VALUES.parent / "hyperpod-light.yaml"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """After all else: with the definitions in the cluster `platform: auto` means hyperpod to every release."""
    here = Path(__file__).parent
    items.sort(key=lambda item: item.path.is_relative_to(here))


@pytest.fixture(scope="session")
def crds(api: Api) -> Iterator[None]:
    """AWS's definitions with the fields of v3.7, and their end with all that was made of them."""
    extensions = client.ApiextensionsV1Api(api.client)
    made = definitions("3.7")
    for each in made:
        try:
            extensions.create_custom_resource_definition(each)
        except ApiException as error:
            if error.status != 409:
                raise
    wait_for("the definitions", lambda: _served(api), 60)
    yield
    for each in made:
        extensions.delete_custom_resource_definition(each["metadata"]["name"])
    wait_for("no definitions", lambda: not _served(api), 60)


def _served(api: Api) -> bool:
    return not api.http.get(f"/apis/{GROUP}/v1/{PLURAL}").is_error


@pytest.fixture(scope="session")
def hyperpod_namespace(kubeconfig: Path, api: Api, crds: None) -> Iterator[str]:
    """A namespace for endpoints; the operator's own goes with it."""
    yield from fresh_namespace(kubeconfig, api, NAMESPACE)
    if api.namespace_exists(SYSTEM):
        api.core.delete_namespace(SYSTEM)
        api.wait_namespace_gone(SYSTEM)


@pytest.fixture(scope="session")
def operator(kubeconfig: Path, crds: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Operator]:
    """The emulated operator; not running yet."""
    made = Operator(kubeconfig, tmp_path_factory.mktemp("operator"))
    yield made
    made.stop()


@pytest.fixture(scope="session")
def with_engines(images: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The operator's arguments for real engines."""
    return _arguments(images, engines(), tmp_path_factory.mktemp("overrides"))


@pytest.fixture(scope="session")
def with_sleepers(images: dict[str, str], tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The operator's arguments for Pods that do nothing."""
    return _arguments(images, sleepers(images["hooks"]), tmp_path_factory.mktemp("overrides"))


def _arguments(images: dict[str, str], overrides: dict[str, Any], folder: Path) -> list[str]:
    path = folder / "overrides.json"
    path.write_text(json.dumps(overrides))
    return [
        "--side-image", images["hooks"], "--router-image", images["router"], "--engine-overrides", str(path),
    ]  # fmt: skip


@pytest.fixture(scope="session")
def hyperpod(kubeconfig: Path, hyperpod_namespace: str, image_values: list[Path]) -> Iterator[Helm]:
    """The release of real engines; not installed yet."""
    made = Helm(kubeconfig, hyperpod_namespace, RELEASE, [VALUES, HYPERPOD, *image_values])
    yield made
    made.uninstall()


@pytest.fixture(scope="session")
def light(hyperpod: Helm, image_values: list[Path]) -> Helm:
    """The same release with sleepers for engines; not installed yet."""
    return Helm(hyperpod.kubeconfig, hyperpod.namespace, RELEASE, [VALUES, HYPERPOD, LIGHT, *image_values])


@pytest.fixture
def endpoint(api: Api, hyperpod: Helm) -> Endpoint:
    return Endpoint(api, hyperpod.namespace, RELEASE, MODEL)
