"""Every source gives the right roles from its file, and says clearly what is wrong with any other file."""

from __future__ import annotations

import gzip
import hashlib
import http.server
import importlib
import os
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from equipoise.cohorts import Cohort, load
from equipoise.cohorts._loading import (
    DATA_VARIABLE,
    cache_folder,
)
from equipoise.foundation import BadInput, registry

NAMES = ["compas", "german_credit", "acs_income", "law_school", "communities_crime"]
DOWNLOADABLE = ["compas", "german_credit", "law_school", "communities_crime"]

# Two columns stand twice in ProPublica's header, and the names of people stand in it too.
COMPAS_HEADER = (
    "name,dob,sex,age,age_cat,race,juv_fel_count,decile_score,juv_misd_count,juv_other_count,priors_count,"
    "days_b_screening_arrest,c_charge_degree,is_recid,decile_score,score_text,priors_count,two_year_recid"
)
COMPAS = f"""{COMPAS_HEADER}
"Doe, Ann",1980-01-01,Female,33,25 - 45,Caucasian,0,2,0,0,1,-1,F,0,2,Low,1,0
"Doe, Bob",1990-01-01,Male,23,Less than 25,African-American,1,9,2,3,4,30,M,1,9,High,4,1
"Doe, Cy",1960-01-01,Male,53,Greater than 45,Hispanic,0,5,0,0,0,-30,F,0,5,Medium,0,0
"Doe, Far",1960-01-01,Male,53,Greater than 45,Hispanic,0,5,0,0,0,31,F,0,5,Medium,0,0
"Doe, Gap",1960-01-01,Male,53,Greater than 45,Hispanic,0,5,0,0,0,,F,0,5,Medium,0,0
"Doe, Lost",1960-01-01,Male,53,Greater than 45,Hispanic,0,5,0,0,0,0,F,-1,5,Medium,0,0
"Doe, Fine",1960-01-01,Male,53,Greater than 45,Hispanic,0,5,0,0,0,0,O,0,5,Medium,0,0
"Doe, None",1960-01-01,Male,53,Greater than 45,Hispanic,0,-1,0,0,0,0,F,0,-1,N/A,0,0
"""
GERMAN = """\
A11 6 A34 A43 1169 A65 A75 4 A93 A101 4 A121 67 A143 A152 2 A173 1 A192 A201 1
A12 48 A32 A43 5951 A61 A73 2 A92 A101 2 A121 22 A143 A152 1 A173 1 A191 A201 2
A14 12 A34 A46 2096 A61 A74 2 A91 A101 3 A121 25 A143 A152 1 A172 2 A191 A201 1
A11 42 A32 A42 7882 A61 A74 2 A94 A103 4 A122 26 A143 A153 1 A173 2 A191 A201 1
A11 24 A33 A40 4870 A61 A73 3 A95 A101 4 A124 53 A143 A153 2 A173 2 A191 A202 2
"""
ACS = """AGEP,COW,SCHL,MAR,OCCP,POBP,RELP,WKHP,SEX,RAC1P,PINCP
19,2,19,5,2850,6,17,2,2,9,0
24,5,18,5,9645,13,17,40,1,2,1
22.0,1.0,19.0,5.0,1520.0,53.0,17.0,45.0,2.0,1.0,True
"""
LAW = """decile1b,decile3,lsat,ugpa,zfygpa,zgpa,fulltime,fam_inc,male,tier,race,pass_bar
10.0,10.0,44.0,3.5,1.33,1.88,1.0,5.0,0.0,4.0,White,1.0
5.0,4.0,29.5,3.5,-0.11,-0.57,2.0,4.0,1.0,2.0,Non-White,0.0
"""
CRIME = """state,communityname,fold,population,racepctblack,ViolentCrimesPerPop,Black,class
8,Lakewoodcity,1,0.19,0.02,0.2,0,0
53,Tukwilacity,1,0,0.12,0.75,1,1
"""
TEXTS = {"compas": COMPAS, "german_credit": GERMAN, "acs_income": ACS, "law_school": LAW, "communities_crime": CRIME}
FILES = {
    "compas": "compas-scores-two-years.csv",
    "german_credit": "german.data",
    "acs_income": "acsincome_co_2018.csv",
    "law_school": "law_school_clean.csv",
    "communities_crime": "communities_crime.csv",
}


