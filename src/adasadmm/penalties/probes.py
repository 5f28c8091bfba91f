"""A numerical check of a user's own penalty or set: its functions must agree with each other at a few points.

Wrong functions would otherwise show late, as a run that stalls, or never, as a false certificate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._core.jit import is_registered
from ._generic import conjugate, domain, prox, prox_at, value

__all__ = ["MOST_COORDINATES", "is_set", "try_out"]

MOST_COORDINATES = 1000  # with more, the plug-in's loops would take seconds in plain Python
SCALES = (0.1, 1.0, 3.0, 10.0)
STEPS = (0.1, 1.0, 7.0)  # tau of the prox
FAR = (1e3, 1e6)  # reveal a domain that is too large
LOOSE, TIGHT = 1e-6, 1e-9  # relative tolerances: of proxes; of Fenchel's inequality


class Trial:
    """A penalty, and its prox at each point and step."""

    def __init__(self, penalty: Any, p: int, name: str) -> None:
        self.penalty, self.name = penalty, name
        self.points = [scale * x for scale, x in zip(SCALES, np.random.default_rng(0).normal(size=(4, p)), strict=True)]
        self.found = [(x, tau, self.prox(x, tau)) for x in self.points for tau in STEPS]

    def called(self, function: Any, *arguments: Any) -> Any:
        """Return the value of a function; None if Python raises where compiled code gives an infinite value or NaN."""
        try:
            with np.errstate(all="ignore"):
                return function(self.penalty, *arguments)
        except (ArithmeticError, ValueError):
            return None
        except Exception as error:
            raise TypeError(
                f"{self.name}: penalties.{function.__name__} of {type(self.penalty).__name__} failed: {error}"
            ) from error

    def value(self, v: np.ndarray) -> float:
        found = self.called(value, v)
        if found is not None and np.ndim(found) == 0 and math.isnan(found):
            raise self.wrong(value, f"at v={_text(v)} it is nan")
        return math.inf if found is None else float(found)

    def prox(self, x: np.ndarray, tau: float) -> np.ndarray:
        out = np.full(len(x), np.nan)
        self.called(prox, x.copy(), tau, out)
        if not np.isfinite(out).all():
            raise self.wrong(prox, f"at x={_text(x)}, tau={tau:g} it writes {_text(out)}")
        return out

    def wrong(self, function: Any, what: str) -> ValueError:
        kind = type(self.penalty).__name__
        return ValueError(f"{self.name}: penalties.{function.__name__} of {kind} is wrong: {what}")


def try_out(penalty: Any, p: int, name: str) -> None:
    """Raise ``ValueError`` if two functions of a penalty of p coordinates contradict each other."""
    trial = Trial(penalty, p, name)
    _check_forms_of_prox(trial)
    if _moves_at_no_gain(trial):
        _check_projection(trial)
    else:
        _check_minimum(trial)
    if is_registered(conjugate, penalty) and is_registered(domain, penalty):
        _check_conjugate(trial)


def is_set(penalty: Any, p: int) -> bool:
    """Whether the prox is a projection, so that a second one changes nothing."""
    if not 0 < p <= MOST_COORDINATES:
        return True
    trial = Trial(penalty, p, "w_set")
    return all(_same(trial.prox(v, tau), v) for _, tau, v in trial.found)


def _check_forms_of_prox(trial: Trial) -> None:
    """In place, and coordinate by coordinate, the prox must be the same."""
    for x, tau, v in trial.found:
        inside = x.copy()
        trial.called(prox, inside, tau, inside)
        if not _same(inside, v):
            raise trial.wrong(
                prox,
                f"at x={_text(x)}, tau={tau:g} it writes {_text(inside)} if out is x itself, and {_text(v)} otherwise",
            )
        if is_registered(prox_at, trial.penalty):
            one_by_one = np.array([trial.called(prox_at, k, x[k], tau) for k in range(len(x))], dtype=float)
            if not _same(one_by_one, v):
                raise trial.wrong(
                    prox_at,
                    f"at x={_text(x)}, tau={tau:g} it is {_text(one_by_one)}, but penalties.prox writes {_text(v)}",
                )


def _moves_at_no_gain(trial: Trial) -> bool:
    """Only the projection onto a set, whose value counts 0, moves a point without making its value smaller."""
    return any(not _same(v, x) and trial.value(v) >= trial.value(x) for x, _, v in trial.found)


def _check_projection(trial: Trial) -> None:
    for x, tau, v in trial.found:
        if not _same(trial.prox(v, tau), v):
            raise trial.wrong(
                prox,
                f"at x={_text(x)}, tau={tau:g} it writes {_text(v)}, where penalties.value is not "
                "smaller; so it should be the projection onto a set, but it moves that point again",
            )
        for _, _, rival in trial.found:
            if np.linalg.norm(rival - x) < np.linalg.norm(v - x) - LOOSE * (1.0 + np.linalg.norm(x)):
                raise trial.wrong(
                    prox, f"at x={_text(x)} it writes {_text(v)}, but the set has a nearer point, {_text(rival)}"
                )


def _check_minimum(trial: Trial) -> None:
    """No point may be better than the prox."""
    for x, tau, v in trial.found:
        reached = trial.value(v) + float(np.sum((v - x) ** 2)) / (2.0 * tau)
        towards = v + 0.01 * (x - v)
        for rival in (x, towards, 0.0 * x, 0.99 * v, *trial.points, *(other for _, _, other in trial.found)):
            better = trial.value(rival) + float(np.sum((rival - x) ** 2)) / (2.0 * tau)
            if better < reached - LOOSE * (1.0 + abs(reached)):
                raise trial.wrong(
                    prox,
                    f"at x={_text(x)}, tau={tau:g} it writes {_text(v)}, where "
                    f"penalties.value(v) + |v - x|^2 / (2 tau) is {reached:g}; at {_text(rival)} that is "
                    f"only {better:g}",
                )


def _check_conjugate(trial: Trial) -> None:
    """Fenchel's inequality ``value(v) + conjugate(s) >= <s, v>``: where it fails, a certificate would be false."""
    for s in _dual_points(trial):
        if not _same(trial.called(domain, s.copy()), s):
            raise trial.wrong(domain, f"it moves the point {_text(s)}, which it returned")
        bound = trial.called(conjugate, s)
        if bound is None or math.isnan(bound):
            continue  # such a dual point has no value, and proves nothing
        far = [trial.prox(factor * direction, 0.1) for factor in FAR for direction in (s, trial.points[1])]
        for v in (*far, *(v for _, _, v in trial.found)):
            found, product = trial.value(v), float(s @ v)
            size = float(np.abs(s) @ np.abs(v))
            if found + bound < product - TIGHT * (1.0 + size + abs(found) + abs(bound)):
                raise trial.wrong(
                    conjugate,
                    f"at s={_text(s)} it is {bound:g}, but <s, v> - penalties.value(v) is {product - found:g} at "
                    f"v={_text(v)}; or penalties.domain is too large",
                )


def _dual_points(trial: Trial) -> Iterator[np.ndarray]:
    """Points of the domain: subgradients, at which Fenchel's inequality is an equality, and projections."""
    for s in (*((x - v) / tau for x, tau, v in trial.found), *trial.points, *(100.0 * x for x in trial.points)):
        found = trial.called(domain, s.copy())
        if np.shape(found) != s.shape:
            raise trial.wrong(domain, f"at s={_text(s)} it is {found}, not a vector of {len(s)} numbers")
        yield np.asarray(found, dtype=float)


def _same(one: np.ndarray | None, other: np.ndarray) -> bool:
    return one is not None and np.allclose(one, other, rtol=LOOSE, atol=LOOSE)


def _text(x: np.ndarray) -> str:
    """A vector in a message: its first entries."""
    return f"[{', '.join(f'{entry:.4g}' for entry in x[:3])}{', ...' if len(x) > 3 else ''}]"
