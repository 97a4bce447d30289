"""vLLM, LMCache's server and the keeper in one container, one of them killed with SIGKILL in each run, requests under way.

A script of its own, the first process of a Pod whose image has vLLM and LMCache: so nothing waits for a kubelet's back-off.
Its argument is JSON: `runs`, `seed`, `model`, `keeper` (its settings), and `vllm` and `lmcache`, each with `command` and `env`.
Each line of output is one JSON object; the last one is the report.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import httpx

VLLM, LMCACHE = "http://127.0.0.1:8000", "http://127.0.0.1:8180"
CHUNK = 256
KEPT = 4
L2_HITS = "lmcache_mp_lookup_hit_l2_tokens_total"
KEEPER = Path("/tmp/keeper.json")


class Part:
    """One of the programs, with all processes that it starts."""

    def __init__(self, name: str, command: list[str], env: dict[str, str], ready: str) -> None:
        self.name, self._command, self._env, self._ready = name, command, env, ready
        self._log = Path(f"/tmp/{name}.log")
        self.process: subprocess.Popen[bytes]

    def start(self) -> None:
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                self._command, env={**os.environ, **self._env}, stdout=log, stderr=log, start_new_session=True
            )

    def wait_ready(self, seconds: float = 180) -> None:
        """Until it answers; raises when it ends or is silent."""
        end = time.monotonic() + seconds
        while True:
            try:
                if httpx.get(self._ready, timeout=5).status_code == 200:
                    return
            except httpx.HTTPError:
                pass
            if self.process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f"{self.name} is not ready: {self.tail()}")
            time.sleep(0.1)

    def tail(self) -> str:
        """The end of its log."""
        return self._log.read_text()[-3000:]

    def kill(self, dice: random.Random) -> str:
        """SIGKILL to one of its processes, then to all that are left, as when a container ends; what was hit first."""
        group = self.process.pid
        members = sorted(int(stat.parent.name) for stat in Path("/proc").glob("[0-9]*/stat") if _session(stat) == group)
        first = dice.choice(members)
        title = Path(f"/proc/{first}/cmdline").read_bytes().split(b"\0")[0].decode()
        os.kill(first, signal.SIGKILL)
        time.sleep(dice.choice([0, 0.05, 0.3]))
        self.end()
        return title

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        # What it had started is now this process's, the first of its container: each would stay, and count as a process.
        for stat in Path("/proc").glob("[0-9]*/stat"):
            if _session(stat, ended=True) == self.process.pid:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(int(stat.parent.name), 0)


def _session(stat: Path, *, ended: bool = False) -> int:
    try:
        fields = stat.read_text().rpartition(")")[2].split()
    except OSError:
        return -1
    return int(fields[3]) if ended or fields[0] != "Z" else -1


class Run:
    """The loop."""

    def __init__(self, plan: dict[str, Any]) -> None:
        self._plan, self._dice = plan, random.Random(plan["seed"])
        KEEPER.write_text(json.dumps(plan["keeper"]))
        self._keeper = [sys.executable, "-m", "tiered_kv_cache", "keeper", "--config", str(KEEPER)]
        code = {"PYTHONPATH": plan["lmcache"]["env"]["PYTHONPATH"]}
        self._code = code
        self.parts = {
            "vllm": Part("vllm", plan["vllm"]["command"], plan["vllm"]["env"], f"{VLLM}/health"),
            "lmcache": Part("lmcache", plan["lmcache"]["command"], plan["lmcache"]["env"], f"{LMCACHE}/healthcheck"),
            "keeper": Part("keeper", self._keeper, code, f"http://127.0.0.1:{plan['keeper']['port']}/metrics"),
        }
        self.told: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.failed: list[str] = []
        self._kept = [self._prompt(f"kept{number}") for number in range(KEPT)]
        self._truth: dict[int, str] = {}

    def all(self) -> None:
        for name in ("lmcache", "vllm", "keeper"):
            self.parts[name].start()
        for part in self.parts.values():
            part.wait_ready()
        for number, prompt in enumerate(self._kept):
            self._truth[number] = self._ask(prompt, salt="truth")
            self._ask(prompt)
        time.sleep(3)
        for number in range(self._plan["runs"]):
            begin = time.monotonic()
            what = self._once(number)
            self._show(run=number, killed=what, seconds=round(time.monotonic() - begin, 1))
        for name in ("vllm", "lmcache", "keeper"):
            self.parts[name].end()
        self._settle()
        self._show(report=True)

    def _show(self, **more: object) -> None:
        print(json.dumps({**more, **self.told, "wrong": self.wrong, "failed": self.failed}), flush=True)

    def _once(self, number: int) -> str:
        which, fresh = number % KEPT, self._prompt(f"new{number}")
        name = self._dice.choice(list(self.parts))
        self._clear()
        answers: dict[str, str | None] = {}

        def ask(key: str, prompt: list[int]) -> None:
            try:
                answers[key] = self._ask(prompt)
            except Exception as error:  # whatever it is, the request has failed
                answers[key] = None
                self.told[f"{name} killed: requests lost"] += 1
                if name != "vllm":
                    self.failed.append(f"run {number}, {name} killed, {key}: {error!r}")

        threads = [threading.Thread(target=ask, args=each) for each in (("kept", self._kept[which]), ("new", fresh))]
        for thread in threads:
            thread.start()
        time.sleep(self._dice.uniform(0, 0.8))
        title = self.parts[name].kill(self._dice)
        self.told[f"{name} killed"] += 1
        for thread in threads:
            thread.join()
        self._same(f"run {number}, while {name} was killed", answers.get("kept"), self._truth[which])
        self.parts[name].start()
        self.parts[name].wait_ready()
        truth = self._sure(f"run {number}, after {name} was killed", fresh, salt=f"truth{number}")
        self._same(f"run {number}, new, while {name} was killed", answers.get("new"), truth)
        # Again, from L2 where it is there.
        self._clear()
        before = self._l2_hits()
        for what, prompt, right in (("kept", self._kept[which], self._truth[which]), ("new", fresh, truth)):
            self._same(f"run {number}, {what}, after {name} was killed", self._ask(prompt), right)
        self.told["chunks hit in L2 afterwards"] += int(self._l2_hits() - before) // CHUNK
        return f"{name}: {title}"

    def _sure(self, where: str, prompt: list[int], salt: str) -> str:
        """The answer, for which the engine is started again if it has ended without being killed, which is told."""
        try:
            return self._ask(prompt, salt)
        except httpx.HTTPError as error:
            vllm = self.parts["vllm"]
            time.sleep(2)
            self.failed.append(f"{where}: {error!r}; vLLM ended with {vllm.process.poll()}: {vllm.tail()}")
            vllm.end()
            vllm.start()
            vllm.wait_ready()
            return self._ask(prompt, salt)

    def _same(self, where: str, text: str | None, right: str) -> None:
        if text is not None:
            self.told["answers compared"] += 1
            if text != right:
                self.wrong.append(f"{where}: {text!r} is not {right!r}")

    def _settle(self) -> None:
        """One round of the keeper with no patience for what dead writers left."""
        settings = self._plan["keeper"]
        KEEPER.write_text(json.dumps({**settings, "grace": {"tmp": 0}}))
        time.sleep(2)
        done = subprocess.run(
            [*self._keeper, "--once"], env={**os.environ, **self._code}, capture_output=True, text=True, timeout=300, check=False
        )  # fmt: skip
        self.told["last round of the keeper"] = done.returncode
        print(json.dumps({"keeper": (done.stdout + done.stderr)[-2000:]}), flush=True)

    def _prompt(self, label: str) -> list[int]:
        return random.Random(f"{self._plan['seed']}{label}").choices(range(300, 8000), k=4 * CHUNK + 40)

    def _ask(self, prompt: list[int], salt: str = "") -> str:
        body: dict[str, Any] = {
            "model": self._plan["model"], "prompt": prompt, "max_tokens": 12, "temperature": 0, "ignore_eos": True,
        }  # fmt: skip
        if salt:
            body["cache_salt"] = f"{self._plan['seed']}{salt}"
        answer = httpx.post(f"{VLLM}/v1/completions", json=body, timeout=120)
        if answer.status_code != 200:
            raise RuntimeError(f"{answer.status_code}: {answer.text[:300]}")
        return str(answer.json()["choices"][0]["text"])

    def _clear(self) -> None:
        httpx.post(f"{VLLM}/reset_prefix_cache", timeout=60).raise_for_status()
        httpx.post(f"{LMCACHE}/cache/clear", json={"tier": "l1", "force": False}, timeout=60).raise_for_status()

    def _l2_hits(self) -> float:
        lines = httpx.get(f"{LMCACHE}/metrics", timeout=60).text.splitlines()
        return sum(float(line.split()[-1]) for line in lines if line.startswith(L2_HITS))


if __name__ == "__main__":
    Run(json.loads(sys.argv[1])).all()
