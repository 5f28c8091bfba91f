"""The paper's graph: an edge for every non-zero entry of the sparse inverse covariance of the columns.

This module chooses the penalty of the graphical lasso, splits the problem into independent blocks, and falls back to
simpler estimates if the inverse cannot be computed.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.sparse.csgraph import connected_components

from .._core.threads import one_blas_thread
from .columns import ZERO, Columns, Data, Names, column_names, covariance, describe, isolated
from .edges import Graph, GraphWarning
from .graphical import graphical_lasso
from .neighbours import nearest

__all__ = ["glasso", "learn", "neighbourhoods", "search", "sparse_inverse"]

LARGEST = 2000  # with more columns, nearest neighbours are used
SHRINK = 0.1  # shrinkage of the covariance towards its diagonal, in the first fallback
SOLVES = 10  # limit of graphical lassos in a search for the penalty
CLOSE = 0.1  # the search ends within this fraction of the target number of edges
_FAILURES = (FloatingPointError, np.linalg.LinAlgError, ValueError)

Pairs = np.ndarray | None  # (E, 2) positions of non-zero entries; None if the estimate failed


def glasso(
    X: Data,
    *,
    penalty: float | str | None = None,
    edges: int | None = None,
    sample_weight: ArrayLike | None = None,
    progress: bool = False,
) -> Graph:
    """Learn a graph by the graphical lasso: join the columns with a non-zero entry in the sparse inverse covariance.

    This is the paper's graph. Two columns are joined if they are correlated given all other columns. The covariance is
    inverted, not the correlation, so columns in different units should be scaled first.

    Parameters
    ----------
    X : array-like, sparse matrix or source of shape (n, d)
        The rows. If d > 2,000, the nearest-neighbour graph (`knn`) is returned with a warning.
    penalty : float or "cv", optional
        The penalty of the graphical lasso [1]_, in units of the covariance. ``"cv"`` chooses it by scikit-learn's
        ``GraphicalLassoCV``, with X in memory. By default, the penalty that gives about ``edges`` edges.
    edges : int, optional
        The target number of edges. By default, twice the number of columns that vary.
    sample_weight : array-like of shape (n,), optional
        Sample weights. A weight of 2 is the same as repeating the row.
    progress : bool, default=False
        Show a progress bar while nearest neighbours are searched.

    Returns
    -------
    graph : Graph
        The graph, with unit weights as in the paper. ``graph.notes`` gives the penalty, and estimates that failed.

    Warns
    -----
    GraphWarning
        If the inverse covariance could not be computed and another estimate replaced it: the inverse of the shrunk
        covariance, that of the shrunk correlation, a lasso of each column on the others [4]_, or nearest neighbours.

    See Also
    --------
    knn : Learn the graph from correlations alone.

    Notes
    -----
    The connected components of the pairs with ``|S_ij| > penalty`` are those of the inverse [2]_, [3]_, so each
    component is solved separately and exactly. The number of such pairs is close to the number of edges, which makes
    the search for the penalty short.

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
    return learn(X, column_names(X), penalty=penalty, edges=edges, sample_weight=sample_weight, progress=progress)


