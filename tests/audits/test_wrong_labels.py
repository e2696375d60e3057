"""Labels and thresholds that would give a confident wrong number are refused; equal spellings are one class."""

from typing import Any

import numpy as np
import pandas as pd
import pytest

from equipoise import BadInput, Counts, audit


def people(rows: int = 400) -> pd.DataFrame:
    generator = np.random.default_rng(5)
    sex = generator.choice(["f", "m"], rows)
    approved = generator.random(rows) < np.where(sex == "f", 0.3, 0.6)
    return pd.DataFrame({
        "sex": sex,
        "true": np.where(generator.random(rows) < 0.8, approved, ~approved),
        "said": approved,
        "probability": np.clip(0.25 + 0.5 * approved + generator.normal(0, 0.1, rows), 0, 1),
    })  # fmt: skip


def audited(frame: pd.DataFrame, **options: Any) -> Any:
    return audit(frame, **{"target": "true", "sensitive_features": "sex", "draws": 0, **options})


def test_predictions_that_share_no_class_with_the_target_do_not_pass_the_gate(tmp_path, equipoise):
    frame = people().assign(true=lambda rows: rows["true"].map({True: "yes", False: "no"}), said=people()["said"] * 1)
    file = tmp_path / "people.csv"
    frame.to_csv(file, index=False)
    command = ["audit", str(file), "--target", "true", "--prediction", "said", "--group", "sex", "--favourable", "yes"]
    told = equipoise(*command, "--fail-if", "EOTP > 0.1", "--fail-if", "DP > 0.1")
    assert told.code == 2
    assert "No prediction is a class of the target" in told.err
    with pytest.raises(BadInput, match="'true' holds 'no', 'yes', and column 'said' holds '0', '1'"):
        audited(frame, prediction="said", favourable="yes")


def test_counts_and_labels_that_share_no_class_are_refused():
    counts = Counts()
    counts.update(["yes", "no"] * 5, [1, 0] * 5, sensitive_features={"sex": ["f", "m"] * 5})
    with pytest.raises(BadInput, match="No prediction is a class of the target"):
        audit(counts)
    frame = people().assign(other=lambda rows: np.where(rows["said"], "present", "absent"))
    with pytest.raises(BadInput, match="No prediction is a class of the target"):
        audited(frame, prediction="other", task="multilabel")


def test_a_small_file_with_0_in_one_column_and_1_in_the_other_is_audited():
    frame = pd.DataFrame({"sex": ["f", "m"] * 4, "true": [0] * 8, "said": [1] * 8})
    assert audited(frame, prediction="said").find("accuracy", group=None)[0].value == 0.0


@pytest.mark.parametrize("spelling", ["1", "1.0", "true", "True", "TRUE", 1, 1.0, True])
def test_the_favourable_class_of_a_boolean_column_has_many_spellings(spelling):
    told = audited(people(), prediction="said", favourable=spelling)
    assert told.favourable == "True"
    assert told.find("DP", scope="favourable") == audited(people(), prediction="said", favourable="True").find(
        "DP", scope="favourable"
    )


@pytest.mark.parametrize("spelling", ["1", "1.0", "true", True])
def test_the_favourable_class_of_0_and_1_has_many_spellings(spelling):
    frame = people().assign(true=lambda rows: rows["true"] * 1, said=lambda rows: rows["said"] * 1)
    assert audited(frame, prediction="said", favourable=spelling).favourable == "1"


def test_a_class_of_the_score_that_nobody_has_is_refused():
    frame = people().assign(true=lambda rows: rows["true"] * 1, said=lambda rows: rows["said"] * 1)
    with pytest.raises(BadInput, match="class '7' not found"):
        audited(frame, prediction="said", score="probability", score_class="7")
    with pytest.raises(BadInput, match="class 'yes' not found"):
        audited(frame, score="probability", favourable="yes")


