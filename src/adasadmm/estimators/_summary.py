"""A fitted model in a few lines of text."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ._types import FittedModel

__all__ = ["NO_BOUND", "describe"]

NO_BOUND = 1.0  # a relative gap from which on the bound is below the least possible loss


def describe(model: FittedModel) -> str:
    """The lines of `summary`."""
    coefs = np.atleast_2d(model._dense_coef())
    size = f"{coefs.shape[1]} features, {np.count_nonzero(coefs)} non-zero coefficients"
    if len(coefs) > 1:
        size += f" in {len(coefs)} {'classes' if hasattr(model, 'classes_') else 'responses'}"
    if hasattr(model, "alpha_") and hasattr(model, "l2_"):
        chosen = {name: getattr(model, f"{name}_", None) for name in ("alpha", "l1_ratio", "l2")}
        size += "; chosen: " + ", ".join(f"{name}={value:.3g}" for name, value in chosen.items() if value is not None)
    lines = [f"{type(model).__name__}: {size}"]
    edges = getattr(model, "graph_", None)
    if edges is not None:
        lines.append(f"graph: {len(edges)} edges")
        lines.extend(getattr(model, "graph_notes_", ()))
    if hasattr(model, "_place"):
        lines.append(f"rows: {model._place[1]}")
    kind, labels = "class", getattr(model, "classes_", None)
    if labels is None:
        kind, labels = "response", range(len(coefs))
    names = [f"{kind} {label}: " for label in labels] if len(coefs) > 1 else [""]
    for fact in (*_groups(model), *_solvers(model), *_endings(model), *_progressive(model), *_validation(model)):
        if len(fact) < len(names):  # one softmax, or joint responses, have one run
            lines.extend(fact)
        elif len(names) > 1 and len(set(fact)) == 1:
            lines.append(f"each {kind}: {fact[0]}")
        else:
            lines.extend(name + of_class for name, of_class in zip(names, fact, strict=True))
    if hasattr(model, "coef_penalized_"):
        lines.append("coefficients estimated again without the penalty; objective and gap are those of coef_penalized_")
    return "\n".join(lines)


def _groups(model: FittedModel) -> Iterator[list[str]]:
    """The groups of equal coefficients, for each class."""
    if getattr(model, "graph_", None) is None:
        return
    sizes = [np.unique(labels, return_counts=True)[1] for labels in np.atleast_2d(model.clusters_)]
    yield [_groups_in_words(size) for size in sizes]


def _groups_in_words(sizes: np.ndarray) -> str:
    if len(sizes) == 1 < sizes[0]:
        return "all coefficients are equal"
    if sizes.max() == 1:
        return "no neighbours with equal coefficients"
    return f"{len(sizes)} groups of equal coefficients, {(sizes > 1).sum()} of them with more than one feature"


def _solvers(model: FittedModel) -> Iterator[list[str]]:
    """Which solver ran and why, for each class; nothing after `partial_fit`, or in models saved by version 0.1."""
    used, reasons = getattr(model, "solver_", None), getattr(model, "solver_reason_", "")
    if isinstance(used, list):
        yield [
            f"solver: {type(solver).__name__}, because {reason}" for solver, reason in zip(used, reasons, strict=True)
        ]
    elif used is not None:
        yield [f"solver: {type(used).__name__}, because {reasons}"]


def _progressive(model: FittedModel) -> Iterator[list[str]]:
    """The progressive loss, for each class, if the rows were streamed by a stochastic solver."""
    found = getattr(model, "_progressive", None)
    if found is not None:
        yield [
            f"progressive loss {loss:.6g}: the mean over the first pass, each row before it was used" for loss in found
        ]


def _validation(model: FittedModel) -> Iterator[list[str]]:
    """The loss of the rows that were held out, for each class, if ``validation_fraction`` asked for it."""
    found = getattr(model, "validation_loss_", None)
    if found is not None:
        rows = getattr(model, "_validation_rows", 0)
        yield [f"validation loss {loss:.6g}: the mean over {rows:,} rows held out" for loss in np.atleast_1d(found)]


def _gap_in_words(gap: float) -> str:
    """The gap, unless it proves nothing: 1 is that of the bound 0, or of the least possible loss."""
    return f"relative duality gap {gap:.1e}" if gap < NO_BOUND else "no useful bound on the duality gap"


def _endings(model: FittedModel) -> Iterator[list[str]]:
    """Objective, gap and status, for each class; nothing after `partial_fit`, which has none of them."""
    statuses = getattr(model, "status_", None)
    if statuses is None:
        return
    statuses = statuses if isinstance(statuses, list) else [statuses]
    values = getattr(model, "_objectives", None)  # missing in models saved by version 0.1
    objectives = [""] * len(statuses) if values is None else [f"objective {value:.6g}, " for value in values]
    # Rounding can make the gap of an exact solution negative.
    gaps = np.maximum(np.atleast_1d(getattr(model, "dual_gap_", np.nan)), 0.0)
    yield [
        f"{objective}{_gap_in_words(gap)}, {status.name}: {status.value}"
        for objective, gap, status in zip(objectives, gaps, statuses, strict=True)
    ]
