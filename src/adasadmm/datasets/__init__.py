"""Data sets by name: the paper's six, two bundled with scikit-learn, and the tables of the case studies.

`load` looks for a data set of the paper in a folder of yours, then in the package's cache, and downloads it if neither
has it. `fetch_case` reads the tables of a case study from a folder of yours. Both compare the values with a recorded
digest and raise `DatasetError` if they differ.

Examples
--------
>>> from adasadmm import datasets
>>> datasets.load("digits").X.shape
(1797, 64)
"""

from .cases import Case, case_names, fetch_case, table_digest
from .paper import BUNDLED, PAPER, Dataset, DatasetError, check_name, load, whereabouts
from .values import digest

__all__ = [
    "BUNDLED",
    "PAPER",
    "Case",
    "Dataset",
    "DatasetError",
    "case_names",
    "check_name",
    "digest",
    "fetch_case",
    "load",
    "table_digest",
    "whereabouts",
]
