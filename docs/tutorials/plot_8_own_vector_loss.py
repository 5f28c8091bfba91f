r"""
Add a loss of several predictions
=================================

Some losses compare all predictions of a row with each other: a softmax, or a loss for grades. Such a loss declares how
many predictions it takes, with ``losses.width``. The coefficients are then a matrix with a column for each prediction,
and the structure applies to each column, or jointly to all of them.

The example is a loss for grades, that is, ordered classes. The multinomial loss treats all mistakes equally. Here the
true grade must lead by more, the further away the other grade is:

.. math::

    \ell(z, y) = \log \sum_c \exp(z_c + \pi |c - y|) - z_y.

With the price :math:`\pi = 0` it is the multinomial loss.
"""

# %%
# The loss in 20 lines
# --------------------
#
# ``z`` and ``y`` are arrays with an entry for each prediction. A scalar loss returns a number; a vector loss
# writes its result into its last argument. Targets are given once for each row and repeated for each prediction, so
# ``y[0]`` is the grade. The functions are compiled with the solvers, as those of a scalar loss are.

from typing import NamedTuple

import numpy as np

from adasadmm import losses


class Graded(NamedTuple):
    grades: int
    price: float = 1.0


@losses.width.register
def _(loss: Graded) -> int:
    return loss.grades


@losses.value.register
def _(loss: Graded, z, y):
    raised = z + loss.price * np.abs(np.arange(loss.grades) - y[0])
    return raised.max() + np.log(np.sum(np.exp(raised - raised.max()))) - z[int(y[0])]


@losses.slope.register
def _(loss: Graded, z, y, out):
    raised = z + loss.price * np.abs(np.arange(loss.grades) - y[0])
    out[:] = np.exp(raised - raised.max())
    out /= out.sum()
    out[int(y[0])] -= 1.0


# %%
# ``value`` and ``slope`` are enough for the stochastic solvers. The first problem tries the functions at a few points,
# and raises an error if they contradict each other.

from sklearn.datasets import load_diabetes

from adasadmm import L1, AdaSADMM, Problem, graphs, solve

X, progress = load_diabetes(return_X_y=True)
X /= X.std(axis=0)
grade = np.searchsorted(np.quantile(progress, [0.2, 0.4, 0.6, 0.8]), progress)

problem = Problem(X, grade, loss=Graded(5), penalty=L1(0.005), A=graphs.difference(10), gamma=0.01)
result = solve(problem, AdaSADMM(), epochs=20)
print(f"objective {problem.objective(result.w_average):.4f}, coefficients {result.w.reshape(10, 5).shape}")

# %%
# Accurate solutions and certificates
# -----------------------------------
#
# The proximal Newton method, which ``solver="auto"`` chooses, needs the matrix of second derivatives. For a duality gap
# the loss needs its conjugate, and ``domain``, which writes the nearest point at which the conjugate is finite. Both
# are those of the multinomial loss, up to a linear term. (``losses.prox`` would add batch ADMM.)


@losses.second.register
def _(loss: Graded, z, y, out):
    raised = z + loss.price * np.abs(np.arange(loss.grades) - y[0])
    losses.second(losses.Multinomial(loss.grades), raised, y, out)


@losses.conjugate.register
def _(loss: Graded, s, y):
    distance = np.abs(np.arange(loss.grades) - y[0])
    return losses.conjugate(losses.Multinomial(loss.grades), s, 1.0 * (distance == 0)) - loss.price * s @ distance


@losses.domain.register
def _(loss: Graded, s, y, out):
    losses.domain(losses.Multinomial(loss.grades), s, 1.0 * (np.arange(loss.grades) == y[0]), out)


# %%
# Now ``solver="auto"`` works in a classifier as well, and the fit has a duality gap.

from adasadmm import GraphGuidedClassifier

model = GraphGuidedClassifier("knn", loss=Graded(5), alpha=0.005, joint=True).fit(X, grade)
print(model.summary())

# %%
# Is it worth it? The price trades exact hits for fewer large mistakes.

from sklearn.model_selection import cross_val_predict

for price in (0.0, 0.5, 1.0):
    model = GraphGuidedClassifier("knn", loss=Graded(5, price), alpha=0.005)
    found = cross_val_predict(model, X, grade, cv=10)
    print(f"price {price}: mean distance {np.mean(abs(found - grade)):.3f}, exact {np.mean(found == grade):.3f}")
