"""scikit-learn's own callbacks, where the installed version has them (the interface is experimental there)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Nothing to support."""

    def with_callbacks(method: Callable) -> Callable:  # type: ignore[no-redef]
        return method


__all__ = ["CallbackSupportMixin", "epoch_callback", "with_callbacks"]


def epoch_callback(estimator: Any, X: Any, y: Any, shape: Callable[[np.ndarray], dict] | None) -> Any:
    """A callback of `solve` that tells scikit-learn's callbacks of each point of the trace; None where there are none.

    ``shape`` makes the fitted attributes of an iterate; without it callbacks see no fitted model.
    """
    if not getattr(estimator, "_skl_callbacks", None):
        return None
    context = estimator._init_callback_context(max_subtasks=None)
    context.call_on_fit_task_begin(estimator=estimator, X=X, y=y)

    def tell(snapshot: Any) -> bool:
        fitted = None if shape is None else shape(snapshot.w)
        keywords = {"estimator": estimator, "X": X, "y": y, "reconstruction_attributes": fitted}
        task = context.subcontext(task_name="epoch")
        task.call_on_fit_task_begin(**keywords)
        return bool(task.call_on_fit_task_end(**keywords))

    return tell
