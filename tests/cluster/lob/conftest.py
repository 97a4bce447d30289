"""A platform's release and three lines of business that join it, each in a namespace of its own, of the files in values/."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from local_cluster import diagnostics
from local_cluster.helm import Helm
from local_cluster.pause import paused

from ..api import Api
from ..conftest import fresh_namespace
from ..engines import CHUNK, Engines
from .files import FILES, FOURTH, PLATFORM, POOL, VALUES, line_values, make_part, platform_values, read

Objects = dict[tuple[str, str, str], dict[str, Any]]
"""By kind, namespace and name."""


class Line:
    """One line of business: release and namespace have its name.

    Args:
        image_values: the file with the tags of the images in the nodes.
        folder: where its overlay is written.
    """

    def __init__(self, api: Api, kubeconfig: Path, name: str, image_values: list[Path], folder: Path) -> None:
        self.api, self.name = api, name
        tag = yaml.safe_load(image_values[0].read_text())["defaults"]["engine"]["image"]["tag"]
        file = folder / f"{name}.json"
        file.write_text(json.dumps(line_values(name, tag)))
        self.helm = Helm(kubeconfig, name, name, [FILES.get(name, FILES["batch"]), *image_values, file])
        ((model, own),) = read(name)["models"].items()
        self.served = str(own.get("servedName", model))
        chunk = int(own.get("cache", {}).get("chunkSize", CHUNK))
        self.engines = Engines(api, name, name, model, served=self.served, chunk=chunk)

    def install(self) -> None:
        """As its team does, and wait for its only engine."""
        done = self.helm.upgrade(wait_s=480)
        assert done.ok, done.text
        self.engines.ready(1)

    def pods(self) -> dict[str, tuple[str, int]]:
        """Its Pods that are to go on: name -> uid, and restarts of all containers."""
        found = self.api.core.list_namespaced_pod(self.name, label_selector=f"app.kubernetes.io/instance={self.name}")
        return {
            pod.metadata.name: (
                pod.metadata.uid,
                sum(state.restart_count for state in pod.status.container_statuses or []),
            )
            for pod in found.items
            if pod.metadata.owner_references and pod.metadata.owner_references[0].kind == "ReplicaSet"
        }


@dataclass(frozen=True)
class Platform:
    """The platform team's release, whose only change is who is on its lists."""

    helm: Helm
    overlay: Path

    def allow(self, *more: str) -> None:
        """Install or upgrade with these lines beside those of the file."""
        self.overlay.write_text(json.dumps(platform_values(*more)))
        done = self.helm.upgrade("-f", str(self.overlay), wait_s=300)
        assert done.ok, done.text

    def objects(self) -> Objects:
        """Of the release; hooks' are not."""
        manifest = self.helm.call("get", "manifest", self.helm.release)
        assert manifest.ok, manifest.text
        return {
            (each["kind"], each["metadata"].get("namespace", ""), each["metadata"]["name"]): each
            for each in yaml.safe_load_all(manifest.out)
            if each
        }


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.long)


@pytest.fixture(scope="package")
def room(kubeconfig: Path) -> Iterator[None]:
    """Memory for four engines more: without the demo's two, which come back."""
    with paused(kubeconfig):
        yield


@pytest.fixture(scope="package")
def namespaces(room: None, kubeconfig: Path, api: Api) -> Iterator[None]:
    """Of the platform, the lines, and the one that is to come; empty parts of the pool. Their end, whatever happened."""
    shutil.rmtree(POOL, ignore_errors=True)
    lives = []
    try:
        for name in (PLATFORM, *FILES, FOURTH):
            life = fresh_namespace(kubeconfig, api, name)
            next(life)
            lives.append(life)
        for name in (*FILES, FOURTH):
            make_part(name)
        yield
    finally:
        for life in lives:
            next(life, None)
        shutil.rmtree(POOL, ignore_errors=True)


@pytest.fixture(scope="package")
def platform(
    namespaces: None, kubeconfig: Path, image_values: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Platform]:
    """Its release, installed as its file is."""
    helm = Helm(kubeconfig, PLATFORM, "platform", [VALUES / "platform.yaml", *image_values])
    made = Platform(helm, tmp_path_factory.mktemp("platform") / "overlay.json")
    try:
        made.allow()
        yield made
    finally:
        helm.uninstall()


@pytest.fixture(scope="package")
def all_lines(
    namespaces: None, api: Api, kubeconfig: Path, image_values: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Line]:
    """Not installed yet, the fourth among them."""
    folder = tmp_path_factory.mktemp("lines")
    return {name: Line(api, kubeconfig, name, image_values, folder) for name in (*FILES, FOURTH)}


@pytest.fixture(scope="package")
def lines(platform: Platform, all_lines: dict[str, Line], kubeconfig: Path) -> Iterator[dict[str, Line]]:
    """The three of the platform's lists, installed at once, ready."""
    try:
        with ThreadPoolExecutor(len(FILES)) as pool:
            list(pool.map(lambda name: all_lines[name].install(), FILES))
        yield {name: all_lines[name] for name in FILES}
    except AssertionError as error:
        error.add_note(f"diagnostic bundle: {diagnostics.collect(kubeconfig, [PLATFORM, *FILES], 'lob')}")
        raise
    finally:
        for line in all_lines.values():
            line.helm.uninstall()
