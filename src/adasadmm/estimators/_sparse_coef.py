"""scikit-learn's conversions of ``coef_``, without the import of its linear models before they are used."""

from __future__ import annotations

from typing import Self

__all__ = ["SparseCoefficients"]


class SparseCoefficients:
    """``sparsify`` and ``densify`` of `sklearn.linear_model`."""

    def sparsify(self) -> Self:
        """Convert ``coef_`` to a sparse matrix, which takes less memory if most coefficients are 0.

        Returns
        -------
        self : estimator
        """
        from sklearn.linear_model._base import SparseCoefMixin

        return SparseCoefMixin.sparsify(self)

    def densify(self) -> Self:
        """Convert ``coef_`` back to an array, which `partial_fit` needs.

        Returns
        -------
        self : estimator
        """
        from sklearn.linear_model._base import SparseCoefMixin

        return SparseCoefMixin.densify(self)
