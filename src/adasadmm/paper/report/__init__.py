"""The report of a study: page, table and figure."""

from .figure import write_figure
from .page import write_page
from .study import Claim, Failure, Known, LearntGraph, Setting, Study
from .table import table

__all__ = ["Claim", "Failure", "Known", "LearntGraph", "Setting", "Study", "table", "write_figure", "write_page"]
