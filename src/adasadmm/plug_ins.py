"""The gates for gamma, losses, penalties and sets: what cannot be used is rejected here, with what to do.

A loss or a penalty of a user's own is tried at a few points, once for each class: its functions must agree with each
other. Wrong ones would otherwise show late, as a run that stalls, or never, as a false certificate.
"""

from __future__ import annotations

import abc
import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from . import losses, penalties
from ._core.jit import implementations, is_registered
from .losses.offsets import WithOffset
from .penalties._generic import elementwise
from .rows.matrices import as_part, as_vector

MAX_COORDINATES = 1000  # of a penalty that is tried: with more, its loops would take seconds in plain Python
NUMBERS = (-3.1, -1.3, -0.4, 0.2, 0.9, 1.7, 4.3)  # points at which a loss of one prediction is tried
FAR_NUMBERS = (-1e6, -1e3, -30.0, 30.0, 1e3, 1e6)  # points that reveal a domain that is too large
TAUS = (0.1, 1.0, 7.0)  # steps of the prox
QUOTIENT_STEP, QUOTIENT_TOLERANCE = 1e-5, 1e-3  # of difference quotients, relative
RIVAL_STEP = 1e-3  # from the prox of a loss to points that must not be better
PROX_TOLERANCE = 1e-6  # of a minimum and of equal points, relative
FENCHEL_TOLERANCE = 1e-9  # of Fenchel's inequality, relative
GRID_TOLERANCE = 0.2  # of the least loss, which a grid finds only roughly, relative

_tried: set[tuple] = set()


def as_gamma(gamma: Any, d: int) -> np.ndarray:
    if gamma is None or isinstance(gamma, str):
        raise ValueError(f"gamma must be a number or {d} numbers, got {gamma!r}")
    is_number = np.ndim(gamma) == 0
    values = np.full(1, float(gamma)) if is_number else as_vector(gamma, d, "gamma")
    if not np.isfinite(values).all() or (values < 0.0).any():
        raise ValueError(f"gamma must be >= 0 and finite, got {values.min()}")
    return np.full(d, values[0]) if is_number else values


def as_loss(loss: Any, y: np.ndarray) -> Any:
    """A loss that can take these targets, its fields in the form that compiled code needs."""
    if isinstance(loss, WithOffset):
        return loss._replace(wrapped=as_loss(loss.wrapped, y["y"]))
    loss = as_part(loss, "loss")
    for function in (losses.value, losses.slope):
        _require(is_registered(function, loss), loss, "loss", function)
    losses.check(loss, y)
    functions = losses.value, losses.slope, losses.prox, losses.conjugate, losses.domain
    k = losses.width(loss)
    if _is_untried(loss, functions):
        numbers = sorted({float(y[0]), float(np.min(y)), float(np.max(y))}) if k == 1 and len(y) else ()
        for target in (y[:k], y[-k:]) if k > 1 else numbers:
            try_loss(loss, target)
        _tried.add(implementations(loss, *functions))
    return loss


def as_penalty(penalty: Any, p: int, name: str) -> Any:
    is_stack = isinstance(penalty, penalties.Stack)
    parts = []
    for part, rows in penalty.parts if is_stack else [(penalty, slice(None))]:
        if is_stack and isinstance(part, penalties.Stack):
            raise TypeError(f"{name}: a Stack cannot hold a Stack; list its parts with their rows instead")
        part = as_part(part, name)
        own_prox = penalties.prox.dispatch(type(part)) is not elementwise
        _require(is_registered(penalties.value, part), part, name, penalties.value)
        _require(own_prox or is_registered(penalties.prox_at, part), part, name, penalties.prox)
        parts.append((part, penalties.indices(rows, "rows of Stack", p)))
    penalty = penalties.Stack(tuple(parts)) if is_stack else parts[0][0]
    penalties.check(penalty, p)
    functions = penalties.value, penalties.prox, penalties.prox_at, penalties.conjugate, penalties.domain
    for part, rows in parts:
        if 0 < len(rows) <= MAX_COORDINATES and _is_untried(part, functions):
            try_penalty(part, len(rows), name)
            _tried.add(implementations(part, *functions))
    return penalty


