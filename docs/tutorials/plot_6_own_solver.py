"""
A solver of your own
====================

`adasadmm.solve` does not depend on any particular method. A :class:`adasadmm.solvers.Solver` is a record of settings;
it begins a :class:`adasadmm.solvers.Run`, the state of a method on one problem, which `solve` advances. If you derive
your own classes from these two, you get the trace, stopping by the duality gap, callbacks, checkpoints, rows from
files and the estimators.

This tutorial implements RDA-ADMM, regularised dual averaging (Suzuki 2013), in a single file, which can be anywhere on
the Python path. The package has the same method, compiled: :class:`adasadmm.RDASADMM`.
"""

# %%
# The file
# --------
#
# The solver states facts about the method as class attributes; here, that it needs ``B = -I``. The run must have one
# member, ``advance``, which performs iterations over some rows. This one also returns the means of its iterates, and
# recommends their mean. All other members have defaults, which you can override: the last iterates are the attributes
# ``w``, ``v`` and ``theta``; the trace shows ``iteration`` and ``eta``; the certificate starts from the slopes of the
# loss at the answer, and from theta; the state that checkpoints store is every attribute that is an array or a number,
# and a copy of the run has copies of these.
#
# .. literalinclude:: /tutorials/own/dual_averaging.py
#    :caption: dual_averaging.py
#
# One rule matters: `solve` splits the work into pieces depending on elapsed time, so the iterates must not depend on
# the split.

import sys
import tempfile

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler

from adasadmm import ALM, L1, RDASADMM, AdaSADMM, Checkpoint, GraphGuidedClassifier, Logistic, Problem, graphs, solve

sys.path.insert(0, "own")
from dual_averaging import DualAveraging

# %%
# Use it with `solve`
# -------------------

data = load_breast_cancer()
X, y = StandardScaler().fit_transform(data.data), np.where(data.target == 1, 1, -1)
A = graphs.incidence(graphs.glasso(X).edges, d=X.shape[1])
problem = Problem(X, y, loss=Logistic(), penalty=L1(0.01), A=A, gamma=0.01)
optimum = solve(problem, ALM(), tol=1e-9).certificate.primal

for solver in (DualAveraging(), RDASADMM(), AdaSADMM(average="auto")):
    result = solve(problem, solver, epochs=20)
    above = result.trace["objective_mean"] / optimum - 1
    plt.loglog(result.trace["epoch"], above, label=type(solver).__name__)
    print(type(solver).__name__, "certified gap", result.certificate.relative_gap)
plt.xlabel("epochs")
plt.ylabel("objective of the mean above the optimum, relative")
plt.legend()
plt.show()

# %%
# Checkpoints
# -----------
#
# An interrupted run can be resumed, and ends with the same bits as an uninterrupted one.

folder = Checkpoint(tempfile.mkdtemp(), every=0)
solve(problem, DualAveraging(), epochs=2, checkpoint=folder, callback=lambda snapshot: snapshot.epoch >= 1)
resumed = solve(problem, DualAveraging(), epochs=2, checkpoint=folder, resume=True)
straight = solve(problem, DualAveraging(), epochs=2)
print("the same bits:", bool((resumed.w == straight.w).all()))

# %%
# Estimators
# ----------
#
# Pass the solver as ``solver=``; `partial_fit` works as well.

solver = DualAveraging()
model = GraphGuidedClassifier(solver=solver, loss="logistic", alpha=0.01, max_iter=20, random_state=0)
print("accuracy:", model.fit(X, data.target).score(X, data.target), "gap:", model.dual_gap_)
