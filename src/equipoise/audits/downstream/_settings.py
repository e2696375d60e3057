"""Settings of the classifiers that are trained on frozen points, as data: one table checks, documents and names them.

A classifier is asked for by its name (``"logistic_regression"``), by a line (``"logistic_regression:C=0.1"``, which the
command line takes) or by a table (``{"name": "logistic_regression", "C": 0.1}``). A list of values is a sweep: one
classifier for each of them. ``C = "dev"`` is the value of ``C_GRID`` with the highest accuracy on the dev rows.

Stores know a classifier by ``stored``, which is data: a name without settings has always meant the settings in
``Setting.stored``, so a logistic regression that was kept before settings existed is the standardised one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from equipoise.foundation import (
    BadInput,
    listing,
    unknown_name,
)

# What C is chosen from on dev rows, and the sweep of the documentation; of equally accurate ones the smallest is taken.
C_GRID = (0.01, 0.1, 1.0, 10.0, 100.0)
BY_DEV = "dev"

Value = float | int | bool | str


@dataclass(frozen=True)
class Setting:
    """One setting: what it means, its default, what a stored name without it means, and what is allowed.

    ``code`` is its name in the names of stored arrays. A number is above ``above``; ``integer`` ones have no fraction.
    """

    meaning: str
    default: Value
    stored: Value
    code: str
    above: float = 0.0
    integer: bool = False
    by_dev: bool = False

    @property
    def allowed(self) -> str:
        """What may be given, in words."""
        if isinstance(self.default, bool):
            return "true or false"
        number = "a whole number of 1 or more" if self.integer else f"a number above {self.above:g}"
        return f"{number}, or {BY_DEV!r} (the most accurate on dev rows)" if self.by_dev else number

    def read(self, name: str, raw: object) -> Value:
        """Return the value in one form; what is not allowed is refused."""
        value = _from_text(raw) if isinstance(raw, str) else raw
        if isinstance(self.default, bool):
            if isinstance(value, bool):
                return value
        elif value == BY_DEV and self.by_dev:
            return BY_DEV
        elif isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            if self.integer and value == int(value) and value >= 1:
                return int(value)
            if not self.integer and value > self.above:
                return float(value)
        raise BadInput(f"{name} is {raw!r}", available=f"{self.allowed} ({self.meaning})")


def _from_text(text: str) -> object:
    """Return the number or truth that a text of the command line says, else the text."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return float(text)
    except ValueError:
        return text


PENALTY = "the inverse strength of the L2 penalty"
STANDARDISED = "whether columns are brought to mean 0 and variance 1 on the training part"

CLASSIFIER_SETTINGS: dict[str, dict[str, Setting]] = {
    "logistic_regression": {
        "C": Setting(PENALTY, 1.0, 1.0, "c", by_dev=True),
        "standardise": Setting(STANDARDISED, False, True, "std"),
        "tolerance": Setting("where the steps stop, by the largest part of the gradient", 1e-4, 1e-4, "tol"),
    },
    "svm": {
        "C": Setting(PENALTY, 1.0, 1.0, "c", by_dev=True),
        "standardise": Setting(STANDARDISED, True, True, "std"),
    },
    "random_forest": {"trees": Setting("how many trees", 100, 100, "trees", integer=True)},
    "k_means": {"starts": Setting("random starts, of which the best is kept", 4, 4, "starts", integer=True)},
}  # fmt: skip
TITLES = {"svm": "SVM", "k_means": "k-means"}


@dataclass(frozen=True)
class Classifier:
    """A classifier by name, with a value for each of its settings, in the order of ``CLASSIFIER_SETTINGS``."""

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
        return self._line(lambda name, value: value != CLASSIFIER_SETTINGS[self.name][name].default)

    @property
    def source(self) -> str:
        """What findings of studies call it: a bare name is what stores mean by it, whatever the defaults are today."""
        if self.values == stored_classifier(self.name).values:
            return self.name
        usual = CLASSIFIER_SETTINGS[self.name]
        return self._line(lambda name, value: name in ("C", "trees", "starts") or value != usual[name].default)

    def _line(self, is_named: Callable[[str, Value], bool]) -> str:
        named = [f"{name}={_text(value)}" for name, value in self.values if is_named(name, value)]
        return f"{self.name}:{','.join(named)}" if named else self.name

    @property
    def title(self) -> str:
        """The name as people read it, with C and what is not as it is by default."""
        described = [words for name, value in self.values if (words := _words(self.name, name, value))]
        name = TITLES.get(self.name, self.name.replace("_", " "))
        return f"{name} ({', '.join(described)})" if described else name

    @property
    def plain(self) -> str | dict[str, Value]:
        """What names a trial: the name, with what is not the default, and what a stored name alone means otherwise.

        So a trial of an earlier version keeps its meaning, and what names a trial asks for the same classifier again.
        """
        declarations = CLASSIFIER_SETTINGS[self.name]
        named = {
            n: v
            for n, v in self.values
            if v != declarations[n].default or declarations[n].default != declarations[n].stored
        }
        return {"name": self.name, **named} if named else self.name

    @property
    def code(self) -> str:
        """What differs from the stored meaning of the name, in the letters that names of stored arrays may have."""
        declarations = CLASSIFIER_SETTINGS[self.name]
        return "__".join(
            f"{declarations[n].code}_{_coded(value)}" for n, value in self.values if value != declarations[n].stored
        )

    @property
    def candidates(self) -> tuple[Classifier, ...]:
        """Itself; or, where dev rows choose, one classifier for each value of C."""
        if self.settings.get("C") != BY_DEV:
            return (self,)
        return tuple(self.having(C=value) for value in C_GRID)

    def having(self, **changed: Value) -> Classifier:
        """Return the classifier with other values of some settings."""
        return Classifier(self.name, tuple((name, changed.get(name, value)) for name, value in self.values))


