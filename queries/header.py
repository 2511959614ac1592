"""The comment above each query: what it answers, its parameters and its columns."""

import re
from dataclasses import dataclass

from tracekit.errors import QueryError

Value = str | int | float | bool | list[str] | None
"""What can be bound to a parameter."""

_SECTION = re.compile(r"(Answers|Grain|Params|Columns|Limits): ?(.*)")
_ITEM = re.compile(r"  (\$?\w+) ([A-Z][A-Z0-9_(),\[\]]*)(?: = (\S+))?: (.+)")
_CHOICES = re.compile(r"one of ([\w, ]+)[.;]")
_DEFAULTS: dict[str, Value] = {"NULL": None, "true": True, "false": False}


@dataclass(frozen=True, slots=True)
class Column:
    """A column a query gives."""

    name: str
    type: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Param:
    """A `$name` a query takes; `default` is used where it is not `is_required`."""

    name: str
    type: str
    meaning: str
    is_required: bool
    default: Value

    @property
    def choices(self) -> list[str]:
        """Values the meaning lists (`one of this, that; ...`); empty where any will do."""
        found = _CHOICES.match(self.meaning)
        return found[1].split(", ") if found else []


@dataclass(frozen=True, slots=True)
class Query:
    """One file of SQL: the SELECT with its header taken apart."""

    name: str
    kind: str
    title: str
    answers: str
    grain: str
    params: tuple[Param, ...]
    columns: tuple[Column, ...]
    limits: str
    sql: str

    def bind(self, values: dict[str, Value]) -> dict[str, Value]:
        """Values of all parameters, defaults filled in.

        Raises:
            QueryError: a parameter is missing, not known, or not one of its choices.
        """
        names = [param.name for param in self.params]
        for name in values:
            if name not in names:
                allowed = ", ".join(names) or "none"
                raise QueryError(f"{self.name}: no parameter {name!r}; it takes: {allowed}")
        return {param.name: self._value(param, values) for param in self.params}

    def _value(self, param: Param, values: dict[str, Value]) -> Value:
        if param.name in values:
            return _as_list(param, self._checked(param, values[param.name]))
        if param.is_required:
            raise QueryError(
                f"{self.name}: parameter {param.name!r} is missing; it is {param.meaning}"
            )
        return param.default

    def _checked(self, param: Param, value: Value) -> Value:
        is_default = not param.is_required and value == param.default
        if param.choices and not is_default and value not in param.choices:
            allowed = ", ".join(param.choices)
            raise QueryError(f"{self.name}: {param.name} {value!r}: no such value; use {allowed}")
        return value


def _as_list(param: Param, value: Value) -> Value:
    """A list of one for a single name where the parameter takes several."""
    return [value] if param.type == "VARCHAR[]" and isinstance(value, str) else value


def parse(name: str, kind: str, text: str) -> Query:
    """Take apart the text of one query file.

    Raises:
        QueryError: the header is not in the form every query file has.
    """
    title, sections, items = _read(name, _header_lines(text))
    columns = [Column(item, type_, meaning) for item, type_, _, meaning in items["Columns"]]
    return Query(
        name=name,
        kind=kind,
        title=title,
        answers=sections["Answers"],
        grain=sections["Grain"],
        params=tuple(_param(*item) for item in items["Params"]),
        columns=tuple(columns),
        limits=sections["Limits"],
        sql=text,
    )


def _param(name: str, type_: str, default: str | None, meaning: str) -> Param:
    value = None if default is None else _default(default)
    return Param(name.removeprefix("$"), type_, meaning, default is None, value)


def _default(text: str) -> Value:
    if text in _DEFAULTS:
        return _DEFAULTS[text]
    return text[1:-1] if text.startswith("'") else float(text) if "." in text else int(text)


_Item = tuple[str, str, str | None, str]


def _header_lines(text: str) -> list[str]:
    """Lines of the header without the dashes; a line indented by four continues the one before."""
    lines: list[str] = []
    for line in text.split("\n\n", 1)[0].splitlines():
        content = line.removeprefix("--").removeprefix(" ")
        if content.startswith("    ") and lines:
            lines[-1] += f" {content.strip()}"
        else:
            lines.append(content)
    return lines


def _read(name: str, lines: list[str]) -> tuple[str, dict[str, str], dict[str, list[_Item]]]:
    """Title, text of each section, and items of each section."""
    sections = dict.fromkeys(("Answers", "Grain", "Params", "Columns", "Limits"), "")
    items: dict[str, list[_Item]] = {section: [] for section in sections}
    section = ""
    for line in filter(None, lines[1:]):
        if start := _SECTION.fullmatch(line):
            section, sections[start[1]] = start[1], start[2]
        elif section and (item := _ITEM.fullmatch(line)):
            items[section].append((item[1], item[2], item[3], item[4]))
        else:
            raise QueryError(f"{name}: header line {line!r} is in no form a header has; correct it")
    return lines[0], sections, items
