"""LMCache in a server of its own."""

from __future__ import annotations

from .model import BASE, Case, Json, Patched, Refused
from .parts import (
    CODE,
    FS,
    GUARDED,
    HASH_SEED,
    MOUNT,
    POD_NAME,
    RETAIN,
    RUN,
    VOLUME,
    VOLUMES,
    WORKER,
    in_process,
    multi_process,
)
from .shapes import IMAGE, MODEL, MP_CONNECTOR, field_ref, spec, v32, v37, value, without_init

NODE_IP = field_ref("NODE_IP", "status.hostIP")
PARAMS = '{"load_threads":8,"base_ms":500}'
GUARDED_PARAMS = GUARDED[:-2] + ',"load_threads":8,"base_ms":500}}'
ROOT = "/mnt/kv-l2/v1/retail/qwen/0123456789abcdef"
ROOTED = {**BASE, f"{MODEL}.root": ROOT, f"{MODEL}.image": IMAGE}
ARGS = ["--port", "5555"]
SHELL = "exec lmcache server $ARGS"


def _server(name: str, args: list[str], expected: list[str] | None = None) -> Case:
    return Case(f"mp-{name}", v37(server={"args": args}), Patched(multi_process(expected)))


def _native() -> Json:
    pod = v37()
    server = pod["spec"]["containers"].pop()
    pod["spec"]["initContainers"].append({**server, "restartPolicy": "Always"})
    return pod


