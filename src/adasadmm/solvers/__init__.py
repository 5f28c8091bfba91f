"""The solvers: one file for each method, its settings beside its run."""

from ._records import ADMM, ALM, ASVRGADMM, OADMM, SADMM, SPDHG, SVRGADMM, AdaSADMM

__all__ = ["ADMM", "ALM", "ASVRGADMM", "OADMM", "SADMM", "SPDHG", "SVRGADMM", "AdaSADMM"]