@pytest.fixture(autouse=True)
def _nothing_from_outside(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the user's own copies and cache out of the tests that bring their files along."""
    if "real_data" not in request.fixturenames:
        monkeypatch.delenv(DATA_VARIABLE, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")


def write(folder: Path, name: str, text: str | None = None) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / FILES[name]
    path.write_text(TEXTS[name] if text is None else text, encoding="utf-8")
    return path


def values(cohort: Cohort, column: str) -> list[object]:
    return cohort[column].tolist()  # type: ignore[no-any-return]


# Roles, filters and decoding


def test_compas_keeps_the_rows_that_propublica_analysed(tmp_path: Path) -> None:
    cohort = load("compas", path=write(tmp_path, "compas"))
    assert values(cohort, "race") == ["Caucasian", "African-American", "Hispanic"]
    assert values(cohort, "decile_score") == [2, 9, 5]


def test_compas_keeps_every_row_when_asked(tmp_path: Path) -> None:
    cohort = load("compas", path=write(tmp_path, "compas"), all_rows=True)
    assert len(cohort) == 8
    assert values(cohort, "predicted") == [0, 1, 1, 1, 1, 1, 1, None]


def test_compas_predicts_a_return_for_medium_and_high_scores(tmp_path: Path) -> None:
    cohort = load("compas", path=write(tmp_path, "compas"))
    assert values(cohort, "predicted") == [0, 1, 1]
    assert (cohort.prediction, cohort.score) == ("predicted", "decile_score")


def test_compas_counts_staying_free_of_charges_as_favourable(tmp_path: Path) -> None:
    cohort = load("compas", path=write(tmp_path, "compas"))
    assert (cohort.target, cohort.favourable, cohort.task) == ("two_year_recid", "0", "class")
    assert cohort.groups == ("race", "sex", "age_cat")


def test_compas_gives_away_neither_names_nor_the_answer(tmp_path: Path) -> None:
    cohort = load("compas", path=write(tmp_path, "compas"))
    assert not {"name", "dob", "is_recid"} & set(cohort.columns)
    assert not {"two_year_recid", "decile_score", "score_text", "predicted"} & set(cohort.features)


def test_a_charge_degree_that_is_always_f_stays_text(tmp_path: Path) -> None:
    rows = [line for line in COMPAS.splitlines() if ",M," not in line]
    cohort = load("compas", path=write(tmp_path, "compas", "\n".join(rows)))
    assert set(values(cohort, "c_charge_degree")) == {"F"}


def test_german_credit_reads_sex_and_age_group_off_its_codes(tmp_path: Path) -> None:
    cohort = load("german_credit", path=write(tmp_path, "german_credit"))
    assert values(cohort, "sex") == ["male", "female", "male", "male", "female"]
    assert values(cohort, "age") == [67, 22, 25, 26, 53]
    assert values(cohort, "age_group") == ["over 25", "25 and under", "25 and under", "over 25", "over 25"]
    assert values(cohort, "credit") == ["good", "bad", "good", "good", "bad"]


def test_german_credit_has_its_roles(tmp_path: Path) -> None:
    cohort = load("german_credit", path=write(tmp_path, "german_credit"))
    assert (cohort.target, cohort.groups, cohort.favourable) == ("credit", ("sex", "age_group"), "good")
    assert len(cohort.features) == 19
    assert "personal_status" not in cohort.features  # it says the sex


def test_acs_income_says_sex_and_race_in_words(tmp_path: Path) -> None:
    cohort = load("acs_income", path=write(tmp_path, "acs_income"))
    assert values(cohort, "SEX") == ["Female", "Male", "Female"]
    assert values(cohort, "RAC1P") == ["Two or more races", "Black or African American", "White"]


def test_acs_income_reads_whole_numbers_and_truths_as_folktables_writes_them(tmp_path: Path) -> None:
    cohort = load("acs_income", path=write(tmp_path, "acs_income"))
    assert values(cohort, "PINCP") == [0, 1, 1]
    assert values(cohort, "AGEP") == [19, 24, 22]
    assert (cohort.target, cohort.groups, cohort.favourable) == ("PINCP", ("SEX", "RAC1P"), "1")


def test_acs_income_refuses_an_income_in_dollars(tmp_path: Path) -> None:
    path = write(tmp_path, "acs_income", ACS.replace(",9,0", ",9,43000"))
    with pytest.raises(BadInput, match=r"(?s)Row 1 .*'43000'.*'PINCP'.*0 or 1"):
        load("acs_income", path=path)


def test_acs_income_takes_the_file_of_the_state_asked_for(tmp_path: Path) -> None:
    (tmp_path / "acsincome_ne_2018.csv").write_text(ACS, encoding="utf-8")
    assert len(load("acs_income", path=tmp_path, state="NE")) == 3
    with pytest.raises(BadInput, match=r"acsincome_co_2018.csv"):
        load("acs_income", path=tmp_path, state="co")


def test_acs_income_refuses_a_state_that_does_not_exist() -> None:
    with pytest.raises(BadInput, match="state 'colorado' not found"):
        load("acs_income", state="colorado")


def test_law_school_has_its_roles_and_values(tmp_path: Path) -> None:
    cohort = load("law_school", path=write(tmp_path, "law_school"))
    assert (cohort.target, cohort.groups, cohort.favourable) == ("pass_bar", ("race", "male"), "1")
    assert values(cohort, "male") == [0, 1]
    assert values(cohort, "pass_bar") == [1, 0]
    assert values(cohort, "lsat") == [44.0, 29.5]


def test_communities_and_crime_is_a_regression_without_the_column_that_gives_the_answer(tmp_path: Path) -> None:
    cohort = load("communities_crime", path=write(tmp_path, "communities_crime"))
    assert (cohort.task, cohort.target, cohort.groups) == ("regression", "ViolentCrimesPerPop", ("Black",))
    assert cohort.features == ("population", "racepctblack")
    assert "class" not in cohort.columns
    assert values(cohort, "Black") == [0, 1]


@pytest.mark.parametrize("name", NAMES)
def test_a_source_says_where_it_is_from_and_what_is_contested(name: str, tmp_path: Path) -> None:
    cohort = load(name, path=write(tmp_path, name))
    entry = registry.get("cohort", name)
    assert cohort.name == name
    assert entry.paper
    assert entry.summary.endswith(".")
    assert entry.details["licence"]
    for word in ("Source:", "Licence:", "Contested:"):
        assert word in cohort.datasheet


@pytest.mark.parametrize("name", NAMES)
def test_no_group_target_or_prediction_is_a_feature(name: str, tmp_path: Path) -> None:
    cohort = load(name, path=write(tmp_path, name))
    assert not {cohort.target, cohort.prediction, cohort.score, *cohort.groups} & set(cohort.features)


# Files that are not what they should be


@pytest.mark.parametrize(
    ("name", "column"),
    [("compas", "race"), ("acs_income", "RAC1P"), ("law_school", "pass_bar"), ("communities_crime", "Black")],
)
def test_a_file_without_a_needed_column_is_refused_by_its_name(name: str, column: str, tmp_path: Path) -> None:
    path = write(tmp_path, name, TEXTS[name].replace(column, "something_else", 1))
    with pytest.raises(BadInput, match=rf"lacks columns that {name} needs: {column}"):
        load(name, path=path)


def test_every_missing_column_is_named_at_once(tmp_path: Path) -> None:
    path = write(tmp_path, "law_school", "a,b\n1,2\n")
    with pytest.raises(BadInput, match=r"(?s)decile1b, decile3, .*race, male, pass_bar.*this one has a, b"):
        load("law_school", path=path)


@pytest.mark.parametrize(
    ("name", "line"), [("german_credit", 3), ("law_school", 4), ("acs_income", 5), ("communities_crime", 4)]
)
def test_a_line_that_is_cut_short_is_refused(name: str, line: int, tmp_path: Path) -> None:
    kept = "\n".join(TEXTS[name].splitlines()[: line - 1])
    with pytest.raises(BadInput, match=rf"Line {line} of .* has 1 field"):
        load(name, path=write(tmp_path, name, f"{kept}\n1"))


@pytest.mark.parametrize("name", NAMES)
def test_an_empty_file_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"is empty|has no rows"):
        load(name, path=write(tmp_path, name, ""))


@pytest.mark.parametrize("name", ["compas", "acs_income", "law_school", "communities_crime"])
def test_a_file_of_a_header_alone_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="has no rows"):
        load(name, path=write(tmp_path, name, TEXTS[name].splitlines()[0] + "\n"))


