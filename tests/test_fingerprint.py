"""Which edits change the digest under which compiled code is kept: edits of what the kernel contains, no others."""

import importlib
import itertools
import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest

from adasadmm._core.fingerprint import file_digest, fingerprint

# A kernel that reaches code in every way that numba follows. Each file holds one of them.
SOURCES = {
    "kernel": """
        import parts, package
        from called import called
        from closures import closed
        from constants import FACTOR, TABLE, Colour
        from kernels import other_kernel

        def kernel(given, x):
            made = parts.Made()
            y = parts.apply(given, x) + parts.apply(made, x) + parts.apply(None, x)
            return y + package.inner.through_modules(x) + called(x) + other_kernel(x) + closed(x) * FACTOR * TABLE[0]

        def colour(x):
            return x + Colour.RED.value
        """,
    "parts": """
        from typing import NamedTuple
        from adasadmm._core.jit import generic
        from defaults import DEFAULT

        class Given(NamedTuple): pass
        class Made(NamedTuple):
            size: float = DEFAULT
        class Late(NamedTuple): pass
        class Other(NamedTuple): pass

        @generic
        def apply(part, x): "Apply a part to a number."
        """,
    "registered": """
        import parts, for_given, for_late, for_made, for_object, for_other
        parts.apply.register(parts.Given, for_given.implementation)
        parts.apply.register(parts.Made, for_made.implementation)
        parts.apply.register(parts.Late, for_late.implementation)
        parts.apply.register(object, for_object.implementation)
        parts.apply.register(parts.Other, for_other.implementation)
        """,
    "for_given": "def implementation(part, x): return x + 1",
    "for_made": "def implementation(part, x): return x + 2",
    "for_object": "def implementation(part, x): return x + 3",
    "for_other": "def implementation(part, x): return x + 4",
    "for_late": "def implementation(part, x): return x + 13",
    "defaults": "DEFAULT = 1.5",
    "package": "import inner",
    "inner": "def through_modules(x): return x + 5",
    "called": """
        import numpy as np
        from below import below
        def called(x): return np.sqrt(x) if x > 0 else below(x, called)
        """,
    "below": """
        from parts import Late, apply
        from powers import POWER
        def below(x, f, power=POWER): return f(x + 6) ** power + apply(Late(), x)
        """,
    "powers": "POWER = 2",
    "kernels": """
        import numba
        from below_kernels import below_kernel
        @numba.njit
        def other_kernel(x): return below_kernel(x)
        """,
    "below_kernels": "def below_kernel(x): return x + 7",
    "factory": """
        def make(number):
            def closed(x): return x + number
            return closed
        """,
    "closures": "import factory\nclosed = factory.make(8)",
    "constants": """
        import enum
        import numpy as np
        FACTOR, TABLE = 9.0, np.array([10.0])
        class Colour(enum.Enum):
            RED = 11
        """,
    "unrelated": "def called(x): return x + 12",
}


@pytest.fixture
def digest(tmp_path, monkeypatch):
    """A function that writes the sources with some edits, imports them and gives the digest of the kernel."""
    count = itertools.count()

    def digest(edits=(), kernel="kernel", classes=("Given",)):
        folder = tmp_path / str(next(count))
        folder.mkdir()
        for name, source in SOURCES.items():
            for file, old, new in edits:
                if file == name:
                    assert old in source
                    source = source.replace(old, new)
            (folder / f"{name}.py").write_text(textwrap.dedent(source))
        with monkeypatch.context() as patch:
            patch.syspath_prepend(folder)
            try:
                modules = {name: importlib.import_module(name) for name in SOURCES}
                assert modules["kernel"].__file__.startswith(str(folder))
                chosen = [getattr(modules["parts"], name) for name in classes]
                return fingerprint(getattr(modules["kernel"], kernel), chosen)
            finally:
                for name in SOURCES:
                    sys.modules.pop(name, None)

    return digest


