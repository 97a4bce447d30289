"""mkdocs hook: links from docs/ to other files of the repository.

On a code host `../values/platform.yaml` is right as it stands. The site holds docs/ alone; so each file that is linked goes into it
as text, which a browser shows, and the link leads there. The site then needs no code host, and shows the files of its own
version. What does not exist is left to mkdocs, which refuses the link in strict mode.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

LINK = re.compile(r"\]\(([^)\s#]+)")
COPIES = "repository"
"""Folder of the site that holds them."""


def outside(page: str, target: str) -> str | None:
    """The file that a link of a page (path below docs/) leads to, as a path from the repository's root; None in docs/ and on the web."""
    if re.match(r"[a-z]+:|/", target):
        return None
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), target))
    return None if path.startswith(("docs/", "../")) or path in ("docs", "..") else path


def copy_of(path: str) -> str:
    """Where the site has a file of the repository."""
    return f"{COPIES}/{path}.txt"


def rewritten(page: str, markdown: str) -> str:
    """The page with such links led to the site's copies."""

    def lead(match: re.Match[str]) -> str:
        path = outside(page, match[1])
        return f"]({posixpath.relpath(copy_of(path), posixpath.dirname(page))}" if path else match[0]

    return LINK.sub(lead, markdown)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add a copy of each file that a page links."""
    from mkdocs.structure.files import File  # noqa: PLC0415 - the rest of this module works without mkdocs

    repository = Path(config.docs_dir).parent
    for page in files.documentation_pages():
        for target in LINK.findall(page.content_string):
            path = outside(page.src_uri, target)
            if path and (repository / path).is_file() and not files.get_file_from_path(copy_of(path)):
                files.append(File.generated(config, copy_of(path), content=(repository / path).read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """mkdocs' name for it."""
    return rewritten(page.file.src_uri, markdown)
