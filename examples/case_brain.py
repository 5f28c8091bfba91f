"""Brain activity and what was seen: eight kinds of pictures decoded from one slice, with a penalty over voxels.

The slice of Haxby et al. (2001): 864 volumes of 530 voxels, recorded in 12 runs while a subject looked at pictures of
eight kinds. Neighbouring voxels should have similar coefficients, and most of them none: TV-L1, the total variation
over the voxel grid plus the L1 norm, in one softmax of the eight classes. Each run is held out in turn, and all
strengths are chosen on the other eleven. nilearn's SpaceNet has an isotropic form of the same penalty, for one class
against the rest.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import casebook
import numpy as np
from joblib import Parallel, delayed
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, GroupKFold

from adasadmm import GraphGuidedClassifierCV

INNER = 3  # folds of the training runs on which strengths are chosen
STRENGTHS = np.geomspace(0.06, 0.002, 8)
RATIOS = [0.2, 0.5, 0.8]
RIDGE = 1e-2
VOXEL = (3.1, 3.75, 3.75)  # millimetres
SHARED, EACH, SPACENET = "TV-L1, joint over classes", "TV-L1 of each class", "SpaceNet, TV-L1 (nilearn)"


class Volumes(NamedTuple):
    """Standardised signals, what was seen, the run of each volume, and the place of each voxel in the slice."""

    signal: np.ndarray
    seen: np.ndarray
    run: np.ndarray
    place: np.ndarray

    def of(self, rows: np.ndarray) -> Volumes:
        return self._replace(signal=self.signal[rows], seen=self.seen[rows], run=self.run[rows])

    @property
    def edges(self) -> np.ndarray:
        """Pairs of voxels that share a side."""
        number = {tuple(place): k for k, place in enumerate(self.place)}
        beside = [(k, (i + di, j + dj)) for (i, j), k in number.items() for di, dj in ((1, 0), (0, 1))]
        return np.array([(k, number[place]) for k, place in beside if place in number])


def prepared(table: Any) -> Volumes:
    """In each run a linear trend is removed, and volumes without a picture give mean and scale; these are left out."""
    names = [name for name in table.columns if name.startswith("v_")]
    place = np.array([[int(number) for number in name.split("_")[1:]] for name in names])
    signal, seen, run = table[names].to_numpy(float, copy=True), table["label"].to_numpy(str), table["run"].to_numpy()
    for one in np.unique(run):
        rows = run == one
        trend = np.vander(np.arange(rows.sum()), 2)
        signal[rows] -= trend @ np.linalg.lstsq(trend, signal[rows], rcond=None)[0]
        rest = signal[rows & (seen == "rest")]
        signal[rows] = (signal[rows] - rest.mean(axis=0)) / rest.std(axis=0)
    return Volumes(signal, seen, run, place).of(seen != "rest")


# --- the models ------------------------------------------------------------------------------------------------------


def total_variation(train: Volumes, joint: bool) -> GraphGuidedClassifierCV:
    model = GraphGuidedClassifierCV(
        train.edges,
        loss="multinomial",
        joint=joint,
        alphas=STRENGTHS,
        l1_ratios=RATIOS,
        l2s=[RIDGE],
        cv=GroupKFold(INNER),
        tol=1e-2,
    )
    return model.fit(train.signal, train.seen, groups=train.run)


def searched(train: Volumes, model: Any, grid: dict[str, np.ndarray]) -> Any:
    return GridSearchCV(model, grid, cv=GroupKFold(INNER)).fit(train.signal, train.seen, groups=train.run)


def logistic(train: Volumes) -> Any:
    return searched(train, LogisticRegression(max_iter=1000), {"C": np.geomspace(1e-3, 1.0, 4)})


def ridge(train: Volumes) -> Any:
    return searched(train, RidgeClassifier(), {"alpha": np.geomspace(30.0, 1e4, 6)})


def as_images(volumes: Volumes) -> tuple[Any, Any]:
    """The volumes and the mask as images: nilearn knows voxels by their place."""
    import nibabel

    shape, (i, j) = (*(volumes.place.max(axis=0) + 2), 3), volumes.place.T
    mask, signal = np.zeros(shape, np.int8), np.zeros((*shape, len(volumes.seen)), np.float32)
    mask[i, j, 1], signal[i, j, 1] = 1, volumes.signal.T
    affine = np.diag([*VOXEL, 1.0])
    return nibabel.Nifti1Image(signal, affine), nibabel.Nifti1Image(mask, affine)


def spacenet(train: Volumes) -> Any:
    from nilearn.decoding import SpaceNetClassifier

    images, mask = as_images(train)
    inner = list(GroupKFold(INNER).split(train.signal, train.seen, train.run))
    return SpaceNetClassifier(penalty="tv-l1", mask=mask, cv=inner, n_jobs=1, verbose=0).fit(images, train.seen)


MODELS: dict[str, Callable[[Volumes], Any]] = {
    SHARED: lambda train: total_variation(train, joint=True),
    EACH: lambda train: total_variation(train, joint=False),
    "softmax with a ridge": logistic,
    "ridge": ridge,
    "ridge, strength 1000": lambda train: RidgeClassifier(1e3).fit(train.signal, train.seen),
    SPACENET: spacenet,
}


def held_out(volumes: Volumes, run: int, name: str) -> tuple[float, float, np.ndarray]:
    """The accuracy of a model on a run that it has not seen, the processor's seconds, and its coefficients."""
    train, test = volumes.of(volumes.run != run), volumes.of(volumes.run == run)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        begin = time.process_time()
        model = MODELS[name](train)
        seconds = time.process_time() - begin
        found = model.predict(as_images(test)[0] if name == SPACENET else test.signal)
    coef = getattr(model, "best_estimator_", model).coef_
    casebook.progress(f"run {run}, {name}: {np.mean(found == test.seen):.3f}, {seconds:.1f} s")
    return float(np.mean(found == test.seen)), seconds, np.array(coef)


