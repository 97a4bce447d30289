"""A renderer that is not asked twice: the search begins with the same few sets of values for most keys."""

from __future__ import annotations

from collections import OrderedDict

from property.renderer import Answer, Question

from .search import Renders

MOST = 128
"""Answers that are kept, the last used; an answer is some 100 kB."""


class Remembering:
    """Answers of another renderer, without the objects."""

    def __init__(self, renderer: Renders) -> None:
        self._renderer = renderer
        self._known: OrderedDict[str, Answer] = OrderedDict()

    def ask(self, question: Question) -> Answer:
        """As the other one does; raises what that raises."""
        line = question.line()
        found = self._known.get(line)
        if found is None:
            asked = self._renderer.ask(question)
            found = self._known[line] = Answer(manifests=asked.manifests, error=asked.error)
            if len(self._known) > MOST:
                self._known.popitem(last=False)
        self._known.move_to_end(line)
        return found
