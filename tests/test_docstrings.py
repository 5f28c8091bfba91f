"""Every public name has a docstring with an example, and every example is run."""

import doctest
import importlib
import inspect
import pathlib
import re

import pytest

import adasadmm

STUB = pathlib.Path(adasadmm.__file__).with_name("__init__.pyi").read_text()
MODULES = re.findall(r"^    (\w+) as \1,$", STUB.split(")")[0], re.MULTILINE)


def named(dotted):
    found = adasadmm
    for name in dotted.split("."):
        found = getattr(found, name)
    return found


def public():
    """Modules, classes and functions; the others are tuples of names, and aliases of types."""
    lists = {"": adasadmm.__all__, **{f"{m}.": importlib.import_module(f"adasadmm.{m}").__all__ for m in MODULES}}
    found = {}
    for prefix, names in lists.items():
        for name in names:
            thing = named(prefix + name)
            own = getattr(thing, "__module__", thing.__name__ if inspect.ismodule(thing) else "")
            if own.startswith("adasadmm") and hasattr(thing, "__name__"):
                found.setdefault(id(thing), prefix + name)
    return list(found.values())


def example_of(dotted):
    return inspect.getdoc(named(dotted)) or ""


def test_the_list_of_names_is_not_empty():
    assert "losses" in MODULES and {"solve", "L1", "losses.value", "graphs.chain"} <= set(public())


@pytest.mark.parametrize("dotted", public())
def test_a_public_name_has_an_example(dotted):
    text = example_of(dotted)
    shown_elsewhere = "See `" in text  # a class that users get from a function, whose example shows both
    assert "Examples\n--------" in text and (">>>" in text or shown_elsewhere), f"{dotted} has no example"


@pytest.mark.slow  # the examples compile
@pytest.mark.compiled
@pytest.mark.parametrize("dotted", public())
def test_the_example_runs(dotted):
    example = doctest.DocTestParser().get_doctest(example_of(dotted), {}, dotted, None, 0)
    log = []
    doctest.DocTestRunner(verbose=False).run(example, out=log.append)
    assert not log, "".join(log)
