"""Layout of a learnt graph: the position, size and colour of its nodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .study import LearntGraph

__all__ = ["Drawing", "Node", "draw"]

WIDTH, HEIGHT, MARGIN = 480.0, 340.0, 22.0
PER_ROW, ROW_HEIGHT = 24, 19.0
MOST_NODES, MOST_LABELS = 300, 6


class Node(NamedTuple):
    """A feature: its position and radius, its weight, and the weight as a fraction of the largest."""

    x: float
    y: float
    radius: float
    share: float
    weight: float
    name: str
    labelled: bool


class Drawing(NamedTuple):
    """A drawing: nodes with edges in the plane, nodes without edges in rows below."""

    graph: LearntGraph
    width: float
    height: float
    lines: list[tuple[float, float, float, float]]
    nodes: list[Node]
    alone: int
    alone_from: float  # where the rows begin
    left_out: int
    largest: list[Node]

    @property
    def line_opacity(self) -> float:
        """The opacity of the edges, fainter if there are many, so that the nodes stay visible."""
        return round(min(0.45, max(0.1, 60 / max(1, len(self.lines)))), 3)


def draw(graph: LearntGraph) -> Drawing:
    """Place the nodes; of very large graphs, only those with the largest weights."""
    w = np.nan_to_num(np.asarray(graph.w, float))
    kept = np.sort(np.argsort(-np.abs(w), kind="stable")[:MOST_NODES])
    edges = _among(np.asarray(graph.edges, int).reshape(-1, 2), kept)
    joined = np.isin(np.arange(len(kept)), edges)
    alone = np.flatnonzero(~joined)
    top = HEIGHT if joined.any() else 0.0
    at = np.empty((len(kept), 2))
    at[joined] = _in_frame(_places(edges, len(kept))[joined])
    at[alone] = _in_rows(len(alone), top)
    nodes = _nodes(graph, w, kept, at, _labelled(at, np.abs(w[kept]) * joined))
    height = top + ROW_HEIGHT * -(-len(alone) // PER_ROW) + (30 if len(alone) else 0)
    lines = [(*np.round(at[i], 1).tolist(), *np.round(at[j], 1).tolist()) for i, j in edges]
    largest = sorted(nodes, key=lambda node: -abs(node.weight))[:10]
    return Drawing(graph, WIDTH, height, lines, nodes, len(alone), top, len(w) - len(kept), largest)


def _nodes(graph: LearntGraph, w: np.ndarray, kept: np.ndarray, at: np.ndarray, labelled: set[int]) -> list[Node]:
    most = float(np.abs(w).max(initial=0.0)) or 1.0
    nodes = []
    for number, (k, (x, y)) in enumerate(zip(kept.tolist(), np.round(at, 1).tolist(), strict=True)):
        share = abs(w[k]) / most
        radius = round(2.5 + 6.5 * share**0.5, 1)
        nodes.append(Node(x, y, radius, round(share, 3), float(w[k]), str(graph.names[k]), number in labelled))
    return nodes


def _labelled(at: np.ndarray, size: np.ndarray) -> set[int]:
    """Choose the largest nodes whose labels do not overlap."""
    chosen: list[int] = []
    for k in np.argsort(-size, kind="stable").tolist():
        apart = np.abs(at[chosen] - at[k]) > (95, 20)
        if size[k] > 0 and apart.any(axis=1).all() and len(chosen) < MOST_LABELS:
            chosen.append(k)
    return set(chosen)


def _among(edges: np.ndarray, kept: np.ndarray) -> np.ndarray:
    """Return the edges between kept nodes, renumbered."""
    edges = edges[np.isin(edges, kept).all(axis=1)]
    return np.searchsorted(kept, edges)


def _places(edges: np.ndarray, d: int, rounds: int = 200) -> np.ndarray:
    """Fruchterman-Reingold layout: nodes repel each other, edges attract, weak gravity keeps components together."""
    joined = np.zeros((d, d))
    joined[edges[:, 0], edges[:, 1]] = joined[edges[:, 1], edges[:, 0]] = 1.0
    reach = 1.0 / np.sqrt(max(1, d))
    at = np.random.default_rng(0).uniform(-1.0, 1.0, (d, 2))
    for step in np.geomspace(0.2, 0.002, rounds):
        away = at[:, None, :] - at[None, :, :]
        distance = np.sqrt((away**2).sum(axis=2)) + 1e-6
        strength = (reach / distance) ** 2 - joined * distance / reach
        move = (away * strength[:, :, None]).sum(axis=1) - 0.6 * at
        length = np.sqrt((move**2).sum(axis=1, keepdims=True)) + 1e-12
        at += move / length * np.minimum(length, step)
    return at


def _in_frame(at: np.ndarray) -> np.ndarray:
    """Stretch positions to fill the drawing inside its margin."""
    if not len(at):
        return at
    low, high = at.min(axis=0), at.max(axis=0)
    return MARGIN + (at - low) / np.maximum(high - low, 1e-9) * (np.array([WIDTH, HEIGHT]) - 2 * MARGIN)


def _in_rows(count: int, top: float) -> np.ndarray:
    number = np.arange(count)
    across = MARGIN + (number % PER_ROW) * (WIDTH - 2 * MARGIN) / (PER_ROW - 1)
    return np.column_stack([across, top + 30 + ROW_HEIGHT * (number // PER_ROW)])
