"""Fixtures of the router tests. They need a helm, as the chart tests do, and install the router once."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from chart.helm import Helm
from router.places import router_program
from router.stack import Stack

_NUMBERS = count(1)


@pytest.fixture(scope="session")
def helm() -> Helm:
    """The helm that renders the flags."""
    path = os.environ.get("HELM") or shutil.which("helm")
    if not path:
        pytest.fail("no helm. fix: set HELM to one (version 3.14 or later); `make router` builds its own")
    return Helm(path)


@pytest.fixture(scope="session")
def program() -> Path:
    """The packaged vllm-router."""
    return router_program()


def _net() -> str:
    """First three numbers of addresses that no other stack has, here or in a test process beside this one."""
    high, low = divmod((os.getpid() * 251 + next(_NUMBERS)) % (254 * 254), 254)
    return f"127.{high + 1}.{low + 1}"


@pytest.fixture
def stack(helm: Helm, program: Path, tmp_path: Path) -> Iterator[Callable[..., Stack]]:
    """Makes stacks: stack(strategy, engines=2, of_model={...}, **routing)."""
    made: list[Stack] = []

    def make(strategy: str, engines: int = 2, of_model: dict[str, Any] | None = None, **routing: Any) -> Stack:
        folder = tmp_path / str(len(made))
        folder.mkdir()
        values = {"strategy": strategy, **routing}
        made.append(Stack(program, helm, folder, net=_net(), routing=values, engines=engines, **(of_model or {})))
        return made[-1]

    yield make
    for each in made:
        each.close()
