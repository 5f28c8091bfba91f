"""The algorithms in dense NumPy, one line for one line of the paper: what the package's runs are held against.

Nothing here is fast, compiled or shared with the package: matrices are dense, systems go to ``np.linalg.solve``, each
prox is a formula or a bisection. Losses and penalties are the package's records, read for their parameters only.
"""

from typing import NamedTuple

import numpy as np
import scipy.optimize

# --- losses ----------------------------------------------------------------------------------------------------------

VALUES = {
    "Hinge": lambda p, z, y: np.maximum(0, 1 - y * z),
    "SquaredHinge": lambda p, z, y: np.maximum(0, 1 - y * z) ** 2,
    "Logistic": lambda p, z, y: np.logaddexp(0, -y * z),
    "Squared": lambda p, z, y: (z - y) ** 2 / 2,
    "Huber": lambda p, z, y: np.where(
        np.abs(z - y) <= p.delta, (z - y) ** 2 / 2, p.delta * (np.abs(z - y) - p.delta / 2)
    ),
    "EpsilonInsensitive": lambda p, z, y: np.maximum(0, np.abs(z - y) - p.epsilon),
    "Quantile": lambda p, z, y: np.maximum(p.q * (y - z), (p.q - 1) * (y - z)),
    "Poisson": lambda p, z, y: np.exp(z) - y * z,
    "Gamma": lambda p, z, y: z + y * np.exp(-z),
    "Tweedie": lambda p, z, y: (
        np.exp((2 - p.power) * z) / (2 - p.power) - y * np.exp((1 - p.power) * z) / (1 - p.power)
    ),
    "NegativeBinomial": lambda p, z, y: (y + 1 / p.alpha) * np.log1p(p.alpha * np.exp(z)) - y * z,
}
SLOPES = {
    "Hinge": lambda p, z, y: np.where(y * z < 1, -y, 0.0),
    "SquaredHinge": lambda p, z, y: -2 * y * np.maximum(0, 1 - y * z),
    "Logistic": lambda p, z, y: -y * np.exp(-np.logaddexp(0, y * z)),
    "Squared": lambda p, z, y: z - y,
    "Huber": lambda p, z, y: np.clip(z - y, -p.delta, p.delta),
    "EpsilonInsensitive": lambda p, z, y: np.sign(z - y) * (np.abs(z - y) > p.epsilon),
    "Quantile": lambda p, z, y: np.where(z < y, -p.q, np.where(z > y, 1 - p.q, 0.0)),
    "Poisson": lambda p, z, y: np.exp(z) - y,
    "Gamma": lambda p, z, y: 1 - y * np.exp(np.minimum(-z, 700.0)),  # a target of 0 must not meet infinity
    "Tweedie": lambda p, z, y: np.exp((2 - p.power) * z) - y * np.exp(np.minimum((1 - p.power) * z, 700.0)),
    "NegativeBinomial": lambda p, z, y: (np.exp(z) - y) / (1 + p.alpha * np.exp(z)),
}


def value(loss, z, y):
    return VALUES[type(loss).__name__](loss, z, y)


def slope(loss, z, y):
    return SLOPES[type(loss).__name__](loss, z, y)


def loss_prox(loss, z, tau, y):
    """The u with 0 in ``loss'(u) + (u - z)/tau``: bisection between z and ``z - tau loss'(z)``, which enclose it."""
    other = z - tau * slope(loss, z, y)
    low, high = np.minimum(z, other), np.maximum(z, other)
    with np.errstate(over="ignore"):  # an infinite slope has the right sign
        for _ in range(100):
            u = (low + high) / 2
            right = u - z + tau * slope(loss, u, y) > 0
            low, high = np.where(right, low, u), np.where(right, u, high)
    return (low + high) / 2


# --- penalties -------------------------------------------------------------------------------------------------------


def soft(x, threshold):
    return np.sign(x) * np.maximum(np.abs(x) - threshold, 0)