def settings_line(settings: Mapping[str, Value]) -> str:
    """Return settings as one line, such as ``C=1, standardise=false``."""
    return ", ".join(f"{name}={_text(value)}" for name, value in settings.items())


def classifier_title(label: str) -> str:
    """Return what people read for the label of a learner in an audit: settings where they are in it."""
    name = label.partition(":")[0]
    if name in CLASSIFIER_SETTINGS and ":" in label:
        return classifiers_of([label])[0].title
    return TITLES.get(label, label.replace("_", " "))


def stored_classifier(name: str, code: str = "") -> Classifier:
    """Return the classifier that a stored name and the code of its settings mean.

    >>> stored_classifier("logistic_regression").title
    'logistic regression (C = 1, standardised)'
    >>> stored_classifier("logistic_regression", "c_0p01__std_no").source
    'logistic_regression:C=0.01'
    """
    declarations = CLASSIFIER_SETTINGS.get(name)
    if declarations is None:
        return Classifier(name, ())
    coded = dict(part.rsplit("_", 1) for part in code.split("__")) if code else {}
    values = [
        (setting, _decoded(declared.default, coded[declared.code]) if declared.code in coded else declared.stored)
        for setting, declared in declarations.items()
    ]
    return Classifier(name, tuple(values))


def classifier_from_source(source: str) -> Classifier:
    """Return the classifier that findings of a study call by this name."""
    name, _, line = source.partition(":")
    if name not in CLASSIFIER_SETTINGS or not line:
        return stored_classifier(name) if name in CLASSIFIER_SETTINGS else Classifier(source, ())
    return next(iter(classifiers_of([source])))


def names_classifier(value: object) -> bool:
    """Tell whether something names a classifier of ``CLASSIFIER_SETTINGS``, with or without settings."""
    return isinstance(value, str) or (isinstance(value, Mapping) and "name" in value)


def classifiers_of(requested: Sequence[object], what: str = "classifier") -> list[Classifier]:
    """Return the classifiers that names, lines and tables ask for, each once; a list of values is one for each.

    >>> [classifier.label for classifier in classifiers_of(["svm", "logistic_regression:C=0.1,1,standardise=true"])]
    ['svm', 'logistic_regression:C=0.1,standardise=true', 'logistic_regression:standardise=true']
    """
    return list(dict.fromkeys(classifier for value in requested for classifier in _expanded(value, what)))


def _expanded(classifier: object, what: str) -> Iterator[Classifier]:
    name, settings = _parsed(classifier, what)
    if name not in CLASSIFIER_SETTINGS:
        raise unknown_name(what, name, CLASSIFIER_SETTINGS, "those that are trained on an embedding")
    declarations = CLASSIFIER_SETTINGS[name]
    for setting in settings:
        if setting not in declarations:
            first = next(iter(declarations))
            raise BadInput(
                f"The classifier {name} has no setting {setting!r}",
                available="; ".join(f"{other}: {declared.allowed}" for other, declared in declarations.items()),
                help=f"write it as {name}:{first}={_text(declarations[first].default)}.",
            )
    several: list[list[Value]] = []
    for setting, declared in declarations.items():
        chosen = settings.get(setting, declared.default)
        listed = chosen if isinstance(chosen, Sequence) and not isinstance(chosen, str) else [chosen]
        if not listed:
            raise BadInput(f"{setting} of {name} is an empty list", available=f"{declared.allowed}, or a list of such")
        several.append([declared.read(f"{setting} of {name}", value) for value in listed])
    for values in product(*several):
        yield Classifier(name, tuple(zip(declarations, values, strict=True)))


def _parsed(classifier: object, what: str) -> tuple[str, Mapping[str, object]]:
    """Return the name and the settings of a line or of a table."""
    if isinstance(classifier, Mapping):
        if not isinstance(classifier.get("name"), str):
            raise BadInput(
                f"A {what} is {dict(classifier)!r}", available=f"a table with a name: {listing(CLASSIFIER_SETTINGS)}",
                help='write it as { name = "logistic_regression", C = 0.1 }.',
            )  # fmt: skip
        return classifier["name"], {str(key): value for key, value in classifier.items() if key != "name"}
    if not isinstance(classifier, str):
        raise BadInput(
            f"A {what} is {classifier!r}", available=f"a name or a table with a name: {listing(CLASSIFIER_SETTINGS)}"
        )
    name, _, line = classifier.partition(":")
    settings: dict[str, list[str]] = {}
    setting = None
    for part in filter(None, (part.strip() for part in line.split(","))):
        key, equals, value = part.partition("=")
        if equals:
            setting = key.strip()
            settings[setting] = []
        elif setting is None:
            raise BadInput(
                f"The {what} {classifier!r} has the value {part!r} without a setting",
                available=f"NAME:SETTING=VALUE, with settings {listing(CLASSIFIER_SETTINGS.get(name.strip(), ()))}",
                help=f"write it as {name.strip()}:C=0.1,1,10.",
            )
        settings[setting].append((value if equals else part).strip())
    return name.strip(), settings


def _text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else value if isinstance(value, str) else f"{value:.12g}"


def _words(classifier: str, name: str, value: Value) -> str:
    default = CLASSIFIER_SETTINGS[classifier][name].default
    if name == "C":
        return "" if classifier == "svm" and value == default else (
            "C by dev accuracy" if value == BY_DEV else f"C = {_text(value)}"
        )  # fmt: skip
    if name == "standardise":
        return "" if value == default else "standardised" if value else "not standardised"
    return "" if value == default else f"{name} {_text(value)}"


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