CASES = [
    Case("mp-plain", v37(), Patched(multi_process())),
    _server("no-adapter", [*ARGS, "--l1-size-gb", "10"]),
    _server("adapter-with-equals", ["--l2-adapter={}", *ARGS, "--l1-size-gb", "10"]),
    _server(
        "adapter-three-times", ["--l2-adapter", "a", *ARGS, "--l2-adapter=b", "--l1-size-gb", "10", "--l2-adapter", "c"]
    ),
    _server(
        "prefetch-policy-there",
        ["--l2-prefetch-policy", "drop", *ARGS],
        ["--l2-prefetch-policy", "drop", *ARGS, "--l2-adapter", GUARDED],
    ),
    _server(
        "prefetch-policy-with-equals",
        [*ARGS, "--l2-prefetch-policy=drop"],
        [*ARGS, "--l2-prefetch-policy=drop", "--l2-adapter", GUARDED],
    ),
    _server(
        "names-that-begin-alike",
        ["--l2-adapter-timeout", "3", *ARGS],
        ["--l2-adapter-timeout", "3", *ARGS, *RETAIN, "--l2-adapter", GUARDED],
    ),
    Case(
        "mp-all-in-command",
        v37(server={"command": ["/opt/venv/bin/lmcache", "server", "--l2-adapter", "a", *ARGS], "args": None}),
        Patched(
            multi_process(["/opt/venv/bin/lmcache", "server", *ARGS, *RETAIN, "--l2-adapter", GUARDED], where="command")
        ),
    ),
    Case(
        "mp-all-in-args",
        v37(server={"command": None, "args": ["lmcache", "server", *ARGS]}),
        Patched(multi_process(["lmcache", "server", *ARGS, *RETAIN, "--l2-adapter", GUARDED])),
    ),
    Case(
        "mp-split",
        v37(server={"command": ["lmcache"], "args": ["server", *ARGS]}),
        Patched(multi_process(["server", *ARGS, *RETAIN, "--l2-adapter", GUARDED])),
    ),
    Case(
        "mp-by-interpreter",
        v37(server={"command": ["python3", "/usr/local/bin/lmcache", "server"], "args": ARGS}),
        Patched(multi_process([*ARGS, *RETAIN, "--l2-adapter", GUARDED])),
    ),
    Case(
        "mp-adapter-in-command-beside-args",
        v37(server={"command": ["lmcache", "server", "--l2-adapter", "a"], "args": ARGS}),
        Refused(("lmcache-server", "--l2-adapter in command beside args")),
    ),
    Case(
        "mp-params",
        v37(),
        Patched(multi_process([*ARGS, "--l1-size-gb", "10", *RETAIN, "--l2-adapter", GUARDED_PARAMS])),
        {**BASE, "adapterParams": PARAMS},
    ),
    Case("mp-params-empty", v37(), Patched(multi_process()), {**BASE, "adapterParams": "{ }"}),
    Case(
        "mp-fs",
        v37(),
        Patched(
            multi_process([*ARGS, "--l1-size-gb", "10", *RETAIN, "--l2-adapter", FS], [POD_NAME, NODE_IP, HASH_SEED])
        ),
        {**BASE, "adapter": "fs"},
    ),
    Case(
        "mp-without-code",
        without_init(v37(), "tkc-code"),
        Patched(
            multi_process([*ARGS, "--l1-size-gb", "10", *RETAIN, "--l2-adapter", FS], [POD_NAME, NODE_IP, HASH_SEED])
        ),
    ),
    Case(
        "mp-root",
        without_init(v37(), "tkc-code", "tkc-l2-root"),
        Patched(
            multi_process(
                [*ARGS, "--l1-size-gb", "10", *RETAIN, "--l2-adapter", FS.replace("/run/tkc/l2", ROOT)],
                [POD_NAME, NODE_IP, HASH_SEED],
                mounts=[MOUNT],
            )
        ),
        ROOTED,
    ),
    Case(
        "mp-root-with-code",
        without_init(v37(), "tkc-l2-root"),
        Patched(
            multi_process([*ARGS, "--l1-size-gb", "10", *RETAIN, "--l2-adapter", GUARDED.replace("/run/tkc/l2", ROOT)])
        ),
        ROOTED,
    ),
    Case(
        "mp-python-path",
        v37(server={"env": [value("PYTHONPATH", "/opt/mine"), NODE_IP]}),
        Patched(multi_process(env=[POD_NAME, NODE_IP, HASH_SEED, value("PYTHONPATH", "/run/tkc/code:/opt/mine")])),
    ),
    Case(
        "mp-python-path-ours",
        v37(server={"env": [value("PYTHONPATH", "/run/tkc/code:/opt/mine")]}),
        Patched(multi_process(env=[POD_NAME, HASH_SEED, value("PYTHONPATH", "/run/tkc/code:/opt/mine")])),
    ),
    Case(
        "mp-python-path-by-value-from",
        v37(server={"env": [field_ref("PYTHONPATH", "metadata.namespace")]}),
        Refused(("lmcache-server", "PYTHONPATH", "valueFrom")),
    ),
    Case("mp-no-env", v37(server={"env": None}), Patched(multi_process(env=[POD_NAME, HASH_SEED, CODE]))),
    Case(
        "mp-worker-without-env",
        v37(env=None),
        Patched(multi_process(worker=[HASH_SEED])),
    ),
    Case(
        "mp-pod-name-plain",
        v37(server={"env": [value("POD_NAME", "me")]}),
        Refused(("lmcache-server", "POD_NAME", "metadata.name")),
    ),
    Case(
        "mp-seeds-differ",
        v37(env=[value("PYTHONHASHSEED", "1")], server={"env": [value("PYTHONHASHSEED", "2")]}),
        Patched(
            multi_process(env=[POD_NAME, value("PYTHONHASHSEED", "2"), CODE], worker=[value("PYTHONHASHSEED", "1")]),
            (MODEL, "lmcache-server"),
        ),
    ),
    Case(
        "mp-worker-config-untouched",
        v37(env=[value("LMCACHE_REMOTE_URL", "a"), value("LMCACHE_EXTRA_CONFIG", "no json")]),
        Patched(
            multi_process(
                worker=[value("LMCACHE_REMOTE_URL", "a"), value("LMCACHE_EXTRA_CONFIG", "no json"), HASH_SEED]
            )
        ),
    ),
    Case("mp-connector-elsewhere", v37(args=["--model", "a"]), Patched(multi_process())),
    Case(
        "mp-no-server",
        v32(args=["--kv-transfer-config", MP_CONNECTOR]),
        Refused((MODEL, "LMCacheMPConnector", "command: [lmcache, server]")),
    ),
    Case(
        "mp-no-server-connector-in-env",
        v32(env=[value("VLLM_ARGS", f"--kv-transfer-config {MP_CONNECTOR}")]),
        Refused((MODEL, "LMCacheMPConnector", "command: [lmcache, server]")),
    ),
    Case(
        "mp-two-servers",
        spec(v37(), containers=[{"name": "second", "image": IMAGE, "command": ["lmcache", "server"]}]),
        Refused(("lmcache-server, second",)),
    ),
    Case(
        "mp-shell-line",
        v37(server={"command": ["sh", "-c", SHELL], "args": None}),
        Refused(("lmcache-server", "shell line", "command: [lmcache, server]")),
    ),
    Case(
        "mp-shell-line-alone",
        v37(server={"command": ["sh", "-c"], "args": ["/opt/bin/lmcache  server"]}),
        Refused(("lmcache-server", "shell line")),
    ),
    Case(
        "mp-shell-line-in-the-worker",
        v32(command=["bash", "-c"], args=["lmcache server &\nvllm serve"]),
        Refused((MODEL, "shell line")),
    ),
    Case("mp-init-container", _native(), Refused(("init container lmcache-server", "command: [lmcache, server]"))),
    Case(
        "mp-not-a-server",
        v32(args=["--served-model-name", "my-lmcache-server", "--note", "lmcache-server lmcache"]),
        Patched(in_process()),
    ),
    Case(
        "mp-volume-and-mounts-there",
        spec(v37(server={"volumeMounts": [RUN, MOUNT]}), volumes=[VOLUME]),
        Patched({**multi_process(mounts=[RUN, MOUNT]), VOLUMES: [*v37()["spec"]["volumes"], VOLUME]}),
    ),
    Case(
        "mp-worker-seed-there",
        v37(env=[HASH_SEED, value("A", "b")]),
        Patched({**multi_process(), (*WORKER, "env"): [HASH_SEED, value("A", "b")]}),
    ),
]
