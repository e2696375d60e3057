"""Ask other fairness libraries the questions of docs/guide/peers.md, and print what each answers.

python tools/peers.py [NAME]...

Each library answers in the environment that has it; those that are not installed are named and left out. What a cell
of the page says of a function that is or is not there was read in the installed source.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import logging
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

NAN = float("nan")
# target, prediction, group
TWO_GROUPS = ([1, 0, 1, 0, 1, 0], [1, 1, 0, 0, 1, 0], [0, 0, 0, 1, 1, 1])
QUESTIONS: dict[str, tuple[list[Any], list[Any], list[Any]]] = {
    "two groups": TWO_GROUPS,
    "three groups": ([1, 0, 1, 0, 1, 0], [1, 1, 1, 0, 0, 0], [0, 0, 1, 1, 2, 2]),
    "nobody in a denominator": ([0, 0, 1, 0], [0, 1, 1, 0], [0, 0, 1, 1]),  # group 0 has no positives
    "text": (["yes", "no", "yes", "no"], ["yes", "yes", "no", "no"], [0, 0, 1, 1]),
    "scores": ([1, 0, 1, 0], [0.9, 0.8, 0.1, 0.2], [0, 0, 1, 1]),
    "one group": ([1, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 0]),
    "a missing group": ([1, 0, 1, 0, 1], [1, 1, 0, 0, 1], [0, 0, 1, 1, NAN]),
    "three classes": ([0, 1, 2, 0, 1, 2], [0, 1, 2, 1, 1, 0], [0, 0, 0, 1, 1, 1]),
    "several labels": ([[1, 0], [0, 1], [1, 1], [0, 0]], [[1, 0], [1, 1], [0, 1], [0, 0]], [0, 0, 1, 1]),
    "regression": ([0.1, 1.7, 2.2, 3.1], [0.3, 1.1, 2.9, 2.5], [0, 0, 1, 1]),
}


def fairlearn(target: list[Any], prediction: list[Any], group: list[Any]) -> dict[str, Callable[[], Any]]:
    """Return what is asked of Fairlearn: named gaps, and any function of each group."""
    import numpy
    from fairlearn import metrics

    def call(name: str) -> Callable[[], Any]:
        return lambda: getattr(metrics, name)(target, prediction, sensitive_features=group)

    def by_group(function: Callable[..., Any]) -> Callable[[], Any]:
        return lambda: metrics.MetricFrame(
            metrics={"rate": function, "rows": metrics.count},
            y_true=target,
            y_pred=prediction,
            sensitive_features=group,
        ).by_group.to_dict()

    return {
        "demographic_parity_difference": call("demographic_parity_difference"),
        "equalized_odds_difference": call("equalized_odds_difference"),
        "MetricFrame of true_positive_rate": by_group(metrics.true_positive_rate),
        "MetricFrame of the mean error": by_group(lambda y, p: float(abs(numpy.subtract(y, p)).mean())),
    }


def aif360(target: list[Any], prediction: list[Any], group: list[Any]) -> dict[str, Callable[[], Any]]:
    """Return what is asked of AIF360, of its data sets and of its functions in the style of scikit-learn."""
    import numpy
    import pandas
    from aif360.datasets import BinaryLabelDataset
    from aif360.metrics import ClassificationMetric
    from aif360.sklearn import metrics

    frame = pandas.DataFrame({"y": list(target), "group": group})

    def call(name: str) -> Callable[[], Any]:
        series = pandas.Series(list(target), index=pandas.Index(group, name="group"))
        return lambda: float(getattr(metrics, name)(series, numpy.array(prediction), prot_attr="group", priv_group=1))

    def data(values: list[Any]) -> Any:
        return BinaryLabelDataset(
            df=frame.assign(y=list(values)),
            label_names=["y"],
            protected_attribute_names=["group"],
            favorable_label=1,
            unfavorable_label=0,
        )

    def metric(name: str, **options: Any) -> Callable[[], Any]:
        return lambda: getattr(
            ClassificationMetric(
                data(target), data(prediction), privileged_groups=[{"group": 1}], unprivileged_groups=[{"group": 0}]
            ),
            name,
        )(**options)

    return {
        "sklearn.metrics.statistical_parity_difference": call("statistical_parity_difference"),
        "sklearn.metrics.equal_opportunity_difference": call("equal_opportunity_difference"),
        "ClassificationMetric.statistical_parity_difference": metric("statistical_parity_difference"),
        "ClassificationMetric.true_positive_rate (group 0)": metric("true_positive_rate", privileged=False),
        "ClassificationMetric.num_true_positives": metric("num_true_positives"),
    }


def aequitas(target: list[Any], prediction: list[Any], group: list[Any]) -> dict[str, Callable[[], Any]]:
    """Return what is asked of Aequitas: its table of groups."""
    import pandas
    from aequitas.audit import Audit

    def table() -> Any:
        names = [value if value != value else f"g{value}" for value in group]
        frame = pandas.DataFrame({"score": list(prediction), "label": list(target), "group": names})
        audit = Audit(frame, score_column="score", label_column="label", sensitive_attribute_column=["group"])
        audit.audit()
        found = audit.disparity_df if audit.disparity_df is not None else audit.metrics_df
        columns = ["attribute_value", "tpr", "tp", "group_label_pos", "pprev", "pprev_disparity"]
        return found[[name for name in columns if name in found]].to_dict("records")

    return {"Audit": table}


def fairlib(target: list[Any], prediction: list[Any], group: list[Any]) -> dict[str, Callable[[], Any]]:
    """Return what is asked of fairlib: the scores of its evaluator."""
    # The package's door starts argument parsers and networks: the file of the evaluator alone is enough.
    from importlib.machinery import PathFinder

    spec = PathFinder.find_spec("fairlib")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    source = f"{spec.submodule_search_locations[0]}/src/evaluators/evaluator.py"
    place = importlib.util.spec_from_file_location("fairlib_evaluator", source)
    assert place is not None
    assert place.loader is not None
    module = importlib.util.module_from_spec(place)
    place.loader.exec_module(module)

    def scores(args: Any = None) -> Any:
        values, tables = module.gap_eval_scores(prediction, target, group, args=args)
        rates = {key: module.confusion_matrix_based_scores(table)["TPR"].tolist() for key, table in tables.items()}
        return {key: float(value) for key, value in values.items() if key.endswith("_GAP")} | {"TPR": rates}

    return {
        "gap_eval_scores": scores,
        "gap_eval_scores of a regression": lambda: scores(types.SimpleNamespace(regression=True, regression_bins=4)),
    }


def torchmetrics(target: list[Any], prediction: list[Any], group: list[Any]) -> dict[str, Callable[[], Any]]:
    """Return what is asked of TorchMetrics: its fairness of two classes."""
    import torch
    from torchmetrics.functional.classification import binary_fairness, binary_groups_stat_rates

    def tensors() -> tuple[Any, Any, Any]:
        return torch.tensor(prediction), torch.tensor(target), torch.tensor(group)

    return {
        "binary_fairness": lambda: {key: float(value) for key, value in binary_fairness(*tensors()).items()},
        "binary_groups_stat_rates": lambda: {
            key: [round(part, 3) for part in value.tolist()]
            for key, value in binary_groups_stat_rates(*tensors(), num_groups=len(set(group))).items()
        },
    }


LIBRARIES = {
    "fairlearn": fairlearn,
    "aif360": aif360,
    "aequitas": aequitas,
    "fairlib": fairlib,
    "torchmetrics": torchmetrics,
}


def answer(function: Callable[[], Any]) -> str:
    """Return what a library answers, or how it refuses."""
    try:
        return str(function())
    except Exception as error:  # noqa: BLE001 - that it refuses, and how, is the answer
        return f"refused: {type(error).__name__}: {' '.join(str(error).split())[:160]}"


def main(names: list[str]) -> None:
    """Print what each library answers."""
    warnings.simplefilter("ignore")
    logging.disable()
    for name in names or LIBRARIES:
        try:
            version = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            print(f"{name}: not installed")
            continue
        print(f"\n{name} {version}")
        for question, rows in QUESTIONS.items():
            print(f"  {question}")
            try:
                functions = LIBRARIES[name](*rows)
            except Exception as error:  # noqa: BLE001 - as above
                print(f"    refused: {type(error).__name__}: {error}")
                continue
            for function, asked in functions.items():
                print(f"    {function}: {answer(asked)}")


if __name__ == "__main__":
    main(sys.argv[1:])
