"""`make up`: from a bare machine to a proven cross-Pod cache hit, and the table that shows it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import yaml

from . import diagnostics, images, models, report, volumes
from .helm import Helm
from .host import gotools
from .machine_lock import holder
from .problem import Problem
from .progress import phase, say
from .providers import Provider
from .providers.kind import Kind
from .settings import NAMESPACE, PLACES, RELEASE, REPO
from .watch import watching

VALUES = REPO / "values" / "local.yaml"


def cluster(where: Provider) -> dict[str, images.ImageRef]:
    """A running cluster that holds our images and model folders; returns the images by name."""
    if not where.local_images:
        return {}
    assert isinstance(where, Kind)
    where.check()
    engine = where.engine
    # Side by side: the compiler needs the cores while the images wait for downloads and the disk.
    with ThreadPoolExecutor(2) as pool:
        built = pool.submit(images.build_all, engine)
        prepared = pool.submit(where.prepare)
        prepared.result()
        references = built.result()
    models.ensure(engine, references["engine-cpu"])
    where.up({reference.name: reference.archive for reference in references.values()})
    return references


def image_values(references: dict[str, images.ImageRef]) -> list[Path]:
    """A values file with the tags of the images built here; empty where the cluster pulls its own."""
    if not references:
        return []
    path = PLACES.state / "images.yaml"
    tags = {name: {"image": {"tag": reference.tag}} for name, reference in references.items()}
    values = {"hooks": tags["hooks"], "router": tags["router"], "defaults": {"engine": tags["engine-cpu"]}}
    path.write_text(yaml.safe_dump(values))
    return [path]


def up(where: Provider, values: Path | None = None) -> None:
    """Cluster, release, `helm test`, table.

    Args:
        values: values file of the release; `values/local.yaml` on the kind cluster, whose volumes and images it names.

    Raises:
        Problem: no values for a cluster of the user's own, or a step failed.
    """
    if not values and not where.local_images:
        raise Problem(
            "no values file for this cluster: values/local.yaml names volumes and images of the kind cluster",
            "VALUES=<file> make up PROVIDER=existing CONTEXT=<name>",
        )
    values = values or VALUES
    references = cluster(where)
    volumes.ensure_namespace(where.kubeconfig, NAMESPACE)
    if where.local_images:
        volumes.ensure_models_claim(where.kubeconfig, NAMESPACE)
    release = Helm(where.kubeconfig, NAMESPACE, RELEASE, [values, *image_values(references)])
    with (
        phase("helm upgrade --install", f"{RELEASE} in namespace {NAMESPACE}, -f {values}"),
        watching(where.kubeconfig, NAMESPACE),
    ):
        done = release.upgrade(wait_s=900)
    if not done.ok:
        raise _failed(where, f"helm could not install {RELEASE}: {done.text[-1500:]}")
    with phase("helm test", "sends a prompt to one Pod, then to the other, and reads the counters"):
        done = release.test()
    if not done.ok:
        raise _failed(where, f"helm test failed:\n{done.text[-3000:]}")
    print(report.table(where, release))
    _say_how(where)


def _say_how(where: Provider) -> None:
    """Print what a user's own helm and kubectl commands need."""
    programs = sorted({str(gotools.ensure_cli("helm").parent), str(gotools.folder())})
    print(f"export KUBECONFIG={where.kubeconfig} PATH={':'.join(programs)}:$PATH")
    if where.local_images:
        print(f"tags of the images in the nodes, for releases of your own: -f {PLACES.state / 'images.yaml'}")


def _failed(where: Provider, what: str) -> Problem:
    bundle = diagnostics.collect(where.kubeconfig, [NAMESPACE], "up")
    return Problem(what, "read the message above and the diagnostic bundle, then run `make up` again", str(bundle))


def down(where: Provider) -> None:
    """Remove what `up` installed into a cluster that is not ours; a kind cluster goes as a whole."""
    if where.local_images:
        return
    say(f"uninstalling {RELEASE}; namespace {NAMESPACE} stays")
    done = Helm(where.kubeconfig, NAMESPACE, RELEASE).uninstall()
    if not done.ok:
        raise Problem(f"helm could not uninstall {RELEASE}: {done.text[-800:]}", "see the message")


def status(where: Provider) -> int:
    if busy := holder():
        print(f"a run is going on: {busy}")
        return 1
    if not where.kubeconfig.exists():
        print("no cluster; `make up` makes one")
        return 1
    release = Helm(where.kubeconfig, NAMESPACE, RELEASE)
    there = release.exists()
    print(report.table(where, release) if there else "no demo in the cluster; `make up` installs it")
    _say_how(where)
    return 0 if there else 1


def build_images() -> None:
    from .host.engine import find  # noqa: PLC0415 - only this verb needs the engine alone

    for reference in images.build_all(find()).values():
        print(f"{reference.name}  {reference.archive}")
