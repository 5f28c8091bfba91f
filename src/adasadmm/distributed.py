"""Rows on the workers of a Dask cluster (needs the extra ``dask``).

``spread`` puts the rows of Dask arrays or data frames, or of any source, on the workers, and is itself a source:
`solve` and the estimators take it where they take X. Then a stochastic solver runs in rounds (`adasadmm.rounds`) and
batch ADMM adds up what the blocks find (`adasadmm.batch`); rows never leave their workers.

Examples
--------
>>> from adasadmm import GraphGuidedClassifier, distributed
>>> from distributed import Client  # doctest: +SKIP
>>> client = Client("tcp://scheduler:8786")  # doctest: +SKIP
>>> model = distributed.fit(GraphGuidedClassifier("chain"), X, y, client=client)  # doctest: +SKIP
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import uuid
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import matrices
from .sources import Piece, Source, SourceError, SourceWarning, Summary
from .sources._base import Faults, Lanes, Memory, Tally, Work, checked

__all__ = ["ClusterError", "Collection", "Spread", "fit", "is_dask", "spread"]

ROUNDS = 16  # of an epoch
SILENCE = 2.0  # seconds without an answer after which a sign of life is looked for
PATIENCE = 60.0  # seconds without any worker
MOST_RUNS = 8  # at the same time, whose memory is kept with a block
TOLD_FAULTS = 10
MISSING = "this needs Dask: pip install 'adasadmm[dask]'"
LOST = (
    "the scheduler at {} is lost. With checkpoint=Checkpoint(folder) the last common point is in that folder: start a "
    "cluster and call again with resume=True, on the same partitions and lanes"
)


class ClusterError(RuntimeError):
    """The cluster failed in a way that it cannot mend by itself; the message says what to do."""


# --- what users call -------------------------------------------------------------------------------------------------


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


def is_dask(X: Any) -> bool:
    """Whether something is a Dask collection; asked without Dask."""
    return hasattr(X, "__dask_graph__")


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


# --- Dask's collections ----------------------------------------------------------------------------------------------


class Collection(Source):
    """Dask arrays or data frames; a part is a partition."""

    def __init__(self, X: Any, y: Any, sample_weight: Any) -> None:
        frame = hasattr(X, "columns")
        if not frame and X.ndim != 2:
            raise ValueError(f"X must be two-dimensional, got shape {X.shape}")
        super().__init__(len(X.columns) if frame else int(X.shape[1]))
        if frame:
            self.feature_names = [str(name) for name in X.columns]
        elif X.numblocks[1] > 1:
            X = X.rechunk({1: -1})
        self.parts = [_partitions(X)]
        known = not frame and not np.isnan(X.shape[0])
        self.chunk_bytes = [8 * int(rows) * int(X.shape[1]) for rows in X.chunks[0]] if known else None
        for name, part in (("y", y), ("sample_weight", sample_weight)):
            self.parts.append([None] * len(self) if part is None else _aligned(X, part, name))
        self.named = f"Dask {'data frame' if frame else 'array'} of {self.n_features} features"

    def __len__(self) -> int:
        return len(self.parts[0])

    def __repr__(self) -> str:
        return self.named

    def size_of(self, part: int) -> str:
        if self.chunk_bytes is None:
            return super().size_of(part)
        size = self.chunk_bytes[part]
        return f"{size // (8 * (self.n_features or 1)):,} rows, {size / 2**20:,.0f} MiB"

    def lazy(self, part: int) -> list[Any]:
        """X, y and weights of a partition, not computed."""
        return [column[part] for column in self.parts]

    def _read(self, part: int, faults: Faults) -> Iterator[Piece]:
        import dask

        X, y, weight = dask.compute(*self.lazy(part))
        yield _piece(X, y, weight, self.n_features, f"{self!r}, partition {part}", faults)


def _partitions(X: Any) -> list[Any]:
    return list(np.asarray(X.to_delayed(), dtype=object).reshape(-1))


def _aligned(X: Any, part: Any, name: str) -> list[Any]:
    """The partitions of y that belong to those of X."""
    if not is_dask(part):
        raise TypeError(f"{name} must be a Dask collection, as X is, got {type(part).__name__}")
    known = (
        hasattr(X, "chunks") and hasattr(part, "chunks") and not any(np.isnan(X.chunks[0]) | np.isnan(part.shape[0]))
    )
    if known and part.shape[0] == X.shape[0] and part.ndim == 1:
        part = part.rechunk((X.chunks[0],))
    found = _partitions(part)
    if len(found) != len(_partitions(X)):
        raise ValueError(
            f"{name} must be partitioned as X: X has {len(_partitions(X))} partitions, {name} {len(found)}"
        )
    return found


def _piece(X: Any, y: Any, weight: Any, features: int | None, place: str, faults: Faults) -> Piece:
    X = X if sp.issparse(X) else np.asarray(X)
    y = None if y is None else np.asarray(y).reshape(-1)
    weight = None if weight is None else np.asarray(weight, dtype=np.float64).reshape(-1)
    return checked(Piece(X, y, weight, place), features, 0, faults)


# --- on the workers --------------------------------------------------------------------------------------------------


class Held:
    """A block on a worker, what it counts, and what is remembered with it."""

    def __init__(self, pieces: Sequence[Piece], faults: Faults) -> None:
        Xs, ys, weights, places = zip(*pieces, strict=True)
        y, weight = (None if part[0] is None else np.concatenate(part) for part in (ys, weights))
        self.piece = Piece(matrices.stacked(Xs), y, weight, places[0])
        self.skipped, self.told = faults.count, tuple(faults.told)
        self.remembered: dict[str, dict] = {}

    def memory(self, name: str) -> dict:
        """What is remembered for a run; the oldest of many runs is forgotten."""
        if name not in self.remembered and len(self.remembered) >= MOST_RUNS:
            self.remembered.pop(next(iter(self.remembered)), None)
        return self.remembered.setdefault(name, {})

    def __sizeof__(self) -> int:
        """So that Dask knows what it has in memory."""
        return int(8 * 1.5 * matrices.size(self.piece.X) + 16 * self.piece.X.shape[0])


class Told:
    """What a worker is told to do; one object, into which Dask does not look."""

    def __init__(self, function: Any, memory: str | None, common: tuple) -> None:
        self.function, self.memory, self.common = function, memory, common


def held_of_source(source: Source, part: int) -> Held:
    faults = Faults(source.on_bad_row)
    return Held(list(source._read(part, faults)), faults)


def held_of_arrays(X: Any, y: Any, weight: Any, features: int, place: str) -> Held:
    faults = Faults("stop")
    return Held([_piece(X, y, weight, features, place, faults)], faults)


def widest(source: Source, part: int) -> int:
    return max((piece.X.shape[1] for piece in source._read(part, Faults(source.on_bad_row))), default=0)


def tally_of(held: Held) -> tuple[Tally, int, tuple[str, ...]]:
    """What a block holds, and the rows that were skipped before."""
    tally, (X, y, weight, _) = Tally(), held.piece
    rows, features = X.shape
    tally.add(rows, features, matrices.size(X), y, weight)
    return tally, held.skipped, held.told


def first_piece(pieces: list[Piece], remembered: list[dict]) -> Piece:
    return pieces[0]


def done(told: Told, shared: Any, *helds: Held) -> Any:
    """Do what is told with some blocks."""
    remembered = [{} if told.memory is None else held.memory(told.memory) for held in helds]
    first = () if shared is None else (shared,)
    return told.function([held.piece for held in helds], remembered, *first, *told.common)


def same(value: Any) -> Any:
    return value


def name_of(function: Any) -> str:
    """The name of what is done in the end, as the dashboard shows it."""
    while hasattr(function, "function"):
        function = function.function
    return function.__name__.replace("_", "-")


# --- the source ------------------------------------------------------------------------------------------------------


class Spread(Source):
    """Blocks on the workers of a cluster, as a source."""

    def __init__(self, inner: Source, client: Any, lanes: int | None, rounds: int) -> None:
        super().__init__(inner.n_features, inner.on_bad_row, prefetch=False)
        self.client, self.token, self.asked = client, uuid.uuid4().hex[:12], 0
        self.feature_names, self.inner = inner.feature_names, inner
        self.workers = [address for address, threads in sorted(client.nthreads().items()) for _ in range(threads)]
        if not self.workers:
            raise ClusterError("the cluster has no workers: start some, or wait for them (client.wait_for_workers)")
        self.count = min(lanes or len(self.workers), len(inner))
        if not isinstance(inner, Collection) and inner.n_features is None:
            inner.n_features = max(self._answers([self._ask(widest, k, inner, k) for k in range(len(inner))]))
        self.held = [self._load(inner, part) for part in range(len(inner))]
        tallies = list(self._answers([self._ask(tally_of, k, self.held[k]) for k in range(len(inner))]))
        self.summary = self._joined(tallies)  # type: ignore[method-assign, assignment]
        self.n_features = self.summary.features
        filled = [k for k, (tally, *_) in enumerate(tallies) if tally.rows]
        self.held = [self.held[k] for k in filled]
        self.lanes = Lanes(min(self.count, len(filled)), rounds, tuple(tallies[k][0].rows for k in filled))

    def __len__(self) -> int:
        return len(self.held)

    def __repr__(self) -> str:
        return repr(self.inner)

    def size_of(self, part: int) -> str:
        return self.inner.size_of(part)

    def _read(self, part: int, faults: Faults) -> Iterator[Piece]:
        """A block, fetched from its worker."""
        yield from self.at(first_piece, [([part], ())])

    def at(
        self, function: Any, work: Sequence[Work], memory: Memory | None = None, shared: Any = None
    ) -> Iterator[Any]:
        self.asked += 1
        asked = []
        for parts, common in work:
            told = Told(function, None if memory is None else memory.name, common)
            asked.append(
                self._ask(done, parts[0], told, shared, *(self.held[part] for part in parts), name=name_of(function))
            )
        return self._answers(asked, [parts for parts, _ in work])

    def share(self, value: Any) -> Any:
        return self._ask(same, 0, value, name="common")

    # --- the cluster -------------------------------------------------------------------------------------------------

    def _place(self, part: int) -> dict[str, Any]:
        """The worker of a lane: where it should be, but need not."""
        return {"workers": [self.workers[part % self.count % len(self.workers)]], "allow_other_workers": True}

    def _ask(self, function: Any, part: int, *args: Any, name: str = "") -> Any:
        """A task, named for the dashboard."""
        import dask

        self.asked += 1
        key = f"adasadmm-{name or name_of(function)}-{self.token}-{self.asked}"
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
            return self.client.submit(function, *args, key=key, pure=False, **self._place(part))

    def _load(self, inner: Source, part: int) -> Any:
        if not isinstance(inner, Collection):
            return self._ask(held_of_source, part, inner, part, name="rows")
        import dask

        place = f"{inner!r}, partition {part}"
        key = f"adasadmm-rows-{self.token}-{part}"
        lazy = dask.delayed(held_of_arrays)(*inner.lazy(part), inner.n_features, place, dask_key_name=key)
        return self.client.compute(lazy, **self._place(part))

    def _answers(self, futures: list[Any], parts: Sequence[Sequence[int]] | None = None) -> Iterator[Any]:
        """The answers in order; what the cluster cannot mend is an error of ours."""
        for k, future in enumerate(futures):
            futures[k] = None  # an answer that was taken need not be kept
            yield self._answer(future, [k] if parts is None else parts[k])

    def _answer(self, future: Any, parts: Sequence[int]) -> Any:
        from distributed.comm import CommClosedError
        from distributed.scheduler import KilledWorker

        alone = 0
        while True:
            try:
                return future.result(timeout=SILENCE)
            except (KilledWorker, MemoryError) as error:
                raise ClusterError(self._too_large(parts, error)) from error
            except (asyncio.CancelledError, concurrent.futures.CancelledError, CommClosedError) as error:
                raise ClusterError(LOST.format(self.client.scheduler.address)) from error
            except TimeoutError:
                if future.done():
                    continue
                if self.client.status != "running":
                    raise ClusterError(LOST.format(self.client.scheduler.address)) from None
                alone = 0 if self.client.nthreads() else alone + 1
                if alone * SILENCE > PATIENCE:
                    raise ClusterError(
                        f"the cluster has had no worker for {PATIENCE:.0f} seconds: start some"
                    ) from None

    def _too_large(self, parts: Sequence[int], error: BaseException) -> str:
        what = " and ".join(f"partition {part} ({self.size_of(part)})" for part in parts)
        limits = [worker["memory_limit"] for worker in self.client.scheduler_info()["workers"].values()]
        has = f", which has {min(limits) / 2**20:,.0f} MiB" if any(limits) else ""
        happened = "did not fit in memory" if isinstance(error, MemoryError) else "ended its worker again and again"
        return (
            f"{what} of {self!r} {happened}{has}, so it is most likely too large: make smaller partitions (X.rechunk, "
            "X.repartition; block_rows or block_bytes of a source), or give each worker more memory"
        )

    def _joined(self, tallies: list[tuple[Tally, int, tuple[str, ...]]]) -> Summary:
        """What all blocks hold together."""
        total, skipped, told = Tally(), 0, []  # type: ignore[var-annotated]
        for tally, faults, texts in tallies:
            total.join(tally)
            skipped += faults
            told.extend(texts)
        if total.rows == 0:
            raise SourceError(f"{self!r} has no rows")
        features = self.n_features or total.features
        if skipped:
            warnings.warn(f"{self!r}: {skipped} bad rows skipped: {'; '.join(told[:3])}", SourceWarning, stacklevel=5)
        return Summary(
            total.rows, features, total.entries, total.weight, total.labels, skipped, tuple(told[:TOLD_FAULTS])
        )
