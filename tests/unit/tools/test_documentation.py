"""The documentation's site: links that leave docs/, and what a browser would fetch from elsewhere."""

from __future__ import annotations

import re

import pytest

from documentation.links import LINK, copy_of, outside, rewritten
from local_cluster.settings import REPO
from testing.site import fetched

PAGES = sorted((REPO / "docs").rglob("*.md"))


@pytest.mark.parametrize(
    ("page", "target", "path"),
    [
        ("pool.md", "../values/platform.yaml", "values/platform.yaml"),
        ("runbooks/One.md", "../../values/platform.yaml", "values/platform.yaml"),
        ("runbooks/One.md", "../pool.md", None),
        ("pool.md", "keeper.md", None),
        ("pool.md", "https://example.com/../x", None),
        ("pool.md", "mailto:a@example.com", None),
        # Above the repository there is nothing to copy: mkdocs refuses the link as it stands.
        ("pool.md", "../../elsewhere", None),
    ],
)
def test_links_that_leave_the_folder(page: str, target: str, path: str | None) -> None:
    assert outside(page, target) == path


def test_they_lead_to_the_sites_copy_and_others_stay() -> None:
    text = "[a](../../values/platform.yaml#l1), [b](../pool.md#uninstall), ![c](../d.svg)"
    assert (
        rewritten("runbooks/One.md", text)
        == f"[a](../{copy_of('values/platform.yaml')}#l1), [b](../pool.md#uninstall), ![c](../d.svg)"
    )


def test_on_a_code_host_they_all_exist() -> None:
    """What is in the site is the business of `make docs`."""
    seen = 0
    for page in PAGES:
        for target in LINK.findall(re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)):
            if not re.match(r"[a-z]+:", target):
                seen += 1
                assert (page.parent / target).exists(), f"{page}: {target}"
    assert seen > 100


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ('<script src="https://example.com/a.js"></script>', ["https://example.com/a.js"]),
        ("<link rel=stylesheet href=//fonts.example.com/css>", ["//fonts.example.com/css"]),
        ('<img alt="x" src="https://example.com/i.png">', ["https://example.com/i.png"]),
        ('<a href="https://example.com/">there</a> <script src="assets/a.js"></script>', []),
    ],
)
def test_what_a_page_fetches(html: str, found: list[str]) -> None:
    assert fetched(html) == found
