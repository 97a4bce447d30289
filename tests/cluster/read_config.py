"""Reads command lines and environment as vLLM and LMCache themselves do, in a container of the engine image.

Not imported by tests: its text is the program of a Pod. Standard input of its own is the variable CASES, a JSON object by
case: {"vllm": arguments, "lmcache": arguments or null, "env": variables}; it prints what was understood, a JSON object by case
in the last line.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
from typing import Any


def vllm_arguments(arguments: list[str]) -> dict[str, Any]:
    """What `vllm serve` makes of its arguments; it exits with usage on a flag that it does not know."""
    parser = importlib.import_module("vllm.utils.argparse_utils").FlexibleArgumentParser()
    cli = importlib.import_module("vllm.entrypoints.launchers.cli_args")
    cli.make_arg_parser(parser.add_subparsers().add_parser("serve"))
    parsed = parser.parse_args(["serve", *arguments])
    transfer = parsed.kv_transfer_config
    return {
        "model": parsed.model_tag,
        "served": parsed.served_model_name,
        "tp": parsed.tensor_parallel_size,
        "pp": parsed.pipeline_parallel_size,
        "blockSize": parsed.block_size,
        "kvCacheDtype": str(parsed.kv_cache_dtype),
        "gpuMemoryUtilization": parsed.gpu_memory_utilization,
        "hybridOff": parsed.disable_hybrid_kv_cache_manager,
        "connector": transfer.kv_connector,
        "policy": transfer.kv_load_failure_policy,
        "extra": transfer.kv_connector_extra_config,
    }


def lmcache_arguments(arguments: list[str]) -> dict[str, Any]:
    """What `lmcache server` makes of its arguments."""
    module = importlib.import_module("lmcache.cli.commands.server")
    parser = argparse.ArgumentParser()
    module.ServerCommand().add_arguments(parser)
    parsed = parser.parse_args(arguments)
    server = importlib.import_module("lmcache.v1.multiprocess.config").parse_args_to_mp_server_config(parsed)
    storage = importlib.import_module("lmcache.v1.distributed.config").parse_args_to_config(parsed)
    (adapter,) = storage.l2_adapter_config.adapters
    memory = storage.l1_manager_config.memory_config
    return {
        "transfer": server.supported_transfer_mode,
        "workers": server.max_gpu_workers,
        "l1Bytes": memory.size_in_bytes,
        "lazy": memory.use_lazy,
        "shm": memory.shm_name,
        "adapter": adapter.class_name,
        "basePath": adapter.adapter_params["base_path"],
        "temporary": adapter.adapter_params["pod"],
    }


def lmcache_environment(variables: dict[str, str]) -> dict[str, Any]:
    """What LMCache in vLLM's own process makes of the environment."""
    os.environ.update(variables)
    config = importlib.import_module("lmcache.v1.config").LMCacheEngineConfig.from_env()
    names = (
        "chunk_size",
        "local_cpu",
        "max_local_cpu_size",
        "save_unfull_chunk",
        "pre_caching_hash_algorithm",
        "remote_url",
        "remote_serde",
        "remote_storage_plugins",
        "extra_config",
        "internal_api_server_enabled",
        "internal_api_server_host",
        "internal_api_server_port_start",
        "lmcache_instance_id",
    )
    return {name: getattr(config, name) for name in names}


def main() -> None:
    """Print what each case became."""
    understood = {}
    for name, case in json.loads(os.environ["CASES"]).items():
        understood[name] = {
            "vllm": vllm_arguments(case["vllm"]),
            "lmcache": lmcache_arguments(case["lmcache"]) if case["lmcache"] else lmcache_environment(case["env"]),
        }
    print(json.dumps(understood))


if __name__ == "__main__":
    main()
