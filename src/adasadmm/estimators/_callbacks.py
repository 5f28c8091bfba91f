"""Support for scikit-learn's callbacks, an experimental interface of scikit-learn 1.9 and later."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ..certificates.trace import Snapshot
from ._types import RowsLike

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """An empty base class in place of scikit-learn's."""

    def with_callbacks(method: Callable) -> Callable:  # type: ignore[no-redef]
        return method


__all__ = ["CallbackSupportMixin", "epoch_callback", "with_callbacks"]


def epoch_callback(
    estimator: CallbackSupportMixin,
    X: RowsLike,
    y: np.ndarray | None,
    fitted_at: Callable[[np.ndarray], dict] | None,
) -> Callable[[Snapshot], bool] | None:
    """A callback for `solve` that calls the estimator's callbacks at each point of the trace; None if it has none.

    ``fitted_at`` turns an iterate into fitted attributes. Without it the callbacks get no fitted model.
    """
    if not getattr(estimator, "_skl_callbacks", None):
        return None
    context = estimator._init_callback_context(max_subtasks=None)
    context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    def at_snapshot(snapshot: Snapshot) -> bool:
        fitted = None if fitted_at is None else fitted_at(snapshot.w)
        keywords = {"estimator": estimator, "X": X, "y": y, "reconstruction_attributes": fitted}
        task = context.subcontext(task_name="epoch")
        task.call_on_fit_task_begin(**keywords)
        return bool(task.call_on_fit_task_end(**keywords))

    return at_snapshot
