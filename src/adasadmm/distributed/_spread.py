"""Blocks on the workers of a cluster: who is asked for what, and what happens when somebody does not answer."""

from __future__ import annotations

import asyncio
import concurrent.futures
import time
import uuid
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from ..sources import Piece, Source, SourceError, SourceWarning, Summary
from ..sources._base import Faults, Lanes, Memory, Tally, Work
from ._collections import Collection
from ._work import Told, done, first_piece, held_of_arrays, held_of_source, name_of, same, tally_of, widest

__all__ = ["ClusterError", "Spread"]

SILENCE = 2.0  # seconds without an answer after which a sign of life is looked for
PATIENCE = 120.0  # seconds without any worker
TOLD_FAULTS = 10
LOST = (
    "the scheduler at {} is lost. With checkpoint=Checkpoint(folder) the last common point is in that folder: start a "
    "cluster and call again with resume=True, on the same partitions and lanes"
)


class _AllGone(Exception):
    """None of the workers that were there at first is there any more."""


class ClusterError(RuntimeError):
    """The cluster failed in a way that it cannot mend by itself; the message says what to do."""


class Shared:
    """Something that all calls need; it is sent when it is needed first."""

    def __init__(self, value: Any) -> None:
        self.value = value
        self.workers: list[str] | None = None
        self.sent: Any = None

    def future(self, spread: Spread) -> Any:
        if self.workers is not spread.workers:  # others than when it was sent
            self.workers, self.sent = spread.workers, spread._ask(same, 0, self.value, name="common")
        return self.sent


class Spread(Source):
    """Blocks on the workers of a cluster, as a source."""

    def __init__(self, inner: Source, client: Any, lanes: int | None, rounds: int) -> None:
        super().__init__(inner.n_features, inner.on_bad_row, prefetch=False)
        self.client, self.token, self.asked = client, uuid.uuid4().hex[:12], 0
        self.feature_names, self.inner = inner.feature_names, inner
        self.workers = self._found_workers()
        if not self.workers:
            raise ClusterError("the cluster has no workers: start some, or wait for them (client.wait_for_workers)")
        self.held: list[Any] = []
        self.parts = list(range(len(inner)))
        self.count = min(lanes or len(self.workers), len(inner))
        each = [[part] for part in self.parts]
        if inner.n_features is None:
            inner.n_features = max(self._all(lambda part: self._ask(widest, part, inner, part), each))
        self._load_all()
        tallies = list(self._all(lambda part: self._ask(tally_of, part, self.held[part]), each))
        self.summary = self._joined(tallies)
        self.n_features = self.summary.features
        self.parts = [part for part in self.parts if tallies[part][0].rows]
        self.held = [self.held[part] for part in self.parts]
        part_rows = tuple(tallies[part][0].rows for part in self.parts)
        self.lanes = Lanes(min(self.count, len(self.parts)), rounds, part_rows)

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
        def ask(number: int) -> Any:
            parts, common = work[number]
            told = Told(function, None if memory is None else memory.name, common)
            sent = None if shared is None else shared.future(self)
            return self._ask(done, parts[0], told, sent, *(self.held[part] for part in parts), name=name_of(function))

        return self._all(ask, [parts for parts, _ in work])

    def share(self, value: Any) -> Any:
        return Shared(value)

    # --- the cluster -------------------------------------------------------------------------------------------------

    def _found_workers(self) -> list[str]:
        """The address of each thread's worker."""
        return [address for address, threads in sorted(self.client.nthreads().items()) for _ in range(threads)]

    def _place(self, part: int) -> dict[str, Any]:
        """The worker of a lane: where its work should be done, but need not."""
        return {"workers": [self.workers[part % self.count % len(self.workers)]], "allow_other_workers": True}

    def _ask(self, function: Any, part: int, *args: Any, name: str = "") -> Any:
        """A task, named for the dashboard."""
        import dask

        self.asked += 1
        key = f"adasadmm-{name or name_of(function)}-{self.token}-{self.asked}"
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
            return self.client.submit(function, *args, key=key, pure=False, **self._place(part))

    def _load_all(self) -> None:
        self.held = [self._load(part) for part in self.parts]

    def _load(self, part: int) -> Any:
        if not isinstance(self.inner, Collection):
            return self._ask(held_of_source, part, self.inner, part, name="rows")
        # Only the block has a place: what Dask makes it from, if it had one, would be lost with its worker for good.
        chunks = [None if lazy is None else self.client.compute(lazy) for lazy in self.inner.lazy(part)]
        return self._ask(held_of_arrays, part, *chunks, self.n_features, f"{self!r}, partition {part}", name="rows")

    def _all(self, ask: Any, parts: Sequence[Sequence[int]]) -> Iterator[Any]:
        """The answers to all questions, in order; ``ask`` asks one of them, if need be again."""
        asked = [ask(k) for k in range(len(parts))]
        for k in range(len(parts)):
            while True:
                try:
                    answer = self._answer(asked[k], parts[k])
                    break
                except _AllGone:  # what only they were asked for is never done, though others may have come
                    self.workers = self._found_workers()
                    if self.held:
                        self._load_all()
                    asked[k:] = [ask(later) for later in range(k, len(parts))]
            asked[k] = None  # it need not be kept on its worker
            yield answer

    def _answer(self, future: Any, parts: Sequence[int]) -> Any:
        """One answer; what the cluster cannot mend is an error of ours."""
        from distributed.comm import CommClosedError
        from distributed.scheduler import KilledWorker

        since, address = time.monotonic(), self.client.scheduler.address
        while True:
            try:
                return future.result(timeout=SILENCE)
            except (KilledWorker, MemoryError) as error:
                raise ClusterError(self._too_large(parts, error)) from error
            except (asyncio.CancelledError, concurrent.futures.CancelledError, CommClosedError) as error:
                raise ClusterError(LOST.format(address)) from error
            except TimeoutError:
                if future.done():
                    continue
                if self.client.status != "running":
                    raise ClusterError(LOST.format(address)) from None
                workers = self.client.nthreads()
                if workers and not set(self.workers) & set(workers):
                    raise _AllGone from None
                since = time.monotonic() if workers else since
                if time.monotonic() - since > PATIENCE:
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