def learn(
    X: Data,
    names: Names,
    *,
    penalty: float | str | None = None,
    edges: int | None = None,
    sample_weight: ArrayLike | None = None,
    progress: bool = False,
) -> Graph:
    """`glasso`, with the feature names to use in its notes."""
    _check_choice(penalty, edges)
    strength = None if isinstance(penalty, str) else penalty
    d = (*np.shape(X), 0)[1]  # 0 where X is no matrix, which `describe` refuses
    if d > LARGEST:
        said = f"{d:,} columns are too many for a sparse inverse covariance (limit: {LARGEST:,})"
        _say_instead(said, "nearest neighbours")  # before the work, which may take long
        graph = nearest(describe(X, sample_weight), 3, names, progress)
        return replace(graph, notes=(said, *graph.notes))
    columns = describe(X, sample_weight)
    kept = np.flatnonzero(columns.usable)
    notes = isolated(columns, names)
    if len(kept) < 2:
        return Graph((), None, d, (*notes, "fewer than two columns vary, so there are no edges"))
    with np.errstate(all="ignore"), one_blas_thread():
        S = covariance(columns)[np.ix_(kept, kept)]
        if penalty == "cv":
            strength = _cross_validated(columns, kept)
            if strength is None:
                notes += ("cross-validation found no penalty; it is chosen by the number of edges instead",)
                warnings.warn(notes[-1], GraphWarning, stacklevel=3)
        target = min(2 * len(kept) if edges is None else int(edges), len(kept) * (len(kept) - 1) // 2)
        pairs, said, failed = _climb(S, strength, target)
    if pairs is None:
        graph = nearest(columns, 3, names, progress)
    else:
        graph = Graph(kept[pairs], None, d, (*notes, said))
    if failed:
        why = f"could not compute the {'; the '.join(failed)}"
        _say_instead(why, said)
        graph = replace(graph, notes=(why, *graph.notes))
    return graph


class Rung(NamedTuple):
    """An estimate of the graph: a covariance or correlation matrix, and the function that finds its pairs."""

    name: str
    matrix: np.ndarray
    pairs: Callable[[np.ndarray, float], Pairs]


def _ladder(S: np.ndarray) -> Iterator[Rung]:
    """The estimates in the order in which they are tried: the paper's first, the most robust last."""
    yield Rung("sparse inverse covariance", S, sparse_inverse)
    S = (1.0 - SHRINK) * S + SHRINK * np.diag(np.diag(S))
    yield Rung(f"sparse inverse of the covariance shrunk by {SHRINK:g} towards its diagonal", S, sparse_inverse)
    deviation = np.sqrt(np.diag(S))
    S = S / deviation / deviation[:, None]
    yield Rung("sparse inverse of the shrunk correlation", S, sparse_inverse)
    yield Rung("neighbourhood selection, a lasso of each column on the others", S, neighbourhoods)


def _climb(S: np.ndarray, penalty: float | None, target: int) -> tuple[Pairs, str, list[str]]:
    """The pairs of the first estimate that succeeds, a note about them, and the estimates that failed."""
    unit = float(np.mean(np.diag(S)))  # scaled by it, covariances and correlations take the same penalty
    failed: list[str] = []
    for rung in _ladder(S / unit):
        if penalty is None:
            strength, pairs = search(rung.matrix, target, rung.pairs)
        else:
            strength, pairs = penalty / unit, rung.pairs(rung.matrix, penalty / unit)
        if pairs is not None:
            asked = f" (target {target:,})" if penalty is None else ""
            said = f"{rung.name}, penalty {strength * unit:.4g}: edges {len(pairs):,}{asked}"
            return pairs, said if strength else "no two columns are correlated, so there are no edges", failed
        failed.append(rung.name)
    return None, "nearest neighbours", failed


def search(S: np.ndarray, target: int, solve: Callable[[np.ndarray, float], Pairs]) -> tuple[float, Pairs]:
    """The penalty for which the number of pairs is closest to the target, and the pairs.

    The search is over the rank of the penalty: the number of covariances that exceed it. The number of pairs is nearly
    proportional to the rank, so the next rank is the last one times target / pairs, kept within the bracket found so
    far. A failed solve counts as too many pairs. The search fails if a solve failed and the best result has less than
    half of the target.
    """
    deviation = np.sqrt(np.diag(S))
    above = np.triu(np.abs(S) > ZERO * deviation * deviation[:, None], 1)
    sizes = np.sort(np.abs(S[above]))[::-1]
    if not len(sizes):
        return 0.0, np.empty((0, 2), dtype=np.int64)
    steps = np.flatnonzero(sizes[1:] < (1.0 - 1e-9) * sizes[:-1])  # equal covariances have one rank
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
    """The non-zero entries of the graphical lasso's inverse, for each component of ``|S_ij| > penalty`` separately."""
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
    """Neighbourhood selection: pairs (i, j) for which the lasso of column i on the others uses j, or vice versa.

    The lasso depends on X only through the correlations R, so it is run on the square root of R.
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
    """The penalty with the best likelihood on held-out rows; None if scikit-learn fails.

    Rows scaled by the square roots of their weights have the weighted covariance.
    """
    from sklearn.covariance import GraphicalLassoCV
    from sklearn.model_selection import KFold

    if columns.rows is None or columns.weights is None:
        raise ValueError("penalty='cv' needs X in memory, got a source: pass a number, or the number of edges")
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


def _check_choice(penalty: float | str | None, edges: int | None) -> None:
    if penalty is not None and edges is not None:
        raise ValueError(f"pass penalty or edges, not both: got penalty={penalty!r} and edges={edges!r}")
    number = isinstance(penalty, (int, float, np.number)) and not isinstance(penalty, bool)
    positive = number and 0 < float(penalty) < np.inf  # type: ignore[arg-type]
    if not (penalty is None or (isinstance(penalty, str) and penalty == "cv") or positive):
        raise ValueError(f"penalty must be a number > 0, 'cv' or None, got {penalty!r}")
    if edges is not None and (isinstance(edges, bool) or not isinstance(edges, (int, np.integer)) or edges < 1):
        raise ValueError(f"edges must be a whole number >= 1, got {edges!r}")


def _say_instead(why: str, used: str) -> None:
    """Warn that another graph replaces the requested one."""
    warnings.warn(f"{why}; using {used} instead", GraphWarning, stacklevel=4)
