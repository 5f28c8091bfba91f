"""The paper's graph: an edge wherever the sparse inverse covariance of the columns is not zero.

Around the graphical lasso stand the choice of the penalty, the splitting into blocks, and a ladder of simpler estimates
for data from which the inverse cannot be computed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.csgraph import connected_components

from .._core.threads import one_blas_thread
from .columns import ZERO, Columns, alone, column_names, covariance, describe, nearest
from .edges import Graph, GraphWarning
from .graphical import graphical_lasso

__all__ = ["glasso", "learn", "neighbourhoods", "search", "sparse_inverse"]

LARGEST = 2000  # more columns: nearest neighbours instead
SHRINK = 0.1  # how far the second rung of the ladder moves the covariance towards its diagonal
SOLVES = 10  # at most so many in a search for the penalty
CLOSE = 0.1  # a search ends within this fraction of the edges asked for
_FAILURES = (FloatingPointError, np.linalg.LinAlgError, ValueError)

Pairs = np.ndarray | None  # (E, 2) places that are not zero; None: could not be computed


def glasso(X: Any, *, penalty: Any = None, edges: int | None = None, sample_weight: Any = None) -> Graph:
    """Join the columns whose entry in the sparse inverse covariance is not zero, as the paper does.

    The covariance, not the correlation, is inverted: bring columns of different units to one scale before.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        Above d = 2,000 the graph is that of nearest neighbours (`knn`), with a warning.
    penalty : float or "cv", optional
        The strength of the graphical lasso, in units of the covariance; "cv" asks scikit-learn's ``GraphicalLassoCV``
        (X dense in memory). By default the one that gives about ``edges`` edges.
    edges : int, optional
        The number of edges to aim at. By default twice the number of columns that vary.
    sample_weight : array-like of shape (n,), optional
        Weights of the rows: a weight is a repetition.

    Returns
    -------
    graph : Graph
        All weights are 1, as in the paper. ``graph.notes`` tells the penalty, and what could not be estimated.

    Warns
    -----
    GraphWarning
        If the inverse of the covariance could not be computed and another estimate took its place: the shrunk
        covariance, its correlation, a lasso of each column on the others, or nearest neighbours.

    Notes
    -----
    Columns that ``|S_ij| > penalty`` does not connect are not connected in the inverse either [2]_, [3]_, so each block
    is solved alone, and exactly. The number of such pairs is near the number of edges, which makes the search for the
    penalty short.

    References
    ----------
    .. [1] J. Friedman, T. Hastie, R. Tibshirani, Sparse inverse covariance estimation with the graphical lasso,
       Biostatistics 9, 2008.
    .. [2] D. Witten, J. Friedman, N. Simon, New insights and faster computations for the graphical lasso,
       Journal of Computational and Graphical Statistics 20, 2011.
    .. [3] R. Mazumder, T. Hastie, Exact covariance thresholding into connected components for large-scale graphical
       lasso, JMLR 13, 2012.
    .. [4] N. Meinshausen, P. Bühlmann, High-dimensional graphs and variable selection with the lasso,
       Annals of Statistics 34, 2006.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import graphs
    >>> X = np.random.default_rng(0).normal(size=(500, 6))
    >>> for j in range(1, 6):
    ...     X[:, j] += X[:, j - 1] / 2
    >>> graphs.glasso(X, edges=5).edges
    array([[0, 1],
           [1, 2],
           [2, 3],
           [3, 4],
           [4, 5]])
    """
    return learn(X, column_names(X), penalty=penalty, edges=edges, sample_weight=sample_weight)


def learn(
    X: Any, names: Sequence[Any] | None, *, penalty: Any = None, edges: int | None = None, sample_weight: Any = None
) -> Graph:
    """`glasso`, with the names that its notes should use."""
    _check_choice(penalty, edges)
    columns = describe(X, sample_weight)
    d, kept = len(columns.usable), np.flatnonzero(columns.usable)
    if d > LARGEST:
        said = f"{d:,} columns are too many for a sparse inverse covariance (at most {LARGEST:,})"
        return _instead(nearest(columns, 3, names), said, "nearest neighbours")
    notes = alone(columns, names)
    if len(kept) < 2:
        return Graph((), None, d, (*notes, "fewer than two columns vary: nothing to join"))
    with np.errstate(all="ignore"), one_blas_thread():
        S = covariance(columns)[np.ix_(kept, kept)]
        if penalty == "cv":
            penalty = _cross_validated(columns, kept)
            if penalty is None:
                notes += ("cross-validation found no penalty: one that gives a number of edges instead",)
                warnings.warn(notes[-1], GraphWarning, stacklevel=3)
        target = min(2 * len(kept) if edges is None else int(edges), len(kept) * (len(kept) - 1) // 2)
        pairs, said, failed = _climb(S, penalty, target)
    if pairs is None:
        graph = nearest(columns, 3, names)
    else:
        graph = Graph(kept[pairs], None, d, (*notes, said))
    if failed:
        return _instead(graph, f"could not be computed: {'; '.join(failed)}", said)
    return graph


class Rung(NamedTuple):
    """A step of the ladder: a matrix of covariances, and what finds the pairs in it at a penalty."""

    name: str
    matrix: np.ndarray
    pairs: Callable[[np.ndarray, float], Pairs]


def _ladder(S: np.ndarray) -> Iterator[Rung]:
    """From what the paper does towards what always works."""
    yield Rung("sparse inverse covariance", S, sparse_inverse)
    S = (1.0 - SHRINK) * S + SHRINK * np.diag(np.diag(S))
    yield Rung(f"sparse inverse of the covariance shrunk by {SHRINK:g} towards its diagonal", S, sparse_inverse)
    deviation = np.sqrt(np.diag(S))
    S = S / deviation / deviation[:, None]
    yield Rung("sparse inverse of the shrunk correlation", S, sparse_inverse)
    yield Rung("neighbourhood selection, a lasso of each column on the others", S, neighbourhoods)


def _climb(S: np.ndarray, penalty: float | None, target: int) -> tuple[Pairs, str, list[str]]:
    """The pairs of the first rung that holds, what to say of them, and the rungs that did not hold."""
    unit = float(np.mean(np.diag(S)))  # in this unit one penalty serves covariances and correlations
    failed: list[str] = []
    for rung in _ladder(S / unit):
        if penalty is None:
            strength, pairs = search(rung.matrix, target, rung.pairs)
        else:
            strength, pairs = penalty / unit, rung.pairs(rung.matrix, penalty / unit)
        if pairs is not None:
            asked = f", {target:,} asked for" if penalty is None else ""
            said = f"{rung.name}, penalty {strength * unit:.4g}: edges {len(pairs):,}{asked}"
            return pairs, said if strength else "no two columns are correlated: nothing to join", failed
        failed.append(rung.name)
    return None, "nearest neighbours", failed


def search(S: np.ndarray, target: int, solve: Callable[[np.ndarray, float], Pairs]) -> tuple[float, Pairs]:
    """The penalty whose pairs are nearest in number to the target.

    A penalty is sought by its rank, the number of covariances that exceed it. The number of edges is nearly
    proportional to the rank, so the next rank is the last one times what is missing, kept between those known as too
    low and too high. A failed solve counts as too high; a search that has failures and less than half of the target
    has failed.
    """
    deviation = np.sqrt(np.diag(S))
    above = np.triu(np.abs(S) > ZERO * deviation * deviation[:, None], 1)
    sizes = np.sort(np.abs(S[above]))[::-1]
    if not len(sizes):
        return 0.0, np.empty((0, 2), dtype=np.int64)
    steps = np.flatnonzero(sizes[1:] < (1.0 - 1e-9) * sizes[:-1])  # equal covariances exceed a penalty together
    ranks = np.append(steps + 1, len(sizes))
    sizes = np.append(sizes, sizes[-1:] / 4.0)
    low, high, rank = -1, len(ranks), target
    best, failures = (0.0, np.empty((0, 2), dtype=np.int64)), 0
    for _ in range(SOLVES):
        if high - low < 2:
            break
        place = int(np.searchsorted(ranks, rank))
        place = place if low < place < high else (low + high) // 2
        penalty = float(np.sqrt(sizes[ranks[place] - 1] * sizes[ranks[place]]))
        pairs = solve(S, penalty)
        if pairs is None:
            failures, high, rank = failures + 1, place, 0
            continue
        if _distance(pairs, target) < _distance(best[1], target):
            best = penalty, pairs
        if abs(len(pairs) - target) <= CLOSE * target:
            break
        low, high = (place, high) if len(pairs) < target else (low, place)
        rank = round(int(ranks[place]) * target / max(1, len(pairs)))
    return best if not failures or 2 * len(best[1]) >= target else (0.0, None)


def _distance(pairs: np.ndarray, target: int) -> float:
    return abs(float(np.log((len(pairs) + 1) / (target + 1))))


def sparse_inverse(S: np.ndarray, penalty: float) -> Pairs:
    """The places where the graphical lasso's inverse is not zero, block by block of ``|S_ij| > penalty``."""
    above = np.abs(S) > penalty
    np.fill_diagonal(above, False)
    _, block = connected_components(above, directed=False)
    order = np.argsort(block, kind="stable")
    pairs = [np.empty((0, 2), dtype=np.int64)]
    for members in np.split(order, np.cumsum(np.bincount(block))[:-1]):
        if len(members) > 1:
            solution = graphical_lasso(S[np.ix_(members, members)], penalty)
            if solution is None:
                return None
            used = solution[0] != 0.0
            pairs.append(members[np.argwhere(np.triu(used & used.T, 1))])
    return np.concatenate(pairs)


