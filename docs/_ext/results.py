"""Figures of the case studies, inserted into the pages from docs/cases/results.

In a page, ``{{ rent.rss }}`` is a fact of the stored JSON, ``{{ rent.rss:.1f }}`` the same with a format,
``{{ rent.table.main }}`` a table (with formats for its columns: ``{{ rent.table.main:.5f }}``), and
``{{ rent.about }}`` the command, its date, and the source, citation and licence of the data. A name that is not stored
is an error. ``{{ support.losses }}`` and its siblings are the tables of `support`.
"""

import importlib
import json
import pathlib
import re

RESULTS = pathlib.Path(__file__).parents[1] / "cases" / "results"
PLACE = re.compile(r"\{\{\s*(\w+)\.([\w.]+)(?::([^}\s]+))?\s*\}\}")


def stored():
    """The stored results by name."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))}


def filled(text, results):
    """The text with all figures in their places; raises KeyError if one is not stored."""
    return PLACE.sub(lambda place: _figure(results, *place.groups()), text)


def _figure(results, case, key, how):
    if case == "support":
        return importlib.import_module("support").TABLES[key]()
    if case not in results:
        raise KeyError(f"docs/cases/results has no {case}.json: run python examples/case_{case}.py --store")
    found = results[case]
    if key == "about":
        return _about(found)
    if key.startswith("table."):
        return _table(found["tables"][key.removeprefix("table.")], how)
    if key in ("command", "date", "seconds", "version", "cores"):
        return _cell(found[key], how)
    return _cell(found["facts"][key], how)


def _cell(value, how):
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:{how or '.4g'}}"


def _table(rows, how):
    """A markdown table; a column of which a cell is text is aligned to the left, the others to the right."""
    heads = list(rows[0])
    numbers = [not any(isinstance(row[head], str) for row in rows) for head in heads]
    lines = [heads, ["---:" if number else "---" for number in numbers]]
    lines += [[_cell(row[head], how) for head in heads] for row in rows]
    return "\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def _about(found):
    time = f" in {found['seconds']:.0f} s" if found["seconds"] is not None else ""
    return (
        f"`{found['command']}` computed all figures of this page{time} on {found['cores']} cores "
        f"({found['date']}, version {found['version']}).\n\n"
        f"- **Data:** {found['description']}\n- **Source:** {_linked(found['source'])}\n"
        f"- **Citation:** {_linked(found['citation'])}\n- **Licence:** {found['licence']}\n\n"
        "The data are not part of the package; [Data sets](../datasets.md) explains where to put them."
    )


def _linked(text):
    return re.sub(r"https?://[^\s,;]+", lambda found: f"<{found[0]}>", text)


def fill_in(app, docname, source):
    source[0] = filled(source[0], stored())


def setup(app):
    app.connect("source-read", fill_in)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