@pytest.mark.parametrize("scores", [lambda p: 100 * p, lambda p: 8 * (p - 0.5)])
def test_scores_that_are_no_probabilities_need_a_threshold(scores):
    frame = people().assign(true=lambda rows: rows["true"] * 1, score=lambda rows: scores(rows["probability"]))
    with pytest.raises(BadInput, match="no threshold was given"):
        audited(frame, score="score")
    assert audited(frame, score="score", threshold=float(scores(0.5))).provenance["options"]["threshold"] is not None


def test_a_threshold_beside_a_prediction_is_refused_instead_of_ignored():
    frame = people()
    with pytest.raises(BadInput, match="no score that it would cut"):
        audited(frame, prediction="said", score="probability", threshold=0.3)
    assert audited(frame, prediction="said", score="probability").provenance["options"]["threshold"] is None
    assert audited(frame, score="probability").provenance["options"]["threshold"] == 0.5


@pytest.mark.parametrize("gap", ["5%", "0.05", 5, 0, -0.1, float("nan")])
def test_a_gap_of_interest_that_is_no_share_is_refused_in_words(gap):
    with pytest.raises(BadInput, match="gap of interest"):
        audited(people(), prediction="said", gap_of_interest=gap)


def test_true_and_1_in_one_column_are_one_class_and_make_no_finding(tmp_path):
    frame = people().assign(said=lambda rows: rows["true"] * 1)
    spelt = np.where(frame["sex"] == "f", frame["true"].astype(str), (frame["true"] * 1).astype(str))
    mixed = audited(frame.assign(true=spelt), prediction="said", favourable=1)
    assert mixed.classes == ("0", "1")
    assert all(record.value == 1.0 for record in mixed.find("accuracy", kind="rate"))
    assert not any(record.finding for record in mixed.find("accuracy"))
    counts = Counts()
    for sex, kind in (("f", bool), ("m", int)):
        own = frame[frame["sex"] == sex]
        counts.update(own["true"].astype(kind), own["said"], sensitive_features={"sex": own["sex"]})
    assert audit(counts, draws=0).find("accuracy", group=None)[0].value == 1.0


def test_spellings_of_true_by_different_programs_are_one_class():
    frame = people().assign(true=lambda rows: rows["true"].map({True: "TRUE", False: "FALSE"}))
    told = audited(frame, prediction="said", favourable="TRUE")
    assert told.classes == ("0", "1")
    assert told.favourable == "1"


@pytest.mark.parametrize("unit", [1000.0, 1e-6])
def test_power_the_four_fifths_rule_and_the_words_do_not_depend_on_the_unit_of_the_weights(unit):
    generator = np.random.default_rng(9)
    frame = people(1500).assign(weight=generator.lognormal(0, 0.7, 1500))
    for own in (frame, frame.assign(said=generator.random(1500) < 0.5)):  # with a difference, and without
        once = audited(own, prediction="said", favourable=True, weight="weight", draws=200)
        again = audited(
            own.assign(weight=own["weight"] * unit), prediction="said", favourable=True, weight="weight", draws=200
        )
        assert once.words == again.words
        for first, second in zip(once.four_fifths, again.four_fifths, strict=True):
            assert second.share == pytest.approx(first.share)
            assert second.probability_broken == pytest.approx(first.probability_broken, abs=1e-9)
        for first, second in zip(once.power, again.power, strict=True):
            assert second.detectable == pytest.approx(first.detectable, rel=0.05)


def test_rows_of_clusters_count_as_no_more_people_than_there_are_clusters():
    generator = np.random.default_rng(6)
    frame = people(400).assign(said=generator.random(400) < 0.5)
    many = pd.concat([frame.assign(person=range(400))] * 10)
    alone = audited(frame, prediction="said", favourable=True, draws=100)
    clustered = audited(many, prediction="said", favourable=True, cluster="person", draws=100)
    for first, second in zip(alone.power, clustered.power, strict=True):
        assert second.detectable == pytest.approx(first.detectable, rel=0.05)


def test_a_gap_of_interest_may_be_a_number_of_numpy():
    assert audited(people(), prediction="said", favourable=True, gap_of_interest=np.float32(0.05), draws=50).power
