"""The catalogue of case studies: tables with the digests of their values, origin, citation and licence."""

from __future__ import annotations

from typing import NamedTuple

__all__ = ["DIGESTS", "KNOWN", "Entry", "Table"]


class Table(NamedTuple):
    """One file of a case study."""

    file: str
    rows: int
    columns: int
    text: tuple[str, ...] = ()  # columns of a CSV file that look like numbers but are names


class Entry(NamedTuple):
    """One case study."""

    description: str
    source: str
    preparation: str
    citation: str
    licence: str
    tables: dict[str, Table]


_BRAIN = Entry(
    description=(
        "Brain activity (fMRI) of one subject viewing pictures of eight categories: 1,452 volumes of 530 voxels, one "
        "slice."
    ),
    source="https://github.com/PyMVPA/PyMVPA, mvpa2/data, commit 20f0335f98bbb59a0e11bc0b7a469edf8681a9a1",
    preparation=(
        "The voxels inside the mask of the 40 x 20 slice became columns v_i_j, with the raw signal as float32; label "
        "and run of each volume come from the attributes file."
    ),
    citation="Haxby et al. (2001), Science 293:2425-2430; Hanke et al. (2009), Neuroinformatics 7:37-53 (PyMVPA)",
    licence="CC BY-SA 3.0",
    tables={"volumes": Table("haxby_slice.parquet", 1_452, 533)},
)
_COPY_NUMBER = Entry(
    description="Log ratios of DNA copy numbers (y) of 990 probes in the order of a pseudo-chromosome (glioblastoma).",
    source="https://github.com/cran/cghFLasso, data/CGH.rda, commit e0a5e1dcfb3cff257649bec41ad27aadf86fdec2",
    preparation="The series GBM.y was taken as it is; position counts the probes from 1.",
    citation="Tibshirani and Wang (2008), Biostatistics 9:18-29",
    licence="GPL (>= 2), that of the R package",
    tables={"probes": Table("cgh_gbm.csv.gz", 990, 2)},
)
_COVID = Entry(
    description="Daily new cases of Covid-19 in Canada (incident_cases), 23 January 2020 to 28 June 2023.",
    source="https://github.com/dajmcdon/rtestim, data/cancovid.rda, commit fa078efe991c2ed1b90b658e7ec181101665af97",
    preparation=(
        "weighted_past was added by rtestim's formula: the cases up to and including today, weighted by a gamma "
        "distribution of the delay (shape 2.5, scale 2.5). weighted_past_strict leaves out today's cases; it is 0 on "
        "the first day."
    ),
    citation=(
        "Berry et al. (2021), Scientific Data 8; Liu, Cai, Gustafson and McDonald (2024), PLoS Computational Biology, "
        "doi:10.1371/journal.pcbi.1012324"
    ),
    licence="CC BY 4.0",
    tables={"days": Table("canada_covid.csv.gz", 1_253, 4)},
)
_FLIGHTS = Entry(
    description=(
        "Three million flights in the United States, January to June 2001, in time order, with their delay in minutes."
    ),
    source="https://www.npmjs.com/package/vega-datasets, version 3.2.1, data/flights-3m.parquet and data/airports.csv",
    preparation=(
        "Times became minutes since the beginning of 2001, and rows were sorted by them. The distance, which depends "
        "on the route alone, moved to a table of routes with the number of flights; of the airports, the 229 that "
        "occur were kept."
    ),
    citation="US Bureau of Transportation Statistics, On-Time Performance",
    licence=(
        "licence unclear: the package is BSD-3-Clause and states no terms for the flights; airports: US government work"
    ),
    tables={
        "flights": Table("flights_3m.parquet", 3_000_000, 4),
        "routes": Table("flights_routes.csv.gz", 3_399, 4),
        "airports": Table("flights_airports.csv.gz", 229, 7),
    },
)
_GENES = Entry(
    description=(
        "Expression of 2,598 genes (rows, by Entrez id) in 520 breast tumours (columns) of TCGA, with oestrogen "
        "receptor status (er), a gene network and 100 KEGG pathways."
    ),
    source=(
        "https://github.com/cran/netgsa, version 3.1.0, data/breastcancer2012.rda, commit "
        "e1e4c52da1c3b7459763841092cc5d88b0b2a79a; https://github.com/bioc/DLBCL, data/interactome.rda, commit "
        "8f35d6a97b8951775dd34ae69e6fe3fabde2a21b"
    ),
    preparation=(
        "Expression was rounded to float32. The edges are the union of netgsa's KEGG edges and of the HPRD "
        "interactions (DLBCL) between these genes, matched by Entrez id and marked by origin. Gene ids are text in "
        "all tables."
    ),
    citation=(
        "Cancer Genome Atlas Network (2012), Nature 490:61-70; Ma, Shojaie and Michailidis (2016), Bioinformatics 32; "
        "Dittrich et al. (2008), Bioinformatics 24:i223"
    ),
    licence=(
        "licence unclear: the R packages are GPL (>= 2), TCGA's data open; the terms of KEGG and HPRD are not stated"
    ),
    tables={
        "expression": Table("tcga_brca.parquet", 2_598, 521),
        "samples": Table("tcga_brca_samples.csv.gz", 520, 3),
        "edges": Table("tcga_brca_edges.csv.gz", 7_426, 4, text=("gene_a", "gene_b")),
        "pathways": Table("tcga_brca_pathways.csv.gz", 6_362, 2, text=("gene",)),
    },
)
_HOUSING = Entry(
    description="Prices of 21,613 houses sold in King County, Washington, in 2014 and 2015, in 70 zip codes.",
    source="https://github.com/cran/moderndive, data/house_prices.rda, commit 669bca8e3cae4bc549bcc1df9fb3b430b87ac1ad",
    preparation=(
        "glum_role was added: the training and test rows of glum's tutorial on regularisation. The edges between zip "
        "codes were computed from the coordinates of their houses: Delaunay and Gabriel graphs, and pairs of near "
        "houses on two sides of a border."
    ),
    citation=(
        "harlfoxem, House Sales in King County, USA, https://www.kaggle.com/harlfoxem/housesalesprediction; OpenML "
        "42092"
    ),
    licence="CC0 1.0",
    tables={
        "sales": Table("king_county.parquet", 21_613, 22),
        "zip_edges": Table("king_county_zip_edges.csv.gz", 221, 6),
    },
)
_INSURANCE = Entry(
    description=(
        "Belgian motor insurance of 1997: claims (nclaims, amount) of 163,212 policies, their exposure in years "
        "(expo), and properties of driver, car and place."
    ),
    source="https://github.com/dutangc/CASdatasets, data/beMTPL97.rda, commit dbac69aca3dc8dc872a744e20b94c60c06cbd440",
    preparation=(
        "Two columns that follow from nclaims and amount were dropped. fold was added as in Henckaerts et al. (2021): "
        "rows sorted by nclaims, amount and expo, then numbered 1 to 6 in turn."
    ),
    citation=(
        "Henckaerts, Antonio, Clijsters and Verbelen (2018), Scandinavian Actuarial Journal 2018(8):681-705; "
        "Henckaerts, Cote, Antonio and Verbelen (2021), North American Actuarial Journal, arXiv:1904.10890; Dutang "
        "and Charpentier, CASdatasets"
    ),
    licence="licence unclear: the R package is GPL (>= 2), the insurer is not named",
    tables={"policies": Table("be_mtpl97.parquet", 163_212, 17)},
)
_P53 = Entry(
    description=(
        "Expression of 4,301 genes (rows) in 50 cancer cell lines (columns); mutation says whether p53 is mutated (1) "
        "or normal (0); 308 overlapping pathways and a gene network."
    ),
    source=(
        "https://github.com/cran/grpregOverlap, data/pathway.dat.RData, commit "
        "4443743f623ced75a80ca1ecaecca894bb23ffe6; https://github.com/bioc/DLBCL, data/interactome.rda, commit "
        "8f35d6a97b8951775dd34ae69e6fe3fabde2a21b"
    ),
    preparation=(
        "Pathway members that are not on the array were dropped. HPRD interactions (DLBCL) between these genes were "
        "added, matched by symbol. The package's help swaps the two classes; their sizes, 33 mutated and 17 normal, "
        "show it."
    ),
    citation="Subramanian et al. (2005), PNAS 102:15545-15550; Zeng and Breheny (2016), Cancer Informatics 15:179-187",
    licence="licence unclear: the R packages are GPL-3 and GPL (>= 2); the terms of GSEA and HPRD are not stated",
    tables={
        "expression": Table("p53.parquet", 4_301, 51),
        "samples": Table("p53_samples.csv", 50, 2),
        "pathways": Table("p53_groups.csv.gz", 13_237, 2),
        "edges": Table("p53_hprd_edges.csv.gz", 12_344, 2),
    },
)
_RENT = Entry(
    description=(
        "Rent per square metre (rentm) of 2,053 flats in Munich in 2003, 25 areas with their borders, and the model "
        "that the R package smurf fits to them: its penalty weights and its published coefficients."
    ),
    source=(
        "https://github.com/cran/catdata, data/rent.rda, commit a49574995cb09d6e2604aa487233dbe70ab45a6b; "
        "https://github.com/cran/smurf, inst/doc/smurf.html, commit e8db9fc0775f0c584c5d0d1851de4206c7b70893"
    ),
    preparation=(
        "year_decade, quality and size_class were added, and coefficients and borders copied, as in smurf's vignette. "
        "The weights were computed by smurf's formulas; optimum_with_stored_weights is the optimum of the model with "
        "them."
    ),
    citation=(
        "Fahrmeir, Kuenstler, Pigeot and Tutz (2004), Statistik: der Weg zur Datenanalyse, Springer; Gertheiss and "
        "Tutz (2010), Annals of Applied Statistics 4:2150-2180; Devriendt et al. (2021), Insurance: Mathematics and "
        "Economics 96:248-261"
    ),
    licence="licence unclear: the R packages are GPL-2 and GPL (>= 2); the data are from the archive of LMU Munich",
    tables={
        "flats": Table("munich_rent.csv.gz", 2_053, 16),
        "area_edges": Table("munich_rent_area_edges.csv", 59, 2),
        "answer": Table("munich_rent_smurf_answer.csv", 63, 4),
        "weights": Table("munich_rent_penalty_weights.csv.gz", 338, 4, text=("level_a", "level_b")),
    },
)
_SACRAMENTO = Entry(
    description=(
        "Prices of 985 houses sold in Sacramento, California, in five days of May 2008, with their coordinates; 0 "
        "beds, baths or sq__ft stand for missing values."
    ),
    source=(
        "https://github.com/davidhallac/NetworkLasso, Data/Sacramentorealestatetransactions.csv and its _Normalized "
        "twin, commit 466071eb4ca65b1deebc8684f772d3ec5956e9d3"
    ),
    preparation=(
        "Street addresses were dropped, and the repository's standardised columns joined as *_norm. test_in_splits "
        "was added: ten characters, 1 where the house is a test row of that split (200 in each; NumPy, seed 2015)."
    ),
    citation="Hallac, Leskovec and Boyd (2015), Network lasso, KDD, arXiv:1507.00280",
    licence="licence unclear: the repository states none",
    tables={"sales": Table("sacramento.csv.gz", 985, 15, text=("test_in_splits",))},
)

