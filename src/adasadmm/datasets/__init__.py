"""Data sets by name: the paper's six, and two bundled with scikit-learn.

`load` looks for a data set of the paper in a folder of yours, then in the package's cache, and downloads it if neither
has it. It compares the values with a recorded digest and raises `DatasetError` if they differ.

Examples
--------
>>> from adasadmm import datasets
>>> datasets.load("digits").X.shape
(1797, 64)
"""

from .paper import BUNDLED, PAPER, Dataset, DatasetError, check_name, load, whereabouts
from .values import digest

__all__ = [
    "BUNDLED",
    "PAPER",
    "Dataset",
    "DatasetError",
    "check_name",
    "digest",
    "load",
    "whereabouts",
]
