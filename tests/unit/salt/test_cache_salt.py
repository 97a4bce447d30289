"""The cache salt is the server's: what a client sends changes it within its line of business only, and never breaks anything."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from .asgi import CHAT, SECRET, Disconnected, Server, ask, module

SALT = module()
Make = Callable[..., tuple[Any, Server]]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Make:
    def make(secret: str = SECRET, **server: Any) -> tuple[Any, Server]:
        monkeypatch.setenv("TKC_CACHE_SALT", secret)
        application = Server(**server)
        return SALT.CacheSalt(application), application

    return make


def salt_of(made: Make, body: Any, secret: str = SECRET, path: str = CHAT) -> str:
    """The salt with which a body arrives."""
    middleware, server = made(secret)
    assert ask(middleware, json.dumps(body).encode(), path=path).status == 200
    return str(json.loads(server.bodies[0])["cache_salt"])


@pytest.mark.parametrize("path", sorted(SALT.SALTED))
def test_every_path_that_computes_is_salted(made: Make, path: str) -> None:
    expected = hmac.new(SECRET.encode(), b"", hashlib.sha256).hexdigest()
    assert salt_of(made, {"prompt": "x"}, path=path) == expected


ODD = [".", "..", "a b", "A", "a", "x\ny", "../../etc", "@", "/", "\\", "\x00", "\U0001f600" * 128, "s" * 128, "%", "="]


def test_each_salt_of_a_client_is_its_own_and_legal_everywhere(made: Make) -> None:
    salts = [salt_of(made, {"cache_salt": own}) for own in ODD] + [salt_of(made, {"a": 1})]
    assert len(set(salts)) == len(salts)
    assert all(len(salt) == 64 and set(salt) <= set("0123456789abcdef") for salt in salts)


def test_the_salt_of_another_line_of_business_cannot_be_sent(made: Make) -> None:
    theirs = salt_of(made, {"prompt": "x"}, "other-secret-of-cards")
    forged = salt_of(made, {"prompt": "x", "cache_salt": theirs})
    assert forged not in (theirs, salt_of(made, {"prompt": "x"}))
    assert salt_of(made, {"cache_salt": "same"}) != salt_of(made, {"cache_salt": "same"}, "other-secret-of-cards")


@pytest.mark.parametrize("bad", ["", None, 1, True, 1.5, [], ["a"], {}, {"a": "b"}, "x" * 129, "\ud800"])
@pytest.mark.parametrize("breaks", [False, True])
def test_a_bad_salt_is_400_in_vllms_shape_and_reaches_nobody(made: Make, bad: Any, breaks: bool) -> None:
    middleware, server = made(breaks=breaks)
    answer = ask(middleware, json.dumps({"prompt": "x", "cache_salt": bad}).encode())
    assert answer.status == 400
    error = answer.error
    assert (error["code"], error["type"], error["param"]) == (400, "BadRequestError", "cache_salt")
    assert "cache_salt" in error["message"]
    assert server.bodies == []
    # The next one is served.
    assert ask(middleware, b'{"prompt": "x"}').status == 200


@pytest.mark.parametrize(
    "body",
    [
        b'{"cache_salt": "mine", "prompt": "x", "cache_salt": "theirs"}',
        b'{"cache\\u005fsalt": "theirs", "prompt": "x"}',
        json.dumps({"prompt": "x", "cache_salt": "theirs"}).encode("utf-16"),
        json.dumps({"prompt": "x", "cache_salt": "theirs"}).encode("utf-16-le"),
        json.dumps({"prompt": "x", "cache_salt": "theirs"}).encode("utf-32"),
        b"\xef\xbb\xbf" + json.dumps({"prompt": "x", "cache_salt": "theirs"}).encode(),
        b' \n{"prompt": "x", "cache_salt": "theirs"}',
    ],
)
def test_a_salt_that_hides_is_found(made: Make, body: bytes) -> None:
    """Twice, escaped, in another encoding: what vLLM reads is the server's, and stands there once."""
    middleware, server = made()
    assert ask(middleware, body).status == 200
    pairs = json.loads(server.bodies[0], object_pairs_hook=list)
    assert [value for name, value in pairs if name == "cache_salt"] == [SALT.derived(SECRET.encode(), "theirs")]
    assert dict(pairs)["prompt"] == "x"


@pytest.mark.parametrize(
    "body", [b'{"prompt": "x"}'.decode().encode("utf-16-le"), b'{"prompt": "x"}'.decode().encode("utf-16-be"), b"{}"]
)
def test_a_body_without_a_salt_in_any_encoding_gets_one(made: Make, body: bytes) -> None:
    middleware, server = made()
    assert ask(middleware, *(body[i : i + 1] for i in range(len(body)))).status == 200
    assert json.loads(server.bodies[0])["cache_salt"] == SALT.derived(SECRET.encode(), "")


