"""The interactive page of the complete reproduction.

The repository keeps the page that `adasadmm reproduce` wrote, with its results as JSON, without the plotting library,
which is sixteen times as large. The build of the site puts the library back. A new page is stored by

    python docs/_ext/report.py reproduction/report.html
"""

import pathlib
import re
import sys

STORED = pathlib.Path(__file__).parents[1] / "reproduction" / "report.html"
LIBRARY = re.compile(r"<script>/\*\*\s*\* plotly\.js v.*?</script>", flags=re.DOTALL)
PLACE = '<script id="plotly"></script>'


def without_library(page):
    """The page with an empty script in place of the library; an error if it has none or several."""
    slim, count = LIBRARY.subn(PLACE, page)
    if count != 1:
        raise ValueError(f"the page has {count} copies of plotly.js, expected 1")
    return slim


def with_library(page):
    """The stored page as it was written."""
    from plotly.offline import get_plotlyjs

    before, after = page.split(PLACE)
    return f"{before}<script>{get_plotlyjs()}</script>{after}"


def without_links_to_figures(page):
    """The page without links to the pictures that `adasadmm reproduce` writes next to it: the site has none there."""
    return re.sub(r'<a href="(figure\.\w+)">\1</a>', r"\1", page)


def write_report(app, error):
    if error is None and app.builder.format == "html":
        path = pathlib.Path(app.outdir) / "reproduction" / "report.html"
        path.parent.mkdir(parents=True, exist_ok=True)
        page = without_links_to_figures(STORED.read_text(encoding="utf-8"))
        path.write_text(with_library(page), encoding="utf-8")


def setup(app):
    app.connect("build-finished", write_report)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


if __name__ == "__main__":
    written = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
    STORED.write_text(without_library(written), encoding="utf-8")