def neighbourhoods(R: np.ndarray, penalty: float) -> Pairs:
    """The pairs (i, j) where the lasso of column i on the others uses j, or that of j uses i.

    The lasso sees the columns only through their correlations R, so the root of R stands for X.
    """
    from sklearn.linear_model import Lasso

    d = len(R)
    used = np.zeros((d, d), dtype=bool)
    try:
        values, vectors = np.linalg.eigh(R)
        Z = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
        lasso = Lasso(alpha=penalty / d, fit_intercept=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for j in range(d):
                others = np.arange(d) != j
                used[j, others] = lasso.fit(Z[:, others], Z[:, j]).coef_ != 0
    except _FAILURES:
        return None
    return np.argwhere(np.triu(used | used.T, 1))


def _cross_validated(columns: Columns, kept: np.ndarray) -> float | None:
    """The penalty of the best likelihood on rows left out; None where scikit-learn finds none.

    Rows times the root of their weight have the weighted covariance, so that weights need no copies of rows.
    """
    from sklearn.covariance import GraphicalLassoCV
    from sklearn.model_selection import KFold

    if columns.rows is None:
        raise ValueError("penalty='cv' needs rows in memory, X is a source: give a number, or the number of edges")
    rows = columns.rows[:, kept]
    Z = (rows.toarray() if hasattr(rows, "toarray") else rows) - columns.mean[kept]
    unit = float(np.mean(columns.variance[kept]))
    Z *= np.sqrt(columns.weights * len(Z) / unit)[:, None]
    folds = KFold(min(5, len(Z)), shuffle=True, random_state=0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return float(GraphicalLassoCV(cv=folds, assume_centered=True).fit(Z).alpha_) * unit
    except _FAILURES:
        return None


def _check_choice(penalty: Any, edges: Any) -> None:
    if penalty is not None and edges is not None:
        raise ValueError(f"give penalty or edges, not both: got penalty={penalty!r} and edges={edges!r}")
    number = isinstance(penalty, (int, float, np.number)) and not isinstance(penalty, bool)
    if not (penalty is None or (isinstance(penalty, str) and penalty == "cv") or (number and 0 < penalty < np.inf)):
        raise ValueError(f"penalty must be a number > 0, 'cv' or None, got {penalty!r}")
    if edges is not None and (isinstance(edges, bool) or not isinstance(edges, (int, np.integer)) or edges < 1):
        raise ValueError(f"edges must be a whole number >= 1, got {edges!r}")


def _instead(graph: Graph, why: str, used: str) -> Graph:
    """The graph that took the place of the one asked for: said in a warning and in its notes."""
    warnings.warn(f"{why}. Used instead: {used}", GraphWarning, stacklevel=4)
    return replace(graph, notes=(why, *graph.notes))
