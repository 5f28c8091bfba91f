"""Rows on the workers of a cluster: from arrays and sources, with a client or without."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from ..sources import Source
from ._cluster import ClusterError, ClusterSource
from ._collections import DaskCollection, DaskSource, is_dask

if TYPE_CHECKING:
    from distributed import Client


__all__ = ["as_source", "connected", "fit", "source_of", "spread"]

ROUNDS = 16  # of an epoch
MISSING = "Dask is not installed: pip install 'adasadmm[dask]'"

Estimator = TypeVar("Estimator")


def fit(
    estimator: Estimator,
    X: DaskCollection | Source,
    y: DaskCollection | None = None,
    sample_weight: DaskCollection | None = None,
    offset: DaskCollection | None = None,
    *,
    client: Client | None = None,
    lanes: int | None = None,
    rounds: int = ROUNDS,
    **settings: Any,
) -> Estimator:
    """Fit an estimator to rows on the workers of a cluster.

    Parameters
    ----------
    estimator : estimator of adasadmm
        Its ``solver`` chooses the method: "ada-diag" runs in rounds, "admm" is batch ADMM, and "auto" is batch ADMM up
        to 2,000 features and rounds above.
    X, y, sample_weight, offset, client, lanes, rounds
        As for `spread`.
    **settings
        Further arguments of the estimator's ``fit``, such as ``checkpoint`` and ``resume``.

    Returns
    -------
    estimator
        The estimator, fitted.

    Examples
    --------
    >>> import dask.array
    >>> from adasadmm import GraphGuidedRegressor, distributed
    >>> from distributed import Client
    >>> client = Client(processes=False, dashboard_address="127.0.0.1:0")  # doctest: +SKIP
    >>> X = dask.array.random.default_rng(0).normal(size=(400, 3), chunks=(100, 3))
    >>> model = distributed.fit(GraphGuidedRegressor("chain"), X, X.sum(axis=1), client=client)  # doctest: +SKIP
    >>> model.coef_.shape  # doctest: +SKIP
    (3,)
    """
    source = spread(X, y, sample_weight, offset, client=client, lanes=lanes, rounds=rounds)
    return estimator.fit(source, **settings)  # type: ignore[attr-defined]


def spread(
    X: DaskCollection | Source,
    y: DaskCollection | None = None,
    sample_weight: DaskCollection | None = None,
    offset: DaskCollection | None = None,
    *,
    client: Client | None = None,
    lanes: int | None = None,
    rounds: int = ROUNDS,
) -> ClusterSource:
    """Load rows into the memory of the workers of a cluster.

    Parameters
    ----------
    X : Dask array or data frame, or a source
        Each partition becomes a block in the memory of a worker. The workers read files themselves, so they must see
        them under the same paths.
    y, sample_weight, offset : Dask array or series, optional
        Partitioned as X. A source has its own targets, weights and offsets.
    client : distributed.Client, optional
        The client of the cluster; by default the current one.
    lanes : int, optional
        The number of partitions that a stochastic solver visits in parallel; by default the number of the workers'
        threads. The result depends on it and on the partitions, but not on which worker does what.
    rounds : int, default=16
        The number of times in an epoch that the lanes are combined.

    Returns
    -------
    ClusterSource

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import distributed, sources
    >>> from distributed import Client
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> source = sources.arrays(X, np.sign(X[:, 0]), block_rows=100)
    >>> with Client(n_workers=1, threads_per_worker=2, processes=False, dashboard_address="127.0.0.1:0") as client:
    ...     rows = distributed.spread(source, client=client)
    ...     print(rows.shape, rows.on_workers, rows.lanes)
    (400, 3) True Lanes(number=2, rounds=16, partition_rows=(100, 100, 100, 100))
    """
    for name, value in (("lanes", lanes), ("rounds", rounds)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1):
            raise ValueError(f"{name} must be a whole number >= 1, got {value!r}")
    source = as_source(X, y, sample_weight, offset)
    client = _client(client)
    if client is None:
        raise ValueError("there is no cluster: make a client first, such as client = distributed.Client()")
    return ClusterSource(source, client, lanes, int(rounds))


@contextlib.contextmanager
def connected(address: str) -> Iterator[Client]:
    """A client of the scheduler at an address, closed at the end of the ``with`` block.

    Parameters
    ----------
    address : str
        Such as "tcp://scheduler:8786".

    Raises
    ------
    ClusterError
        If no scheduler answers.

    Examples
    --------
    >>> from adasadmm import distributed
    >>> with distributed.connected("tcp://scheduler:8786") as client:  # doctest: +SKIP
    ...     rows = distributed.spread(source, client=client)
    """
    try:
        import distributed
    except ImportError:
        raise ImportError(MISSING) from None
    try:
        client = distributed.Client(address, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ClusterError(f"no scheduler answers at {address}: {error}") from None
    with client:
        yield client


def source_of(
    X: DaskCollection,
    y: DaskCollection | None,
    sample_weight: DaskCollection | None,
    offset: DaskCollection | None = None,
) -> Source:
    """The source for Dask collections: on the workers of the current client, or read in this process without one.

    Parameters
    ----------
    X : Dask array or data frame
        The features.
    y, sample_weight, offset : Dask array or series, or None
        Partitioned as X.

    Returns
    -------
    Source

    Examples
    --------
    >>> import dask.array
    >>> from adasadmm import distributed
    >>> X, y = dask.array.ones((6, 2), chunks=(3, 2)), dask.array.ones(6, chunks=3)
    >>> source = distributed.source_of(X, y, None)
    >>> len(source), source.shape
    (2, (6, 2))
    """
    rows = as_source(X, y, sample_weight, offset)
    try:
        client = _client(None)
    except ImportError:
        client = None
    return rows if client is None else ClusterSource(rows, client, None, ROUNDS)


def as_source(X: DaskCollection | Source, *per_row: DaskCollection | None) -> Source:
    """A source as it is; Dask collections, with y, sample weights and offsets, as a `DaskSource`."""
    if isinstance(X, Source):
        if any(values is not None for values in per_row):
            raise ValueError("y, sample_weight and offset must be None beside a source, which has its own")
        return X
    if not is_dask(X):
        raise TypeError(f"X must be a Dask array or data frame, or a source, got {type(X).__name__}")
    return DaskSource(X, *per_row)


def _client(client: Client | None) -> Client | None:
    """The client that was given, or the current one, or None if there is none."""
    try:
        import distributed
    except ImportError:
        raise ImportError(MISSING) from None
    if client is None:
        with contextlib.suppress(ValueError):
            client = distributed.default_client()
    if client is not None and client.asynchronous:
        raise TypeError("an asynchronous client cannot be used: make the client without asynchronous=True")
    return client
