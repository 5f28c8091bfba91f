"""The public names of this folder, for type checkers and for `__init__.py`, which loads each on first use."""

from .along import path as path
