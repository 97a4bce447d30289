"""The patch as a pure function of Pod and parameters. Rules and their numbers are those of docs/l2-patch.md."""

from __future__ import annotations

import copy
from collections.abc import Mapping

from . import containers, inprocess, multiprocess, names, processes, select, volumes
from .base_path import base_path
from .outcome import PREFIX, Json, Outcome, Refused
from .parameters import Parameters


def patch(pod: Json, data: Mapping[str, str] | None, namespace: str) -> Outcome:
    """Patch a Pod that is about to be created.

    Args:
        pod: as the API server has it; it is not changed.
        data: the parameter object; None where it is missing.
        namespace: the Pod's, one that the mechanism's selectors name.

    Raises:
        Refused: it is a worker of the operator that cannot be patched.
    """
    model = select.model_of(pod, data, namespace)
    if model is None or data is None:
        return Outcome(pod)
    parameters = Parameters(data, namespace)
    claim, mount_path = parameters.need("claim"), parameters.need("mountPath")
    patched = copy.deepcopy(pod)
    spec = patched["spec"]
    worker = containers.named(spec["containers"], model)
    if worker is None:
        raise Refused(
            f"no container is named {model!r} as label {names.LABEL_MODEL} says; there are: "
            + ", ".join(each["name"] for each in spec["containers"]),
            "this version of the operator is not known to the patch: take one that is, or take the model out of the release",
        )
    base = base_path(spec, worker, parameters, model)
    server = processes.server_of(spec, worker)
    inits = spec.get("initContainers")
    rooted = containers.named(inits, names.INIT_ROOT) is not None
    guarded = (
        server is not None
        and parameters.get("adapter") == "guarded"
        and containers.named(inits, names.INIT_CODE) is not None
    )
    if rooted or guarded:
        volumes.need_run(spec, names.INIT_ROOT if rooted else names.INIT_CODE)
    volumes.add_claim(spec, claim)
    seed = parameters.hash_seed(model)
    warnings = [PREFIX + line for each in (worker, server) if each for line in containers.seed_warnings(each, seed)]
    home = server or worker
    volumes.mount_claim(home, mount_path, parameters.get("propagation"))
    if rooted or guarded:
        volumes.mount_run(home)
    if server is None:
        inprocess.configure(worker, base, parameters, model)
    else:
        multiprocess.configure(server, base, parameters, model, guarded=guarded)
        containers.set_seed(worker, seed)
    metadata = patched["metadata"]
    metadata["annotations"] = {**(metadata.get("annotations") or {}), names.ANNOTATION: names.VERSION}
    return Outcome(patched, warnings)
