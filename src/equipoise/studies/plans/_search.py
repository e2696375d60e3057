"""The search of hyper-parameters in a plan: its budget, the ranges, and what is searched for which arm."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

from equipoise.foundation import BadInput, listing, registry, unknown_name
from equipoise.studies.plans._design import Arm, Learning, learners_of
from equipoise.studies.plans._naming import (
    Named,
    canonical,
    control_of,
    entry_of,
    head_of,
    is_control,
    name_and_settings,
    placed,
    plain,
    treatment_entry,
    treatments_of,
    with_values,
)
from equipoise.training import Need, OptionalNumber, Parameter, Treatment

# Seeds of a search count from here, and those of the trials that give the verdicts stay below: they never meet.
FIRST_SEARCH_SEED = 1_000_000
# What every arm searches beside its own hyper-parameters, where the learner has it.
OF_EVERY_ARM = "learning_rate"
# Searched values have so many significant digits: they are read by people, and more do not matter.
DIGITS = 4


@dataclass(frozen=True)
class Search:
    """How settings are searched: ``trials`` settings for each arm, of which ``generation`` train at once.

    The first setting has the defaults. Each is trained with ``seeds`` seeds, which no verdict has; of a generation the
    better half goes on to the next seed. Without ``per_condition`` settings are searched under the first condition and
    used under all. ``ranges`` are those that the plan gives in place of the declared ones.
    """

    trials: int = 20
    generation: int = 10
    seeds: int = 1
    per_condition: bool = True
    ranges: Mapping[str, Any] = field(default_factory=dict)

    @property
    def seed_numbers(self) -> tuple[int, ...]:
        """The seeds of the search."""
        return tuple(range(FIRST_SEARCH_SEED, FIRST_SEARCH_SEED + self.seeds))

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many settings each generation asks for."""
        whole, rest = divmod(self.trials, self.generation)
        return (self.generation,) * whole + ((rest,) if rest else ())

    @property
    def trainings(self) -> int:
        """How many trials one arm takes in all, seeds counted."""
        return sum(survivors(size, rung) for size in self.sizes for rung in range(self.seeds))


def survivors(size: int, rung: int) -> int:
    """Return how many of so many settings train with a seed of the search: all with the first, then half, a quarter."""
    return max(math.ceil(size / 2.0**rung), 1)


def search_of(given: Mapping[str, Any] | None) -> Search | None:
    """Check the table of a search; ranges are checked when it is known what they are of."""
    if given is None:
        return None
    with placed("search"):
        if not isinstance(given, Mapping):
            raise BadInput(f"search is {given!r}", available='a table such as {"trials": 20}')
        names = [entry.name for entry in fields(Search)]
        for name, value in given.items():
            with placed(name):
                if name not in names:
                    raise unknown_name("key", name, names, "search")
                whole = isinstance(value, int) and not isinstance(value, bool) and value >= 1
                if name in ("trials", "generation", "seeds") and not whole:
                    raise BadInput(f"{name} is {value!r}", available="a whole number of at least 1")
                if name == "per_condition" and not isinstance(value, bool):
                    raise BadInput(f"{name} is {value!r}", available="true or false")
                if name == "ranges" and not isinstance(value, Mapping):
                    raise BadInput(f"{name} is {value!r}", available='a table such as {"learning_rate": [1e-4, 1e-1]}')
    return Search(**given)


@dataclass(frozen=True)
class Dimension:
    """One hyper-parameter that is searched: of a treatment by its place in the arm, or of the learner (None).

    ``start`` is where the search begins: the default, or what of the range is nearest to it.
    """

    name: str
    treatment: int | None
    low: float
    high: float
    scale: str
    integer: bool
    start: float

    def rounded(self, value: float) -> float:
        """Return a value with few digits, inside the range."""
        near = float(f"{value:.{DIGITS}g}")
        within = min(max(round(value) if self.integer else near, self.low), self.high)
        return int(within) if self.integer else float(within)


