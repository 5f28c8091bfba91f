from benchmark_utils import generated
from benchopt import BaseDataset


class Dataset(BaseDataset):
    """465,000 x 54 in the likeness of covtype; 60,000 x 784 images on a pixel grid."""

    name = "Generated"
    parameters = {"kind, n": [("likeness", 465_000), ("images", 60_000)]}
    test_parameters = {"kind, n": [("likeness", 200)]}

    def get_data(self):
        X, y, edges = getattr(generated, self.kind)(self.n)
        return {"X": X, "y": y, "edges": edges}
