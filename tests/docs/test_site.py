"""The built site: its checks find what is broken, and its search answers from the disk without a request."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from helpers import required
from helpers.chromium import browsing, program

ROOT = Path(__file__).parents[2]
SITE = ROOT / "out" / "site"
WORDS = "word " * 30


@pytest.fixture
def check(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    monkeypatch.syspath_prepend(str(ROOT / "tools" / "site"))
    import check

    return check


def test_the_check_finds_what_leads_nowhere_or_outside(check, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "a.html").write_text(
        f'<p id="here">{WORDS}</p><a href="b.html">b</a><a href="#here">h</a><a href="c.html#there">c</a>'
        '<a href="a.html#gone">g</a><a href="https://example.org">a reader may click</a>'
        '<script src="https://cdn.example.org/x.js"></script><img src="missing.png">'
    )
    (tmp_path / "c.html").write_text(f'<p id="there">{WORDS}</p>')
    (tmp_path / "d.html").write_text("<p></p>")
    (tmp_path / "x.css").write_text(
        "@import 'https://fonts.example.org/f.css'; a { background: url(data:image/png;base64,) }"
    )
    number, problems = check.problems_of(tmp_path)
    assert number == 3
    assert sorted(problems) == [
        "a.html fetches https://cdn.example.org/x.js",
        "a.html links to a.html#gone, which has no such anchor",
        "a.html links to b.html, which is not there",
        "a.html links to missing.png, which is not there",
        "d.html is empty",
        "x.css fetches https://fonts.example.org/f.css",
    ]


@pytest.mark.long
@pytest.mark.parametrize("width", [1300, 420])
def test_the_site_searches_from_the_disk(width: int) -> None:
    if not (SITE / "index.html").exists():
        required.missing("site", "the built site", "make docs")
    path = program()
    if path is None:
        required.missing("chromium", "Chromium", "apt-get install chromium")
    with browsing(path) as browser:
        browser.size(width, 900)
        browser.open(SITE / "index.html")
        assert browser.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
        browser.evaluate("document.getElementById('__search').click()")
        browser.evaluate(
            "(() => { const field = document.querySelector('.md-search__input'); field.focus();"
            "field.value = 'permutation'; field.dispatchEvent(new Event('input', {bubbles: true})); })()"
        )
        titles = "[...document.querySelectorAll('.md-search-result__item h1, .md-search-result__item h2')]"
        until = time.monotonic() + 60
        while not browser.evaluate(f"{titles}.length"):
            assert time.monotonic() < until, browser.complaints()
            time.sleep(0.1)
        assert "real?" in browser.evaluate(f"{titles}.map(title => title.textContent).join(' ')")
        assert browser.complaints() == []
        assert browser.requests() == []
