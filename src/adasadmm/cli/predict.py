"""`adasadmm predict` and `adasadmm graph`: files of rows to a CSV file."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from .command import Commands, add_command, add_output, count, not_negative, print_figures, refuse
from .files import add_reading, add_scale, check_file, guarded, open_table, source_of

__all__ = ["add_commands"]


def add_commands(commands: Commands) -> None:
    """Add the commands ``predict`` and ``graph``."""
    _add_predict(commands)
    _add_graph(commands)


def _add_predict(commands: Commands) -> None:
    """Add the command ``predict``."""
    parser = add_command(
        commands,
        "predict",
        guarded(_predict),
        help="predict with a saved model, for files of any size or standard input",
        about="Write a CSV file with one line per row: the prediction and, for a classifier, its scores. With "
        "--on-bad-row skip, the line of an unreadable row is empty. A text that a spreadsheet would take for a formula "
        "(it starts with =, +, - or @ and is not a number) gets an apostrophe in front.",
        examples=[
            "adasadmm predict m.skops new.csv --out predictions.csv",
            "adasadmm predict m.skops new.csv --proba --keep id,date --out predictions.csv",
            "adasadmm predict m.skops 'parts/*.parquet' | head",
        ],
    )
    parser.add_argument("model", type=Path, metavar="MODEL", help="file written by adasadmm fit --model")
    add_reading(parser, fitted=True)
    group = parser.add_argument_group("predictions")
    group.add_argument(
        "--proba", action="store_true", help="probabilities instead of scores (loss logistic or multinomial)"
    )
    group.add_argument("--keep", metavar="A,B", help="columns of the rows to write before the predictions")
    group.add_argument("--out", default="-", metavar="OUT", help="CSV file of predictions (default: standard output)")


def _predict(options: argparse.Namespace) -> int:
    from ..estimators._terms import TermsModel
    from ..models import load_model
    from . import stream

    model = load_model(options.model, most_expansion=options.most_expansion)
    if isinstance(model, TermsModel):
        from .terms import predict_terms

        return predict_terms(model, options)
    kept = [] if options.keep is None else options.keep.split(",")
    predictions = stream.Predictions(model, options.proba, kept)
    if options.on_bad_row == "skip":
        options.on_bad_row = "mark"  # one line per row, empty if the row cannot be read
    if options.files == ["-"]:
        pieces = stream.pieces(sys.stdin.buffer, options, model.n_features_in_)
    else:
        names = stream.feature_names(model) if options.columns is None else options.columns.split(",")
        source = source_of(
            options.files, options, features=model.n_features_in_, names=names, target=options.target or False
        )
        if kept:
            source.keep(kept)  # type: ignore[attr-defined]
        pieces = source.raw_blocks()
    with open_table(options.out) as table:
        predictions.write(pieces, table)
    return 0


def _add_graph(commands: Commands) -> None:
    """Add the command ``graph``."""
    parser = add_command(
        commands,
        "graph",
        guarded(_graph),
        help="learn a graph over the features, from files of any size",
        about="Learn a graph over the features and write its edges to a CSV file, which you can inspect, edit and "
        "pass to fit --graph.",
        examples=[
            "adasadmm graph rows.csv --target y --out edges.csv",
            "adasadmm graph 'parts/*.parquet' --graph glasso --edges 200 --out edges.csv",
        ],
    )
    add_reading(parser)
    group = parser.add_argument_group("graph")
    group.add_argument("--out", required=True, metavar="OUT", help="CSV file of edges, or - for standard output")
    add_scale(group)
    group.add_argument("--graph", default="glasso", choices=("glasso", "knn"), help="method (default: glasso)")
    group.add_argument(
        "--edges", type=count, metavar="N", help="approximate number of edges, for glasso (default: 2 per feature)"
    )
    group.add_argument("--penalty", type=not_negative, help="penalty of the graphical lasso, instead of --edges")
    add_output(parser)


def _graph(options: argparse.Namespace) -> int:
    from .. import graphs, sources

    if options.graph == "knn":
        refuse(options, dict.fromkeys(("edges", "penalty"), "needs --graph glasso"))
    if options.out != "-":
        check_file(Path(options.out), "--out")
    source = source_of(options.files, options, target=options.target or False)
    settings = {} if options.graph == "knn" else {"edges": options.edges, "penalty": options.penalty}
    graph = getattr(graphs, options.graph)(sources.scaled(source) if options.scale else source, **settings)
    names = source.feature_names or range(source.shape[1])
    with open_table(options.out, escaped=False) as table:  # `fit --graph` reads the names again
        table.line(["source", "target"])
        table.lines((names[i], names[j]) for i, j in graph.edges.tolist())
    print_figures({"rows": source.shape[0], "features": source.shape[1], "edges": graph.n_edges}, options.json)
    for note in () if options.quiet else graph.notes:
        print(note, file=sys.stderr)
    return 0
