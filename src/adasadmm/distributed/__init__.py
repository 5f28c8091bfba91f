"""Rows on the workers of a Dask cluster (needs the extra ``dask``).

``spread`` puts the rows of Dask arrays or data frames, or of any source, on the workers, and is itself a source:
`solve` and the estimators take it where they take X. Then a stochastic solver runs in rounds
(`adasadmm.solvers.rounds`) and batch ADMM adds up what the blocks find (`adasadmm.solvers.batch`); rows never leave
their workers.

Examples
--------
>>> from adasadmm import GraphGuidedClassifier, distributed
>>> from distributed import Client  # doctest: +SKIP
>>> client = Client("tcp://scheduler:8786")  # doctest: +SKIP
>>> model = distributed.fit(GraphGuidedClassifier("chain"), X, y, client=client)  # doctest: +SKIP
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..sources import Source
from ._collections import Collection, is_dask
from ._spread import ClusterError, Spread

__all__ = ["ClusterError", "Collection", "Spread", "connected", "fit", "is_dask", "source_of", "spread"]

ROUNDS = 16  # of an epoch
MISSING = "this needs Dask: pip install 'adasadmm[dask]'"


def fit(
    estimator: Any,
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    client: Any = None,
    lanes: int | None = None,
    rounds: int = ROUNDS,
    checkpoint: Any = None,
    resume: bool = False,
) -> Any:
    """Fit an estimator to rows that are spread over the workers of a cluster.

    Parameters
    ----------
    estimator : an estimator of adasadmm
        Its ``solver`` chooses the method: "ada-diag" runs in rounds, "admm" is batch ADMM; "auto" takes batch ADMM up
        to 2,000 features.
    X, y, sample_weight, client, lanes, rounds
        As for `spread`.
    checkpoint, resume
        As for the estimator's ``fit``: where the last common point is kept.

    Returns
    -------
    estimator
    """
    source = spread(X, y, sample_weight, client=client, lanes=lanes, rounds=rounds)
    return estimator.fit(source, checkpoint=checkpoint, resume=resume)


def spread(
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    client: Any = None,
    lanes: int | None = None,
    rounds: int = ROUNDS,
) -> Spread:
    """Put rows on the workers of a cluster.

    Parameters
    ----------
    X : Dask array or data frame, or a source
        Each partition, or part of the source, becomes a block in the memory of a worker.
    y, sample_weight : Dask arrays or series, optional
        Partitioned as X. A source has its own.
    client : distributed.Client, optional
        By default the current one.
    lanes : int, optional
        How many partitions a stochastic solver works on side by side; by default as many as the workers have threads.
        The result depends on it, and on the partitions, but not on which worker does what.
    rounds : int
        How often in an epoch the lanes meet.
    """
    for name, value in (("lanes", lanes), ("rounds", rounds)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1):
            raise ValueError(f"{name} must be a whole number >= 1, got {value!r}")
    return Spread(as_source(X, y, sample_weight), _client(client, needed=True), lanes, int(rounds))


@contextlib.contextmanager
def connected(address: str) -> Iterator[Any]:
    """A client of the scheduler at an address."""
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


def source_of(X: Any, y: Any, sample_weight: Any) -> Source:
    """Dask collections as a source: spread where there is a client, else read partition after partition."""
    client = _client(None, needed=False)
    rows = as_source(X, y, sample_weight)
    return rows if client is None else Spread(rows, client, None, ROUNDS)


def as_source(X: Any, y: Any, sample_weight: Any) -> Source:
    if isinstance(X, Source):
        if y is not None or sample_weight is not None:
            raise ValueError("y and sample_weight must be None beside a source, which has its own")
        return X
    if not is_dask(X):
        raise TypeError(f"X must be a Dask array or data frame, or a source, got {type(X).__name__}")
    return Collection(X, y, sample_weight)


def _client(client: Any, needed: bool) -> Any:
    try:
        import distributed
    except ImportError:
        if needed:
            raise ImportError(MISSING) from None
        return None
    if client is None:
        with contextlib.suppress(ValueError):
            client = distributed.default_client()
    if client is None and needed:
        raise ValueError("there is no cluster: make a client before, such as client = distributed.Client()")
    if client is not None and client.asynchronous:
        raise TypeError("an asynchronous client cannot be used: make it without asynchronous=True")
    return client
