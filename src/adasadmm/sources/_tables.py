"""Files as tables with columns of every type, block by block: for models that encode their columns themselves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ._arrow import Chosen, Columns, Target, choose, pyarrow
from ._faults import SourceError
from ._paths import Paths, kind_of, resolved
from ._states import FileStates

__all__ = ["TableBlock", "Tables", "tables"]

BLOCK_ROWS = 2**17
FORMATS = ("csv", "tsv", "parquet", "arrow")


def tables(
    paths: Paths,
    *,
    target: Target = None,
    weight: str | None = None,
    offset: str | None = None,
    exposure: str | None = None,
    block_rows: int = BLOCK_ROWS,
) -> Tables:
    """Read Parquet, Arrow and CSV files as tables, for models of terms (needs pyarrow).

    Unlike `open`, the columns may have any type, and memory does not grow with the number of rows. The types of CSV
    columns are those that their first rows have; empty fields, NA and the like are missing values.

    Parameters
    ----------
    paths : path, glob pattern, folder, or a list of these
        The files, all of one format.
    target, weight, offset, exposure
        As for `parquet`.
    block_rows : int, default=131072
        The largest number of rows of a block.

    Returns
    -------
    Tables
        It takes the place of X in ``fit``, ``predict`` and ``score`` of `TermsRegressor` and `TermsClassifier`.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from adasadmm import TermsRegressor, sources, terms
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "sales.csv"
    >>> _ = path.write_text("shop,sold\\n" + "north,3\\nsouth,1\\nnorth,4\\nwest,1\\n" * 20)
    >>> model = TermsRegressor([terms.nominal("shop")], alpha=1e-3)
    >>> model.fit(sources.tables(path, target="sold")).levels_
    {'shop': ['north', 'south', 'west']}
    """
    kind = kind_of(paths)
    if kind not in FORMATS:
        raise SourceError(f"tables are .csv, .tsv, .parquet or .arrow files, whose columns have names; got {paths!r}")
    if not isinstance(block_rows, (int, np.integer)) or block_rows < 1:
        raise ValueError(f"block_rows must be a whole number >= 1, got {block_rows!r}")
    return Tables(resolved(paths, kind), kind, Columns(None, target, weight, offset, exposure), int(block_rows))


class TableBlock(NamedTuple):
    """Rows of a table: an Arrow table, and their targets, weights and offsets."""

    table: Any
    y: np.ndarray | None
    weight: np.ndarray | None
    offset: np.ndarray | None
    place: str


class Tables:
    """Files with columns of any type, in partitions: a row group of a Parquet file, or another file.

    `tables` makes it.

    Parameters
    ----------
    paths : list of str
        The files.
    kind : {"parquet", "arrow", "csv", "tsv"}
        Their format.
    columns : Columns
        The columns of targets, weights and offsets.
    block_rows : int
        The largest number of rows of a block.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from adasadmm import sources
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "sales.csv"
    >>> _ = path.write_text("shop,sold\\nnorth,3\\nsouth,1\\n")
    >>> rows = sources.tables(path, target="sold")
    >>> len(rows), rows.columns
    (1, ['shop'])
    """

    def __init__(self, paths: list[str], kind: str, columns: Columns, block_rows: int) -> None:
        pyarrow()
        self.paths, self.kind, self.block_rows = paths, kind, block_rows
        dataset = self._dataset()
        self.chosen: Chosen = choose(dataset.schema.names, columns, paths[0])
        self._partitions = [part for fragment in dataset.get_fragments() for part in _parts(fragment)]
        self._schema = dataset.schema
        self._states = FileStates(part.path for part in self._partitions)

    def __len__(self) -> int:
        return len(self._partitions)

    def __repr__(self) -> str:
        return self.paths[0] if len(self.paths) == 1 else f"{self.paths[0]} and {len(self.paths) - 1} more files"

    @property
    def names(self) -> list[str]:
        """The names of all columns."""
        return self._schema.names

    @property
    def columns(self) -> list[str]:
        """The names of the columns without those of target, weight and offset."""
        return self.chosen.features

    def read(self, partition: int, columns: list[str] | None = None) -> Iterator[TableBlock]:
        """The blocks of one partition in order, with these columns of the table."""
        part, names = self._partitions[partition], self.columns if columns is None else columns
        return self._states.watched(part.path, self._blocks(part, names))

    def _blocks(self, part: Any, names: list[str]) -> Iterator[TableBlock]:
        read = list(dict.fromkeys([*names, *(name for name in self.chosen[1:] if name is not None)]))
        batches = part.to_batches(columns=read, batch_size=self.block_rows, schema=self._schema, use_threads=False)
        try:
            for batch in batches:
                if batch.num_rows:
                    yield self._block(pyarrow().Table.from_batches([batch]), f"{part.path}")
        except (pyarrow().ArrowException, OSError) as error:
            raise SourceError(
                f"{part.path} cannot be read: {error}; if a column of a CSV file has numbers in its first rows and "
                "text in others, save the file as Parquet"
            ) from None

    def _block(self, table: Any, place: str) -> TableBlock:
        target, weight, offset, exposure = (None if name is None else _array(table, name) for name in self.chosen[1:])
        if exposure is not None:
            with np.errstate(divide="ignore", invalid="ignore"):  # an exposure that is not positive is a bad row
                offset = np.log(exposure.astype(np.float64))
        return TableBlock(table, target, weight, offset, place)

    def _dataset(self) -> Any:
        import pyarrow as pa
        import pyarrow.csv
        import pyarrow.dataset

        made: Any = {"parquet": "parquet", "arrow": "ipc"}.get(self.kind)
        if made is None:
            parse = pa.csv.ParseOptions(delimiter="\t" if self.kind == "tsv" else ",")
            read = pa.csv.ReadOptions(block_size=2**24)
            # An empty text is a missing value, as an empty number is.
            convert = pa.csv.ConvertOptions(strings_can_be_null=True)
            made = pa.dataset.CsvFileFormat(parse_options=parse, read_options=read, convert_options=convert)
        try:
            found = pa.dataset.dataset(self.paths, format=made)
            text = self.kind in ("csv", "tsv")
            return pa.dataset.dataset(self.paths, format=made, schema=_widened(found.schema)) if text else found
        except (pa.ArrowException, OSError) as error:
            raise SourceError(f"{self.paths[0]} cannot be read: {error}") from None


def _parts(fragment: Any) -> list[Any]:
    return fragment.split_by_row_group() if hasattr(fragment, "split_by_row_group") else [fragment]


def _widened(schema: Any) -> Any:
    """The schema with floats for integers, because a later row may have a fraction, and text for nulls."""
    pa = pyarrow()
    kinds = [
        pa.float64() if pa.types.is_integer(kind) else pa.string() if pa.types.is_null(kind) else kind
        for kind in schema.types
    ]
    return pa.schema(list(zip(schema.names, kinds, strict=True)))


def _array(table: Any, name: str) -> np.ndarray:
    return table.column(name).to_numpy()
