"""The primal-dual interior-point method: few iterations, each with one Newton system, whatever the penalty's strength.

`general` has the iteration for any X and A, and `banded` the one for trends. Both know losses and penalties with kinks,
and bounds, as box terms (`box_terms`), and all other losses by their second derivatives; norms of groups are cones
(`cone_terms`), for which only the general iteration is made.
"""

from __future__ import annotations

import dataclasses

from ... import losses, penalties
from ..._core.jit import is_registered, unwrapped
from ...problem import Problem
from ..all_rows import AllRowsSolver, Method
from ..base import Point, Unfit
from .banded import BandedMethod, is_trend
from .box_terms import loss_pieces, penalty_pieces
from .general import InteriorPointMethod

__all__ = ["IPM"]


@dataclasses.dataclass(frozen=True)
class IPM(AllRowsSolver):
    """A primal-dual interior-point method, for small and medium problems, to any accuracy.

    It takes about 5 to 20 iterations, each with one Newton system, however strong the penalty is. Use it for as many
    features as rows, or more; for many more rows than features, `ALM` is faster. It has no settings, and needs B = -I.

    The loss must be `Hinge`, `SquaredHinge`, `Huber`, `Quantile` or `EpsilonInsensitive`, or have a ``losses.second``.
    The penalty must be `L1`, `ElasticNet`, `GroupL2`, `L2Squared`, `Zero`, `NonNegative`, `Box`, or a `Stack` of these.

    Trends are solved in one iteration, which takes 10 to 30 steps of linear time: each row of X has one entry, each row
    of A entries in a few neighbouring columns, in the order of the columns, as `graphs.difference` makes them for any
    order and at uneven positions, and the penalty is `L1`.

    References
    ----------
    Mehrotra: On the Implementation of a Primal-Dual Interior Point Method. SIAM Journal on Optimization 2, 1992.

    S.-J. Kim, K. Koh, S. Boyd, D. Gorinevsky, l1 trend filtering, SIAM Review 51, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import IPM, L1, Problem, Squared, solve
    >>> problem = Problem(np.eye(2), [1.0, 3.0], loss=Squared(), penalty=L1(0.25), A=[[1.0, -1.0]])
    >>> result = solve(problem, IPM(), tol=1e-9)
    >>> result.w.round(6), result.status.name
    (array([1.5, 2.5]), 'converged')

    A trend, which bends where v is not 0:

    >>> from adasadmm import graphs
    >>> y = [0.0, 1.0, 2.0, 3.0, 2.0, 1.0, 0.0]
    >>> problem = Problem(np.eye(7), y, loss=Squared(), penalty=L1(0.01), A=graphs.difference(7, order=2))
    >>> solve(problem, IPM()).v.round(2)
    array([ 0.  ,  0.  , -1.96,  0.  ,  0.  ])
    """

    pattern_lags = True
    default_epochs = 100.0

    def check(self, problem: Problem) -> None:
        loss = type(unwrapped(problem.loss)).__name__
        if not loss_pieces(problem.loss, problem.rows.y[:0]) and not is_registered(losses.second, problem.loss):
            raise Unfit(
                f"IPM needs losses.second for {loss}; register one with @adasadmm.losses.second.register({loss}), "
                "or use ALM() or ADMM()"
            )
        sets = [] if problem.w_set is None else penalties.parts_of(problem.w_set, problem.d)
        for part, _ in (*penalties.parts_of(problem.penalty, problem.p), *sets):
            if penalty_pieces(part) is None:
                raise Unfit(
                    "IPM takes the penalties L1, ElasticNet, GroupL2, L2Squared and Zero and the sets NonNegative and "
                    f"Box, got {type(part).__name__}; use ALM() or ADMM()"
                )

    def method(self, problem: Problem, start: Point) -> Method:
        return BandedMethod(problem, start) if is_trend(problem) else InteriorPointMethod(problem, start)
