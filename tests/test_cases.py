"""The case studies: found, verified, refused. Two small files stand in for a case; the real tables where they are."""

import gzip
import pathlib
import re
import sys

import numpy as np
import pytest

from adasadmm import datasets

pd = pytest.importorskip("pandas", reason="pandas is not installed")
pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
pq = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
casedata = pytest.importorskip("casedata", reason="installed without the repository")
catalogue = pytest.importorskip("catalogue", reason="installed without the repository")

try:
    FOLDER, ABSENT = casedata._folder(), ""
except datasets.DatasetError as error:
    FOLDER, ABSENT = None, str(error)

ROWS = pd.DataFrame(
    {
        "price": [1.5, -0.0, np.nan],
        "rooms": np.array([1, 2, 3], np.int16),
        "kind": pd.Categorical(["b", None, "a"]),
        "day": pd.to_datetime(["2020-01-01", "2020-01-02", None]).astype("datetime64[ms]"),
    }
)
EDGES = b"code,weight,day\n01,0.1,2020-01-01\n02,,2020-01-02\n"


# --- a folder with one small case ------------------------------------------------------------------------------------


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The case "rent" has two small tables here; ADASADMM_CASES names their folder."""
    tables = {
        "rows": catalogue.Table("rows.parquet", 3, 4),
        "edges": catalogue.Table("edges.csv.gz", 2, 3, text=("code",)),
    }
    monkeypatch.setitem(catalogue.KNOWN, "rent", catalogue.KNOWN["rent"]._replace(tables=tables))
    folder = tmp_path / "cases"
    folder.mkdir()
    ROWS.to_parquet(folder / "rows.parquet")
    (folder / "edges.csv.gz").write_bytes(gzip.compress(EDGES))
    edges = {"code": ["01", "02"], "weight": [0.1, np.nan], "day": pd.to_datetime(["2020-01-01", "2020-01-02"])}
    monkeypatch.setitem(catalogue.DIGESTS, "rows.parquet", casedata.table_digest(ROWS))
    monkeypatch.setitem(catalogue.DIGESTS, "edges.csv.gz", casedata.table_digest(pd.DataFrame(edges)))
    monkeypatch.setenv("ADASADMM_CASES", str(folder))
    monkeypatch.delenv("ADASADMM_DATA", raising=False)
    return folder


def test_the_tables_come_with_their_origin(folder):
    rent = casedata.fetch_case("rent")
    assert rent.name == "rent" and list(rent.tables) == ["rows", "edges"]
    assert rent.tables["edges"]["code"].tolist() == ["01", "02"]  # names, not numbers
    assert np.array_equal(rent.tables["edges"]["weight"], [0.1, np.nan], equal_nan=True)
    assert rent.tables["rows"]["rooms"].tolist() == [1, 2, 3] and rent.tables["rows"]["kind"].isna().sum() == 1
    assert "catdata" in rent.source and "Gertheiss" in rent.citation and rent.licence.startswith("licence unclear")
    with pytest.raises(AttributeError):
        rent.name = "other"


def test_repr_shows_tables_columns_and_licence(folder):
    lines = repr(casedata.fetch_case("rent")).splitlines()
    assert lines[0].startswith("Case 'rent': Rent per square metre")
    assert lines[1] == "  tables['rows']: 3 x 4, price, rooms, kind, day"
    assert lines[2] == "  tables['edges']: 2 x 3, code, weight, day"
    assert lines[3].startswith("  licence: unclear: the R packages are GPL-2")
    wide = pd.DataFrame(np.zeros((2, 9)), columns=list("abcdefghi"))
    assert casedata._columns(wide) == "a, b, c, d, e, ..."


def test_cases_beside_the_data_folder_are_found(folder, tmp_path, monkeypatch):
    monkeypatch.delenv("ADASADMM_CASES")
    monkeypatch.setenv("ADASADMM_DATA", f"{tmp_path}/data/")  # it need not exist
    assert casedata._folder() == folder
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ADASADMM_DATA", "data")
    assert casedata._folder() == folder
    monkeypatch.setenv("ADASADMM_CASES", str(tmp_path))  # comes first
    assert casedata._folder() == tmp_path


def test_a_folder_that_is_not_there_is_an_error_that_says_what_to_set(folder, tmp_path, monkeypatch):
    monkeypatch.setenv("ADASADMM_CASES", str(tmp_path / "nowhere"))
    with pytest.raises(datasets.DatasetError, match=r"ADASADMM_CASES is .*nowhere, which does not exist: set it"):
        casedata.fetch_case("rent")
    monkeypatch.setenv("ADASADMM_CASES", str(folder / "rows.parquet"))
    with pytest.raises(datasets.DatasetError, match=r"rows\.parquet, which is not a folder"):
        casedata.fetch_case("rent")
    monkeypatch.delenv("ADASADMM_CASES")
    with pytest.raises(datasets.DatasetError, match="set the environment variable ADASADMM_CASES"):
        casedata.fetch_case("rent")
    monkeypatch.setenv("ADASADMM_DATA", str(tmp_path / "other" / "data"))
    with pytest.raises(datasets.DatasetError, match=r"other/cases, next to .*, does not exist: set ADASADMM_CASES"):
        casedata.fetch_case("rent")


def test_a_missing_file_is_named_with_its_origin(folder):
    (folder / "edges.csv.gz").unlink()
    with pytest.raises(
        datasets.DatasetError, match=r"cases lacks edges\.csv\.gz, which 'rent' needs\. The original is"
    ):
        casedata.fetch_case("rent")


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (EDGES.replace(b"0.1", b"0.2"), "the digest of its values is .* expected"),
        (EDGES.replace(b"0.1", b"oh"), "the digest of its values is .* expected"),
        (EDGES.replace(b"01,", b"1,"), "the digest of its values is .* expected"),
        (EDGES.replace(b"02,,", b"02,NA,"), "the digest of its values is .* expected"),
        (EDGES.replace(b"weight", b"length"), "the digest of its values is .* expected"),
        (EDGES.replace(b"2020-01-02", b"2020-01-32"), "the digest of its values is .* expected"),
        (EDGES[: EDGES.index(b"02")], "it has 1 x 3 values, expected 2 x 3"),
        (EDGES.replace(b"01,0.1", b"01,0.1,7"), "cannot be used"),
        (EDGES + b"03,1,2020-01-03\n", "it has 3 x 3 values, expected 2 x 3"),
        (EDGES + b" " * 900, "it has more than 900 bytes, too many for 2 x 3 values"),
        (b"", "cannot be used"),
        (b"\xff\xfe\n" * 3, "cannot be used"),
    ],
)
def test_a_csv_file_that_says_something_else_is_refused(folder, content, why):
    (folder / "edges.csv.gz").write_bytes(gzip.compress(content))
    refused(folder / "edges.csv.gz", why)


@pytest.mark.parametrize("begin, end", [(0, 20), (0, -4), (4, None)])
@pytest.mark.parametrize("file", ["rows.parquet", "edges.csv.gz"])
def test_a_damaged_file_is_refused(folder, file, begin, end):
    path = folder / file
    path.write_bytes(path.read_bytes()[begin:end])
    refused(path, "cannot be used")


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        (ROWS.assign(rooms=[1, 2, 4]), "the digest of its values is .* expected"),
        (ROWS.assign(kind=["b", "a", None]), "the digest of its values is .* expected"),
        (ROWS.assign(rooms=[[1], [2], [3]]), "cannot be used"),
        (ROWS[["rooms", "price", "kind", "day"]], "the digest of its values is .* expected"),
        (ROWS.iloc[:2], "it has 2 x 4 values, expected 3 x 4"),
        (ROWS.drop(columns="day"), "it has 3 x 3 values, expected 3 x 4"),
    ],
)
def test_a_parquet_file_that_says_something_else_is_refused(folder, changed, why):
    changed.to_parquet(folder / "rows.parquet")
    refused(folder / "rows.parquet", why)


def refused(path, why):
    with pytest.raises(datasets.DatasetError, match=why) as said:
        casedata.fetch_case("rent")
    assert str(said.value).startswith(f"{path} cannot be used: ")
    assert "The original is https://github.com/cran/catdata" in str(said.value)
    assert path.exists(), "a user's own file stays"


def test_other_compression_and_an_index_do_not_matter(folder):
    ROWS.astype({"rooms": "int64", "kind": "str"}).assign(kind=["b", None, "a"]).to_parquet(
        folder / "rows.parquet", compression="gzip", index=False
    )
    (folder / "edges.csv.gz").write_bytes(gzip.compress(EDGES.replace(b"\n", b"\r\n").replace(b"0.1", b"1.0e-1"), 1))
    assert casedata.fetch_case("rent").tables["rows"].shape == (3, 4)


@pytest.mark.parametrize(
    ("wrong", "meant"), [("rents", "rent"), ("Insurance", "insurance"), ("copynumber", "copy_number")]
)
def test_a_wrong_name_gets_the_nearest_one_suggested(wrong, meant):
    with pytest.raises(ValueError, match=rf"no case study '{wrong}'\. Did you mean '{meant}'\? There are: brain, copy"):
        casedata.fetch_case(wrong)


@pytest.mark.parametrize("package", ["pandas", "pyarrow"])
def test_without_a_package_the_error_says_what_to_install(folder, monkeypatch, package):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"need {package}: pip install {package}"):
        casedata.fetch_case("rent")


# --- the digest ------------------------------------------------------------------------------------------------------


def test_the_digest_knows_values_and_not_how_they_are_stored():
    stored = [
        ROWS.assign(rooms=[1.0, 2.0, 3.0]),
        ROWS.assign(price=np.array([1.5, 0.0, np.nan], np.float32)),
        ROWS.assign(price=pd.array([1.5, 0.0, None], dtype="Float64")),
        ROWS.assign(kind=pd.Categorical(["b", None, "a"], categories=["unused", "b", "a"])),
        ROWS.assign(kind=np.array(["b", None, "a"], dtype=object)),
        ROWS.assign(day=ROWS["day"].astype("datetime64[ns]")),
        ROWS.set_index(pd.Index([7, 8, 9])),
    ]
    assert {casedata.table_digest(table) for table in stored} == {casedata.table_digest(ROWS)}


def test_the_digest_differs_where_names_order_or_values_do():
    others = [
        ROWS.rename(columns={"rooms": "room"}),
        ROWS[["rooms", "price", "kind", "day"]],
        ROWS.iloc[::-1],
        ROWS.iloc[:2],
        ROWS.assign(price=[1.5 + 1e-15, 0.0, np.nan]),
        ROWS.assign(price=[1.5, np.nan, 0.0]),
        ROWS.assign(kind=["b", "a", None]),
        ROWS.assign(kind=["b", "", "a"]),
        ROWS.assign(rooms=["1", "2", "3"]),
        ROWS.assign(day=ROWS["day"] + pd.Timedelta("1ms")),
    ]
    assert len({casedata.table_digest(table) for table in [ROWS, *others]}) == len(others) + 1


def test_names_and_values_cannot_run_into_each_other():
    one, other = pd.DataFrame({"ab": ["c", "de"]}), pd.DataFrame({"ab": ["cd", "e"]})
    assert casedata.table_digest(one) != casedata.table_digest(other)


# --- the real tables -------------------------------------------------------------------------------------------------


def test_every_entry_says_where_it_comes_from_and_under_which_licence():
    assert casedata.case_names() == tuple(sorted(catalogue.KNOWN)) == tuple(FACTS)
    files = [table.file for entry in catalogue.KNOWN.values() for table in entry.tables.values()]
    assert sorted(files) == sorted(catalogue.DIGESTS) and len(set(files)) == len(files)
    for entry in catalogue.KNOWN.values():
        assert entry.source.startswith("https://") and all(entry[:5])


def test_the_docs_list_every_case_with_its_tables_and_licence():
    page = pathlib.Path(__file__).parents[1] / "docs" / "datasets.md"
    if not page.exists():
        pytest.skip("installed without the repository")
    for name, entry in catalogue.KNOWN.items():
        tables = ", ".join(f"`{table}`" for table in entry.tables)
        rows = next(iter(entry.tables.values())).rows
        licence = "unclear" if entry.licence.startswith("licence unclear") else entry.licence.partition(",")[0]
        assert re.search(
            rf"^\| `{name}` \| {tables} \| {rows:,} \| .* \| {re.escape(licence)} \|$", page.read_text(), re.M
        )


def brain(volumes):
    kinds = volumes["label"].value_counts()
    assert kinds.pop("rest") == 588 and len(kinds) == 8 and set(kinds) == {108}
    assert volumes["run"].value_counts().tolist() == [121] * 12


def copy_number(probes):
    assert probes["position"].tolist() == list(range(1, 991)) and probes["y"].notna().all()


def covid(days):
    assert (days["date"].diff().dropna() == pd.Timedelta("1D")).all() and str(days["date"][0].date()) == "2020-01-23"
    assert (days["incident_cases"] == 0).sum() == 27 and days["weighted_past_strict"][0] == 0.0


def flights(flights, routes, airports):
    assert flights["minute"].is_monotonic_increasing and (flights["minute"] < 151 * 24 * 60).sum() == 2_497_772
    assert flights["delay"].min() == -1_116 and flights["delay"].max() == 1_688 and routes["flights"].sum() == 3_000_000
    assert set(flights["origin"].unique()) | set(flights["destination"].unique()) == set(airports["iata"])


def genes(expression, samples, edges, pathways):
    assert samples["er"].value_counts().to_dict() == {"positive": 403, "negative": 117}
    assert list(expression.columns[1:]) == list(samples["sample"])
    esr1 = expression.set_index("gene").loc["2099"]
    means = [esr1[samples["sample"][samples["er"] == er]].mean() for er in ("positive", "negative")]
    np.testing.assert_allclose(means, [3.50, -1.78], atol=0.005)
    ends = set(edges["gene_a"]) | set(edges["gene_b"])
    assert len(ends) == 1_657 and ends <= set(expression["gene"])
    assert (edges["kegg_netgsa"].sum(), edges["hprd_2006"].sum()) == (2_959, 6_364)
    assert pathways["pathway"].nunique() == 100 and set(pathways["gene"]) <= set(expression["gene"])


def housing(sales, zip_edges):
    assert sales["glum_role"].value_counts().to_dict() == {"train": 20_831, "excluded": 564, "test": 218}
    assert sales["zipcode"].nunique() == 70 and set(zip_edges["zip_a"]) <= set(sales["zipcode"])
    assert (zip_edges["delaunay"].sum(), zip_edges["gabriel"].sum()) == (196, 128)


def insurance(policies):
    order = policies.sort_values(["nclaims", "amount", "expo"], kind="stable").index
    assert policies["fold"].loc[order].tolist() == list(range(1, 7)) * 27_202  # as in Henckaerts et al. (2021)
    assert policies["nclaims"].sum() == 20_215 and policies["postcode"].nunique() == 583
    assert list(policies["coverage"].cat.categories) == ["TPL", "TPL+", "TPL++"]


def p53(expression, samples, pathways, edges):
    assert samples["mutation"].sum() == 33 and list(expression.columns[1:]) == list(samples["cell_line"])
    assert pathways["pathway"].nunique() == 308 and set(pathways["gene"]) == set(expression["gene"])
    ends = set(edges["gene_a"]) | set(edges["gene_b"])
    assert len(ends) == 2_958 and ends <= set(expression["gene"])


def rent(flats, area_edges, answer, weights):
    assert ((flats["rentm"] - flats["rentm"].mean()) ** 2).sum() == pytest.approx(12_486.047, abs=5e-4)
    assert set(area_edges["area_a"]) | set(area_edges["area_b"]) == set(flats["area"]) == set(range(1, 26))
    assert answer.set_index("term")["estimated"]["area2"] == -0.39622
    assert weights["level_b"].isna().sum() == 10 and (weights["predictor"] == "area").sum() == 300


def sacramento(sales):
    splits = np.array([[int(mark) for mark in marks] for marks in sales["test_in_splits"]])
    assert splits.shape == (985, 10) and splits.sum(axis=0).tolist() == [200] * 10
    assert [(sales[name] == 0).sum() for name in ("beds", "baths", "sq__ft")] == [108, 108, 171]


FACTS = {
    check.__name__: check
    for check in (brain, copy_number, covid, flights, genes, housing, insurance, p53, rent, sacramento)
}


@pytest.mark.parametrize("name", FACTS)
@pytest.mark.data
@pytest.mark.skipif(FOLDER is None, reason=ABSENT)
def test_the_tables_are_those_that_were_prepared(name):
    FACTS[name](**casedata.fetch_case(name).tables)


@pytest.mark.data
@pytest.mark.skipif(FOLDER is None, reason=ABSENT)
def test_every_file_of_the_folder_belongs_to_a_case():
    files = {path.name for path in pathlib.Path(FOLDER).iterdir() if path.suffix in (".parquet", ".csv", ".gz")}
    assert files == set(catalogue.DIGESTS)
