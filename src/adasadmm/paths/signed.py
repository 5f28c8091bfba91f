"""The minimum of a quadratic with an L1 penalty of few independent rows, by steps with fixed signs."""

from __future__ import annotations

import numpy as np
import scipy.linalg

__all__ = ["Model"]

WEAK = 1e-13  # the ridge of the matrix, relative to its diagonal
MOST_STEPS = 1000


class Model:
    """``1/2 u'Hu - pull'u + sum_k limit_k |(B u)_k|``, where a row of B is a difference of two entries, or has one."""

    def __init__(self, H: np.ndarray, pull: np.ndarray, B: np.ndarray) -> None:
        self.H, self.pull, self.B = H, pull, B

    def minimiser(self, u: np.ndarray, limit: np.ndarray, sign: np.ndarray) -> np.ndarray:
        """The minimum over u that keeps rows at 0 once they reach it; ``sign`` is that of each row at the start.

        With fixed signs the minimum is a linear system. On the way there rows may change their signs. The search stops
        at the least value on the way: there a row reached 0, and stays, or some have changed their signs.
        """
        H, pull, B, sign = self.H, self.pull, self.B, sign.copy()
        owner = np.arange(len(u))  # the entry of the smaller problem; -1 if that is 0
        for _ in range(MOST_STEPS):
            target = _solved(H, pull - B.T @ (limit * sign))
            move = target - u
            length, passed, stop = first_minimum(float(move @ H @ move), sign, B @ u, B @ move, limit)
            if stop < 0 and not len(passed):
                u = target
                break
            u = u + length * move
            sign[passed] = -sign[passed]
            if stop >= 0:
                H, pull, u, B, owner = _without(stop, H, pull, u, B, owner)
                limit, sign = np.delete(limit, stop), np.delete(sign, stop)
        return np.where(owner >= 0, u[owner], 0.0) if len(u) else np.zeros(len(owner))


def _without(
    row: int, H: np.ndarray, pull: np.ndarray, u: np.ndarray, B: np.ndarray, owner: np.ndarray
) -> tuple[np.ndarray, ...]:
    """The smaller problem in which a row of B is 0: two entries are one, or one is 0."""
    *kept, gone = np.flatnonzero(B[row])
    B = np.delete(B, row, axis=0)
    if kept:
        H, pull, B = H.copy(), pull.copy(), B.copy()
        H[kept[0]] += H[gone]
        H[:, kept[0]] += H[:, gone]
        pull[kept[0]] += pull[gone]
        B[:, kept[0]] += B[:, gone]
    owner = np.where(owner == gone, kept[0] if kept else -1, owner - (owner > gone))
    H = np.delete(np.delete(H, gone, axis=0), gone, axis=1)
    return H, np.delete(pull, gone), np.delete(u, gone), np.delete(B, gone, axis=1), owner


def first_minimum(
    bend: float, sign: np.ndarray, v: np.ndarray, dv: np.ndarray, limit: np.ndarray
) -> tuple[float, np.ndarray, int]:
    """The least value on the way to the minimum for fixed signs: its place, the rows that changed sign, and one at 0.

    Along the way the slope is ``-(1 - t) bend``, and it rises by ``2 limit |dv|`` where a row passes 0.
    """
    crossing = np.flatnonzero(sign * (v + dv) < 0.0)
    places = np.clip(-v[crossing] / dv[crossing], 0.0, 1.0)
    order = np.argsort(places, kind="stable")
    crossing, places = crossing[order], places[order]
    after = np.cumsum(2.0 * limit[crossing] * np.abs(dv[crossing]))
    stops = np.flatnonzero(after >= (1.0 - places) * bend)
    if not len(stops):
        return (1.0 - (after[-1] / bend if len(after) else 0.0)), crossing, -1
    stop = stops[0]
    before = after[stop - 1] if stop else 0.0
    if before >= (1.0 - places[stop]) * bend:
        return 1.0 - before / bend, crossing[:stop], -1
    return float(places[stop]), crossing[:stop], int(crossing[stop])


def _solved(H: np.ndarray, rhs: np.ndarray) -> np.ndarray:
    """The solution of a system with a positive semidefinite matrix."""
    if not len(rhs):
        return rhs
    H, diagonal = H.copy(), np.diag_indices(len(rhs))
    more = WEAK * np.where(H[diagonal] > 0.0, H[diagonal], 1.0)
    for _ in range(4):
        H[diagonal] += more
        factor, failed = scipy.linalg.lapack.dpotrf(H, lower=0, clean=0)
        if not failed:
            return scipy.linalg.lapack.dpotrs(factor, rhs, lower=0)[0]
        more = 1e3 * more
    return np.linalg.lstsq(H, rhs)[0]
