"""What a report shows: the records of a study, what is claimed, what was set."""

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
    """A sentence about the algorithms, and what the figures say of it, data set by data set."""

    text: str
    verdict: str  # in words: "holds on 5 of 6"
    holds: dict[str, bool]  # of each data set that was run with the algorithms it takes
    evidence: dict[str, str]  # of the same data sets, the figures that decide: "0.3552 against 1.31"

    @property
    def state(self) -> str:
        """On all data sets it "holds", on some "partly", on none it "fails"; it is "open" where none was run."""
        if not self.holds:
            return "open"
        return "holds" if all(self.holds.values()) else "partly" if any(self.holds.values()) else "fails"


class Setting(NamedTuple):
    """A choice, and why."""

    name: str
    value: str
    reason: str


class Failure(NamedTuple):
    """A cell that could not be run; a seed of -1 stands for all of them."""

    dataset: str
    algorithm: str
    seed: int
    message: str

    @property
    def where(self) -> str:
        return f"{self.dataset}, {self.algorithm}" + (f", seed {self.seed}" if self.seed >= 0 else "")


class LearntGraph(NamedTuple):
    """The graph of a data set (of its first seed), and the weights learnt there."""

    dataset: str
    algorithm: str
    names: list[str]
    edges: list[list[int]]
    w: list[float]


@dataclasses.dataclass(frozen=True)
class Study:
    """All that a report is made of.

    Attributes
    ----------
    records : list of dict
        The cells, as in results.json: dataset, algorithm, seed, eta, epochs, objective, test_objective, test_error,
        seconds, edges, optimum, and trace, a dict of lists epoch, objective, test_error, seconds.
    algorithms : dict
        Name to label of all algorithms in the records, in the order to show them.
    papers : tuple of str
        Those of them that the paper has; the others are shown apart.
    known : dict
        ``known[dataset][algorithm]``: the paper's figures, where it has them.
    about : dict
        Command, date, seconds of the run, versions, machine: names and values to show.
    notes : dict
        Of a data set, a sentence on what to know when reading its figures.
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
        """The data sets in the order of their first record."""
        return list(dict.fromkeys(record["dataset"] for record in self.records))

    @property
    def extras(self) -> list[str]:
        """The algorithms that the paper does not have."""
        return [name for name in self.algorithms if name not in self.papers]

    @property
    def seeds(self) -> int:
        """How many seeds there are in the records."""
        return len({record["seed"] for record in self.records})

    def cell(self, dataset: str, algorithm: str) -> list[dict[str, Any]]:
        """The records of all seeds."""
        return [one for one in self.records if (one["dataset"], one["algorithm"]) == (dataset, algorithm)]
