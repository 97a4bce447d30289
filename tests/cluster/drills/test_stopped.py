"""An engine core that stands still for 40 s under load is waited for, not restarted."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

from ..api import wait_for
from ..engines import prompt_of
from .conftest import TITLED, Install

PROMPTS = 16
STILL_S = 40
LENGTH = 3900


def test_engine_core_stands_still(install: Install) -> None:
    engines = install(TITLED, replicas=1)
    (pod,) = engines.pods()
    prompts = [prompt_of(f"still{number}", LENGTH) for number in range(PROMPTS)]
    with ThreadPoolExecutor(PROMPTS) as pool:
        answers = [pool.submit(engines.ask, pod, prompt, 32) for prompt in prompts]
        wait_for("requests under way", lambda: engines.vllm(pod).total("vllm:num_requests_running") > 0, 60)
        engines.signal(pod, "VLLM::EngineCore", "STOP")
        try:
            time.sleep(STILL_S)
        finally:
            engines.signal(pod, "VLLM::EngineCore", "CONT")
        assert [answer.result().prompt_tokens for answer in answers] == [LENGTH] * PROMPTS
    engines.ready(1, 60)
    assert engines.pods()[0].metadata.name == pod.metadata.name
    assert engines.restarts(pod, "vllm") == engines.restarts(pod, "lmcache") == 0
