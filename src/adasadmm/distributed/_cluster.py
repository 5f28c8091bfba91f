"""Blocks on the workers of a cluster: submitting tasks, waiting for results, and recovering from lost workers."""

from __future__ import annotations

import asyncio
import concurrent.futures
import time
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from ..sources import Faults, RawBlock, Source, SourceError, SourceWarning, Summary
from ..sources._base import Found, Lanes
from ..sources._calls import Memory, Work
from ..sources._faults import MAX_MESSAGES
from ..sources._summary import Tally
from ._collections import DaskSource
from ._work import (
    Call,
    count_features,
    first_block,
    load_arrays,
    load_from_source,
    name_of,
    returned,
    run_call,
    tally_of,
)

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["ClusterError", "ClusterSource"]

SILENCE = 2.0  # seconds without a result after which the cluster is checked
PATIENCE = 120.0  # seconds to wait for a worker if there is none, or if all are paused
LOST = (
    "the scheduler at {} is lost. With checkpoint=Checkpoint(folder) the last common point is in that folder: start a "
    "cluster and call again with resume=True, on the same partitions and lanes"
)
NO_WORKER = "the cluster has had no worker for {:.0f} seconds: start some"
PAUSED = (
    "all workers have been paused for {:.0f} seconds, because their memory is nearly full: start more workers, or give "
    "each of them more memory"
)

Future: TypeAlias = Any  # a distributed.Future


class _AllWorkersLost(Exception):
    """None of the workers that tasks were assigned to is left."""


class ClusterError(RuntimeError):
    """The cluster failed and cannot recover; the message says what to do.

    Examples
    --------
    >>> from adasadmm import distributed
    >>> issubclass(distributed.ClusterError, RuntimeError)
    True
    """


class SharedValue:
    """A value that all calls need. It is sent to the cluster with the first call, and again if all workers change."""

    def __init__(self, value: object) -> None:
        self.value = value
        self.workers: list[str] | None = None
        self.sent: Future = None

    def future(self, source: ClusterSource) -> Future:
        if self.workers is not source.workers:
            self.workers, self.sent = source.workers, source._submit(returned, 0, self.value, name="common")
        return self.sent


