"""The first scan of a source: what it shows to observers, once, and what remains of them in the source."""

import functools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from adasadmm import GraphGuidedRegressor, sources
from adasadmm.sources._held_out import split

ROWS, FEATURES = 60, 150


def blocks(seed=0):
    """A function without rows of its own, so that the pickle of its source has none either."""
    rng = np.random.default_rng(seed)
    for _ in range(2):
        X = rng.normal(size=(ROWS // 2, FEATURES))
        yield X, X[:, 0]


def test_a_graph_that_is_learnt_leaves_no_covariances_in_the_source():
    source = sources.iterator(functools.partial(blocks, 1))
    source.head()
    plain = len(pickle.dumps(source))
    watched = sources.iterator(functools.partial(blocks, 1))
    GraphGuidedRegressor("knn", solver="ada-diag", max_iter=1, tol=1.0).fit(watched)
    assert len(pickle.dumps(watched)) < plain + 8 * FEATURES**2 / 4


@pytest.mark.parametrize("view", [sources.scaled, lambda source: split(source, 0.2)[0]])
def test_a_view_of_a_source_that_was_scanned_can_be_pickled(view):
    viewed = view(sources.iterator(blocks))
    fresh = pickle.loads(pickle.dumps(viewed))  # before the scan
    assert fresh.shape == viewed.shape
    assert not viewed.inner._observers
    again = pickle.loads(pickle.dumps(viewed))
    for one, two, three in zip(viewed.blocks(), again.blocks(), fresh.blocks(), strict=True):
        np.testing.assert_array_equal(one[0], two[0])
        np.testing.assert_array_equal(one[0], three[0])


class Unsteady:
    """Blocks of which the second cannot be read in the first attempts."""

    def __init__(self, failures):
        self.failures = failures

    def __call__(self):
        for number, block in enumerate(blocks()):
            if number == 1 and self.failures:
                self.failures -= 1
                raise OSError("the connection is lost")
            yield block


@pytest.mark.parametrize("view", [sources.scaled, lambda source: split(source, 0.2)[0]])
def test_a_scan_that_fails_and_is_made_again_counts_no_row_twice(view):
    source = view(sources.iterator(Unsteady(1)))
    with pytest.raises(OSError, match="the connection is lost"):
        source.shape
    steady = view(sources.iterator(Unsteady(0)))
    assert source.shape == steady.shape
    for block, expected in zip(source.blocks(), steady.blocks(), strict=True):
        np.testing.assert_array_equal(block[0], expected[0])


def test_a_count_of_held_out_rows_that_fails_is_made_again():
    steady = sources.iterator(Unsteady(0))
    counted, unsteady = split(steady, 0.2)[0].shape, Unsteady(0)
    source = sources.iterator(unsteady)
    source.shape  # the scan is over: the split needs a pass of its own
    part = split(source, 0.2)[0]
    unsteady.failures = 1
    with pytest.raises(OSError, match="the connection is lost"):
        part.shape
    assert part.shape == counted


def test_a_graph_after_a_failed_scan_is_that_of_all_rows():
    unsteady = sources.iterator(Unsteady(1))
    model = GraphGuidedRegressor("knn", solver="ada-diag", max_iter=1, tol=1.0)
    with pytest.raises(OSError, match="the connection is lost"):
        model.fit(unsteady)
    found = model.fit(unsteady).graph_
    np.testing.assert_array_equal(found, model.fit(sources.iterator(Unsteady(0))).graph_)


@pytest.mark.parametrize("form", [sp.coo_array, sp.csc_array])
def test_sparse_rows_are_converted_once(form, monkeypatch):
    X, converted = form(sp.random_array((40, 6), density=0.3, rng=0)), []
    to_csr = form.tocsr
    monkeypatch.setattr(form, "tocsr", lambda self, copy=False: converted.append(1) or to_csr(self, copy))
    source = sources.arrays(X, np.ones(40), block_rows=10)
    for _ in range(3):
        found = sp.vstack([block for block, _ in source.blocks()]).toarray()
    np.testing.assert_array_equal(found, X.toarray())
    assert len(converted) == 1
