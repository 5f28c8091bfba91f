"""Figures of the case studies, written into the pages from docs/cases/results.

    python docs/_ext/results.py        # writes the stored figures into the pages

In a page, ``<!-- rent.rss:.1f -->3.9<!-- / -->`` marks a fact of the stored JSON with its format, so that the page can
be read as it is. ``rent.table.main`` is a table, whose format is that of all its numbers, and ``rent.about`` the
command, its date, and the source, citation and licence of the data. ``support.losses`` and its siblings are the tables
of `support`. A name that is not stored is an error.

A mark at the beginning of a line makes it a block of HTML: only tables and paragraphs of their own stand there.
"""

import importlib
import json
import pathlib
import re

DOCS = pathlib.Path(__file__).parents[1]
RESULTS = DOCS / "cases" / "results"
PLACE = re.compile(r"<!-- (?P<name>(?P<case>\w+)\.(?P<key>[\w.]+)(?::(?P<how>\S+))?) -->.*?<!-- / -->", flags=re.DOTALL)


def stored():
    """The stored results by name."""
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in sorted(RESULTS.glob("*.json"))}


def filled(text, results):
    """The text with all figures in their places; raises KeyError if one is not stored."""

    def figure(place):
        name, case, key, how = place.group("name", "case", "key", "how")
        return f"<!-- {name} -->{_figure(results, case, key, how)}<!-- / -->"

    return PLACE.sub(figure, text)


def pages():
    """The pages with figures."""
    found = [*sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("*/*.md"))]
    return [path for path in found if PLACE.search(path.read_text(encoding="utf-8"))]


def _figure(results, case, key, how):
    if case == "support":
        return f"\n\n{importlib.import_module('support').TABLES[key]().strip()}\n\n"
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
    return "\n\n" + "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n\n"


def _about(found):
    time = f" in {found['seconds']:.0f} s" if found["seconds"] is not None else ""
    return (
        f"\n\n`{found['command']}` computed all figures of this page{time} on {found['cores']} cores "
        f"({found['date']}, version {found['version']}).\n\n"
        f"- **Data:** {found['description']}\n- **Source:** {_linked(found['source'])}\n"
        f"- **Citation:** {_linked(found['citation'])}\n- **Licence:** {found['licence']}\n\n"
        "The data are not part of the package; [Data sets](../datasets.md) explains where to put them.\n\n"
    )


def _linked(text):
    return re.sub(r"https?://[^\s,;]+", lambda found: f"<{found[0]}>", text)


if __name__ == "__main__":
    for path in pages():
        path.write_text(filled(path.read_text(encoding="utf-8"), stored()), encoding="utf-8")