def test_a_file_of_which_the_filter_leaves_nothing_is_refused(tmp_path: Path) -> None:
    rows = [line for line in COMPAS.splitlines() if line.startswith(("name", '"Doe, Far"'))]
    with pytest.raises(BadInput, match="has no rows"):
        load("compas", path=write(tmp_path, "compas", "\n".join(rows)))


def test_a_code_that_has_no_meaning_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"(?s)Row 1 of 'german.data' has 'A99'.*A91, A92"):
        load("german_credit", path=write(tmp_path, "german_credit", GERMAN.replace("A93", "A99")))


def test_a_number_that_is_none_is_refused_with_its_row_and_column(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"(?s)Row 2 .*'29,5'.*'lsat'.*a number"):
        load("law_school", path=write(tmp_path, "law_school", LAW.replace("29.5", '"29,5"')))


def test_a_file_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path, "communities_crime")
    path.write_bytes(CRIME.replace("Lakewoodcity", "Cañoncity").encode("latin-1"))
    with pytest.raises(BadInput, match="not UTF-8"):
        load("communities_crime", path=path)


@pytest.mark.parametrize("damage", ["not gzip", "cut off", "one byte changed"])
def test_a_damaged_gzip_file_is_refused(damage: str, tmp_path: Path) -> None:
    packed = gzip.compress(LAW.encode())
    broken = {
        "not gzip": LAW.encode(),
        "cut off": packed[:-20],
        "one byte changed": packed[:20] + bytes([packed[20] ^ 255]) + packed[21:],
    }
    path = tmp_path / "law_school_clean.csv.gz"
    path.write_bytes(broken[damage])
    with pytest.raises(BadInput, match="could not be read"):
        load("law_school", path=path)


