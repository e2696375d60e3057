"""Settings of the classifiers that are trained on frozen points, as data: one table checks, documents and names them.

A classifier is asked for by its name (``"logistic_regression"``), by a line (``"logistic_regression:C=0.1"``, which the
command line takes) or by a table (``{"name": "logistic_regression", "C": 0.1}``). A list of values is a sweep: one
classifier for each of them. ``C = "dev"`` is the value of ``C_GRID`` with the highest accuracy on the dev rows.

Stores know a classifier by ``stored``, which is data: a name without settings has always meant the settings in
``Rule.stored``, so a logistic regression that was kept before settings existed is the standardised one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from equipoise.foundation.errors import BadInput, listing, unknown_name

# What C is chosen from on dev rows, and the sweep of the documentation; of equally accurate ones the smallest is taken.
C_GRID = (0.01, 0.1, 1.0, 10.0, 100.0)
BY_DEV = "dev"

Value = float | int | bool | str


@dataclass(frozen=True)
class Rule:
    """One setting: what it means, its default, what a stored name without it means, and what is allowed.

    ``code`` is its name in the names of stored arrays. A number is above ``above``; ``whole`` ones have no fraction.
    """

    meaning: str
    default: Value
    stored: Value
    code: str
    above: float = 0.0
    whole: bool = False
    by_dev: bool = False

    @property
    def allowed(self) -> str:
        """What may be given, in words."""
        if isinstance(self.default, bool):
            return "true or false"
        told = "a whole number of 1 or more" if self.whole else f"a number above {self.above:g}"
        return f"{told}, or {BY_DEV!r} (the most accurate on dev rows)" if self.by_dev else told

    def read(self, name: str, given: object) -> Value:
        """Return the value in one form; what is not allowed is refused."""
        found = _from_text(given) if isinstance(given, str) else given
        if isinstance(self.default, bool):
            if isinstance(found, bool):
                return found
        elif found == BY_DEV and self.by_dev:
            return BY_DEV
        elif isinstance(found, int | float) and not isinstance(found, bool) and math.isfinite(found):
            if self.whole and found == int(found) and found >= 1:
                return int(found)
            if not self.whole and found > self.above:
                return float(found)
        raise BadInput(f"{name} is {given!r}", available=f"{self.allowed} ({self.meaning})")


def _from_text(given: str) -> object:
    """Return the number or truth that a text of the command line says, else the text."""
    if given.lower() in ("true", "false"):
        return given.lower() == "true"
    try:
        return float(given)
    except ValueError:
        return given


PENALTY = "the inverse strength of the L2 penalty"
STANDARDISED = "whether columns are brought to mean 0 and variance 1 on the training part"

RULES: dict[str, dict[str, Rule]] = {
    "logistic_regression": {
        "C": Rule(PENALTY, 1.0, 1.0, "c", by_dev=True),
        "standardise": Rule(STANDARDISED, False, True, "std"),
        "tolerance": Rule("where the steps stop, by the largest part of the gradient", 1e-4, 1e-4, "tol"),
    },
    "svm": {
        "C": Rule(PENALTY, 1.0, 1.0, "c", by_dev=True),
        "standardise": Rule(STANDARDISED, True, True, "std"),
    },
    "random_forest": {"trees": Rule("how many trees", 100, 100, "trees", whole=True)},
    "k_means": {"starts": Rule("random starts, of which the best is kept", 4, 4, "starts", whole=True)},
}  # fmt: skip
TITLES = {"svm": "SVM", "k_means": "k-means"}


@dataclass(frozen=True)
class Classifier:
    """A classifier by name, with a value for each of its settings, in the order of ``RULES``."""

    name: str
    values: tuple[tuple[str, Value], ...]

    @property
    def settings(self) -> dict[str, Value]:
        """The settings by name."""
        return dict(self.values)

    def __getitem__(self, setting: str) -> Value:
        return self.settings[setting]

    @property
    def label(self) -> str:
        """The name, with the settings that are not the defaults: what audits call it, and what may be typed."""
        return self._line(lambda name, value: value != RULES[self.name][name].default)

    @property
    def source(self) -> str:
        """What findings of studies call it: a bare name is what stores mean by it, whatever the defaults are today."""
        if self.values == stored_as(self.name).values:
            return self.name
        usual = RULES[self.name]
        return self._line(lambda name, value: name in ("C", "trees", "starts") or value != usual[name].default)

    def _line(self, is_told: Any) -> str:
        told = [f"{name}={_text(value)}" for name, value in self.values if is_told(name, value)]
        return f"{self.name}:{','.join(told)}" if told else self.name

    @property
    def title(self) -> str:
        """The name as people read it, with C and what is not as it is by default."""
        told = [words for name, value in self.values if (words := _words(self.name, name, value))]
        name = TITLES.get(self.name, self.name.replace("_", " "))
        return f"{name} ({', '.join(told)})" if told else name

    @property
    def plain(self) -> str | dict[str, Value]:
        """What names a trial: the name, with what is not the default, and what a stored name alone means otherwise.

        So a trial of an earlier version keeps its meaning, and what names a trial asks for the same classifier again.
        """
        rules = RULES[self.name]
        named = {n: v for n, v in self.values if v != rules[n].default or rules[n].default != rules[n].stored}
        return {"name": self.name, **named} if named else self.name

    @property
    def code(self) -> str:
        """What differs from the stored meaning of the name, in the letters that names of stored arrays may have."""
        rules = RULES[self.name]
        return "__".join(f"{rules[n].code}_{_coded(value)}" for n, value in self.values if value != rules[n].stored)

    @property
    def candidates(self) -> tuple[Classifier, ...]:
        """Itself; or, where dev rows choose, one classifier for each value of C."""
        if self.settings.get("C") != BY_DEV:
            return (self,)
        return tuple(self.having(C=value) for value in C_GRID)

    def having(self, **changed: Value) -> Classifier:
        """Return the classifier with other values of some settings."""
        return Classifier(self.name, tuple((name, changed.get(name, value)) for name, value in self.values))


def told(settings: Mapping[str, Value]) -> str:
    """Return settings as one line, such as ``C=1, standardise=false``."""
    return ", ".join(f"{name}={_text(value)}" for name, value in settings.items())


def classifier_title(label: str) -> str:
    """Return what people read for the label of a learner in an audit: settings where they are in it."""
    name = label.partition(":")[0]
    if name in RULES and ":" in label:
        return classifiers_of([label])[0].title
    return TITLES.get(label, label.replace("_", " "))


def stored_as(name: str, code: str = "") -> Classifier:
    """Return the classifier that a stored name and the code of its settings mean.

    >>> stored_as("logistic_regression").title
    'logistic regression (C = 1, standardised)'
    >>> stored_as("logistic_regression", "c_0p01__std_no").source
    'logistic_regression:C=0.01'
    """
    rules = RULES.get(name)
    if rules is None:
        return Classifier(name, ())
    told = dict(part.rsplit("_", 1) for part in code.split("__")) if code else {}
    values = [
        (own, _decoded(rule.default, told[rule.code]) if rule.code in told else rule.stored)
        for own, rule in rules.items()
    ]
    return Classifier(name, tuple(values))


def from_source(source: str) -> Classifier:
    """Return the classifier that findings of a study call by this name."""
    name, _, line = source.partition(":")
    if name not in RULES or not line:
        return stored_as(name) if name in RULES else Classifier(source, ())
    return next(iter(classifiers_of([source])))


def is_asked(given: object) -> bool:
    """Tell whether something names a classifier of ``RULES``, with or without settings."""
    return isinstance(given, str) or (isinstance(given, Mapping) and "name" in given)


def classifiers_of(given: Sequence[object], what: str = "classifier") -> list[Classifier]:
    """Return the classifiers that names, lines and tables ask for, each once; a list of values is one for each.

    >>> [one.label for one in classifiers_of(["svm", "logistic_regression:C=0.1,1,standardise=true"])]
    ['svm', 'logistic_regression:C=0.1,standardise=true', 'logistic_regression:standardise=true']
    """
    return list(dict.fromkeys(made for one in given for made in _expanded(one, what)))


def _expanded(given: object, what: str) -> Iterator[Classifier]:
    name, settings = _said(given, what)
    if name not in RULES:
        raise unknown_name(what, name, RULES, "those that are trained on an embedding")
    rules = RULES[name]
    for setting in settings:
        if setting not in rules:
            raise BadInput(
                f"The classifier {name} has no setting {setting!r}",
                available="; ".join(f"{own}: {rule.allowed}" for own, rule in rules.items()),
                help=f"write it as {name}:{next(iter(rules))}={_text(next(iter(rules.values())).default)}.",
            )
    several: list[list[Value]] = []
    for own, rule in rules.items():
        chosen = settings.get(own, rule.default)
        listed = chosen if isinstance(chosen, Sequence) and not isinstance(chosen, str) else [chosen]
        if not listed:
            raise BadInput(f"{own} of {name} is an empty list", available=f"{rule.allowed}, or a list of such")
        several.append([rule.read(f"{own} of {name}", value) for value in listed])
    for values in product(*several):
        yield Classifier(name, tuple(zip(rules, values, strict=True)))


def _said(given: object, what: str) -> tuple[str, Mapping[str, object]]:
    """Return the name and the settings of a line or of a table."""
    if isinstance(given, Mapping):
        if not isinstance(given.get("name"), str):
            raise BadInput(
                f"A {what} is {dict(given)!r}", available=f"a table with a name: {listing(RULES)}",
                help='write it as { name = "logistic_regression", C = 0.1 }.',
            )  # fmt: skip
        return given["name"], {str(key): value for key, value in given.items() if key != "name"}
    if not isinstance(given, str):
        raise BadInput(f"A {what} is {given!r}", available=f"a name or a table with a name: {listing(RULES)}")
    name, _, line = given.partition(":")
    settings: dict[str, list[str]] = {}
    setting = None
    for part in filter(None, (part.strip() for part in line.split(","))):
        key, equals, value = part.partition("=")
        if equals:
            setting = key.strip()
            settings[setting] = []
        elif setting is None:
            raise BadInput(
                f"The {what} {given!r} has the value {part!r} without a setting",
                available=f"NAME:SETTING=VALUE, with settings {listing(RULES.get(name.strip(), ()))}",
                help=f"write it as {name.strip()}:C=0.1,1,10.",
            )
        settings[setting].append((value if equals else part).strip())
    return name.strip(), settings


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else value if isinstance(value, str) else f"{value:.12g}"


def _words(classifier: str, name: str, value: Value) -> str:
    rule = RULES[classifier][name]
    if name == "C":
        return "" if classifier == "svm" and value == rule.default else (
            "C by dev accuracy" if value == BY_DEV else f"C = {_text(value)}"
        )  # fmt: skip
    if name == "standardise":
        return "" if value == rule.default else "standardised" if value else "not standardised"
    return "" if value == rule.default else f"{name} {_text(value)}"


def _coded(value: Value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, str) else repr(value).replace(".", "p").replace("-", "m").replace("+", "")


def _decoded(default: Value, text: str) -> Value:
    if isinstance(default, bool):
        return text == "yes"
    if text == BY_DEV:
        return BY_DEV
    number = text.replace("p", ".").replace("m", "-")
    return int(number) if isinstance(default, int) else float(number)