# --- the study -------------------------------------------------------------------------------------------------------


def study(case: Any) -> casebook.Outcome:
    volumes = prepared(case.tables["volumes"])
    runs = np.unique(volumes.run).tolist()
    tasks = [(run, name) for run in runs for name in MODELS]
    held_out(volumes, runs[0], SHARED)  # compiles
    outcomes = Parallel(n_jobs=2)(delayed(casebook.attempted)(held_out, volumes, *task) for task in tasks)
    found = dict(zip(tasks, outcomes, strict=True))
    rows = [of_model(name, [found[run, name] for run in runs]) for name in MODELS]
    coef = {name: found[runs[0], name][2] for name in (SHARED, EACH, "ridge")}
    facts = {
        "volumes": len(volumes.seen),
        "voxels": len(volumes.place),
        "edges": len(volumes.edges),
        "runs": len(runs),
        "inner": INNER,
        "accuracy_joint": rows[0]["accuracy"],
        "accuracy_each": rows[1]["accuracy"],
        "accuracy_ridge": rows[4]["accuracy"],
        "accuracy_spacenet": rows[5]["accuracy"],
        "voxels_joint": int((coef[SHARED] != 0.0).any(axis=0).sum()),
        "better_than_ridge": sum(found[run, SHARED][0] > found[run, "ridge"][0] for run in runs),
        "worse_than_ridge": sum(found[run, SHARED][0] < found[run, "ridge"][0] for run in runs),
    }
    return casebook.Outcome(facts, {"main": rows}, {"": picture(volumes, coef)})


def of_model(name: str, outcomes: list[Any]) -> dict[str, Any]:
    heads = ("accuracy", "standard error", "CPU seconds a run, with the choice of strengths")
    if casebook.NOT_INSTALLED in outcomes:
        return {"model": name, **dict.fromkeys(heads, casebook.NOT_INSTALLED)}
    accuracy, seconds = np.array([outcome[:2] for outcome in outcomes]).T
    values = (accuracy.mean(), accuracy.std(ddof=1) / np.sqrt(len(accuracy)), seconds.mean())
    return {"model": name, **dict(zip(heads, values, strict=True))}


def picture(volumes: Volumes, coef: dict[str, np.ndarray]) -> Any:
    """The coefficients of two classes over the slice, by model; blank where there is no voxel."""
    classes = np.unique(volumes.seen).tolist()
    figure, axes = casebook.new_figure(2, 3, size=(9.0, 4.2))
    for column, (name, values) in zip(axes.T, coef.items(), strict=True):
        for ax, kind in zip(column, ("face", "house"), strict=True):
            of_kind = values[classes.index(kind)]
            image = np.full(volumes.place.max(axis=0) + 1, np.nan)
            image[tuple(volumes.place.T)] = of_kind
            most = np.abs(of_kind).max()
            ax.imshow(image.T, cmap="RdBu_r", vmin=-most, vmax=most, origin="lower", interpolation="nearest")
            ax.set(xticks=[], yticks=[], title=f"{kind}: {name}")
            ax.spines[:].set_visible(False)
    return figure


if __name__ == "__main__":
    casebook.main("brain", study)