@dataclass(frozen=True, eq=False)
class SearchedArm:
    """One arm with one learner, and what is searched of both."""

    learning: Learning
    arm: Arm
    space: tuple[Dimension, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """How the dimensions are called; those of two treatments that share a name have the treatment before it."""
        names = [dimension.name for dimension in self.space]
        return tuple(
            dimension.name
            if names.count(dimension.name) == 1 or dimension.treatment is None
            else f"{self.arm.treatments[dimension.treatment].name}.{dimension.name}"
            for dimension in self.space
        )

    @property
    def start(self) -> tuple[float, ...]:
        """Where the search begins."""
        return tuple(dimension.start for dimension in self.space)

    def with_values(self, values: Sequence[float]) -> tuple[Learning, tuple[Named, ...]]:
        """Return the learner and the treatments with values of the dimensions."""
        of_learner = {d.name: value for d, value in zip(self.space, values, strict=True) if d.treatment is None}
        treatments = tuple(
            with_values(
                named,
                {d.name: value for d, value in zip(self.space, values, strict=True) if d.treatment == index},
            )
            for index, named in enumerate(self.arm.treatments)
        )  # fmt: skip
        if not of_learner:
            return self.learning, treatments
        named = self.learning.named
        kind: Any = registry.get("learner", named.name).implementation
        learner_values = {**self.learning.values, **of_learner}
        return Learning(replace(named, settings=plain(kind.described(learner_values))), learner_values), treatments


def searched_arms(
    search: Search, learners: Sequence[Learning], arms: Sequence[Arm], learner: Any, treatments: Any, task: str
) -> dict[tuple[int, int], SearchedArm]:
    """Return what is searched, by the places of learner and arm; ``learner`` and ``treatments`` are as the plan says.

    A hyper-parameter with a value in the plan is not searched, one with a list of numbers is refused.
    """
    learner_tables = [_learner_table(one.named.name, task) for one in learners]
    given_of_learner = _given_by_learner(learner, task)
    given_of_arm = _given_by_arm(treatments)
    holders: dict[str, list[str]] = {}
    for one, table in zip(learners, learner_tables, strict=True):
        holders.setdefault(one.named.name, []).extend(_numbers(table))
    for arm in arms:
        for named in arm.treatments:
            holders.setdefault(named.name, []).extend(_numbers(_table_of(named)))
    with placed("search", "ranges"):
        ranges = _named_ranges(search.ranges, holders)
    searched: dict[tuple[int, int], SearchedArm] = {}
    for learner_place, one in enumerate(learners):
        kind: Any = registry.get("learner", one.named.name).implementation
        if Need.EMBEDDING in getattr(kind, "offers", ()):
            with placed("search"):
                raise BadInput(
                    f"The learner {one.named.name!r} embeds rows, and a search chooses by predictions of classes or "
                    "numbers",
                    help="leave the search out, and give several values as lists in the plan.",
                )
        table = learner_tables[learner_place]
        for arm_place, arm in enumerate(arms):
            space: list[Dimension] = []
            for index, named in enumerate(arm.treatments):
                given = given_of_arm.get(_key(arm), [()] * len(arm.treatments))[index]
                # A control is made as it is, but for its classifier; what it does not do has no settings.
                own_table = dict(head_of(named.name)) if is_control(named) else _table_of(named)
                if task == "regression":  # least squares have no penalty
                    own_table = {name: one for name, one in own_table.items() if name not in head_of(named.name)}
                names = list(_declared(own_table))
                space += _dimensions(ranges, named.name, index, own_table, names, given, named.settings)
            hidden = {name for named in arm.treatments for name in _numbers(_table_of(named))}
            names = [OF_EVERY_ARM] if OF_EVERY_ARM in _numbers(table) else []
            given = given_of_learner[learner_place]
            own_table = {name: parameter for name, parameter in table.items() if name not in hidden}
            space += _dimensions(ranges, one.named.name, None, own_table, names, given, one.values)
            if not space:
                with placed("search"):
                    raise BadInput(
                        f"{arm.name} with the learner {one.named.name} has nothing to search, so budgets would not be "
                        "equal",
                        available="a learning rate or another hyper-parameter for every treatment, the control too",
                        help="take the learner mlp or image_network, leave learning_rate out of the plan, or leave out "
                        "the search.",
                    )
            searched[learner_place, arm_place] = SearchedArm(one, arm, tuple(space))
    return searched


def check_seeds(seeds: Sequence[int]) -> None:
    """Refuse seeds that a search has."""
    if any(seed >= FIRST_SEARCH_SEED for seed in seeds):
        with placed("seeds"):
            raise BadInput(
                f"A seed of {max(seeds):,} was given, and a search counts its own from {FIRST_SEARCH_SEED:,}",
                available=f"seeds below {FIRST_SEARCH_SEED:,}, which no search has",
            )


def _key(arm: Arm) -> str:
    return canonical([[named.name, named.settings] for named in arm.treatments])


def _table_of(named: Named) -> Mapping[str, Any]:
    return dict(getattr(registry.get("treatment", named.name).implementation, "parameters", {}))


def _numbers(table: Mapping[str, Any]) -> dict[str, Parameter]:
    return {name: parameter for name, parameter in table.items() if isinstance(parameter, Parameter)}


def _declared(table: Mapping[str, Any]) -> dict[str, Parameter]:
    """Return the numbers that declare a range of more than one value."""
    return {
        name: parameter
        for name, parameter in _numbers(table).items()
        if parameter.low < parameter.high and not isinstance(parameter, OptionalNumber)
    }


def _entries(given: Any) -> list[Any]:
    single = isinstance(given, str | Mapping) or not isinstance(given, Sequence)
    return [given] if single else list(given)


def _learner_table(name: str, task: str) -> dict[str, Any]:
    kind: Any = registry.get("learner", name).implementation
    return dict(kind.table(task))


def _given_by_learner(learner: Any, task: str) -> list[tuple[str, ...]]:
    """Return the names that the plan gives values for, by learner; a list of numbers is refused."""
    given: list[tuple[str, ...]] = []
    entries = _entries(learner)
    for index, entry in enumerate(entries):
        name, settings = name_and_settings(entry, "learner") if isinstance(entry, Mapping) else (entry, {})
        with placed("learner", *([index] if len(entries) > 1 else [])):
            if isinstance(name, str):
                _refuse_grids(settings, _learner_table(name, task))
        given += [tuple(settings)] * len(learners_of(entry, task))
    return given


def _given_by_arm(treatments: Any) -> dict[str, list[tuple[str, ...]]]:
    """Return the names that the plan gives values for, by treatment of each arm; a list of numbers is refused."""
    given: dict[str, list[tuple[str, ...]]] = {}
    for index, entry in enumerate(_entries(treatments)):
        if isinstance(entry, Treatment):
            named = Named(entry_of(entry).name, 1, entry.values)
            given[canonical([[named.name, named.settings]])] = [tuple(entry.values)]
            continue
        names, settings = name_and_settings(entry, "treatment")
        entries = [treatment_entry(name) for name in ([names] if isinstance(names, str) else names)]
        per_treatment: list[tuple[str, ...]] = []
        for one in entries:
            table = dict(getattr(one.implementation, "parameters", {}))
            nested = settings.get(one.name)
            own = {**{name: value for name, value in settings.items() if name in table},
                   **(nested if isinstance(nested, Mapping) else {})}  # fmt: skip
            with placed("treatments", index):
                _refuse_grids(own, table)
            per_treatment.append(tuple(own))
        for arm in treatments_of(entry):
            given[_key(Arm(arm))] = per_treatment
            given.setdefault(_key(Arm(tuple(control_of(named) or named for named in arm))), per_treatment)
    return given


def _refuse_grids(settings: Mapping[str, Any], table: Mapping[str, Any]) -> None:
    for name, value in settings.items():
        if isinstance(value, list | tuple) and name in _numbers(table):
            with placed(name):
                raise BadInput(
                    f"{name} has several values in the plan ({listing(map(str, value))}), and the plan has a search",
                    available="a list of values, or a search",
                    help=f"for a search leave {name} out, or give its range: [search.ranges] {name} = [LOW, HIGH].",
                )


def _named_ranges(given: Mapping[str, Any], holders: Mapping[str, Sequence[str]]) -> dict[tuple[str, str], list[Any]]:
    """Return ranges by holder (a treatment or learner, "" for any) and name; what nothing has is refused."""
    ranges: dict[tuple[str, str], list[Any]] = {}
    known = list(dict.fromkeys(name for names in holders.values() for name in names))
    for name, value in given.items():
        with placed(name):
            if isinstance(value, Mapping):
                if name not in holders:
                    raise unknown_name("treatment or learner", name, list(holders), "this study")
                for inner, limits in value.items():
                    with placed(inner):
                        if inner not in holders[name]:
                            raise unknown_name("hyper-parameter", inner, list(dict.fromkeys(holders[name])), name)
                        ranges[name, inner] = _limits(inner, limits)
                continue
            if name not in known:
                raise unknown_name("hyper-parameter", name, known, "the treatments and learners of this study")
            ranges["", name] = _limits(name, value)
    return ranges


def _limits(name: str, value: Any) -> list[Any]:
    example = f"two numbers, the lower first: {name} = [0.001, 0.1]"
    numbers = (
        isinstance(value, list | tuple)
        and len(value) == 2
        and all(isinstance(limit, int | float) and not isinstance(limit, bool) for limit in value)
    )
    if not numbers:
        raise BadInput(f"The range of {name} is {value!r}", available=example)
    low, high = value
    if low > high:
        raise BadInput(
            f"The range of {name} is empty: it begins at {low:g} and ends at {high:g}",
            available=example, help=f"{name} = [{high:g}, {low:g}]",
        )  # fmt: skip
    if low == high:
        raise BadInput(
            f"The range of {name} is empty: it begins and ends at {low:g}", available=example,
            help=f"to fix it, give {name} = {low:g} to the treatment or the learner instead.",
        )  # fmt: skip
    return [low, high]


def _dimensions(
    ranges: Mapping[tuple[str, str], list[Any]],
    holder: str,
    treatment: int | None,
    table: Mapping[str, Any],
    declared: Sequence[str],
    given: Sequence[str],
    values: Mapping[str, Any],
) -> Iterator[Dimension]:
    """Yield what is searched of one treatment or learner: what it declares, and what the plan names a range for."""
    for name, parameter in _numbers(table).items():
        limits = ranges.get((holder, name), ranges.get(("", name)))
        if limits is not None and name in given:
            with placed("search", "ranges", name):
                raise BadInput(
                    f"{name} has a value in the plan ({holder}), and a range to be searched",
                    help="leave one of them out.",
                )
        if name in given or (limits is None and name not in declared):
            continue
        low, high = (parameter.low, parameter.high) if limits is None else limits
        with placed("search", "ranges", name):
            for limit in (low, high):
                parameter.check(name, limit)
            if parameter.scale == "log" and low <= 0:
                raise BadInput(
                    f"The range of {name} begins at {low:g}, and it is searched on a logarithmic scale",
                    available="a range that begins above 0", help=f"{name} = [{high / 1000:g}, {high:g}]",
                )  # fmt: skip
        default = values.get(name, parameter.default)
        middle = (low * high) ** 0.5 if parameter.scale == "log" else (low + high) / 2
        start = min(max(middle if default is None else default, low), high)
        integer = parameter.integer
        yield Dimension(name, treatment, low, high, parameter.scale, integer, int(start) if integer else float(start))
