"""The verdicts on the paper's claims follow from the figures."""

from adasadmm.paper.claims import claims


def record(algorithm, objective, seconds=1.0, early=(0.5, 0.2), error=0.1, dataset="data"):
    trace = {"epoch": [0.0, 0.25, 2.0], "objective": [1.0, early[0], objective], "test_error": [0.5, early[1], error]}
    figures = {"objective": objective, "seconds": seconds, "test_error": error, "optimum": 0.1, "test_rows": 100}
    return {"dataset": dataset, "algorithm": algorithm, "seed": 0, "trace": trace, **figures}


def test_claims_follow_from_the_figures():
    papers = [record("sadmm", 0.9), record("ada-diag", 0.3, 1.5), record("ada-full", 0.2, 9.0)]
    verdicts = [claim.verdict for claim in claims(papers)]
    assert verdicts[:3] == ["holds on 1 of 1"] * 3
    assert verdicts[3] == "fails on 1 of 1"  # 0.2 at a quarter of an epoch, 0.1 + 0.03 allowed
    assert verdicts[4:6] == ["holds on 1 of 1"] * 2
    assert verdicts[6].startswith("not checked") and "sadmm-sqrt" in verdicts[6]
    reverse = [
        record("sadmm", 0.1, 9.0),
        record("ada-diag", 0.2, 99.0),
        record("ada-full", 0.3),
        record("sadmm-sqrt", 0.11),
    ]
    found = claims(reverse)
    assert [claim.verdict for claim in found] == ["fails on 1 of 1"] * 7
    assert "0.1" in found[-1].evidence["data"]
    both = papers + [{**one, "dataset": "other"} for one in reverse]
    assert claims(both)[0].verdict == "holds on 1 of 2" and claims(both)[0].holds == {"data": True, "other": False}


def test_a_claim_compares_the_seeds_that_all_have_and_nothing_that_was_not_reached():
    papers = [record("sadmm", 0.9), record("ada-diag", 0.3), record("ada-full", 0.2)]
    lucky = [{**record(name, 9.0), "seed": 1} for name in ("sadmm", "ada-diag")]  # of ada-full the second seed failed
    assert claims(papers + lucky)[0].evidence["data"] == "objective: diagonal 0.3, full 0.2, SADMM 0.9"
    short = [{**one, "trace": {name: column[:1] for name, column in one["trace"].items()}} for one in papers]
    early = claims(short)[1]
    assert early.verdict == "not checked: needs sadmm, ada-diag, ada-full in one run of 0.25 epochs or more"
    unknown = [{**one, "optimum": None} for one in [*papers, record("sadmm-sqrt", 0.4)]]
    assert [claim.state for claim in claims(unknown)][::6] == ["holds", "open"]
