"""Total variation denoising of signals, images and volumes."""

from __future__ import annotations

from numbers import Integral, Real
from typing import ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.metadata_routing import UNUSED
from sklearn.utils.validation import check_is_fitted

from .._core.states import is_numbers
from ..graphs.structures import grid_rows
from ..penalties import L1
from ..problem import Problem
from ..rows.matrices import CSR, to_scipy
from ._base import keep_parameters
from ._fitted_state import from_scratch
from ._fitting import as_scalar_loss
from ._series import as_targets, as_weights, check_attained, check_pixels, selection, shifts_of
from ._signals import FUSED, SignalModel, response
from ._structure import Structure, extended
from ._types import LossLike, SolverLike

__all__ = ["TotalVariationDenoiser"]


class _Channel(NamedTuple):
    """The pixels of one channel in a row."""

    y: np.ndarray
    weight: np.ndarray | None
    offset: np.ndarray | None

    def counted(self) -> np.ndarray | None:
        """The weights of the pixels, 0 where one is missing; None if all are 1."""
        missing = np.isnan(self.y) if np.isnan(self.y.sum()) else None
        if missing is None:
            return self.weight
        return np.where(missing, 0.0, 1.0 if self.weight is None else self.weight)


class TotalVariationDenoiser(SignalModel):
    """Total variation denoising: approximate a signal, an image or a volume by pieces of constant value.

    With one value w for each pixel, the model minimises::

        mean loss + l2/2 |w|^2 + alpha ((1 - l1_ratio) sum |w_i - w_j| + l1_ratio |w|_1),

    where the first sum is over all pairs of neighbours along each axis: the anisotropic total variation.

    Parameters
    ----------
    alpha : float, default=None
        The strength of the penalty, in units of the image for the squared loss. The loss is a mean, so the strength of
        ``1/2 sum_i (y_i - w_i)^2 + lambda sum |w_i - w_j|`` is ``alpha = lambda / n`` for n pixels. None is ``1/n``,
        with n the sum of the weights.
    loss : str or loss, default="squared"
        As for `TrendFilter`: for instance ``"poisson"`` for counts of photons, ``"huber"`` for outliers, ``"logistic"``
        for binary images.
    l2 : float, default=0.0
        The strength of the ridge, which shrinks the values to 0.
    l1_ratio : float, default=0.0
        Share of the L1 norm of the values in the penalty, between 0 and 1: above 0, the background of a sparse image
        becomes exactly 0.
    channel_axis : int, default=None
        The axis of the channels of a colour image. Each channel is denoised on its own, with the same ``alpha``. None
        if the image has no channels: then all axes are directions in space.
    solver : str or solver, default="auto"
        ``"auto"`` chooses the method by the structure of the problem. A name or a solver as for
        `GraphGuidedClassifier`.
    max_iter : int, default=None
        The most iterations; by default as many as the method usually needs.
    tol : float, default=1e-6
        The relative duality gap at which to stop. With ``solver="auto"``, a fit that misses it warns.
    verbose : int, default=0
        1 shows a progress bar.

    Attributes
    ----------
    image_ : ndarray of the image's shape
        The denoised image, with the offset. For losses with a logarithmic link, such as Poisson's, the expected counts
        or amounts, which are ``exp(coef_ + offset)``; for the logistic loss the probability of the label 1; else
        ``coef_ + offset``.
    coef_ : ndarray of the image's shape
        The fitted values w. Inside a piece they are equal to the last bit.
    labels_ : ndarray of int of the image's shape
        The piece of each pixel, numbered from 0: neighbours of equal value belong to one piece.
    n_pieces_ : int
        The number of pieces.
    change_points_ : ndarray
        For a signal the indices at which a new piece begins. For an image or a volume, an array of bool of its shape:
        whether a pixel differs from the one before it along any axis.
    alpha_ : float
        The strength that was used.
    objective_, dual_gap_ : float
        The objective at ``coef_``, and the relative duality gap ``(primal - dual) / (primal - least possible loss)``:
        the optimum lies below the objective by at most this fraction of the objective's excess over the least possible
        loss. With channels, the sum of the objectives and the largest gap.
    n_iter_, status_, solver_, solver_reason_, trace_
        As for `TrendFilter`. With channels, ``trace_`` is a list, ``n_iter_`` the largest number of iterations, and
        ``status_`` that of the first channel that did not converge.

    See Also
    --------
    TrendFilter : Series at uneven times, and pieces that are linear or of a higher degree.

    Notes
    -----
    Pixels that are NaN, or whose weight is 0, are missing: they take values that the penalty likes best, between those
    around them. A fitted denoiser has nothing to say about another image, so there is no ``transform``.

    References
    ----------
    L. I. Rudin, S. Osher, E. Fatemi, Nonlinear total variation based noise removal algorithms, Physica D 60, 1992.

    N. A. Johnson, A dynamic programming algorithm for the fused lasso and L0-segmentation, Journal of Computational and
    Graphical Statistics 22, 2013.

    Examples
    --------
    >>> import numpy as np
    >>> from adasadmm import TotalVariationDenoiser
    >>> image = np.zeros((6, 6))
    >>> image[2:4, 2:5] = 5.0
    >>> noisy = image + np.random.default_rng(0).normal(size=image.shape) / 5
    >>> model = TotalVariationDenoiser(alpha=0.01)
    >>> float(np.abs(model.fit_transform(noisy) - image).max().round(1))
    0.7
    >>> model.labels_
    array([[0, 0, 0, 0, 0, 0],
           [0, 0, 0, 0, 0, 0],
           [0, 0, 1, 1, 1, 0],
           [0, 0, 1, 1, 1, 0],
           [0, 0, 0, 0, 0, 0],
           [0, 0, 0, 0, 0, 0]])
    """

    channel_axis: int | None

    __metadata_request__fit: ClassVar[dict] = {"image": UNUSED}  # it stands where other estimators have X

    _parameter_constraints: ClassVar[dict] = {
        **SignalModel._parameter_constraints,
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "channel_axis": [Integral, None],
    }

    def __init__(
        self,
        alpha: float | None = None,
        loss: LossLike = "squared",
        *,
        l2: float = 0.0,
        l1_ratio: float = 0.0,
        channel_axis: int | None = None,
        solver: SolverLike = "auto",
        max_iter: int | None = None,
        tol: float = 1e-6,
        verbose: int = 0,
    ) -> None:
        keep_parameters(self, locals())

    @_fit_context(prefer_skip_nested_validation=True)
    @from_scratch
    def fit(
        self,
        image: npt.ArrayLike,
        y: None = None,
        sample_weight: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
    ) -> Self:
        """Denoise an image.

        Parameters
        ----------
        image : array-like of one, two or three dimensions, beside the channels
            The signal, the image or the volume. NaN is a missing pixel.
        y : None
            Not used.
        sample_weight : array-like of the image's shape, default=None
            Weights of the pixels, not negative. A weight of 2 is the same as observing the pixel twice.
        offset : array-like of the image's shape, default=None
            A known part of each prediction, which is then w + offset: for counts, the logarithm of the exposure of each
            pixel. None means 0. That of a missing pixel may be anything.

        Returns
        -------
        self : TotalVariationDenoiser
            The fitted estimator. If fitting fails or is interrupted, the estimator stays as it was before.
        """
        loss = as_scalar_loss(self.loss)
        pixels = as_targets(image, loss, "image")
        weight, shift = as_weights(sample_weight, pixels.shape), shifts_of(offset, ~np.isnan(pixels))
        axes = self._space(pixels.shape)
        shape = tuple(pixels.shape[axis] for axis in axes)
        A, outcomes, values = grid_rows(shape), [], np.empty(pixels.shape)
        for channel in self._channels(pixels.shape):
            known = (None if given is None else given[channel].reshape(-1) for given in (weight, shift))
            outcome = self._solve(self._problem(_Channel(pixels[channel].reshape(-1), *known), A, loss))
            values[channel] = outcome.result.w_average.reshape(shape)
            outcomes.append(outcome)
        self._set_outcomes(outcomes)
        self._axes, self.coef_ = axes, values
        self.image_ = response(loss, values if shift is None else values + shift)
        return self

    def fit_transform(
        self,
        image: npt.ArrayLike,
        y: None = None,
        sample_weight: npt.ArrayLike | None = None,
        offset: npt.ArrayLike | None = None,
    ) -> np.ndarray:
        """Denoise an image and return it; the same as ``fit(image).image_``.

        Parameters
        ----------
        image : array-like of one, two or three dimensions, beside the channels
        y : None
            Not used.
        sample_weight : array-like of the image's shape, default=None
        offset : array-like of the image's shape, default=None

        Returns
        -------
        ndarray of the image's shape
        """
        return self.fit(image, sample_weight=sample_weight, offset=offset).image_

    def _space(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The axes along which neighbours are compared."""
        channel = self.channel_axis
        if channel is not None and not -len(shape) <= channel < len(shape):
            raise ValueError(f"channel_axis must be an axis of the image of shape {shape}, got {channel}")
        axes = tuple(axis for axis in range(len(shape)) if channel is None or axis != channel % len(shape))
        if not 1 <= len(axes) <= 3:
            raise ValueError(
                f"image must have one, two or three dimensions beside channel_axis={channel}, got shape {shape}"
            )
        return axes

    def _channels(self, shape: tuple[int, ...]) -> list[tuple]:
        """The index of each channel."""
        if self.channel_axis is None:
            return [(Ellipsis,)]
        before = (slice(None),) * (self.channel_axis % len(shape))
        return [(*before, k) for k in range(shape[self.channel_axis])]

    def _problem(self, channel: _Channel, A: CSR, loss: tuple) -> Problem:
        """The problem of one channel; missing pixels have weight 0, and a target and an offset that do not matter."""
        y, weight, offset = channel.y, channel.counted(), channel.offset
        total = float(len(y))
        if weight is not None:
            seen = weight > 0.0
            if not seen.any():
                raise ValueError("image has no observed pixel: every one is NaN or has a weight of 0")
            y, total = np.where(seen, y, y[seen][0]), float(weight.sum())
            offset = None if offset is None else np.where(seen, offset, 0.0)
        check_pixels(y, loss)
        check_attained(y, loss, self.l2)
        self.alpha_ = 1.0 / total if self.alpha is None else float(self.alpha)
        whole = extended(Structure(to_scipy(A), L1(self.alpha_)), self.l1_ratio, None)
        parts = {"loss": loss, "penalty": whole.penalty, "A": whole.A, "gamma": self.l2}
        return Problem(selection(None, len(y)), y, sample_weight=weight, offset=offset, **parts)

    # --- the pieces --------------------------------------------------------------------------------------------------

    def _changes(self, axis: int) -> np.ndarray:
        """Whether each pixel but the first differs from the one before it along an axis."""
        apart = np.abs(np.diff(self.coef_, axis=axis))
        return apart > (0.0 if self.solver_.exact_v else FUSED * np.max(apart, initial=0.0))

    @property
    def labels_(self) -> np.ndarray:
        """The piece of each pixel."""
        check_is_fitted(self)
        numbers, pairs = np.arange(self.coef_.size).reshape(self.coef_.shape), []
        for axis in self._axes:
            equal = ~self._changes(axis)
            first, second = (np.delete(numbers, end, axis=axis)[equal] for end in (-1, 0))
            pairs.append(np.stack([first, second]))
        ends = np.concatenate(pairs, axis=1)
        graph = sp.coo_array((np.ones(ends.shape[1], dtype=np.int8), (ends[0], ends[1])), shape=(numbers.size,) * 2)
        labels = sp.csgraph.connected_components(graph, directed=False)[1]
        return labels.astype(np.int64).reshape(self.coef_.shape)

    @property
    def n_pieces_(self) -> int:
        """The number of pieces."""
        return int(self.labels_.max()) + 1

    @property
    def change_points_(self) -> np.ndarray:
        """Where new pieces begin."""
        check_is_fitted(self)
        begins = np.zeros(self.coef_.shape, dtype=bool)
        for axis in self._axes:
            after = tuple(slice(1, None) if k == axis else slice(None) for k in range(begins.ndim))
            begins[after] |= self._changes(axis)
        return np.flatnonzero(begins) if begins.ndim == 1 else begins

    def _is_consistent(self) -> bool:
        dimensions = range(np.ndim(self.coef_))
        return (
            np.size(self.coef_) > 0
            and is_numbers(self.coef_, np.shape(self.image_))
            and np.asarray(self.image_).dtype.kind == "f"
            and len(set(self._axes)) == len(self._axes)
            and set(self._axes) <= set(dimensions)
        )

    def _size(self) -> str:
        return f"{' x '.join(map(str, self.coef_.shape))} pixels"