class ClusterSource(Source):
    """A source whose blocks are in the memory of the workers of a cluster; made by `spread`.

    Parameters
    ----------
    inner : Source
        The rows. Each partition is read by a worker and stays there as one block.
    client : distributed.Client
        The client of the cluster.
    lanes : int or None
        The number of partitions that a stochastic solver visits in parallel; None: one for each thread of the workers.
    rounds : int
        The number of times in an epoch that the lanes are combined.

    Examples
    --------
    See `spread`.
    """

    def __init__(self, inner: Source, client: Client, lanes: int | None, rounds: int) -> None:
        super().__init__(inner.n_features, inner.on_bad_row, prefetch=False)
        self.client, self.token, self.submitted = client, uuid.uuid4().hex[:12], 0
        self.feature_names, self.has_offset, self.inner = inner.feature_names, inner.has_offset, inner
        self.workers = self._current_workers()
        if not self.workers:
            raise ClusterError("the cluster has no workers: start some, or wait for them (client.wait_for_workers)")
        self.loaded: list[Future] = []  # a LoadedPartition for each partition
        self.partitions = list(range(len(inner)))  # the numbers that they have in the inner source
        self.lane_count = min(lanes or len(self.workers), len(inner))
        each = [[k] for k in self.partitions]
        if inner.n_features is None:
            inner.n_features = max(self._results(lambda k: self._submit(count_features, k, inner, k), each))
        self._load_all()
        tallies = list(self._results(lambda k: self._submit(tally_of, k, self.loaded[k]), each))
        self.summary = self._summarise(tallies)
        self.n_features = self.summary.features
        self.partitions = [k for k in self.partitions if tallies[k][0].rows]
        self.loaded = [self.loaded[k] for k in self.partitions]
        partition_rows = tuple(tallies[k][0].rows for k in self.partitions)
        self.lanes = Lanes(min(self.lane_count, len(self.partitions)), rounds, partition_rows)

    def __len__(self) -> int:
        return len(self.loaded)

    def __repr__(self) -> str:
        return repr(self.inner)

    def describe_size(self, partition: int) -> str:
        return self.inner.describe_size(self.partitions[partition])

    def read_rows(self, partition: int, faults: Faults) -> Iterator[RawBlock]:
        """The block of a partition, fetched from its worker."""
        yield from self.map_partitions(first_block, [([partition], ())])

    def map_partitions(
        self, function: Callable[..., Found], work: Sequence[Work], memory: Memory | None = None, shared: object = None
    ) -> Iterator[Found]:
        def submit(number: int) -> Future:
            partitions, common = work[number]
            call = Call(function, None if memory is None else memory.name, common)
            assert shared is None or isinstance(shared, SharedValue)
            sent = None if shared is None else shared.future(self)
            loaded = (self.loaded[k] for k in partitions)
            return self._submit(run_call, partitions[0], call, sent, *loaded, name=name_of(function))

        return self._results(submit, [partitions for partitions, _ in work])

    def share(self, value: object) -> SharedValue:
        return SharedValue(value)

    # --- the cluster -------------------------------------------------------------------------------------------------

    def _current_workers(self) -> list[str]:
        """The address of each worker, once for each of its threads."""
        return [address for address, threads in sorted(self.client.nthreads().items()) for _ in range(threads)]

    def _placement(self, partition: int) -> dict[str, Any]:
        """The preferred worker of a partition's lane; Dask may choose another."""
        worker = self.workers[partition % self.lane_count % len(self.workers)]
        return {"workers": [worker], "allow_other_workers": True}

    def _submit(self, function: Callable[..., Any], partition: int, *args: object, name: str = "") -> Future:
        """Submit a task, with a name for the dashboard."""
        import dask

        self.submitted += 1
        key = f"adasadmm-{name or name_of(function)}-{self.token}-{self.submitted}"
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
            return self.client.submit(function, *args, key=key, pure=False, **self._placement(partition))

    def _load_all(self) -> None:
        self.loaded = [self._load(partition) for partition in self.partitions]

    def _load(self, partition: int) -> Future:
        if not isinstance(self.inner, DaskSource):
            return self._submit(load_from_source, partition, self.inner, partition, name="rows")
        # Only the block is assigned to a worker. If its inputs were, they would be lost for good with that worker.
        chunks = [None if lazy is None else self.client.compute(lazy) for lazy in self.inner.lazy(partition)]
        place = f"{self!r}, partition {partition}"
        return self._submit(load_arrays, partition, self.n_features, place, *chunks, name="rows")

    def _results(self, submit: Callable[[int], Future], work: Sequence[Sequence[int]]) -> Iterator[Any]:
        """The results of all tasks, in order; ``submit(k)`` submits task k, and again if all workers were lost."""
        futures = [submit(k) for k in range(len(work))]
        for k in range(len(work)):
            while True:
                try:
                    result = self._result(futures[k], work[k])
                    break
                except _AllWorkersLost:  # their tasks are never run, even if other workers have joined
                    self.workers = self._current_workers()
                    if self.loaded:
                        self._load_all()
                    futures[k:] = [submit(later) for later in range(k, len(work))]
            futures[k] = None  # the worker may free the result
            yield result

    def _result(self, future: Future, partitions: Sequence[int]) -> Any:
        """The result of a task. Failures from which the cluster cannot recover are raised as `ClusterError`."""
        from distributed.comm import CommClosedError
        from distributed.scheduler import KilledWorker

        since, address = time.monotonic(), self.client.scheduler.address  # type: ignore[union-attr]
        while True:
            try:
                try:
                    return future.result(timeout=SILENCE)
                except TimeoutError:
                    if not future.done():
                        since = self._last_at_work(since)
            except (KilledWorker, MemoryError) as error:
                raise ClusterError(self._too_large(partitions, error)) from error
            except (asyncio.CancelledError, concurrent.futures.CancelledError, CommClosedError) as error:
                raise ClusterError(LOST.format(address)) from error

    def _last_at_work(self, since: float) -> float:
        """The last time at which a worker was able to work: now or, if there is none or all are paused, ``since``."""
        from distributed.comm import CommClosedError

        if self.client.status != "running":
            raise CommClosedError
        workers = self.client.nthreads()
        if workers and not set(self.workers) & set(workers):
            raise _AllWorkersLost
        # A lambda is sent with its code, so the scheduler does not need this package.
        if self.client.run_on_scheduler(
            lambda dask_scheduler: any(
                worker.status.name == "running" or worker.executing for worker in dask_scheduler.workers.values()
            )
        ):
            return time.monotonic()
        if time.monotonic() - since > PATIENCE:
            raise ClusterError((PAUSED if workers else NO_WORKER).format(PATIENCE))
        return since

    def _too_large(self, partitions: Sequence[int], error: BaseException) -> str:
        names = " and ".join(f"partition {self.partitions[k]} ({self.describe_size(k)})" for k in partitions)
        limits = [worker["memory_limit"] for worker in self.client.scheduler_info()["workers"].values()]
        limit = f" (memory limit {min(limits) / 2**20:,.0f} MiB)" if any(limits) else ""
        event = "did not fit into memory" if isinstance(error, MemoryError) else "was on several workers that ended"
        return (
            f"{names} of {self!r} {event}{limit}, so it is most likely too large: make smaller partitions (X.rechunk, "
            "X.repartition; block_rows or block_bytes of a source), or give each worker more memory"
        )

    def _summarise(self, tallies: Sequence[tuple[Tally, int, tuple[str, ...]]]) -> Summary:
        """The totals over all partitions."""
        total, skipped = Tally(), 0
        messages: list[str] = []
        for tally, count, texts in tallies:
            total.join(tally)
            skipped += count
            messages.extend(texts)
        if total.rows == 0:
            raise SourceError(f"{self!r} has no rows")
        if skipped:
            first = "; ".join(messages[:3])
            warnings.warn(f"{self!r}: {skipped} bad rows skipped: {first}", SourceWarning, stacklevel=5)
        totals = total.rows, self.n_features or total.features, total.entries, total.weight, total.labels
        return Summary(*totals, skipped, tuple(messages[:MAX_MESSAGES]))