KNOWN = {
    "brain": _BRAIN,
    "copy_number": _COPY_NUMBER,
    "covid": _COVID,
    "flights": _FLIGHTS,
    "genes": _GENES,
    "housing": _HOUSING,
    "insurance": _INSURANCE,
    "p53": _P53,
    "rent": _RENT,
    "sacramento": _SACRAMENTO,
}

DIGESTS = {  # `table_digest` of each file
    "be_mtpl97.parquet": "8d9a1e3a1ccc2d77c3f3e46aa872ab20dff19fe9d57467248b86cb4247f691d0",
    "canada_covid.csv.gz": "01e0d0623b52fce1ea33db99e51c45e9c8823f473f1037861998566192fc2762",
    "cgh_gbm.csv.gz": "7e55aa729263cabb691253065bf0d99a062125fb1bb34a053b93b886757168c1",
    "flights_3m.parquet": "6378d279c4cffb7bb4179ecdf807dc17491781cfa80f4738ef76f419920f4666",
    "flights_airports.csv.gz": "d4373e517b0a0b237bab095bbb2f9fa9b4c3dd67c09a3472fbf625bf8c5d318a",
    "flights_routes.csv.gz": "9be202d9f159b706d5a45945cd14a0b72d7bd7327c1cd5bfd29a98cd9c4032e4",
    "haxby_slice.parquet": "f2a93fbb5b9faeafc57112c93ef2487e71593fe4f49ff15f5e48276c3506d6aa",
    "king_county.parquet": "637739bea6e8c9decf6336db2b3a7ccb186ba447cc3e5d74558ef7e186a11531",
    "king_county_zip_edges.csv.gz": "7a4ef14a03696c3d42cac7335a5d09d000f261fb0f6017146feaa4cd07b78a38",
    "munich_rent.csv.gz": "7b1aa44afb023def646ab97b59c2d03e5211ac01d688651559630a949386c50c",
    "munich_rent_area_edges.csv": "daab7a55cf919cda6342b589da18111ba62cc010d9edfad503c887a5a22c8bbe",
    "munich_rent_penalty_weights.csv.gz": "cd710f98aa82f371963d6ac28b355826c825291518efbd1efb87b5ee405fb670",
    "munich_rent_smurf_answer.csv": "031b63209e61dcf15497984f5e42ada4826abf6d35a2e3a27b8f5e00fcfc0699",
    "p53.parquet": "e88d91404674a7535e4cdd447ef45128d2f88f25a12b648dc4e5c0b9f019619a",
    "p53_groups.csv.gz": "89c3e43e5414264dbb529352f45f386ababc8e8c9d5873a2970b5e047c922f6e",
    "p53_hprd_edges.csv.gz": "3433d20be42acb6db5b7a7d9a9666d9c524f064a93bcda21fc5d3d260545082b",
    "p53_samples.csv": "6dc8d1ca7a28d4c7ba6081e0062766baa5f5a871c78b113db5a4655dac3927b0",
    "sacramento.csv.gz": "45f26d71b8667b96d9a0c79b2e95e5e69a42dda478c08424ea6570fb1257d1a7",
    "tcga_brca.parquet": "e16481a40f82722daaf3a4a2c1c9e9b086b6c089b67d71ee1ca21d8d1e4af84e",
    "tcga_brca_edges.csv.gz": "106cd7df019dd141a608d9a27697befc7c06768183f36e2c9d752bb547ec7e10",
    "tcga_brca_pathways.csv.gz": "19beef7255bf727a119df85b6d4c1f2d234f393cc17b17b195b332beb19d39c5",
    "tcga_brca_samples.csv.gz": "729eecb8b12c4f6e3b7962fcfbce3e20ee7d38b24d5c4c8bc39ad8883f170b74",
}
