"""What a fit leaves in an estimator: everything or nothing of its own, and nothing of the fits before."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

__all__ = ["all_or_nothing", "from_scratch", "names_in_older_state"]

NAMES = "_set_by_fit"  # the attribute with the names of those that were set by a fit
START = "_results"  # of a warm start
OF_SCIKIT_LEARN = ("_sk", "_metadata_request")  # the first letters of attributes that are not set by a fit

Model = TypeVar("Model")
Arguments = ParamSpec("Arguments")
Returned = TypeVar("Returned")


def all_or_nothing(
    method: Callable[Concatenate[Model, Arguments], Returned],
) -> Callable[Concatenate[Model, Arguments], Returned]:
    """Decorate a fit so that the estimator stays unchanged if the fit fails or is interrupted.

    An exception may carry attributes that are kept, by name, in its attribute ``kept``.
    """

    @functools.wraps(method)
    def guarded(self: Model, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Returned:
        own, before = vars(self), dict(vars(self))
        try:
            returned = method(self, *args, **kwargs)
        except BaseException as error:
            own.clear()
            own.update(before)
            own.update(getattr(error, "kept", {}))  # the scores of a search that was interrupted
            raise
        earlier = before.get(NAMES, ())
        own[NAMES] = tuple(name for name in own if name not in before or name in earlier)
        return returned

    return guarded


def from_scratch(
    method: Callable[Concatenate[Model, Arguments], Returned],
) -> Callable[Concatenate[Model, Arguments], Returned]:
    """Decorate ``fit``: as `all_or_nothing`, and without the attributes that earlier fits have set.

    Only the result from which a warm start continues remains. Attributes that were set in another way remain as well,
    for example those that the ``fit`` of a derived class sets before it calls the ``fit`` of its base class.
    """

    @functools.wraps(method)
    def emptied(self: Model, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Returned:
        own = vars(self)
        for name in own.pop(NAMES, ()):  # gone in a nested call: it must not remove what the outer one has set
            if name != START or not own.get("warm_start", False):
                own.pop(name, None)
        return method(self, *args, **kwargs)

    return all_or_nothing(emptied)


def names_in_older_state(state: dict[str, Any]) -> tuple[str, ...]:
    """The attributes that a fit has set, from the state of a version that did not keep their names."""
    fitted = (name for name in state if name.startswith("_") or name.endswith("_"))
    return tuple(name for name in fitted if not name.startswith(OF_SCIKIT_LEARN))
