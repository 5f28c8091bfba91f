"""The content of a report: records, claims and settings of a study."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

__all__ = ["Claim", "Failure", "Known", "LearntGraph", "Setting", "Study"]


class Known(NamedTuple):
    """A cell of the paper's Table 2: means and standard deviations over its 5 seeds."""

    objective: float
    objective_sd: float
    test_error: float
    test_error_sd: float
    seconds: float


class Claim(NamedTuple):
    """A statement about the algorithms, and whether the figures of each data set support it."""

    text: str
    verdict: str  # in words: "holds on 5 of 6"
    holds: dict[str, bool]  # by data set, for those run with all algorithms that the claim needs
    evidence: dict[str, str]  # by data set, the figures that decide: "0.3552 against 1.31"

    @property
    def state(self) -> str:
        """Return "holds" (on all data sets), "partly" (on some), "fails" (on none) or "open" (no data set was run)."""
        if not self.holds:
            return "open"
        return "holds" if all(self.holds.values()) else "partly" if any(self.holds.values()) else "fails"


class Setting(NamedTuple):
    """A choice, and the reason for it."""

    name: str
    value: str
    reason: str


class Failure(NamedTuple):
    """A cell that failed; a seed of -1 means all seeds."""

    dataset: str
    algorithm: str
    seed: int
    message: str

    @property
    def where(self) -> str:
        return f"{self.dataset}, {self.algorithm}" + (f", seed {self.seed}" if self.seed >= 0 else "")


class LearntGraph(NamedTuple):
    """The graph of a data set (from its first seed), and the weights learnt with it."""

    dataset: str
    algorithm: str
    names: list[str]
    edges: list[list[int]]
    w: list[float]


@dataclasses.dataclass(frozen=True)
class Study:
    """The content of a report.

    Attributes
    ----------
    records : list of dict
        The cells, as in results.json: dataset, algorithm, seed, eta, epochs, objective, test_objective, test_error,
        seconds, edges, optimum, and trace, a dict of lists epoch, objective, test_error, seconds.
    algorithms : dict
        Name to label of all algorithms in the records, in the order to show them.
    papers : tuple of str
        Those of the paper; the others are shown separately.
    known : dict
        ``known[dataset][algorithm]``: the paper's figures, if it has them.
    about : dict
        Command, date, seconds of the run, versions, machine: names and values to show.
    notes : dict
        By data set, a remark needed to read its figures.
    """

    records: list[dict[str, Any]]
    algorithms: dict[str, str]
    papers: tuple[str, ...]
    known: dict[str, dict[str, Known]]
    claims: list[Claim]
    settings: list[Setting]
    failures: list[Failure]
    graphs: list[LearntGraph]
    about: dict[str, str]
    notes: dict[str, str]

    @property
    def datasets(self) -> list[str]:
        """The data sets, in the order of their first record."""
        return list(dict.fromkeys(record["dataset"] for record in self.records))

    @property
    def extras(self) -> list[str]:
        """The algorithms that are not in the paper."""
        return [name for name in self.algorithms if name not in self.papers]

    @property
    def seeds(self) -> int:
        """The number of seeds in the records."""
        return len({record["seed"] for record in self.records})

    def cell(self, dataset: str, algorithm: str) -> list[dict[str, Any]]:
        """Return the records of an algorithm on a data set, one per seed."""
        return [one for one in self.records if (one["dataset"], one["algorithm"]) == (dataset, algorithm)]
