"""Genes that tell the receptor status of a tumour: a gene network beside L1 and ridge, with few and many samples.

Logistic regression on the expression of 2,597 genes (that of the receptor itself, ESR1, is left out) in 520 breast
tumours. The graph joins genes by KEGG and HPRD interactions. With 50, 100 and 400 training samples, strengths are
chosen by three folds of these samples; all other samples are the test rows. Besides the accuracy, the stability of the
chosen genes is measured: the mean Jaccard index of the sets that two random draws of training samples select.
"""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import casebook
import numpy as np
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

from adasadmm import GraphGuidedClassifierCV

ESR1 = "2099"
SIZES, DRAWS = (50, 100, 400), 4
RATIOS = (0.3, 0.8)


def tables(case: Any) -> tuple[np.ndarray, np.ndarray, tuple]:
    """Expression, labels, and the edges with their weights."""
    expression = case.tables["expression"].set_index("gene").drop(index=ESR1)
    y = np.where(case.tables["samples"]["er"] == "positive", 1, -1)
    place = {gene: j for j, gene in enumerate(expression.index)}
    pairs = case.tables["edges"][["gene_a", "gene_b"]].itertuples(index=False)
    edges = np.array([(place[one], place[other]) for one, other in pairs if one in place and other in place])
    degree = np.bincount(edges.ravel(), minlength=len(place))
    # A gene with many partners would otherwise be tied to all of them.
    weights = 1.0 / np.sqrt(degree[edges[:, 0]] * degree[edges[:, 1]])
    return expression.to_numpy(float).T, y, (edges, weights)


def models(graph: tuple, folds: Any) -> dict[str, Any]:
    search = {"cv": folds, "scoring": "neg_log_loss"}
    ours = {"loss": "logistic", "alphas": 6, "eps": 0.03, "l1_ratios": RATIOS, "tol": 1e-2}
    theirs = {"max_iter": 2000, "use_legacy_attributes": False, **search}
    return {
        "graph-guided, sparse": GraphGuidedClassifierCV(graph, **ours, **search),
        "L1 logistic": LogisticRegressionCV(
            Cs=np.geomspace(0.01, 10.0, 10), l1_ratios=(1.0,), solver="liblinear", random_state=0, **theirs
        ),
        "ridge logistic": LogisticRegressionCV(Cs=np.geomspace(1e-6, 1e-1, 10), l1_ratios=(0.0,), **theirs),
    }


def overlap(sets: list[set]) -> float:
    pairs = list(itertools.combinations(sets, 2))
    return float(np.mean([len(one & other) / max(len(one | other), 1) for one, other in pairs]))


def study(case: Any) -> casebook.Outcome:
    X, y, graph = tables(case)
    linked = set(graph[0].ravel().tolist())
    rows, facts = [], {"genes": X.shape[1], "edges": len(graph[0]), "linked": len(linked), "draws": DRAWS}
    for size in SIZES:
        draws = StratifiedShuffleSplit(DRAWS, train_size=size, random_state=0).split(X, y)
        found: dict[str, list] = {}
        for draw, (train, _) in enumerate(draws):
            casebook.progress(f"{size} samples, draw {draw + 1} of {DRAWS}")
            test = np.setdiff1d(np.arange(len(y)), train)
            Z = (X - X[train].mean(axis=0)) / np.maximum(X[train].std(axis=0), 1e-12)
            folds = StratifiedKFold(3, shuffle=True, random_state=draw)
            for name, model in models(graph, folds).items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    model.fit(Z[train], y[train])
                score, coef = model.decision_function(Z[test]), np.ravel(model.coef_)
                outcome = np.mean(np.sign(score) == y[test]), roc_auc_score(y[test], score), set(np.flatnonzero(coef))
                found.setdefault(name, []).append(outcome)
        for name, outcomes in found.items():
            accuracy, area, chosen = zip(*outcomes, strict=True)
            rows.append(
                {
                    "training samples": size,
                    "model": name,
                    "accuracy": np.mean(accuracy),
                    "standard deviation": np.std(accuracy, ddof=1),
                    "AUC": np.mean(area),
                    "genes chosen": float(np.mean([len(one) for one in chosen])),
                    "of them linked": float(np.mean([len(one & linked) for one in chosen])),
                    "stability": overlap(list(chosen)) if name != "ridge logistic" else None,
                }
            )
    return casebook.Outcome(facts, {"main": rows}, {"": picture(rows)})


def picture(rows: list[dict[str, Any]]) -> Any:
    figure, (left, right) = casebook.new_figure(1, 2, size=(9.0, 3.6))
    for k, name in enumerate(dict.fromkeys(row["model"] for row in rows)):
        mine = [row for row in rows if row["model"] == name]
        sizes = [row["training samples"] for row in mine]
        errors = [row["standard deviation"] / np.sqrt(DRAWS) for row in mine]
        left.errorbar(sizes, [row["accuracy"] for row in mine], yerr=errors, marker="o", color=f"C{k}", label=name)
        if mine[0]["stability"] is not None:
            right.plot(sizes, [row["stability"] for row in mine], marker="o", color=f"C{k}")
    for ax, title in ((left, "test accuracy"), (right, "stability of the chosen genes (Jaccard)")):
        ax.set(xscale="log", xlabel="training samples", title=title)
        ax.set_xticks(SIZES, [str(size) for size in SIZES])
        ax.minorticks_off()
    left.legend(loc="lower right")
    return figure


if __name__ == "__main__":
    casebook.main("genes", study)
