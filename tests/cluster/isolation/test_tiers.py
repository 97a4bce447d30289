"""Same model, same weights, same prompt: what one line of business has cached is nothing to the other, in any tier."""

from __future__ import annotations

from typing import Any

import pytest

from ..engines import CHUNK, prompt_of
from .conftest import Tenant

BAD = ["", None, 5, ["a"], {"a": 1}, "x" * 129]
ODD = [".", "..", "a b", "A", "a", "x\ny", "../../isob", "@", "/", "\\", "\U0001f600" * 128, "s" * 128]


def _hit(tenant: Tenant, prompt: list[int], **more: Any) -> tuple[str, float]:
    """The answer, and the tokens of the prompt that came from any tier."""
    answer, done = tenant.engines.hits(tenant.pod(), prompt, **more)
    return answer.text, done.l0 + done.l1 + done.l2 + done.external


def test_no_tier_of_one_serves_the_other(tenants: list[Tenant]) -> None:
    for owner, other in (tenants, tenants[::-1]):
        prompt = prompt_of(f"tiers {owner.name}")
        text = owner.engines.fill(owner.pod(), prompt).text
        assert _hit(other, prompt) == (text, 0), "a block of another line of business was used"
        # The control: the owner hits it in each tier, so that a hit would have been seen.
        pod, engines = owner.pod(), owner.engines
        assert engines.hits(pod, prompt)[1].l0 > 0
        engines.clear_l0(pod)
        assert engines.hits(pod, prompt)[1].l1 >= 2 * CHUNK
        engines.clear_l0(pod)
        engines.clear_l1(pod)
        warm, done = engines.hits(pod, prompt)
        assert (warm.text, done.l2) == (text, 2 * CHUNK)


def test_no_client_chooses_the_salt_of_another(tenants: list[Tenant]) -> None:
    first, second = tenants
    prompt = prompt_of("forged")
    text = first.engines.fill(first.pod(), prompt).text
    for tenant in (first, second):
        for forged in (first.salt(), first.secret, first.name):
            assert _hit(tenant, prompt, cache_salt=forged)[1] == 0, f"{tenant.name} hit by the salt {forged!r}"
    assert _hit(first, prompt)[0] == text
    assert _hit(first, prompt)[1] > 0


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: repr(bad)[:12])
def test_a_bad_salt_is_400_and_the_engine_goes_on(tenants: list[Tenant], bad: Any) -> None:
    first = tenants[0]
    pod = first.pod()
    before = first.engines.restarts(pod, "vllm")
    for path, body in (
        ("/v1/completions", {"prompt": "x"}),
        ("/v1/chat/completions", {"messages": [{"role": "user", "content": "x"}]}),
        ("/v1/responses", {"input": "x"}),
    ):
        answer = first.engines.post(pod, path, {"model": first.engines.model, "cache_salt": bad, **body})
        assert answer.status_code == 400, answer.text
        assert answer.json()["error"]["param"] == "cache_salt"
    assert first.engines.ask(pod, "one two").text
    assert first.engines.restarts(pod, "vllm") == before


def test_each_odd_salt_stores_and_hits_only_itself(tenants: list[Tenant]) -> None:
    first = tenants[0]
    prompt = prompt_of("odd")
    texts = set()
    for salt in ODD:
        text, tokens = _hit(first, prompt, cache_salt=salt)
        assert tokens == 0, f"{salt!r} hit what another salt stored"
        texts.add(text)
    for salt in ODD:
        text, tokens = _hit(first, prompt, cache_salt=salt)
        assert tokens > 0, f"{salt!r} was not stored"
        texts.add(text)
    assert len(texts) == 1
