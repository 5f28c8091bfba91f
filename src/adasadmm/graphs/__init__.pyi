"""The public names of this folder, for type checkers and for `__init__.py`, which loads each on first use."""

from .edges import (
    Graph as Graph,
    GraphWarning as GraphWarning,
    chain as chain,
    edges_of as edges_of,
    grid as grid,
    incidence as incidence,
)
from .given import as_graph as as_graph
from .inverse import glasso as glasso
from .neighbours import knn as knn
from .structures import (
    LatentGroups as LatentGroups,
    difference as difference,
    latent_groups as latent_groups,
    overlapping_groups as overlapping_groups,
    trend as trend,
)