def group_prox(p, x, tau):
    out = x.copy()
    for g, group in enumerate(p.groups):
        threshold = tau * p.nu * (1 if p.weights is None else p.weights[g])
        out[group] *= max(0, 1 - threshold / max(np.linalg.norm(x[group]), 1e-300))
    return out


def simplex_projection(p, x, tau):
    low, high = x.min() - p.total, x.max()
    for _ in range(100):
        level = (low + high) / 2
        low, high = (level, high) if np.maximum(x - level, 0).sum() > p.total else (low, level)
    return np.maximum(x - level, 0)


def chain_prox(p, x, tau):
    """By its dual, a least-squares problem in a box: v = x - D't with ``|t_k| <= tau nu weights_k``."""
    D = np.diff(np.eye(len(x)), axis=0)
    limit = tau * p.nu * (np.ones(len(D)) if p.weights is None else np.asarray(p.weights)) + 1e-300
    return x - D.T @ scipy.optimize.lsq_linear(D.T, x, (-limit, limit), method="bvls", tol=1e-15).x if len(D) else x


PROXES = {
    "L1": lambda p, x, tau: soft(x, tau * p.nu * (1 if p.weights is None else p.weights)),
    "ElasticNet": lambda p, x, tau: soft(x, tau * p.nu * p.l1_ratio) / (1 + tau * p.nu * (1 - p.l1_ratio)),
    "GroupL2": group_prox,
    "ChainTV": chain_prox,
    "L2Squared": lambda p, x, tau: x / (1 + tau * p.nu),
    "Zero": lambda p, x, tau: x,
    "NonNegative": lambda p, x, tau: np.maximum(x, 0),
    "Box": lambda p, x, tau: np.clip(x, p.lower, p.upper),
    "L2Ball": lambda p, x, tau: x * min(1, p.radius / max(np.linalg.norm(x), 1e-300)),
    "Simplex": simplex_projection,
}


class Zero(NamedTuple):
    """No penalty: for the coordinates that no part of a stack takes."""


def parts_of(penalty, size):
    """A penalty as (penalty, indices) pairs that take each coordinate of v once."""
    if type(penalty).__name__ != "Stack":
        return [(penalty, np.arange(size))]
    parts = [(part, np.arange(size)[rows]) for part, rows in penalty.parts]
    free = np.setdiff1d(np.arange(size), np.concatenate([rows for _, rows in parts]))
    return [*parts, (Zero(), free)] if len(free) else parts


PENALTY_VALUES = {  # 0 for sets
    "L1": lambda p, v: p.nu * np.sum(np.abs(v) * (1 if p.weights is None else p.weights)),
    "ElasticNet": lambda p, v: p.nu * (p.l1_ratio * np.abs(v).sum() + (1 - p.l1_ratio) / 2 * v @ v),
    "GroupL2": lambda p, v: (
        p.nu
        * sum(np.linalg.norm(v[group]) * (1 if p.weights is None else p.weights[g]) for g, group in enumerate(p.groups))
    ),
    "L2Squared": lambda p, v: p.nu / 2 * v @ v,
    "ChainTV": lambda p, v: p.nu * np.sum(np.abs(np.diff(v)) * (1 if p.weights is None else p.weights)),
}


def penalty_value(penalty, v):
    parts = parts_of(penalty, len(v))
    return sum(PENALTY_VALUES.get(type(p).__name__, lambda p, v: 0.0)(p, v[rows]) for p, rows in parts)


class Constraint(NamedTuple):
    """``A w + B v = b``, the parts of phi, and for each part the c that stands for B'B there."""

    A: np.ndarray
    B: np.ndarray
    b: np.ndarray
    parts: list
    curvatures: list


