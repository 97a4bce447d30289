"""`python -m key_coverage [KEY ...]`: how many keys of the chart's values have an effect that a render shows, and which have none.

Without KEY all keys are tried, a minute or two on two cores; a KEY is a part of a key's name, and shows the two values that differ.
Exit code 0: all keys have an effect but for the exceptions; 1: some have none, or an exception has one.
"""

from __future__ import annotations

import sys

from chart.helm import CHART
from property.renderer import Renderer
from testing.tools import environment

from .leaves import leaves
from .remember import Remembering
from .search import EXCEPTIONS, effect


def main(asked: list[str]) -> int:
    """Print the figures; return the exit code."""
    chosen = [leaf for leaf in leaves() if not asked or any(text in str(leaf) for text in asked)]
    missing, wrong = [], []
    with Renderer(environment()["RENDER"], CHART, "-validate=false") as process:
        renderer = Remembering(process)
        for leaf in chosen:
            found = effect(renderer, leaf)
            if found and asked:
                print(f"{leaf}: {found.one!r} -> {found.other!r}")
            if not found and str(leaf) not in EXCEPTIONS:
                missing.append(str(leaf))
            if found and str(leaf) in EXCEPTIONS:
                wrong.append(str(leaf))
    excepted = [str(leaf) for leaf in chosen if str(leaf) in EXCEPTIONS and str(leaf) not in wrong]
    print(
        f"{len(chosen) - len(missing) - len(excepted)} of {len(chosen)} keys have an effect, {len(excepted)} are excepted"
    )
    for key in excepted:
        print(f"  excepted   {key}: {EXCEPTIONS[key]}")
    for key in missing:
        print(f"  no effect  {key}")
    for key in wrong:
        print(f"  excepted, but it has an effect: {key}")
    return 1 if missing or wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
