from benchmark_utils import rows_and_graph
from benchopt import BaseDataset

from adasadmm import datasets


class Dataset(BaseDataset):
    """The two that come with scikit-learn."""

    name = "Bundled"
    parameters = {"dataset": list(datasets.BUNDLED)}

    def get_data(self):
        X, y, edges = rows_and_graph(self.dataset)
        return {"X": X, "y": y, "edges": edges}