def test_a_quote_that_never_closes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"Line 2|not proper CSV"):
        load("law_school", path=write(tmp_path, "law_school", LAW.replace("White", '"White', 1)))


def test_a_byte_order_mark_and_windows_lines_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "law.csv"
    path.write_bytes(b"\xef\xbb\xbf" + LAW.replace("\n", "\r\n").encode())
    assert values(load("law_school", path=path), "race") == ["White", "Non-White"]


# Finding the file


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("packed", [False, True])
def test_a_local_copy_is_found_below_the_data_folder(
    name: str, packed: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "data" / name, name)
    if packed:
        path.with_name(f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "data"))
    assert len(load(name)) >= 2


@pytest.mark.parametrize("name", NAMES)
def test_an_absent_file_says_how_to_get_it(name: str) -> None:
    with pytest.raises(BadInput) as caught:
        load(name)
    assert FILES[name] in caught.value.available
    assert caught.value.help.startswith(("Get ", "Make "))
    assert f"load({name!r}, path=...)" in caught.value.help
    assert ("download=True" in caught.value.help) == (name in DOWNLOADABLE)


def test_acs_income_cannot_be_downloaded_and_names_folktables_instead() -> None:
    with pytest.raises(BadInput, match=r"(?s)folktables.*\(NE\).*acsincome_ne_2018.csv"):
        load("acs_income", state="ne", download=True)


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_path_is_refused_even_when_a_download_is_allowed(name: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=f"There is no {name} file"):
        load(name, path=tmp_path / "nowhere.csv", download=True)


