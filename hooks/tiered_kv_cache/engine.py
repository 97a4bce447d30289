"""Client of one vLLM server (OpenAI API, metrics, development endpoints)."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .deadline import Deadline
from .http import BadAnswer, Http
from .metrics import Samples


class EngineError(Exception):
    """vLLM answered with something unexpected; the message says what."""


SPIN_SECONDS = 1.2
"""vLLM's processes go on to poll for a second after their last work (SpinCondition, vLLM 0.32). Where Pods share processors, a request
to another Pod meanwhile is slower for it, whatever the tier; so a measurement waits."""
TOP = 5
"""Candidates whose log probabilities are asked for at each generated token."""


@dataclass(frozen=True)
class Step:
    """One generated token: its id as vLLM writes it, and the log probabilities of the best candidates, it among them."""

    token: str
    top: Mapping[str, float]


@dataclass(frozen=True)
class Completion:
    """A finished completion.

    ``ttft_ms``: from sending to the first token, in milliseconds. ``steps``: empty when the engine gives no log
    probabilities. ``cached_tokens``: of this very request, None unless vLLM runs with --enable-prompt-tokens-details.
    """

    text: str
    ttft_ms: float
    prompt_tokens: int | None
    steps: tuple[Step, ...] = ()
    cached_tokens: int | None = None


@dataclass(frozen=True)
class Tokens:
    """Answer of /tokenize. ``max_model_len`` in tokens, None when vLLM does not say."""

    ids: list[int]
    max_model_len: int | None


class Engine:
    """One vLLM server. Every method raises http.Unreachable, http.BadAnswer, EngineError or DeadlinePassed."""

    def __init__(self, base_url: str, model: str, deadline: Deadline, key: str = "") -> None:
        """``model`` is the served name; ``key`` the API key, if the engine asks for one."""
        self.model = model
        self._http = Http(base_url, deadline, key)
        self._logprobs = True

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def health(self, at_most: float = 15.0) -> None:
        """Return when /health answers 200."""
        self._http.call("GET", "/health", at_most=at_most)

    def served_models(self) -> list[str]:
        """Names that requests may use."""
        answer = _object(self._http.call("GET", "/v1/models").json())
        return [str(m.get("id")) for m in answer.get("data", [])]

    def tokenize(self, text: str) -> Tokens:
        """Token ids of ``text`` as a completion prompt."""
        body = {"model": self.model, "prompt": text}
        answer = _object(self._http.call("POST", "/tokenize", json=body, at_most=60).json())
        ids, limit = answer.get("tokens"), answer.get("max_model_len")
        if not isinstance(ids, list) or not all(isinstance(i, int) for i in ids):
            raise EngineError(f"/tokenize of vLLM returned no token ids: {str(answer)[:200]}")
        return Tokens(ids, limit if isinstance(limit, int) else None)

    def complete(self, prompt: list[int], max_tokens: int, extra: Mapping[str, Any] | None = None) -> Completion:
        """Greedy completion of exactly these token ids, streamed; ``extra`` goes into the request.

        The end-of-text token is ignored, so that each call computes the same number of tokens. Log probabilities are
        asked for, once without them if the engine refuses (--max-logprobs): a refused request has computed nothing.
        """
        body = greedy(self.model, max_tokens) | {"prompt": prompt} | dict(extra or {})
        if self._logprobs:
            try:
                # Ids and not texts: several tokens can have one text.
                return self._stream({**body, "logprobs": TOP, "return_tokens_as_token_ids": True})
            except BadAnswer as err:
                if err.status != 400 or "logprobs" not in err.body:
                    raise
                self._logprobs = False
        return self._stream(body)

    def _stream(self, body: dict[str, Any]) -> Completion:
        text: list[str] = []
        steps: list[Step] = []
        first: float | None = None
        usage: dict[str, Any] = {}
        start = time.perf_counter()
        with self._http.stream("/v1/completions", json=body) as lines:
            for line in lines:
                event = event_of(line)
                if event is None:
                    continue
                for choice in event.get("choices") or []:
                    first = first if first is not None else time.perf_counter()
                    text.append(choice.get("text") or "")
                    steps += _steps(choice.get("logprobs"))
                usage = event.get("usage") or usage
        if first is None:
            raise EngineError(f"{self._http.base_url}/v1/completions ended without a single token")
        details = usage.get("prompt_tokens_details") or {}
        return Completion(
            "".join(text),
            (first - start) * 1000,
            usage.get("prompt_tokens"),
            tuple(steps),
            details.get("cached_tokens"),
        )

    def reset_prefix_cache(self) -> bool:
        """Empty L0. False when vLLM has no such endpoint (VLLM_SERVER_DEV_MODE is not set)."""
        try:
            self._http.call("POST", "/reset_prefix_cache")
        except BadAnswer as err:
            if err.status in (404, 405):
                return False
            raise
        return True

    def metrics(self) -> Samples:
        """One scrape of /metrics; raises metrics.MetricsError when it is something else."""
        return Samples(self._http.call("GET", "/metrics").text)


def greedy(model: str, max_tokens: int) -> dict[str, Any]:
    """What each measured request has in its body, whatever asks: greedy, streamed, and always as long as said."""
    return {
        "model": model,
        "max_tokens": max_tokens,
        "temperature": 0,
        "ignore_eos": True,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


def event_of(line: str) -> dict[str, Any] | None:
    """The event of one line of a stream; None for a line that is none. Raises EngineError for an error or for no JSON."""
    if not line.startswith("data:") or line == "data: [DONE]":
        return None
    try:
        event = _object(json.loads(line.removeprefix("data:")))
    except ValueError as err:
        raise EngineError(f"vLLM streamed a line that is not JSON: {line[:200]}") from err
    if "error" in event:
        raise EngineError(f"vLLM streamed an error: {str(event['error'])[:300]}")
    return event


def _object(answer: Any) -> dict[str, Any]:
    if not isinstance(answer, dict):
        raise EngineError(f"vLLM answered with something other than an object: {str(answer)[:200]}")
    return answer


def _steps(logprobs: Any) -> list[Step]:
    """The tokens of one streamed choice; empty for an engine that gives none, or gives them in another form."""
    if not isinstance(logprobs, dict):
        return []
    found = []
    for token, top in zip(logprobs.get("tokens") or [], logprobs.get("top_logprobs") or [], strict=False):
        if not isinstance(top, dict):
            return []
        found.append(Step(str(token), {str(k): float(v) for k, v in top.items()}))
    return found
