"""Why a model could not be fetched, in words for the person who wrote the values."""

from __future__ import annotations

import re

_QUERY = re.compile(r"(https?://[^\s'\"<>?]+)\?[^\s'\"<>]+")


class FetchError(Exception):
    """Ends the fetch. ``key`` and ``value`` are those of the chart's values."""

    def __init__(self, key: str, value: object, why: str, fix: str) -> None:
        super().__init__(f"{key}: {value}: {plain(why)}. Fix: {fix}")


class Transient(Exception):
    """A failure that another try may not meet: the network, a server's bad moment. The message is the reason."""

    def __init__(self, reason: str) -> None:
        super().__init__(plain(reason))


class Changed(Exception):
    """The remote's content changed while it was being downloaded: begin with a new listing."""


class Fenced(Exception):
    """Another Pod has taken this download over, because this one gave no sign of life."""


def plain(text: str) -> str:
    """``text`` on one line, without the query of any URL: signed ones are secrets."""
    return " ".join(_QUERY.sub(r"\1", text).split()).rstrip(".")