def as_set(w_set: Any, d: int) -> Any:
    w_set = as_penalty(w_set, d, "w_set")
    for part, rows in penalties.parts_of(w_set, d):
        if isinstance(part, penalties.PENALTIES) or (_is_foreign(part) and not _is_set(part, len(rows))):
            raise ValueError(f"w_set must be a set, such as NonNegative() or Box(0, 1), got {part!r}")
    return w_set


def _require(is_there: bool, part: Any, name: str, function: Any) -> None:
    """Fail here, in Python, if a part lacks a function; numba's own message comes late and is long."""
    if not is_there:
        kind = type(part).__name__
        raise TypeError(
            f"{name}: {kind} has no {_named(function)}; register one with @adasadmm.{_named(function)}.register({kind})"
        )


def _is_foreign(part: Any) -> bool:
    return not type(part).__module__.startswith("adasadmm.")


def _is_untried(part: Any, functions: Iterable[Any]) -> bool:
    return _is_foreign(part) and implementations(part, *functions) not in _tried


# --- trials ----------------------------------------------------------------------------------------------------------


def try_loss(loss: Any, target: Any) -> None:
    """Raise ``ValueError`` if two functions of a loss contradict each other at the target of one row."""
    trial = (LossTrial if losses.width(loss) == 1 else VectorLossTrial)(loss, target)
    trial.check_slope()
    if is_registered(losses.prox, loss):
        trial.check_minimum()
    if is_registered(losses.conjugate, loss) and is_registered(losses.domain, loss):
        trial.check_conjugate()


def try_penalty(penalty: Any, p: int, name: str) -> None:
    """Raise ``ValueError`` if two functions of a penalty of p coordinates contradict each other."""
    trial = PenaltyTrial(penalty, p, name)
    trial.check_forms_of_prox()
    if trial.moves_at_no_gain():
        trial.check_projection()
    else:
        trial.check_minimum()
    if is_registered(penalties.conjugate, penalty) and is_registered(penalties.domain, penalty):
        trial.check_conjugate()


def _is_set(penalty: Any, p: int) -> bool:
    """Whether the prox is a projection, so that a second one changes nothing."""
    if not 0 < p <= MAX_COORDINATES:
        return True
    trial = PenaltyTrial(penalty, p, "w_set")
    return all(_equal(trial.prox(v, tau), v) for _, tau, v in trial.proxes)


