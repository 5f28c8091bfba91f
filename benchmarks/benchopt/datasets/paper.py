from benchmark_utils import rows_and_graph
from benchopt import BaseDataset

from adasadmm import datasets


class Dataset(BaseDataset):
    """The paper's six, from the folder in ADASADMM_DATA, the cache or their homes."""

    name = "Paper"
    parameters = {"dataset": list(datasets.PAPER)}

    def get_data(self):
        X, y, edges = rows_and_graph(self.dataset)
        return {"X": X, "y": y, "edges": edges}
