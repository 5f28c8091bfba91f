"""The site of `make docs` in a real browser: nothing is broken, nothing complains, a phone can show it."""

import pathlib
import re
import time
from urllib.parse import unquote, urldefrag, urljoin

import chromium
import pytest

import adasadmm

ROOT = pathlib.Path(__file__).parents[1]
SITE = ROOT / "docs" / "_build" / "html"
EXAMPLES = sorted(path.stem for path in (ROOT / "examples").glob("plot_*.py") if path.stem != "plot_communities")
PAGES = ["index", "choosing", "symbols", "theory", "faq", "api", "benchmarks", "gallery/index"]
PAGES += [
    "generated/tutorials/plot_1_first_model",
    "generated/tutorials/plot_4_own_parts",
    "generated/api/adasadmm.GraphGuidedClassifier",
    "high_accuracy",
    "guide/fused_lasso",
    "guide/support",
    "cases/index",
    "cases/insurance",
]
PICTURES = """
    return [...document.images].filter(i => i.offsetParent !== null)
        .map(i => [i.getAttribute('src'), i.complete && i.naturalWidth > 0, i.alt])
"""
BEYOND = """
    const scrolls = one => ['auto', 'scroll', 'hidden'].includes(getComputedStyle(one).overflowX);
    const up = one => one.parentElement;
    const inside = one => up(one) && up(one) !== document.body && (scrolls(up(one)) || inside(up(one)));
    return [...document.querySelectorAll('.bd-article *')]
        .filter(one => !inside(one) && one.getBoundingClientRect().right > innerWidth + 0.5)
        .map(one => one.outerHTML.slice(0, 120));
"""


def test_the_reference_has_every_public_name():
    listed = re.findall(r"^   (\S+)$", (ROOT / "docs" / "api.rst").read_text(), flags=re.MULTILINE)
    assert set(adasadmm.__all__) <= set(listed)


def test_there_are_enough_examples_and_the_gallery_has_a_place_for_each():
    order = (ROOT / "docs" / "_ext" / "gallery.py").read_text()
    assert len(EXAMPLES) >= 12
    assert [name for name in EXAMPLES if name not in order] == []


# --- what needs the site and a browser -------------------------------------------------------------------------------

needs_site = [
    pytest.mark.slow,
    pytest.mark.skipif(not (SITE / "index.html").exists(), reason="docs/_build/html is not there: run make docs"),
]
needs_browser = [*needs_site, chromium.is_installed]


def marked(marks):
    def mark(test):
        for one in marks:
            test = one(test)
        return test

    return mark


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    with chromium.started(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


def open_page(driver, page, width=1300):
    chromium.open_page(driver, SITE / f"{page}.html", width)


def visible_pictures(driver, seconds=20):
    """Source, loaded or not, and alternative text of each picture; a busy machine may still be decoding them."""
    deadline = time.monotonic() + seconds
    while True:
        pictures = driver.execute_script(PICTURES)
        if all(loaded for _, loaded, _ in pictures) or time.monotonic() > deadline:
            return pictures
        time.sleep(0.1)


def complaints(driver):
    """What the console says, but for what the theme tells about itself."""
    return [entry for entry in driver.get_log("browser") if entry["level"] != "INFO"]


def own_pages():
    """Not what was copied as it is: templates of the theme, the report of the reproduction."""
    return [page for page in SITE.rglob("*.html") if page.relative_to(SITE).parts[0] not in ("_static", "_downloads")]


def anchors(path):
    return set(re.findall(r'\b(?:id|name)="([^"]+)"', path.read_text(errors="replace")))


@marked(needs_site)
def test_no_internal_link_is_broken():
    known, broken = {}, []
    for page in own_pages():
        text = re.sub(r"(<script\b[^>]*>).*?</script>", r"\1", page.read_text(errors="replace"), flags=re.DOTALL)
        for href in re.findall(r'\b(?:href|src)="([^"]+)"', text):  # not in the code of scripts
            if re.match(r"[a-z]+:|//", href):
                continue
            target, anchor = urldefrag(urljoin(page.as_uri(), href.replace("&amp;", "&")))
            path = pathlib.Path(unquote(target.removeprefix("file://").split("?")[0]))
            path = path / "index.html" if path.is_dir() else path
            if not path.exists():
                broken.append((str(page.relative_to(SITE)), href))
            elif anchor and path.suffix == ".html" and "_modules" not in page.parts:  # from there the page is enough
                known.setdefault(path, anchors(path))
                if unquote(anchor) not in known[path]:
                    broken.append((str(page.relative_to(SITE)), href))
    assert broken == []


@marked(needs_site)
def test_the_site_needs_no_network():
    for page in SITE.rglob("*.html"):
        fetched = re.findall(
            r'<(?:script|img|link rel="(?:stylesheet|preload)")[^>]*(?:src|href)="(https?:[^"]+)"', page.read_text()
        )
        assert fetched == [], page


@marked(needs_browser)
@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("width", [400, 1300])
def test_a_page_can_be_read(driver, page, width):
    driver.get_log("browser")
    open_page(driver, page, width)
    pictures = visible_pictures(driver)
    assert [source for source, loaded, _ in pictures if not loaded] == []
    wordless = [source for source, _, words in pictures if not words]
    assert [source for source in wordless if not source.endswith("_thumb.png")] == []  # a thumbnail has its title below
    assert driver.execute_script(BEYOND) == []
    needed, there = (driver.execute_script(f"return document.documentElement.{w}Width") for w in ("scroll", "client"))
    assert needed <= there
    assert driver.execute_script("return document.querySelector('.bd-article').innerText.length") > 100
    assert complaints(driver) == []


@marked(needs_browser)
@pytest.mark.parametrize("example", EXAMPLES)
def test_an_example_has_its_picture(driver, example):
    open_page(driver, f"gallery/{example}", 400)
    shown = [source for source, loaded, _ in visible_pictures(driver) if loaded]
    assert any(f"{example}_001" in source for source in shown)
    assert driver.execute_script(BEYOND) == []
    assert complaints(driver) == []


@marked(needs_browser)
def test_the_search_finds_a_name(driver):
    open_page(driver, "index")
    driver.get((SITE / "search.html").as_uri() + "?q=incidence")
    wait = pytest.importorskip("selenium.webdriver.support.ui").WebDriverWait(driver, 20)
    found = wait.until(lambda d: d.find_elements("css selector", "#search-results li a"))
    assert found
