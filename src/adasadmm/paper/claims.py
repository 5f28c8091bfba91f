"""The claims of section 3.2 of the paper, and one more, checked against the figures."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .report.study import Claim

__all__ = ["claims"]

EARLY = 0.25  # epoch of the paper's early comparison

Records = dict[str, list[dict[str, Any]]]  # the records of one data set, by algorithm


class Rule(NamedTuple):
    """A claim, and how to check it."""

    text: str
    needs: tuple[str, ...]
    decide: Callable[[Records], tuple[bool, str]]
    fits: Callable[[dict[str, Any]], bool] = lambda record: True  # whether a record has the figures it needs
    also: str = ""  # the same condition in words


def claims(records: list[dict[str, Any]]) -> list[Claim]:
    """Return each claim with its verdict over the data sets that were run."""
    return [_judge(rule, records) for rule in RULES]


def _judge(rule: Rule, records: list[dict[str, Any]]) -> Claim:
    holds: dict[str, bool] = {}
    evidence: dict[str, str] = {}
    for dataset in dict.fromkeys(record["dataset"] for record in records):
        runs = _comparable(rule, [record for record in records if record["dataset"] == dataset])
        if all(runs.values()):
            holds[dataset], evidence[dataset] = rule.decide(runs)
    yes, of = sum(holds.values()), len(holds)
    if not of:
        verdict = f"not checked: needs {', '.join(rule.needs)} in one run{rule.also}"
    elif of == 1:
        verdict = f"{'holds' if yes else 'fails'} on 1 of 1"
    else:
        verdict = {of: f"holds on all {of}", 0: f"fails on all {of}"}.get(yes, f"holds on {yes} of {of}")
    return Claim(rule.text, verdict, holds, evidence)


def _comparable(rule: Rule, records: list[dict[str, Any]]) -> Records:
    """Return the records by algorithm, of the seeds that all algorithms have, so that means are comparable."""
    runs = {
        name: {one["seed"]: one for one in records if one["algorithm"] == name and rule.fits(one)}
        for name in rule.needs
    }
    seeds = set.intersection(*(set(by_seed) for by_seed in runs.values()))
    return {name: [one for seed, one in by_seed.items() if seed in seeds] for name, by_seed in runs.items()}


# --- figures ---------------------------------------------------------------------------------------------------------


def _mean(runs: list[dict[str, Any]], figure: str) -> float:
    return float(np.mean([run[figure] for run in runs]))


def _mean_at(runs: list[dict[str, Any]], figure: str, epoch: float) -> float:
    """Return the mean of a figure at an epoch: of each curve, the last point up to that epoch."""
    places = [np.searchsorted(run["trace"]["epoch"], epoch + 1e-3, side="right") - 1 for run in runs]
    return float(np.mean([run["trace"][figure][place] for run, place in zip(runs, places, strict=True)]))


def _reaches_early(record: dict[str, Any]) -> bool:
    return record["trace"]["epoch"][-1] > EARLY - 1e-3


def _has_optimum(record: dict[str, Any]) -> bool:
    return record["optimum"] is not None


def _above(runs: list[dict[str, Any]]) -> float:
    """Return the mean suboptimality."""
    return float(np.mean([run["objective"] - run["optimum"] for run in runs]))


# --- rules -----------------------------------------------------------------------------------------------------------


def _adaptive_beats_sadmm(runs: Records) -> tuple[bool, str]:
    diagonal, full, plain = (_mean(runs[name], "objective") for name in ("ada-diag", "ada-full", "sadmm"))
    return max(diagonal, full) < plain, f"objective: diagonal {diagonal:.4g}, full {full:.4g}, SADMM {plain:.4g}"


def _faster(runs: Records) -> tuple[bool, str]:
    diagonal, full = (_mean_at(runs[name], "objective", EARLY) for name in ("ada-diag", "ada-full"))
    plain = _mean(runs["sadmm"], "objective")
    return (
        max(diagonal, full) < plain,
        f"objective at {EARLY} epochs: diagonal {diagonal:.4g}, full {full:.4g}; SADMM at the end {plain:.4g}",
    )


def _full_below_diagonal(runs: Records) -> tuple[bool, str]:
    full, diagonal = (_mean(runs[name], "objective") for name in ("ada-full", "ada-diag"))
    return full < diagonal, f"objective: full {full:.5g}, diagonal {diagonal:.5g} ({full / diagonal - 1.0:+.1%})"


def _early_errors(runs: Records) -> tuple[bool, str]:
    diagonal, full = (_mean_at(runs[name], "test_error", EARLY) for name in ("ada-diag", "ada-full"))
    plain, rows = _mean(runs["sadmm"], "test_error"), runs["sadmm"][0]["test_rows"]
    spread = math.sqrt(plain * (1.0 - plain) / rows)
    return (
        max(diagonal, full) <= plain + spread,
        f"test error at {EARLY} epochs: diagonal {diagonal:.4f}, full {full:.4f}; SADMM at the end {plain:.4f} "
        f"(one standard error of {rows:,} test rows: {spread:.4f})",
    )


def _seconds(runs: Records) -> tuple[float, float, float, str]:
    plain, diagonal, full = (_mean(runs[name], "seconds") for name in ("sadmm", "ada-diag", "ada-full"))
    return plain, diagonal, full, f"seconds: SADMM {plain:.3g}, diagonal {diagonal:.3g}, full {full:.3g}"


def _full_is_slow(runs: Records) -> tuple[bool, str]:
    plain, diagonal, full, text = _seconds(runs)
    return full > 2.0 * max(plain, diagonal), text


def _diagonal_is_cheap(runs: Records) -> tuple[bool, str]:
    plain, diagonal, _, text = _seconds(runs)
    return diagonal < 2.0 * plain, text


def _advantage_when_tuned(runs: Records) -> tuple[bool, str]:
    diagonal, tuned = _above(runs["ada-diag"]), _above(runs["sadmm-sqrt"])
    ratio = tuned / diagonal if diagonal > 0.0 else math.inf
    return (
        diagonal < tuned,
        f"suboptimality: diagonal {diagonal:.3g}, SADMM with tuned c/sqrt(t) {tuned:.3g}, ratio {ratio:.2g}",
    )


PAPERS_THREE = ("sadmm", "ada-diag", "ada-full")
LONG_ENOUGH = (_reaches_early, f" of {EARLY} epochs or more")
RULES = [
    Rule("Both adaptive algorithms end with a smaller objective than SADMM.", PAPERS_THREE, _adaptive_beats_sadmm),
    Rule(
        f"They converge much faster: at {EARLY} epochs their objective is below that of SADMM at the end.",
        PAPERS_THREE,
        _faster,
        *LONG_ENOUGH,
    ),
    Rule(
        "The full matrix ends with a smaller objective than the diagonal (the paper: slightly, on most data sets).",
        ("ada-diag", "ada-full"),
        _full_below_diagonal,
    ),
    Rule(
        f"Their test errors at {EARLY} epochs are smaller than that of SADMM at the end, or comparable: "
        "at most one standard error larger.",
        PAPERS_THREE,
        _early_errors,
        *LONG_ENOUGH,
    ),
    Rule(
        "The full matrix is significantly slower: more than twice the time of either other algorithm.",
        PAPERS_THREE,
        _full_is_slow,
    ),
    Rule("The diagonal is efficient: less than twice the time of SADMM.", PAPERS_THREE, _diagonal_is_cheap),
    Rule(
        "Not in the paper: the diagonal also ends with a smaller objective than SADMM with a tuned step c/sqrt(t).",
        ("ada-diag", "sadmm-sqrt"),
        _advantage_when_tuned,
        _has_optimum,
        ", and the optimum",
    ),
]