# Downloading, from a server of our own


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    folder = tmp_path / "served"
    for name in DOWNLOADABLE:
        write(folder, name)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *given: object, **named: object) -> None:
            super().__init__(*given, directory=str(folder), **named)  # type: ignore[arg-type]

        def log_message(self, *given: object) -> None:
            """Say nothing."""

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet) as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


def point_to(monkeypatch: pytest.MonkeyPatch, name: str, address: str, sha256: str) -> None:
    module = importlib.import_module(f"equipoise.cohorts.sources.{name}")
    monkeypatch.setattr(module, "SOURCE", replace(module.SOURCE, url=address, sha256=sha256))


def digest(name: str) -> str:
    return hashlib.sha256(TEXTS[name].encode()).hexdigest()


def kept_in_cache() -> list[Path]:
    return [path for path in cache_folder().rglob("*") if path.is_file()]


@pytest.mark.parametrize("name", DOWNLOADABLE)
def test_a_download_with_the_right_checksum_is_kept_and_used_again(
    name: str, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    point_to(monkeypatch, name, f"{server}/{FILES[name]}", digest(name))
    first = load(name, download=True)
    assert kept_in_cache() == [cache_folder() / name / FILES[name]]
    point_to(monkeypatch, name, "http://127.0.0.1:9/gone", digest(name))
    assert values(load(name), first.target) == values(first, first.target)


@pytest.mark.parametrize("name", DOWNLOADABLE)
def test_a_download_with_the_wrong_checksum_is_refused_and_not_kept(
    name: str, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    point_to(monkeypatch, name, f"{server}/{FILES[name]}", "0" * 64)
    with pytest.raises(
        BadInput, match=rf"(?s)does not have the expected checksum \(sha256 {digest(name)}\).*nothing was kept"
    ):
        load(name, download=True)
    assert kept_in_cache() == []


def test_nothing_is_downloaded_unless_asked(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    point_to(monkeypatch, "compas", f"{server}/{FILES['compas']}", digest("compas"))
    with pytest.raises(BadInput, match="There is no local copy"):
        load("compas")
    assert kept_in_cache() == []


def test_a_local_copy_is_preferred_to_a_download(server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    point_to(monkeypatch, "law_school", f"{server}/{FILES['law_school']}", digest("law_school"))
    write(tmp_path / "data" / "law_school", "law_school", "\n".join(LAW.splitlines()[:2]))
    monkeypatch.setenv(DATA_VARIABLE, str(tmp_path / "data"))
    assert len(load("law_school", download=True)) == 1
    assert kept_in_cache() == []


def test_a_server_that_cannot_be_reached_is_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.BaseHTTPRequestHandler) as closed:
        address = f"http://127.0.0.1:{closed.server_port}/{FILES['compas']}"
    point_to(monkeypatch, "compas", address, digest("compas"))
    with pytest.raises(BadInput, match=r"(?s)could not be downloaded.*Get compas-scores-two-years.csv"):
        load("compas", download=True)


def test_a_file_the_server_does_not_have_is_said_to_be_missing(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    point_to(monkeypatch, "compas", f"{server}/moved.csv", digest("compas"))
    with pytest.raises(BadInput, match=r"could not be downloaded \(.*404"):
        load("compas", download=True)


@pytest.mark.parametrize("name", DOWNLOADABLE)
def test_an_address_is_given_only_with_its_checksum(name: str) -> None:
    source = importlib.import_module(f"equipoise.cohorts.sources.{name}").SOURCE
    assert source.url.startswith("https://")
    assert source.url.endswith(source.files[0])
    assert len(bytes.fromhex(source.sha256)) == 32


# The real data


@pytest.fixture
def real_data() -> Path:
    folder = os.environ.get(DATA_VARIABLE)
    if not folder:
        pytest.skip(f"{DATA_VARIABLE} does not say where the real data is")
    return Path(folder)


@pytest.mark.usefixtures("real_data")
@pytest.mark.parametrize(
    ("name", "options", "rows", "favoured"),
    [
        ("compas", {}, 6_172, 3_363),
        ("compas", {"all_rows": True}, 7_214, 3_963),
        ("german_credit", {}, 1_000, 700),
        ("acs_income", {"state": "co"}, 31_306, 12_972),
        ("acs_income", {"state": "ne"}, 10_785, 3_368),
        ("law_school", {}, 20_798, 18_505),
    ],
)
def test_the_real_data_has_the_known_number_of_rows(
    name: str, options: dict[str, object], rows: int, favoured: int
) -> None:
    cohort = load(name, **options)
    assert len(cohort) == rows
    assert [str(value) for value in values(cohort, cohort.target)].count(str(cohort.favourable)) == favoured
    assert cohort.card().rows == rows


@pytest.mark.usefixtures("real_data")
@pytest.mark.parametrize(("all_rows", "people"), [(False, 11), (True, 18)])
def test_compas_has_few_native_americans(all_rows: bool, people: int) -> None:
    assert values(load("compas", all_rows=all_rows), "race").count("Native American") == people


@pytest.mark.usefixtures("real_data")
@pytest.mark.parametrize(
    ("race", "wrongly_feared", "wrongly_trusted"), [("African-American", 0.4485, 0.2799), ("Caucasian", 0.2345, 0.4772)]
)
def test_compas_gives_the_error_rates_that_propublica_published(
    race: str, wrongly_feared: float, wrongly_trusted: float
) -> None:
    """ProPublica counted its error rates over all rows; the filter is that of its regressions."""
    cohort = load("compas", all_rows=True)
    here = cohort["race"] == race
    stayed, predicted = cohort["two_year_recid"] == 0, cohort["predicted"] == 1
    assert np.mean(predicted[here & stayed]) == pytest.approx(wrongly_feared, abs=5e-5)
    assert np.mean(~predicted[here & ~stayed]) == pytest.approx(wrongly_trusted, abs=5e-5)


@pytest.mark.usefixtures("real_data")
def test_communities_and_crime_has_its_places_and_groups() -> None:
    cohort = load("communities_crime")
    assert len(cohort) == 1_994
    assert Counter(values(cohort, "Black")) == {1: 1_038, 0: 956}
    assert len(cohort.features) == 99
    assert np.array_equal(cohort["Black"] == 1, cohort["racepctblack"] >= 0.06)


@pytest.mark.usefixtures("real_data")
def test_german_credit_has_the_known_groups() -> None:
    cohort = load("german_credit")
    assert Counter(values(cohort, "sex")) == {"male": 690, "female": 310}
    assert Counter(values(cohort, "age_group")) == {"over 25": 810, "25 and under": 190}


@pytest.mark.usefixtures("real_data")
@pytest.mark.parametrize("name", NAMES)
def test_no_feature_of_the_real_data_is_missing(name: str) -> None:
    cohort = load(name)
    for feature in cohort.features:
        column = cohort[feature]
        assert not (np.isnan(column).any() if column.dtype.kind == "f" else None in column.tolist()), feature


@pytest.mark.parametrize("name", ["german_credit", "law_school", "communities_crime"])
def test_the_local_copies_are_the_files_that_the_addresses_give(name: str, real_data: Path) -> None:
    """COMPAS is left out: its local copy may lack the columns that identify people."""
    source = importlib.import_module(f"equipoise.cohorts.sources.{name}").SOURCE
    path = next(real_data / name / file for file in source.files if (real_data / name / file).is_file())
    content = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    assert hashlib.sha256(content).hexdigest() == source.sha256