@given(st.dictionaries(st.text(), JSON), st.lists(st.integers(0, 200), max_size=4), st.booleans())
@example({"cache_salt": "a", "b": 1}, [0, 1], True)
@example({"a": float("inf")}, [], False)
def test_all_else_of_a_body_arrives_as_it_was(body: dict[str, Any], cuts: list[int], ascii_only: bool) -> None:
    raw = json.dumps(body, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    at = [0, *sorted(min(cut, len(raw)) for cut in cuts), len(raw)]
    chunks = [raw[a:b] for a, b in pairwise(at) if a < b]
    try:
        found = b"".join(SALT.salted(chunks, b"key"))
    except SALT.BadSalt:
        own = body["cache_salt"]
        assert not isinstance(own, str) or not own or len(own) > 128
        return
    try:
        json.loads(raw)
    except ValueError:
        assert found == raw
        return
    arrived = json.loads(found)
    salt = arrived.pop("cache_salt")
    body.pop("cache_salt", None)
    assert json.dumps(arrived) == json.dumps(body)
    assert len(salt) == 64


@pytest.mark.parametrize(
    "body", [b"", b"{", b"nonsense", b'{"a": 1', b"[1, 2]", b'"text"', b"null", b"\xff\xfe\xfa", b"[" * 100_000]
)
def test_what_vllm_refuses_is_left_to_vllm(made: Make, body: bytes) -> None:
    middleware, server = made()
    assert ask(middleware, body).status == 200
    assert server.bodies == [body]


def test_a_large_body_is_not_copied_and_its_end_is_heard(made: Make) -> None:
    parts = [b'{"image": "', *[b"A" * 65_536 for _ in range(64)], b'"}']
    middleware, server = made()
    ask(middleware, *parts)
    # The first chunk is cut in two; all others are the very objects that came.
    assert [id(part) for part in server.chunks[0][2:]] == [id(part) for part in parts[1:]]
    assert len(server.bodies[0]) == sum(map(len, parts)) + len('"cache_salt":"",') + 64
    assert server.after == ["http.disconnect"]


def test_answers_stream_through_untouched(made: Make) -> None:
    middleware, _ = made()
    answer = ask(middleware, b'{"stream": true}')
    assert answer.pieces == [b"one", b"two", b"three"]
    assert [each["type"] for each in answer.sent].index("http.response.start") == 0
    assert answer.sent[0]["headers"] == [(b"x-own", b"1")]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v1/models"),
        ("GET", "/health"),
        ("POST", "/tokenize"),
        ("POST", f"{CHAT}/render"),
        ("GET", CHAT),
        ("POST", "/v1/load_lora_adapter"),
    ],
)
def test_other_paths_are_untouched(made: Make, method: str, path: str) -> None:
    middleware, server = made()
    body = b'{"cache_salt": ""}'
    assert ask(middleware, body, path=path, method=method).status == 200
    assert server.bodies == [body]


@pytest.mark.parametrize("path", sorted(SALT.UNSALTED))
def test_paths_that_take_no_salt_are_refused(made: Make, path: str) -> None:
    middleware, server = made()
    answer = ask(middleware, b"{}", path=path)
    assert answer.status == 400
    assert path in answer.error["message"]
    assert server.bodies == []


def test_a_socket_that_computes_without_a_salt_is_closed(made: Make) -> None:
    middleware, server = made()
    answer = ask(middleware, path="/v1/realtime", kind="websocket")
    assert answer.sent == [{"type": "websocket.close", "code": 1008}]
    assert server.bodies == []


def test_paths_below_a_root_path_are_salted_too(made: Make) -> None:
    middleware, server = made()
    ask(middleware, b'{"a": 1}', path=f"/llm{CHAT}", root="/llm")
    assert "cache_salt" in json.loads(server.bodies[0])


def test_a_client_that_leaves_and_one_that_may_not_ask(made: Make) -> None:
    """Nothing is read for a client that vLLM turns away, and a client that left is no bad salt."""
    middleware, server = made(reads=False)
    assert ask(middleware, b'{"cache_salt": ""}').status == 200
    middleware, server = made()
    assert ask(middleware).pieces == [b"There was an error parsing the body"]
    assert server.bodies == []


def test_an_error_of_the_server_is_not_hidden(made: Make) -> None:
    middleware, _ = made(breaks=True)
    with pytest.raises(Disconnected):
        ask(middleware)


@pytest.mark.parametrize("secret", ["", "  ", "short", "x" * 15, "  " + "x" * 15 + "\n"])
def test_no_server_without_a_secret(made: Make, secret: str) -> None:
    with pytest.raises(RuntimeError, match=r"Secret holds \d+ characters; 16 at least\. Fix: .*openssl rand") as error:
        made(secret)
    assert not secret.strip() or secret.strip() not in str(error.value)


def test_a_line_end_behind_the_secret_does_not_count(made: Make) -> None:
    assert salt_of(made, {"a": 1}, SECRET + "\n") == salt_of(made, {"a": 1}, SECRET)