def constraint_of(penalty, A, B, b, split_set=None):
    """Dense and complete; a set of w that is split off has I stacked under A and its projection as one more part."""
    m, d = A.shape
    B = -np.eye(m) if B is None else B
    b = np.zeros(m) if b is None else b
    parts = parts_of(penalty, B.shape[1])
    if split_set is not None:
        A, b = np.vstack([A, np.eye(d)]), np.append(b, np.zeros(d))
        parts = [*parts, (split_set, B.shape[1] + np.arange(d))]
        B = np.block([[B, np.zeros((m, d))], [np.zeros((d, B.shape[1])), -np.eye(d)]])
    square = B.T @ B
    curvatures = [square[rows[0], rows[0]] for _, rows in parts]
    wanted = np.zeros(len(square))
    for (_, rows), c in zip(parts, curvatures, strict=True):
        wanted[rows] = c
    if not np.allclose(square, np.diag(wanted)):
        curvatures = [np.linalg.norm(B, 2) ** 2] * len(parts)
    return Constraint(A, B, b, parts, curvatures)


def argmin_v(constraint, Aw, v, theta, beta):
    """``argmin_v phi(v) - <theta, Bv> + beta/2 |Aw + Bv - b|^2``, where B'B is not c I with |B|^2 I in its place."""
    _, B, b, parts, curvatures = constraint
    pull = B.T @ (beta * (Aw + B @ v - b) - theta)
    following = v.copy()
    for (penalty, rows), c in zip(parts, curvatures, strict=True):
        prox = PROXES[type(penalty).__name__]
        following[rows] = prox(penalty, v[rows] - pull[rows] / (beta * c), 1 / (beta * c))
    return following


# --- the metric and the step size ------------------------------------------------------------------------------------


def root(G):
    values, vectors = np.linalg.eigh(G)
    return vectors @ np.diag(np.sqrt(np.maximum(values, 0))) @ vectors.T


def identity(gradients, a, kept):
    return np.eye(len(gradients[0]))


def diagonal(gradients, a, kept):
    return np.diag(a + np.sqrt(np.sum(np.square(gradients), axis=0)))


def isotropic(gradients, a, kept):
    """One scale for all coordinates, from the gradients before the last."""
    return (a + np.linalg.norm(gradients[:-1])) * np.eye(len(gradients[0]))


def full(gradients, a, kept):
    return a * np.eye(len(gradients[0])) + root(np.transpose(gradients) @ gradients)


def lagging(refresh):
    """The full metric of an earlier step, until the gradients since, measured in it, exceed ``refresh d``."""

    def metric(gradients, a, kept):
        if kept:
            P, taken = kept["P"], kept["taken"]
            since = np.linalg.solve(P, np.transpose(gradients[taken:]))
            if np.sum(since**2) <= refresh * len(P):
                return P
        kept.update(P=full(gradients, a, None), taken=len(gradients))
        return kept["P"]

    return metric


# A step size is a function of t and of the iterates so far.


def constant(eta):
    return lambda t, W: eta


def inverse_time(gamma):
    return lambda t, W: 1 / (gamma * t)


def inverse_sqrt(c):
    return lambda t, W: c / np.sqrt(t)


def travelled(first, order, share=0.5):
    """A share of how far the run has come, in the max-norm (``order`` inf) or the 2-norm."""
    return lambda t, W: share * max(first, *(np.linalg.norm(w - W[0], order) for w in W))


# --- the algorithms --------------------------------------------------------------------------------------------------


class History(NamedTuple):
    """All iterates: row t-1 of W, V and Theta is w_t, v_t, theta_t."""

    W: np.ndarray
    V: np.ndarray
    Theta: np.ndarray
    etas: list

    @property
    def w_mean(self):
        return self.W[:-1].mean(axis=0)

    @property
    def v_mean(self):
        return self.V[1:].mean(axis=0)

    def w_average(self, rhos):
        """``mean_t = mean_{t-1} + rho_t (w_{t+1} - mean_{t-1})``."""
        mean = self.W[0]
        for rho, w in zip(rhos, self.W[1:], strict=True):
            mean = mean + rho * (w - mean)
        return mean


