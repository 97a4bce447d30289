"""LMCache in vLLM's own process: it is told by the worker's environment."""

from __future__ import annotations

from . import containers, extra_config, names
from .outcome import Json, Refused
from .parameters import Parameters


def configure(worker: Json, base_path: str, parameters: Parameters, model: str) -> None:
    """Set the worker's environment. Raises Refused."""
    if containers.entries(worker, names.ENV_FILE) and parameters.get(model, "configFile") == "wins":
        raise Refused(
            f"container {worker['name']} has {names.ENV_FILE}, and this engine's LMCache is so old that the file beats the environment",
            f"take a newer LMCache, or {names.ENV_FILE} out",
        )
    try:
        extra = extra_config.merge(containers.text(worker, names.ENV_EXTRA))
    except ValueError as err:
        raise Refused(
            f"{names.ENV_EXTRA} of container {worker['name']} {err}",
            "mend it, or take it out of the worker's environment",
        ) from err
    ours = {names.ENV_URL: f"fs://localhost:0{base_path}/", names.ENV_SERDE: "naive", names.ENV_EXTRA: extra}
    containers.set_env(worker, ours, parameters.hash_seed(model))
