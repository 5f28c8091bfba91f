"""A source that counts its rows as they are read."""

from adasadmm import sources


class Counted(sources.Source):
    """The rows of another source.

    Attributes
    ----------
    rows_read : int
        How many rows were read, in all passes.
    """

    def __init__(self, inner):
        super().__init__(inner.n_features)
        self.inner, self.rows_read = inner, 0

    def __len__(self):
        return len(self.inner)

    def __repr__(self):
        return repr(self.inner)

    def origin(self):
        return self.inner.origin()

    def read_rows(self, partition, faults):
        for block in self.inner.read_rows(partition, faults):
            self.rows_read += block.X.shape[0]
            yield block

    @property
    def passes(self):
        return self.rows_read / self.inner.shape[0]