def algorithm1(
    X,
    y,
    *,
    loss,
    constraint,
    samples,
    gamma=0.0,
    weights=1.0,
    batch_size=1,
    metric=diagonal,
    a=1.0,
    eta=None,
    beta=1.0,
    w_step="exact",
    box=None,
    start=None,
    at_mean=0.0,
):
    """Algorithm 1 from ``start`` (w_1, v_1, theta_1) or zero; ``box`` is a set of w that the w-step itself respects.

    The slopes are taken at w, or ``at_mean`` of the way to the mean of the iterates weighted by the squares of eta.
    """
    d = X.shape[1]
    A, B, b, *_ = constraint
    c = np.ones(len(y)) * weights / np.mean(weights)
    M = np.diag(beta * np.abs(A).T @ np.abs(A).sum(axis=1)) if w_step == "linearized" else beta * A.T @ A
    w, v, theta = start or (np.zeros(d), np.zeros(B.shape[1]), np.zeros(len(A)))
    W, V, Theta, etas, gradients, kept = [w], [v], [theta], [], [], {}
    for t, first in enumerate(range(0, len(samples), batch_size), start=1):
        rows = samples[first : first + batch_size]
        etas.append(eta(t, W))
        point = w
        if at_mean and t > 1:
            squares = np.square(etas[:-1])
            point = at_mean * (squares @ W[1:] / squares.sum()) + (1 - at_mean) * w
        z = X @ point
        g = np.mean((c * slope(loss, z, y))[rows, None] * X[rows], axis=0) + gamma * w
        gradients.append(g)
        # The linearised step is the exact one in the metric H_t + eta (M - beta A'A).
        H = metric(gradients, a, kept) / etas[-1] + M - beta * A.T @ A
        w = np.linalg.solve(H + beta * A.T @ A, H @ w - g + A.T @ (theta - beta * (B @ v - b)))
        w = w if box is None else np.clip(w, box.lower, box.upper)
        v = argmin_v(constraint, A @ w, v, theta, beta)
        theta = theta - beta * (A @ w + B @ v - b)
        W.append(w), V.append(v), Theta.append(theta)
    return History(np.array(W), np.array(V), np.array(Theta), etas)


def online(X, y, *, loss, constraint, samples, gamma=0.0, weights=1.0, eta=None, beta=1.0):
    """OADMM from zero, with H = I: the loss of one row is kept as it is."""
    d = X.shape[1]
    A, B, b, *_ = constraint
    c = np.ones(len(y)) * weights / np.mean(weights)
    w, v, theta = np.zeros(d), np.zeros(B.shape[1]), np.zeros(len(A))
    W, V, Theta, etas = [w], [v], [theta], []
    for t, i in enumerate(samples, start=1):
        etas.append(eta(t, W))
        M = np.linalg.inv(beta * A.T @ A + np.eye(d) / etas[-1] + np.diag(gamma * np.ones(d)))
        r = w / etas[-1] + A.T @ (theta - beta * (B @ v - b))
        z0, q = X[i] @ M @ r, X[i] @ M @ X[i]
        s = (z0 - loss_prox(loss, z0, q * c[i], y[i])) / q if q > 0 else 0.0
        w = M @ (r - s * X[i])
        v = argmin_v(constraint, A @ w, v, theta, beta)
        theta = theta - beta * (A @ w + B @ v - b)
        W.append(w), V.append(v), Theta.append(theta)
    return History(np.array(W), np.array(V), np.array(Theta), etas)


class Balancing(NamedTuple):
    """When and how batch ADMM changes its two betas."""

    first: float
    at: tuple
    limits: tuple
    deadband: float

    def factor(self, primal, sizes, dual, dual_size):
        """The root of the ratio of the relative residuals, cut to the limits; 1 where it is near 1."""
        norm, tiny = np.linalg.norm, 1e-30
        primal, dual = norm(primal) / max(*map(norm, sizes), tiny), norm(dual) / max(norm(dual_size), tiny)
        ratio = np.clip(np.sqrt(max(primal, tiny) / max(dual, tiny)), *self.limits)
        return ratio if max(ratio, 1 / ratio) > self.deadband else 1.0


