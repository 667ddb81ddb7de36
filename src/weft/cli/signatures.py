"""Derives the options of a command from a function's signature and docstring."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Callable, Collection, Iterable
from typing import Annotated, Any

import typer

from weft.errors import ConfigError

NUMBERS = (bool, int, float)


def first_sentence(function: Callable[..., Any]) -> str:
    """Return the first paragraph of a function's docstring on one line, without "Return"."""
    text = inspect.getdoc(function) or ""
    told = plain(" ".join(text.split("\n\n")[0].split())).removeprefix("Return ")
    return told[:1].upper() + told[1:].replace(" ...", " …")  # click cuts help at a full stop


def described(function: Callable[..., Any]) -> dict[str, str]:
    """Return the docstring's description of each parameter."""
    text = inspect.getdoc(function) or ""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[^\n]*\n-+$|\Z)", text, re.DOTALL | re.M)
    found: dict[str, str] = {}
    if section is None:
        return found
    for entry in re.split(r"\n(?=\S)", section.group(1)):
        head, _, body = entry.partition("\n")
        names = head.partition(" : ")[0].split(",")
        for name in names:
            found[name.strip()] = plain(" ".join(body.split()))
    return found


def plain(text: str) -> str:
    """Return a docstring's text without code markup."""
    return text.replace("``", "").replace("`", "")


def parameters(
    function: Callable[..., Any],
    *,
    skip: Collection[str],
    text: Iterable[str] = (),
    arguments: bool = False,
    overrides: dict[str, str] | None = None,
) -> list[inspect.Parameter]:
    """Return the parameters of a function as Typer's.

    Parameters
    ----------
    function
        The function that the command calls.
    skip
        Parameters that the command supplies itself.
    text
        Parameters passed as text, which the command parses.
    arguments
        Whether parameters without a default are positional rather than options.
    overrides
        Help texts in place of those of the docstring.
    """
    hints = typing.get_type_hints(function)
    helps = {**described(function), **(overrides or {})}
    made = []
    for name, parameter in inspect.signature(function).parameters.items():
        if name in skip:
            continue
        required = parameter.default is inspect.Parameter.empty
        kind = str if name in text else _number_or_text(hints[name])
        explained = helps.get(name, "")
        flag = "--" + name.replace("_", "-")
        if required and arguments:
            mark: Any = typer.Argument(help=explained, show_default=False, metavar=name.upper())
        elif kind is bool:
            mark = typer.Option(f"{flag}/--no-{flag[2:]}", help=explained)
        elif kind is str and not isinstance(parameter.default, str):
            mark = typer.Option(flag, help=explained, show_default=False)
        else:
            mark = typer.Option(flag, help=explained)
        default = parameter.default
        if kind is str and not required and not isinstance(default, str):
            default = None
        hint = kind if required or default is not None else kind | None
        made.append(
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=default,
                annotation=Annotated[hint, mark],
            )
        )
    return made


def _number_or_text(hint: Any) -> type:
    """Return the only number type that a hint allows (with or without None), or str."""
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        rest = [part for part in typing.get_args(hint) if part is not type(None)]
        hint = rest[0] if len(rest) == 1 else str
    return hint if hint in NUMBERS else str


def with_signature(
    call: Callable[..., None], made: Iterable[inspect.Parameter], text: str
) -> Callable[..., None]:
    """Return `call`, which takes keywords, with another signature and docstring."""

    def command(**given: Any) -> None:
        call(**given)

    command.__doc__ = text
    listed = sorted(made, key=lambda p: p.default is not inspect.Parameter.empty)
    command.__signature__ = inspect.Signature(listed)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in listed}
    return command


def own_parameters(function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters of a function that is already annotated for Typer."""
    hints = typing.get_type_hints(function, include_extras=True)
    return [
        parameter.replace(annotation=hints[name], kind=inspect.Parameter.KEYWORD_ONLY)
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind is not inspect.Parameter.VAR_KEYWORD
    ]


def value_of(text: str) -> Any:
    """Return text as None, a bool, an int, a float, or as it is.

    Examples
    --------
    >>> [value_of(text) for text in ("none", "true", "3", "0.5", "push")]
    [None, True, 3, 0.5, 'push']
    """
    words = {"none": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def pairs(items: Iterable[str], option: str) -> dict[str, Any]:
    """Return the items `key=value` as a dictionary; values become numbers where they can."""
    found = {}
    for item in items:
        key, equals, value = item.partition("=")
        if not equals or not key:
            raise ConfigError(f"{option} {item!r} cannot be read. Expected key=value.")
        found[key.strip()] = value_of(value.strip())
    return found