class Trial(abc.ABC):
    """A plug-in at some points x: numbers for a loss of one prediction, else vectors.

    Parameters
    ----------
    part : NamedTuple
        The plug-in.
    name : str
        The argument that it was given as.
    points : iterable
        The points.
    target : float or array, optional
        Of a loss: the last argument of its functions.
    """

    functions: Any = losses  # the module of its generic functions
    letter = "z"  # for a point, in a message
    extent = ""  # of the domain, in a message

    def __init__(self, part: Any, name: str, points: Iterable[Any], *target: Any) -> None:
        self.part, self.name, self.points, self.target = part, name, [*points], target

    @abc.abstractmethod
    def prox(self, x: Any, tau: float) -> Any:
        """The prox at x; None if it has no value there."""

    @abc.abstractmethod
    def rivals(self, x: Any, u: Any) -> Iterable[Any]:
        """Points that must not be better than u, the prox at x."""

    @abc.abstractmethod
    def dual_points(self) -> Iterator[Any]:
        """Points of the domain of the conjugate."""

    @abc.abstractmethod
    def points_against(self, s: Any) -> Iterable[Any]:
        """Points at which Fenchel's inequality must hold with s, some of them far away."""

    def call(self, function: Any, *arguments: Any) -> Any:
        """The value of a function; None if Python raises where compiled code gives an infinite value or NaN."""
        try:
            with np.errstate(all="ignore"):
                return function(self.part, *arguments)
        except (ArithmeticError, ValueError):
            return None
        except Exception as error:
            kind, values = type(self.part).__name__, ", ".join(map(_text, arguments))
            raise TypeError(
                f"{self.name}: {_named(function)} of {kind} failed for the arguments {values}: {error}"
            ) from error

    def number(self, function: Any, x: Any) -> float:
        """The value of a function that returns a number; infinity where it has none."""
        value = self.call(function, x, *self.target)
        return math.inf if value is None else float(value)

    def value(self, x: Any) -> float:
        value = self.number(self.functions.value, x)
        if math.isnan(value):
            raise self.wrong(self.functions.value, f"at {self.place(x)} it is nan")
        return value

    def place(self, x: Any, letter: str | None = None) -> str:
        return f"{letter or self.letter}={_text(x)}" + "".join(f", y={_text(y)}" for y in self.target)

    def wrong(self, function: Any, what: str) -> ValueError:
        return ValueError(f"{self.name}: {_named(function)} of {type(self.part).__name__} is wrong: {what}")

    def envelope(self, u: Any, x: Any, tau: float) -> float:
        """The objective of the prox at x."""
        return self.value(u) + float(np.sum((u - x) ** 2)) / (2.0 * tau)

    def check_minimum(self) -> None:
        """No point may be better than the prox."""
        for x, tau in ((x, tau) for x in self.points for tau in TAUS):
            if (u := self.prox(x, tau)) is None:
                continue
            least = self.envelope(u, x, tau)
            for rival in self.rivals(x, u):
                better = self.envelope(rival, x, tau)
                if better < least - PROX_TOLERANCE * (1.0 + abs(least)):
                    raise self.wrong(
                        self.functions.prox,
                        f"at {self.place(x)}, tau={tau:g} it is {_text(u)}, where {_named(self.functions.value)} + "
                        f"|u - {self.letter}|^2 / (2 tau) is {least:g}, and only {better:g} at u={_text(rival)}",
                    )

    def check_conjugate(self) -> None:
        """Fenchel's inequality ``value(x) + conjugate(s) >= <s, x>``: where it fails, a certificate would be false."""
        for s in self.dual_points():
            bound = self.number(self.functions.conjugate, s)
            if not math.isfinite(bound):
                continue  # such a dual point has no value, and proves nothing
            for x in self.points_against(s):
                value, product = self.number(self.functions.value, x), float(np.dot(s, x))
                size = 1.0 + float(np.dot(np.abs(s), np.abs(x))) + abs(value) + abs(bound)
                if math.isfinite(value) and value + bound < product - FENCHEL_TOLERANCE * size:
                    raise self.wrong(
                        self.functions.conjugate,
                        f"at {self.place(s, 's')} it is {bound:g}, but <s, {self.letter}> - "
                        f"{_named(self.functions.value)} is {product - value:g} at {self.letter}={_text(x)}; or "
                        f"{_named(self.functions.domain)}{self.extent} is too large",
                    )


