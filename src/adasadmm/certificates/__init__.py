"""The outcome of a run: trace, status, and the duality gap that certifies its answer."""

from .record import BestDual, certify, certify_after_ascent, slopes_at
from .trace import Certificate, Result, Snapshot, Status, Trace

__all__ = [
    "BestDual",
    "Certificate",
    "Result",
    "Snapshot",
    "Status",
    "Trace",
    "certify",
    "certify_after_ascent",
    "slopes_at",
]
