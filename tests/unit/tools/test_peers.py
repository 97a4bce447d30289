"""`make bench-peers`: which L2, with which values, asked how; and what an engine says of those that cannot be had."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from chart.helm import Helm, Manifests, flag
from local_cluster import demo
from local_cluster.peers import probe, redis, run, table
from local_cluster.problem import Problem
from local_cluster.progress import say
from local_cluster.settings import RELEASE
from testing.tools import environment
from tiered_kv_cache.__main__ import _parser
from tiered_kv_cache.bench import settings

BY_NAME = {peer.name: peer for peer in table.ALL}
BASE = yaml.safe_load(demo.VALUES.read_text())


def rendered(name: str, tmp_path: Path) -> Manifests:
    file = tmp_path / f"{name}.yaml"
    file.write_text(yaml.safe_dump(table.values(BY_NAME[name], run.MODEL, "10.1.2.3", BASE)))
    return Helm(environment()["HELM"]).template(files=(demo.VALUES, file), release=run.RELEASE, namespace=run.NAMESPACE)


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("guarded", {"type": "plugin"}),
        ("fs", {"type": "fs", "base_path": table.L2_ROOT}),
        ("fs_native", {"type": "fs_native", "base_path": table.L2_ROOT, "relative_tmp_dir": ".tmp-$(POD_NAME)"}),
        ("redis", {"type": "resp", "host": "10.1.2.3", "port": redis.PORT}),
        ("disk", {"type": "fs", "base_path": table.POD_DISK}),
    ],
)
def test_what_lmcache_is_told(name: str, wanted: dict[str, Any], tmp_path: Path) -> None:
    manifests = rendered(name, tmp_path)
    told = json.loads(flag(manifests.container("lmcache")["args"], "--l2-adapter"))
    assert wanted.items() <= told.items()
    # Nothing waits for Jobs, and the demo's port and blocks are left alone.
    assert not manifests.of("Job") and "nodePort" not in manifests.text
    assert f"peers-{name.replace('_', '-')}" in manifests.text and "v1/demo" not in manifests.text


def test_without_l2_the_rest_is_the_same(tmp_path: Path) -> None:
    none, ours = rendered("none", tmp_path), rendered("guarded", tmp_path)
    assert "--l2-adapter" not in none.text
    assert none.container("vllm")["args"] == ours.container("vllm")["args"]
    assert none.container("lmcache")["resources"] == ours.container("lmcache")["resources"]
    assert none.container("lmcache")["image"] == ours.container("lmcache")["image"]


def test_the_local_disk_is_one(tmp_path: Path) -> None:
    manifests = rendered("disk", tmp_path)
    (mount,) = [
        m for m in manifests.container("lmcache")["volumeMounts"] if table.POD_DISK.startswith(f"{m['mountPath']}/")
    ]
    (volume,) = [v for v in manifests.pod()["spec"]["volumes"] if v["name"] == mount["name"]]
    assert volume == {"name": mount["name"], "emptyDir": {}}


@pytest.mark.parametrize("peer", table.ALL, ids=lambda peer: peer.name)
def test_the_command_line_is_one_of_the_verb(peer: table.Peer) -> None:
    budget = run.share(run.BUDGET_S, table.ALL)
    args = _parser().parse_args(run.arguments(peer, Path("/k"), Path("out"), "key", budget))
    parsed = settings.parse(args)
    assert (parsed.variant, parsed.prompt_key, args.out) == (peer.name, "key", f"out/{peer.name}")
    assert (
        parsed.experiments == ("sweep",)
        and 1900 in parsed.sizes
        and len(parsed.sizes) == 3
        and parsed.repetitions >= 10
    )
    assert run.RELEASE != RELEASE


def test_all_of_the_budget_is_shared() -> None:
    left, peers = float(run.BUDGET_S), list(table.ALL)
    while peers:
        taken = run.share(left, peers) + run.START_S
        left -= taken
        peers.pop(0)
    assert round(left, 6) == 0
    assert run.share(1.0, table.ALL) == run.LEAST_S


def test_which_peers() -> None:
    assert [p.name for p in table.chosen("redis, guarded")] == ["guarded", "redis"]
    assert table.chosen("") == table.ALL
    for words, part in (("memcached,guarded", "memcached: there is no such peer"), ("redis", "guarded is missing")):
        with pytest.raises(ValueError, match=part):
            table.chosen(words)


def test_not_on_another_cluster() -> None:
    with pytest.raises(Problem, match="kind cluster only"):
        run.run(SimpleNamespace(kubeconfig=Path("/k")), {})


def test_bad_input_before_anything_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "Kind", SimpleNamespace)
    for environ, part in (({"PEERS": "x"}, "no such peer"), ({"BUDGET": "soon"}, "no number of seconds")):
        with pytest.raises(Problem, match=part):
            run.run(SimpleNamespace(kubeconfig=Path("/k")), environ)


def test_the_redis_keeps_within_its_memory() -> None:
    container = redis.pod("image")["spec"]["containers"][0]
    command = container["command"]
    assert command[command.index("--maxmemory") + 1] == redis.MEMORY == "1gb"
    assert container["resources"]["limits"]["memory"] == redis.LIMIT
    assert redis.service()["spec"]["selector"] == redis.pod("image")["metadata"]["labels"]


def test_reasons_have_the_interpreters_words() -> None:
    said = probe.parse(
        "INFO noise\n" + probe.MARK + json.dumps({"nixl": "ModuleNotFoundError: No module named 'nixl'", "there": ""})
    )
    nixl, there = table.Absent("p2p", "needs NIXL", "nixl"), table.Absent("x", "not here", "there")
    assert probe.told(nixl, said) == "needs NIXL (ModuleNotFoundError: No module named 'nixl')"
    assert probe.told(there, said) == "not here; but this engine can import there: it could be measured"
    assert probe.told(nixl, {}) == "needs NIXL" and probe.parse("nothing") == {}


def test_the_probe_tells_what_is_there_and_what_is_not(capsys: pytest.CaptureFixture[str]) -> None:
    said = _script(["json", "no_such_module_at_all"], capsys)
    assert said == {"json": "", "no_such_module_at_all": "ModuleNotFoundError: No module named 'no_such_module_at_all'"}


def _script(modules: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    say("libraries print, too")
    code = probe.SCRIPT.replace("sys.argv[1]", repr(json.dumps(modules)))
    exec(code, {})
    return probe.parse(capsys.readouterr().out)
