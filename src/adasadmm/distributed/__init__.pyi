"""The public names of this folder, for type checkers and for `__init__.py`, which loads each on first use."""

from ._cluster import ClusterError as ClusterError, ClusterSource as ClusterSource
from ._collections import DaskSource as DaskSource, is_dask as is_dask
from ._spread import (
    connected as connected,
    fit as fit,
    source_of as source_of,
    spread as spread,
)
