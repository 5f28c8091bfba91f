"""`adasadmm fit --alpha cv`: the options of the search, and the files that show its path."""

from __future__ import annotations

import argparse
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .common import CsvWriter, Wrong, not_negative, open_output

if TYPE_CHECKING:
    from ..estimators._path_cv import PathCV
    from .models import Fitted

__all__ = ["check_search", "chosen", "path_file", "strength_or_cv"]


def strength_or_cv(text: str) -> float | str:
    """The value of ``--alpha``: a number, or "cv"."""
    return text if text == "cv" else not_negative(text)


def check_search(options: argparse.Namespace) -> None:
    """Reject options that do not go together."""
    if options.alpha != "cv":
        for name in ("folds", "rule"):
            if getattr(options, name) is not None:
                raise Wrong(f"--{name} needs --alpha cv")
        return
    if options.files == ["-"] or options.scheduler or options.checkpoint or options.resume:
        raise Wrong("--alpha cv needs files that fit in memory: no standard input, --scheduler, --checkpoint, --resume")
    if options.validation_fraction:
        raise Wrong("--alpha cv holds out rows by itself: leave out --validation-fraction, or use --valid FILE")
    if options.folds is not None and options.folds < 2:
        raise Wrong(f"--folds must be at least 2, got {options.folds}")


def path_file(model: Path, kind: str) -> Path:
    """The file beside the model, ``m.path.csv`` for ``m.skops``."""
    return model.with_name(f"{model.stem}.path.{kind}")


def chosen(fitted: Fitted, file: Path) -> dict[str, Any]:
    """Write the path beside the model; returns the figures to print."""
    from .models import feature_names, last_step

    model: PathCV = last_step(fitted)
    table = path_file(file, "csv")
    _write_table(model, feature_names(fitted), table)
    figures = {"alpha": model.alpha_, "l2": model.l2_, "path": str(table)}
    if find_spec("matplotlib") is not None:
        figures["picture"] = str(_draw(fitted, path_file(file, "png")))
    return figures


def _write_table(model: PathCV, names: list[str] | None, file: Path) -> None:
    """A line for each alpha: scores, degrees of freedom, gap, and the coefficients by name."""
    import numpy as np

    results, coefs = model.cv_results_, np.atleast_3d(model.coef_path_)
    features = [f"x{j}" for j in range(coefs.shape[2])] if names is None else list(names)
    classes = [""] if len(coefs) == 1 else [f"{label}:" for label in model.classes_]
    shown = [name for name in results if name.endswith("_test_score")]
    header = ["alpha", "chosen", *shown]
    header += [f"{of}{name}" for of in classes for name in ("df", "relative_gap")]
    header += [f"{of}{feature}" for of in classes for feature in features]
    df, gaps = np.atleast_2d(model.df_path_), np.atleast_2d(model.dual_gap_path_)
    with open_output(str(file)) as stream:
        writer = CsvWriter(stream)
        writer.line(header)
        for k, alpha in enumerate(model.alphas_):
            line: list[Any] = [float(alpha), int(alpha == model.alpha_), *(results[name][k] for name in shown)]
            line += [value for c in range(len(classes)) for value in (df[c, k], gaps[c, k])]
            writer.line([*line, *coefs[:, k].ravel().tolist()])


def _draw(model: Fitted, file: Path) -> Path:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    from .._core.files import written_whole
    from ..estimators import PathDisplay

    PathDisplay.from_estimator(model)
    figure = plt.gcf()
    with written_whole(file) as stream:
        figure.savefig(stream, format="png", dpi=150, bbox_inches="tight")
    plt.close(figure)
    return file
