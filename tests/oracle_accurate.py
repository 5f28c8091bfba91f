"""SPDHG and (A)SVRG-ADMM in dense NumPy: what the package's runs to high accuracy are held against.

Written as primal-dual methods: with ``ahead = 2 theta_{t+1} - theta_t`` the linearised step of ADMM is one.
"""

from typing import NamedTuple

import numpy as np
from oracle import History, argmin_v, loss_prox, slope, value

CURVATURES = {"Logistic": 0.25, "Squared": 1.0, "Huber": 1.0, "SquaredHinge": 2.0}


class Scales(NamedTuple):
    h: np.ndarray
    size: np.ndarray


def scales(X, c, b, rare_is_fast):
    overlap = 1 + (b - 1) * np.mean(X != 0, axis=0)
    h = overlap * np.max(X**2, axis=0)
    if rare_is_fast:
        h = np.sqrt(h * np.mean(c[:, None] * X**2, axis=0))
    h = np.where(h > 0, h, 1e-6 * h.max())
    return Scales(h, c * (X**2 @ (overlap / h)) / b)


class Point:
    """w, v and theta, and how they move; ``extra`` is what the w-step adds to the linearised constraint."""

    def __init__(self, X, constraint, gamma, box, start):
        A, B, *_ = constraint
        self.constraint, self.gamma, self.box = constraint, gamma * np.ones(X.shape[1]), box
        self.majoriser = np.abs(A).T @ np.abs(A).sum(axis=1)
        self.w, self.v, self.theta = start or (np.zeros(X.shape[1]), np.zeros(B.shape[1]), np.zeros(len(A)))

    def begin(self, h, eta, beta):
        A, B, b, *_ = self.constraint
        self.beta = np.mean(h) / eta / np.mean(self.majoriser) if beta == "auto" else beta
        self.ahead = self.theta - self.beta * (A @ self.w + B @ self.v - b)
        self.W, self.V, self.Theta = [self.w], [self.v], [self.theta]

    def step(self, g, h, eta):
        """Forward in g, backward in the ridge; then v, then theta."""
        A, B, b, *_ = self.constraint
        metric = h / eta + self.beta * self.majoriser
        self.w = (metric * self.w - g + A.T @ self.ahead) / (metric + self.gamma)
        if self.box is not None:
            self.w = np.clip(self.w, self.box.lower, self.box.upper)
        self.v = argmin_v(self.constraint, A @ self.w, self.v, self.theta, self.beta)
        theta = self.theta - self.beta * (A @ self.w + B @ self.v - b)
        self.ahead, self.theta = 2 * theta - self.theta, theta
        self.W.append(self.w), self.V.append(self.v), self.Theta.append(theta)

    def balance(self, w, theta):
        self.beta = halfway(self.beta, distance(1.0, self.theta, theta), distance(self.majoriser, self.w, w))

    @property
    def history(self):
        return History(np.array(self.W), np.array(self.V), np.array(self.Theta), [])


def epochs_of(samples, n, b):
    """Batches, and after each whether an epoch ends: when n rows or more were visited since the last end."""
    since = 0
    for first in range(0, len(samples), b):
        rows = samples[first : first + b]
        since += len(rows)
        yield rows, since >= n
        since = 0 if since >= n else since


def distance(weight, now, before):
    return np.sqrt(np.sum(weight * (now - before) ** 2))


def halfway(now, one, other):
    if min(one, now * other) <= 1e-10 * max(one, now * other):  # one of them is 0 but for rounding
        return now
    return np.clip(np.sqrt(now * one / other), now / 10, now * 10)


def spdhg(X, y, *, loss, constraint, samples, gamma=0.0, weights=1.0, batch_size=1, beta="auto", box=None, start=None):
    """Stochastic primal-dual hybrid gradients; returns the history and the slopes s."""
    n, b = len(y), batch_size
    c = np.ones(n) * weights / np.mean(weights)
    h, size = scales(X, c, b, rare_is_fast=True)
    point = Point(X, constraint, gamma, box, start)
    s = slope(loss, X @ point.w, y)
    reach = np.mean(c * value(loss, X @ point.w, y)) / np.mean(c * s**2)
    eta = reach / np.mean(size)
    point.begin(h, eta, beta)
    marks, epochs = (point.w, s.copy(), point.theta), 0
    for rows, ends in epochs_of(samples, n, b):
        q, z, before = eta * size, X @ point.w, s.copy()
        for i in rows:  # a row may come twice in a batch
            z0 = z[i] + q[i] * s[i]
            s[i] = (z0 - loss_prox(loss, z0, q[i], y[i])) / q[i] if q[i] > 0 else slope(loss, z[i], y[i])
        g = X.T @ (c * s) / n + n / b * (X.T @ (c * (s - before)) / n)
        point.step(g, h, eta)
        epochs += ends
        if ends and epochs in (1, 2, 4, 8, 16):
            eta = halfway(eta, distance(h, point.w, marks[0]), distance(c * size / b, s, marks[1]))
            if beta == "auto":
                point.balance(marks[0], marks[2])
            marks = point.w, s.copy(), point.theta
    return point.history, s


def svrg(
    X,
    y,
    *,
    loss,
    constraint,
    samples,
    momentum,
    gamma=0.0,
    weights=1.0,
    batch_size=1,
    beta="auto",
    box=None,
    start=None,
):
    """SVRG-ADMM, with a momentum below 1 ASVRG-ADMM; returns the history and the answer."""
    n, b = len(y), batch_size
    c = np.ones(n) * weights / np.mean(weights)
    h, size = scales(X, c, b, rare_is_fast=False)
    point = Point(X, constraint, gamma, box, start)
    eta = 1 / (momentum * CURVATURES[type(loss).__name__] * size.max())
    point.begin(h, eta, beta)
    answer = earlier = point.w
    marks, epochs, first = (point.w, point.theta), 0, 1
    for rows, ends in epochs_of(samples, n, b):
        mixed = momentum * point.w + (1 - momentum) * earlier
        change = c * (slope(loss, X @ mixed, y) - slope(loss, X @ earlier, y))
        g = np.mean(change[rows, None] * X[rows], axis=0) + X.T @ (c * slope(loss, X @ earlier, y)) / n
        point.step(g, h, eta)
        answer = momentum * np.mean(point.W[first:], axis=0) + (1 - momentum) * earlier
        if ends:
            earlier, first, epochs = answer, len(point.W), epochs + 1
        if ends and beta == "auto" and epochs in (1, 2, 4, 8, 16):
            point.balance(*marks)
            marks = point.w, point.theta
    return point.history, answer
