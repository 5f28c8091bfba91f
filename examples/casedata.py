"""The case studies: tables read from a local folder, and checked against the digests of their values."""

from __future__ import annotations

import gzip
import hashlib
import importlib
import io
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from catalogue import DIGESTS, KNOWN, Entry, Table

from adasadmm.datasets import DatasetError, check_name

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

__all__ = ["Case", "case_names", "fetch_case", "table_digest"]

_MOST = 100  # a CSV file with more bytes per cell than this is rejected; the tables need at most 21


@dataclass(frozen=True, eq=False, repr=False)
class Case:
    """The tables of one case study, and their origin.

    Attributes
    ----------
    name : str
        The name of the case study, as passed to `fetch_case`.
    tables : dict of str to pandas.DataFrame
        The tables by name.
    description : str
        What the rows are, and which column is the response.
    source : str
        The location of the original data.
    preparation : str
        How the tables were made from the original data.
    citation : str
        The publications to cite.
    licence : str
        The licence stated by the source, or "licence unclear".

    Examples
    --------
    >>> rent = fetch_case("rent")
    >>> rent.tables["area_edges"].shape
    (59, 2)
    """

    name: str
    tables: dict[str, pd.DataFrame]
    description: str
    source: str
    preparation: str
    citation: str
    licence: str

    def __repr__(self) -> str:
        lines = [f"Case {self.name!r}: {self.description}"]
        for name, table in self.tables.items():
            lines.append(f"  tables[{name!r}]: {len(table):,} x {table.shape[1]:,}, {_columns(table)}")
        return "\n".join([*lines, f"  licence: {self.licence.removeprefix('licence ')}"])


def _columns(table: pd.DataFrame, most: int = 6) -> str:
    names = [str(name) for name in table.columns]
    return ", ".join(names if len(names) <= most else [*names[: most - 1], "..."])


def case_names() -> tuple[str, ...]:
    """Return the names that `fetch_case` accepts, in alphabetical order."""
    return tuple(KNOWN)


def fetch_case(name: str) -> Case:
    """Read the tables of a case study and check their values against the recorded digests.

    The files are not part of the package and are never downloaded. They are read from the folder in the environment
    variable ``ADASADMM_CASES`` or, if it is not set, from the folder ``cases`` next to the one in ``ADASADMM_DATA``.
    Reading them needs pandas and pyarrow.

    Parameters
    ----------
    name : str
        The name of a case study, one of `case_names`.

    Returns
    -------
    Case
        A frozen record: ``tables``, a dict of data frames, and ``description``, ``source``, ``preparation``,
        ``citation`` and ``licence``.

    Raises
    ------
    ValueError
        If the name is unknown. The subclass `DatasetError` is raised if the folder or a file is missing or damaged, or
        if a table does not hold the recorded values.
    ImportError
        If pandas or pyarrow is not installed.

    Examples
    --------
    >>> rent = fetch_case("rent")
    >>> rent.tables["flats"][["rentm", "area"]].shape
    (2053, 2)
    """
    entry = KNOWN[check_name(name, case_names(), "case study")]
    _require_packages()
    folder = _folder()
    absent = [table.file for table in entry.tables.values() if not (folder / table.file).is_file()]
    if absent:
        raise DatasetError(f"{folder} lacks {' and '.join(absent)}, which {name!r} needs. {_origin(entry)}")
    tables = {key: _read(folder / table.file, table, entry) for key, table in entry.tables.items()}
    return Case(name, tables, entry.description, entry.source, entry.preparation, entry.citation, entry.licence)


def table_digest(table: pd.DataFrame) -> str:
    """Compute the SHA-256 digest of a table's column names and values.

    The digest does not depend on how values are stored: integers or floats of any width, text or categories, dates of
    any unit. The index is ignored.
    """
    found = hashlib.sha256(np.asarray(table.shape, "<i8").tobytes())
    for position, name in enumerate(table.columns):
        _add_text(found, [str(name)])
        _add_column(found, table.iloc[:, position])
    return found.hexdigest()