def batch(X, y, *, loss, constraint, iterations, balancing, gamma=0.0, weights=1.0, beta="auto", relax=1.6, start=None):
    """Batch ADMM: z = Xw is a block of its own, whose prox is the loss of each row."""
    n, d = X.shape
    A, B, b, *_ = constraint
    c = np.ones(n) * weights / np.mean(weights)
    w, v, theta = start or (np.zeros(d), np.zeros(B.shape[1]), np.zeros(len(A)))
    z, u = X @ w, np.zeros(n)
    beta_z, beta, balance = balancing.first, balancing.first if beta == "auto" else beta, beta == "auto"
    W, V, Theta = [w], [v], [theta]
    for t in range(1, iterations + 1):
        matrix = np.diag(gamma * np.ones(d)) + beta_z / n * X.T @ (c[:, None] * X) + beta * A.T @ A
        w = np.linalg.solve(matrix, beta_z / n * X.T @ (c * (z - u)) + A.T @ (theta - beta * (B @ v - b)))
        Xw = relax * X @ w + (1 - relax) * z
        Aw = relax * A @ w - (1 - relax) * (B @ v - b)
        z_before, v_before = z, v
        z = loss_prox(loss, Xw + u, 1 / beta_z, y)
        u = u + Xw - z
        v = argmin_v(constraint, Aw, v, theta, beta)
        theta = theta - beta * (Aw + B @ v - b)
        W.append(w), V.append(v), Theta.append(theta)
        if t in balancing.at:
            root_c, Aw, Bv = np.sqrt(c), A @ w, B @ v
            rows = balancing.factor(
                root_c * (X @ w - z), (root_c * (X @ w), root_c * z), root_c * (z - z_before), root_c * u
            )
            beta_z, u = beta_z * rows, u / rows
            if balance:
                beta *= balancing.factor(Aw + Bv - b, (Aw, Bv, b), beta * B @ (v - v_before), theta)
    return History(np.array(W), np.array(V), np.array(Theta), [])


# --- several predictions ---------------------------------------------------------------------------------------------


def ada_sadmm_of_vectors(X, Y, c, A, nu, gamma, samples, batch_size, metric, eta, a, beta):
    """Algorithm 1 for the multinomial loss with the L1 norm, on ``X kron I``; the metric by its name or class."""
    k = Y.shape[1]
    d = X.shape[1] * k
    w, v, theta, G = np.zeros(d), np.zeros(len(A)), np.zeros(len(A)), np.zeros((d, d))
    for first in range(0, len(samples), batch_size):
        batch = samples[first : first + batch_size]
        g = gamma * w
        for i in batch:
            z = X[i] @ w.reshape(-1, k)
            p = np.exp(z - z.max()) / np.exp(z - z.max()).sum()
            g = g + c[i] * np.kron(X[i], p - Y[i]) / len(batch)
        G += np.outer(g, g)
        if metric == "identity":
            H = np.eye(d)
        elif metric == "diagonal":
            H = a * np.eye(d) + np.diag(np.sqrt(np.diag(G)))
        else:
            values, vectors = np.linalg.eigh(G)
            H = a * np.eye(d) + vectors @ np.diag(np.sqrt(np.maximum(values, 0))) @ vectors.T
        M = beta * A.T @ A + H / eta
        w = np.linalg.solve(M, H @ w / eta - g + A.T @ (theta + beta * v))
        x = A @ w - theta / beta
        v = np.sign(x) * np.maximum(np.abs(x) - nu / beta, 0)
        theta = theta - beta * (A @ w - v)
    return w