class LossTrial(Trial):
    """A loss of one prediction at one target."""

    def __init__(self, loss: Any, y: float) -> None:
        super().__init__(loss, "loss", NUMBERS, y)
        self.axes: Any = (1.0,)

    def numbers(self, function: Any, x: Any, *tau: float) -> Any:
        """The result of slope or prox, which must not be NaN; None if there is none."""
        result = self.call(function, x, *tau, *self.target)
        if result is not None and math.isnan(result):
            raise self.wrong(function, f"at {self.place(x)}{''.join(f', tau={one:g}' for one in tau)} it is nan")
        return None if result is None else float(result)

    def slope(self, z: Any) -> Any:
        return self.numbers(losses.slope, z)

    def prox(self, x: Any, tau: float) -> Any:
        return self.numbers(losses.prox, x, tau)

    def rivals(self, x: Any, u: Any) -> Iterable[Any]:
        near = (u + sign * RIVAL_STEP * axis for axis in self.axes for sign in (-1.0, 1.0))
        return (x, *self.target, *self.points, 0.5 * (u + x), *near)

    def points_against(self, s: Any) -> Iterable[Any]:
        return (*self.points, *FAR_NUMBERS, *self.target)

    def check_slope(self) -> None:
        """Along each axis the slope must lie between both difference quotients; convexity is not required."""
        for z in self.points:
            here, slope = self.value(z), self.slope(z)
            h = QUOTIENT_STEP * (1.0 + float(np.max(np.abs(z))))
            for axis in self.axes if slope is not None else ():
                before, after = (self.number(losses.value, z + step * axis) for step in (-h, h))
                left, right = (here - before) / h, (after - here) / h
                room = QUOTIENT_TOLERANCE * (1.0 + abs(left) + abs(right))
                along_axis = float(np.dot(slope, axis))
                if not math.isfinite(room) or min(left, right) - room <= along_axis <= max(left, right) + room:
                    continue
                raise self.wrong(
                    losses.slope,
                    f"at {self.place(z)} it is {_text(slope)}, but losses.value rises by {0.5 * (left + right):g}"
                    + (f" along axis {np.argmax(axis)}" if np.ndim(axis) else ""),
                )

    def dual_points(self) -> Iterator[Any]:
        """The ends of the domain, and slopes of the loss."""
        ends = self.call(losses.domain, *self.target)
        if np.shape(ends) != (2,) or not ends[0] <= ends[1]:
            raise self.wrong(losses.domain, f"for y={_text(self.target[0])} it is {ends}, not an interval (low, high)")
        low, high = float(ends[0]), float(ends[1])
        self.extent = f", from {low:g} to {high:g},"
        if low <= 0.0 <= high:
            self.check_least_value()
        yield from (end for end in (low, high) if math.isfinite(end))
        for s in (s for z in self.points for s in (self.slope(z), 100.0 * z) if s is not None):
            yield min(max(s, low), high)

    def check_least_value(self) -> None:
        """``-conjugate(0)`` is the least possible loss, which relative gaps are measured from."""
        bound = self.number(losses.conjugate, 0.0)
        grid = (*(self.target[0] + np.linspace(-8.0, 8.0, 65)), *self.points, *FAR_NUMBERS)
        least = float(np.nanmin([self.number(losses.value, float(z)) for z in grid]))
        if math.isfinite(bound) and -bound < least - GRID_TOLERANCE * (1.0 + abs(least)):
            raise self.wrong(
                losses.conjugate,
                f"at {self.place(0.0, 's')} it is {bound:g}, but losses.value is nowhere near {-bound:g}: "
                f"the least value found is {least:g}",
            )


class VectorLossTrial(LossTrial):
    """A loss of several predictions at the targets of one row; its functions write into their last argument."""

    def __init__(self, loss: Any, y: np.ndarray) -> None:
        rng = np.random.default_rng(len(y))
        points = (np.zeros(len(y)), *(size * rng.normal(size=len(y)) for size in (0.3, 1.0, 3.0)))
        Trial.__init__(self, loss, "loss", points, y)
        self.axes = np.eye(len(y))

    def numbers(self, function: Any, x: Any, *tau: float) -> Any:
        out = x.copy() if function is losses.prox else np.full(len(x), np.nan)  # that of a prox holds a guess
        self.call(function, x, *tau, *self.target, out)
        if np.isnan(out).any():
            raise self.wrong(function, f"at {self.place(x)} it is {_text(out)}")
        return out

    def points_against(self, s: Any) -> Iterable[Any]:
        return (*self.points, *(10.0 * x for x in self.points))

    def dual_points(self) -> Iterator[Any]:
        for z in self.points:
            slope = self.slope(z)
            yield from (self.numbers(losses.domain, s) for s in (slope, 3.0 * slope, z, 0.0 * z))


