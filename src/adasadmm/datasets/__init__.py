"""Data by name: the paper's six data sets, and two that come with scikit-learn."""

from .paper import BUNDLED, PAPER, Dataset, DatasetError, check_name, digest, load, whereabouts

__all__ = ["BUNDLED", "PAPER", "Dataset", "DatasetError", "check_name", "digest", "load", "whereabouts"]