def _add_column(found: hashlib._Hash, column: pd.Series) -> None:
    """Add the type and the values of a column. Missing values are NaN, NaT or the code -1."""
    import pandas as pd

    if pd.api.types.is_numeric_dtype(column.dtype):
        values = column.to_numpy(dtype="<f8", na_value=np.nan) + 0.0  # -0.0 becomes 0.0
        found.update(b"number")
        found.update(np.where(np.isnan(values), np.nan, values).tobytes())
    elif pd.api.types.is_datetime64_dtype(column.dtype):
        found.update(b"date")
        found.update(column.to_numpy().astype("<M8[ms]").tobytes())
    else:  # codes into the sorted distinct strings, which are few even in 3,000,000 rows
        codes, distinct = pd.factorize(column)
        texts = [str(text) for text in distinct]
        rank = np.full(len(texts) + 1, -1, "<i4")  # the last entry is for the code -1
        rank[np.argsort(np.array(texts, dtype=object), kind="stable")] = np.arange(len(texts))
        found.update(b"text")
        _add_text(found, sorted(texts))
        found.update(rank[codes].tobytes())


def _add_text(found: hashlib._Hash, texts: list[str]) -> None:
    encoded = [text.encode() for text in texts]
    found.update(np.asarray([len(encoded), *map(len, encoded)], "<i8").tobytes() + b"".join(encoded))


def _require_packages() -> None:
    missing = [package for package in ("pandas", "pyarrow") if not _has(package)]
    if missing:
        raise ImportError(f"the case studies need {' and '.join(missing)}: pip install {' '.join(missing)}")


def _has(package: str) -> bool:
    try:
        importlib.import_module(package)
    except ImportError:
        return False
    return True


def _folder() -> Path:
    """Return the folder of the case studies, or raise if it does not exist."""
    given, data = os.environ.get("ADASADMM_CASES"), os.environ.get("ADASADMM_DATA")
    if not given and not data:
        raise DatasetError(
            "the folder of the case studies is not known: set the environment variable ADASADMM_CASES to it"
        )
    folder = Path(given).expanduser() if given else Path(os.path.abspath(Path(str(data)).expanduser())).parent / "cases"
    if folder.is_dir():
        return folder
    what = "is not a folder" if folder.exists() else "does not exist"
    if given:
        raise DatasetError(f"ADASADMM_CASES is {folder}, which {what}: set it to the folder with the case studies")
    raise DatasetError(
        f"ADASADMM_CASES is not set, and {folder}, next to the folder of ADASADMM_DATA, {what}: "
        "set ADASADMM_CASES to the folder with the case studies"
    )


def _origin(entry: Entry) -> str:
    return f"The original is {entry.source}. {entry.preparation}"


def _read(path: Path, table: Table, entry: Entry) -> pd.DataFrame:
    """Read one file without trusting its size or content, and compare its values with the digest."""
    import pyarrow as pa

    try:
        read = _from_parquet(path, table) if path.suffix == ".parquet" else _from_csv(path, table)
        found = read.to_pandas(ignore_metadata=True, date_as_object=False)
        digest, expected = table_digest(found), DIGESTS[table.file]
        if digest != expected:
            raise ValueError(f"the digest of its values is {digest[:16]}..., expected {expected[:16]}...")
    except (ValueError, TypeError, OSError, EOFError, zlib.error, pa.ArrowException) as error:
        raise DatasetError(f"{path} cannot be used: {str(error).rstrip('.')}. {_origin(entry)}") from error
    return found


def _from_parquet(path: Path, table: Table) -> pa.Table:
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        _check_shape(file.metadata.num_rows, len(file.schema_arrow), table)  # before anything large is read
        return file.read()


def _from_csv(path: Path, table: Table) -> pa.Table:
    """Parse a CSV file; only empty cells are missing values. pyarrow rounds decimals correctly on every machine."""
    import pyarrow as pa
    import pyarrow.csv

    limit = _MOST * (table.rows + 1) * table.columns
    with (gzip.open if path.suffix == ".gz" else open)(path, "rb") as stream:
        content = stream.read(limit + 1)
    if len(content) > limit:
        raise ValueError(f"it has more than {limit:,} bytes, too many for {table.rows:,} x {table.columns:,} values")
    types = dict.fromkeys(table.text, pa.string())
    convert = pa.csv.ConvertOptions(column_types=types, null_values=[""], strings_can_be_null=True)
    found = pa.csv.read_csv(io.BytesIO(content), convert_options=convert)
    _check_shape(found.num_rows, found.num_columns, table)
    return found


def _check_shape(rows: int, columns: int, table: Table) -> None:
    if (rows, columns) != (table.rows, table.columns):
        raise ValueError(f"it has {rows:,} x {columns:,} values, expected {table.rows:,} x {table.columns:,}")