class PenaltyTrial(Trial):
    """A penalty or a set of p coordinates, and its prox at each point and step."""

    functions = penalties
    letter = "v"

    def __init__(self, penalty: Any, p: int, name: str) -> None:
        directions = np.random.default_rng(0).normal(size=(4, p))
        super().__init__(penalty, name, (size * x for size, x in zip((0.1, 1.0, 3.0, 10.0), directions, strict=True)))
        self.proxes = [(x, tau, self.prox(x, tau)) for x in self.points for tau in TAUS]

    def prox(self, x: np.ndarray, tau: float) -> np.ndarray:
        self.call(penalties.prox, x.copy(), tau, out := np.full(len(x), np.nan))
        if not np.isfinite(out).all():
            raise self.wrong(penalties.prox, f"at {self.place(x)}, tau={tau:g} it writes {_text(out)}")
        return out

    def rivals(self, x: np.ndarray, u: np.ndarray) -> Iterable[np.ndarray]:
        return (x, u + 0.01 * (x - u), 0.0 * x, 0.99 * u, *self.points, *(v for _, _, v in self.proxes))

    def points_against(self, s: np.ndarray) -> Iterator[np.ndarray]:
        yield from (self.prox(size * x, 0.1) for size in (1e3, 1e6) for x in (s, self.points[1]))
        yield from (v for _, _, v in self.proxes)

    def dual_points(self) -> Iterator[np.ndarray]:
        """Subgradients, at which Fenchel's inequality is an equality, and projections."""
        subgradients = ((x - v) / tau for x, tau, v in self.proxes)
        for x in (*subgradients, *self.points, *(100.0 * x for x in self.points)):
            s = self.call(penalties.domain, x.copy())
            if np.shape(s) != x.shape:
                raise self.wrong(penalties.domain, f"at s={_text(x)} it is {s}, not a vector of {len(x)} numbers")
            s = np.asarray(s, dtype=float)
            if not _equal(self.call(penalties.domain, s.copy()), s):
                raise self.wrong(penalties.domain, f"it moves the point {_text(s)}, which it returned")
            yield s

    def check_forms_of_prox(self) -> None:
        """In place, and coordinate by coordinate, the prox must be the same."""
        for x, tau, v in self.proxes:
            at = f"at {self.place(x)}, tau={tau:g} it"
            self.call(penalties.prox, in_place := x.copy(), tau, in_place)
            if not _equal(in_place, v):
                raise self.wrong(
                    penalties.prox, f"{at} writes {_text(in_place)} if out is x itself, and {_text(v)} otherwise"
                )
            if is_registered(penalties.prox_at, self.part):
                each = np.array([self.call(penalties.prox_at, k, x[k], tau) for k in range(len(x))], dtype=float)
                if not _equal(each, v):
                    raise self.wrong(penalties.prox_at, f"{at} is {_text(each)}, but penalties.prox writes {_text(v)}")

    def moves_at_no_gain(self) -> bool:
        """Only the projection onto a set, whose value counts 0, moves a point without making its value smaller."""
        return any(not _equal(v, x) and self.value(v) >= self.value(x) for x, _, v in self.proxes)

    def check_projection(self) -> None:
        for x, tau, v in self.proxes:
            writes = f"at {self.place(x)}, tau={tau:g} it writes {_text(v)}"
            if not _equal(self.prox(v, tau), v):
                raise self.wrong(
                    penalties.prox,
                    f"{writes}, where penalties.value is not smaller; so it should be the projection onto a set, but "
                    "it moves that point again",
                )
            for _, _, rival in self.proxes:
                if np.linalg.norm(rival - x) < np.linalg.norm(v - x) - PROX_TOLERANCE * (1.0 + np.linalg.norm(x)):
                    raise self.wrong(penalties.prox, f"{writes}, but the set has a nearer point, {_text(rival)}")


def _named(function: Any) -> str:
    return f"{function.declaration.__module__.split('.')[1]}.{function.__name__}"


def _equal(one: np.ndarray | None, other: np.ndarray) -> bool:
    return one is not None and np.allclose(one, other, rtol=PROX_TOLERANCE, atol=PROX_TOLERANCE)


def _text(x: Any) -> str:
    """A number, or the first entries of a vector."""
    if np.ndim(x) == 0:
        return f"{x:g}"
    return f"[{', '.join(f'{entry:.4g}' for entry in x[:3])}{', ...' if len(x) > 3 else ''}]"