CONTAINED = {
    "the kernel itself": ("kernel", "y + package", "y - package"),
    "a function": ("called", "x > 0", "x > 1"),
    "another line in the file of a function": ("inner", "def", "import numba\ndef"),
    "a function of a function": ("below", "x + 6", "x + 66"),
    "a default of an argument": ("powers", "2", "3"),
    "an attribute of a module in a module": ("inner", "x + 5", "x + 55"),
    "another kernel's function": ("below_kernels", "x + 7", "x + 77"),
    "the value in a closure": ("closures", "make(8)", "make(88)"),
    "a number": ("constants", "9.0", "99.0"),
    "an array": ("constants", "10.0", "100.0"),
    "the implementation for a class in an argument": ("for_given", "x + 1", "x + 11"),
    "the implementation for a class that the kernel constructs": ("for_made", "x + 2", "x + 22"),
    "the implementation for a class that a called function constructs": ("for_late", "x + 13", "x + 131"),
    "the implementation for all classes": ("for_object", "x + 3", "x + 33"),
    "the default of a field": ("defaults", "1.5", "2.5"),
    "which implementation serves which class": ("registered", "for_given.imp", "for_made.imp"),
}
NOT_CONTAINED = {
    "the implementation for another class": ("for_other", "x + 4", "x + 44"),
    "a function of the same name": ("unrelated", "x + 12", "x + 120"),
    "an enumeration that only another kernel names": ("constants", "11", "110"),
}


@pytest.mark.parametrize("edit", CONTAINED.values(), ids=CONTAINED)
def test_an_edit_of_code_in_the_kernel_changes_the_digest(digest, edit):
    assert digest([edit]) != digest()


@pytest.mark.parametrize("edit", NOT_CONTAINED.values(), ids=NOT_CONTAINED)
def test_any_other_edit_does_not_change_the_digest(digest, edit):
    assert digest([edit]) == digest()


def test_implementations_that_change_places_change_the_digest(digest):
    exchanged = [("registered", "for_given.imp", "A"), ("registered", "for_made.imp", "for_given.imp")]
    assert digest([*exchanged, ("registered", "A", "for_made.imp")]) != digest()


def test_an_enumeration_is_part_of_a_kernel_that_names_it(digest):
    assert digest([NOT_CONTAINED["an enumeration that only another kernel names"]], "colour") != digest((), "colour")


def test_the_classes_of_the_arguments_are_part_of_the_digest(digest):
    digests = [digest((), classes=classes) for classes in ((), ("Given",), ("Other",), ("Given", "Other"))]
    assert len(set(digests)) == 4


def test_an_edit_after_the_import_does_not_hide_the_imported_code(tmp_path):
    """The file on disk is the same for both functions, the code in memory is not."""
    path = tmp_path / "edited.py"
    path.write_text("def f(x): return x + 2")
    digests = []
    for number in (1, 2):
        namespace = {"__name__": "edited"}
        exec(compile(f"def f(x): return x + {number}", path, "exec"), namespace)
        digests.append(fingerprint(namespace["f"], []))
    file_digest.cache_clear()
    assert digests[0] != digests[1]


def test_a_variable_with_the_name_of_an_attribute_is_not_part_of_the_digest():
    def digest(**variables):
        namespace = {"__name__": "__main__", **variables}
        exec(compile("def f(part, x): return part.weights[0] * x * factor", "<cell>", "exec"), namespace)
        return fingerprint(namespace["f"], [])

    assert digest(factor=1.0) == digest(factor=1.0, weights=np.ones(2), x=3.0) != digest(factor=2.0)


def test_the_digest_is_the_same_in_every_process():
    code = (
        "from adasadmm._core.fingerprint import fingerprint\n"
        "WORDS = ('one', 2, object())\n"
        "def f(x): return x in {'one', 'two', 'three', 'four', 'five'} or WORDS\n"
        "print(fingerprint(f, []))"
    )
    digests = set()
    for seed in "123":
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
        digests.add(done.stdout)
    assert len(digests) == 1


def test_a_function_that_was_not_assigned_yet_is_no_fault():
    def outer():
        def f(x):
            return later(x)

        digest = fingerprint(f, [])
        later = np.sqrt
        return digest

    assert outer()
