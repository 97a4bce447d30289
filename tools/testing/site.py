"""The site of docs/: built in strict mode, so that links and anchors hold, and without what a browser fetches from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from local_cluster.settings import REPO

from .tools import environment

FETCHED = re.compile(r"""<(?:script|link|img|iframe|source)\b[^>]*?\b(?:src|href)=["']?((?:https?:)?//[^"' >]+)""")


def fetched(html: str) -> list[str]:
    """What a browser would ask other hosts for to show a page."""
    return FETCHED.findall(html)


def run() -> bool:
    """Build it into site/, and print what is wrong."""
    # Not --quiet: warnings that are not logged do not count as strict mode's errors.
    build = [sys.executable, "-m", "mkdocs", "build", "--strict"]
    # The theme's advertisement of its successor; pyproject.toml says why it is used.
    done = subprocess.run(build, cwd=REPO, env={**environment(), "NO_MKDOCS_2_WARNING": "1"}, check=False)
    passed = not done.returncode
    for page in sorted(Path(REPO / "site").rglob("*.html")):
        for url in fetched(page.read_text()):
            passed = False
            print(f"{page.relative_to(REPO)} fetches {url}. fix: put the file into docs/, or take it out")
    return passed
