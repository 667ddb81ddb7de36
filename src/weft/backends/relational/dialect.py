"""Dialects of SQL: what DuckDB and Spark SQL write differently."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from weft.backends.relational.refusals import Refused

Kind = np.dtype[Any]


def quoted(name: str, mark: str = '"') -> str:
    """Return an identifier in quotes, with the quotes inside it doubled.

    Examples
    --------
    >>> quoted('a"b')
    '"a""b"'
    """
    return mark + name.replace(mark, mark + mark) + mark


def bounds(dtype: Kind) -> tuple[int, int]:
    """Return the smallest and the largest integer of a dtype."""
    info = np.iinfo(dtype)
    return int(info.min), int(info.max)


class Dialect:
    """DuckDB, and what other dialects have in common with it.

    Attributes
    ----------
    name
        Its name in messages.
    types
        The SQL type of each dtype; a dtype that is missing is refused.
    functions
        The function that computes an elementwise op of floats.
    """

    name = "DuckDB"
    mark = '"'
    barrier = "MATERIALIZED "  # before a part of a query that is to be computed by itself
    most_rounds = 32  # of a loop, which a query repeats one by one
    types: ClassVar = {
        "bool": "BOOLEAN", "int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER",
        "int64": "BIGINT", "uint8": "UTINYINT", "uint16": "USMALLINT", "uint32": "UINTEGER",
        "uint64": "UBIGINT", "float32": "FLOAT", "float64": "DOUBLE",
    }  # fmt: skip
    functions: ClassVar = {
        "sqrt": "sqrt", "cbrt": "cbrt", "exp": "exp", "log": "ln", "log2": "log2", "log10": "log10",
        "sin": "sin", "cos": "cos", "tan": "tan", "asin": "asin", "acos": "acos", "atan": "atan",
        "sinh": "sinh", "cosh": "cosh", "tanh": "tanh", "atan2": "atan2", "pow": "pow",
    }  # fmt: skip
    wide = "HUGEINT"  # holds sums and products of 64-bit integers

    def quote(self, name: str) -> str:
        """Return an identifier in quotes."""
        return quoted(name, self.mark)

    def type_of(self, dtype: Kind) -> str:
        """Return the SQL type of a dtype."""
        if dtype.name not in self.types:
            raise Refused(f"values of {dtype}", f"{self.name} has no type for them")
        return self.types[dtype.name]

    def cast(self, text: str, dtype: Kind) -> str:
        """Return an expression converted to the type of a dtype that holds its value."""
        return f"CAST({text} AS {self.type_of(dtype)})"

    def literal(self, value: Any, dtype: Kind) -> str:
        """Return a number as a typed constant."""
        if dtype.kind == "b":
            return "TRUE" if value else "FALSE"
        if dtype.kind == "f":
            number = float(dtype.type(value))
            aside = "NaN" if number != number else "Infinity" if number > 0 else "-Infinity"
            finite = np.isfinite(number)
            return self.cast(f"'{repr(number) if finite else aside}'", dtype)
        return self.cast(self._integer(int(value)), dtype)

    def _integer(self, value: int) -> str:
        return f"({value})" if value < 0 else str(value)

    # -- integers

    def wrap(self, text: str, dtype: Kind, carrier: str) -> str:
        """Return an integer of a wider type, reduced to the range of a dtype as it wraps there."""
        bits = 8 * dtype.itemsize
        mask = (1 << bits) - 1
        if dtype.kind == "u":
            return f"CAST(({text}) & CAST({mask} AS {carrier}) AS {self.type_of(dtype)})"
        half = 1 << (bits - 1)
        inner = f"(({text}) + {half}) & CAST({mask} AS {carrier})"
        return f"CAST(({inner}) - {half} AS {self.type_of(dtype)})"

    def carrier(self, op: str, dtype: Kind) -> str:
        """Return a type in which an operation on integers of a dtype is exact."""
        if dtype.itemsize < 4 or (dtype.itemsize == 4 and (dtype.kind == "i" or op != "mul")):
            return "BIGINT"
        return "UHUGEINT" if dtype == np.uint64 and op == "mul" else "HUGEINT"

    def integer(self, op: str, symbol: str, a: str, b: str, dtype: Kind) -> str:
        """Return a sum, difference or product of two integers, which wraps."""
        wide = self.carrier(op, dtype)
        return self.wrap(f"CAST({a} AS {wide}) {symbol} CAST({b} AS {wide})", dtype, wide)

    def divide(self, a: str, b: str, dtype: Kind) -> tuple[str, str, str]:
        """Return the quotient rounded towards zero, the remainder, and their type.

        Both are NULL where the divisor is 0.
        """
        wide = self.carrier("div", dtype)
        a, b = f"CAST({a} AS {wide})", f"NULLIF(CAST({b} AS {wide}), 0)"
        return f"({a} // {b})", f"({a} % {b})", wide

    def convert(self, text: str, source: Kind, dtype: Kind) -> str:
        """Return an integer or truth value in another integer dtype; integers wrap."""
        if source.kind == "b" or np.can_cast(source, dtype, casting="safe"):
            return self.cast(text, dtype)
        if source == np.int64 and dtype.itemsize < 8:
            return self._low_bits(text, dtype)
        wide = "HUGEINT" if max(source.itemsize, dtype.itemsize) == 8 else "BIGINT"
        return self.wrap(f"CAST({text} AS {wide})", dtype, wide)

    def _low_bits(self, text: str, dtype: Kind) -> str:
        """Return an integer of 64 bits in a narrower dtype; no step of it can overflow."""
        bits = 8 * dtype.itemsize
        low = f"({text}) & {(1 << bits) - 1}"
        if dtype.kind == "i":
            low = f"xor({low}, {1 << (bits - 1)}) - {1 << (bits - 1)}"
        return self.cast(f"({low})", dtype)

    def shift(self, op: str, a: str, b: str, dtype: Kind) -> str:
        """Return a shift by a count modulo the width."""
        count = f"(CAST({b} AS BIGINT) & {8 * dtype.itemsize - 1})"
        if dtype == np.uint64:
            count = f"CAST({b} & {8 * dtype.itemsize - 1} AS INTEGER)"
        if op == "shr":
            wide = "UBIGINT" if dtype == np.uint64 else "BIGINT"
            return self.cast(f"(CAST({a} AS {wide}) >> CAST({count} AS {wide}))", dtype)
        wide = "UHUGEINT" if dtype == np.uint64 else "HUGEINT"
        power = f"(CAST(1 AS {wide}) << CAST({count} AS {wide}))"
        return self.wrap(f"CAST({a} AS {wide}) * {power}", dtype, wide)

    def bits(self, text: str, dtype: Kind) -> str:
        """Return the bits of an integer as a nonnegative number."""
        if dtype.kind == "b":
            return f"CAST({text} AS BIGINT)"
        if dtype.kind == "u":
            return text
        return self.convert(text, dtype, np.dtype(f"u{dtype.itemsize}"))

    def bitwise(self, op: str, a: str, b: str) -> str:
        """Return a bitwise operation on integers of one dtype."""
        if op == "bit_xor":
            return f"xor({a}, {b})"
        return f"({a} {'&' if op == 'bit_and' else '|'} {b})"

    # -- floats

    def infinite(self, text: str) -> str:
        """Return whether a float is infinite."""
        return f"isinf({text})"

    def negative(self, text: str) -> str:
        """Return whether the sign bit of a float is set."""
        return f"signbit({text})"

    def rounded(self, op: str, text: str) -> str:
        """Return a float rounded to a whole number."""
        return f"round_even({text}, 0)" if op == "round" else f"{op}({text})"

    def narrowed(self, text: str) -> str:
        """Return a double as a float, infinite where it is too large."""
        low = "CAST('3.4028235677973366e38' AS DOUBLE)"
        return (
            f"CASE WHEN isnan({text}) THEN CAST('NaN' AS FLOAT) "
            f"WHEN {text} >= {low} THEN CAST('Infinity' AS FLOAT) "
            f"WHEN {text} <= -{low} THEN CAST('-Infinity' AS FLOAT) ELSE CAST({text} AS FLOAT) END"
        )

    def truncated(self, text: str, dtype: Kind) -> str:
        """Return a float as an integer; it saturates, and NaN gives 0."""
        low, high = bounds(dtype)
        top = f"CAST('{float(high + 1)!r}' AS DOUBLE)"
        bottom = f"CAST('{float(low)!r}' AS DOUBLE)"
        return (
            f"CASE WHEN isnan({text}) THEN {self.literal(0, dtype)} "
            f"WHEN {text} >= {top} THEN {self.literal(high, dtype)} "
            f"WHEN {text} <= {bottom} THEN {self.literal(low, dtype)} "
            f"ELSE {self.cast(self.whole(text), dtype)} END"
        )

    def whole(self, text: str) -> str:
        """Return a float that a conversion to an integer rounds towards zero."""
        return f"trunc({text})"

    def quotient(self, a: str, b: str) -> str:
        """Return a quotient of floats."""
        return f"({a} / {b})"

    def call(self, name: str, args: list[str]) -> str:
        """Return a function of doubles."""
        return f"{name}({', '.join(args)})"

    # -- aggregates

    def first(self, text: str) -> str:
        """Return the aggregate that gives any value of a group."""
        return f"ANY_VALUE({text})"

    def at_least(self, value: str, key: str) -> str:
        """Return the aggregate that gives the value where a key is smallest."""
        return f"ARG_MIN({value}, {key})"

    def at_greatest(self, value: str, key: str) -> str:
        """Return the aggregate that gives the value where a key is greatest."""
        return f"ARG_MAX({value}, {key})"

    def row(self, parts: list[str]) -> str:
        """Return a struct of values, with the fields p0, p1, ..."""
        return f"struct_pack({', '.join(f'p{k} := {part}' for k, part in enumerate(parts))})"

    def part(self, struct: str, number: int) -> str:
        """Return a field of such a struct."""
        return f"{struct}.p{number}"

    def product(self, text: str, where: str) -> str:
        """Return the aggregate that multiplies floats."""
        return f"PRODUCT({text}){where}"

    def bits_of_group(self, op: str, text: str) -> str:
        """Return the aggregate of a bitwise operation on integers."""
        return f"BIT_{op.upper()}({text})"

    def folded(self, text: str, sent: str, start: str, step: str, dtype: Kind) -> str:
        """Return a group combined by a function of acc and x, from a start."""
        listed = f"LIST({text}) FILTER (WHERE {sent})"
        return f"list_reduce({listed}, lambda acc, x: {step}, {start})"

    def rounds(self, start: str, stop: str) -> str:
        """Return the list of the numbers from a start to before a stop."""
        return f"range(CAST({start} AS BIGINT), CAST({stop} AS BIGINT))"

    def loop(self, rounds: str, step: str, start: str, names: tuple[str, str]) -> str:
        """Return a fold over a list by a function of the state and the round."""
        return f"list_reduce({rounds}, lambda {names[0]}, {names[1]}: {step}, {start})"

    def over_bits(self, number: str, dtype: Kind, step: str, start: str) -> str:
        """Return a function of acc and x applied to the bits of a number, the highest first."""
        top, width = 8 * dtype.itemsize - 1, 8 * dtype.itemsize
        wide = "UBIGINT" if dtype.kind == "u" else "BIGINT"
        bit = f"((CAST({number} AS {wide}) >> CAST({top} - i AS {wide})) & 1)"
        bits = f"list_transform(range(0, {width}), lambda i: {bit})"
        return f"list_reduce({bits}, lambda acc, x: {step}, {start})"

    def unnested(self, table: str, columns: list[str], only: str) -> str:
        """Return adjacency lists as one row per arc."""
        parts = ", ".join(f"UNNEST({c}) AS {c}" for c in columns)
        return f"(SELECT id AS near, {parts} FROM {table} WHERE {only})"

    def sum_of(self, text: str, dtype: Kind) -> str:
        """Return the sum of a group: of floats as a double, of integers before they wrap."""
        return f"SUM(CAST({text} AS DOUBLE))" if dtype.kind == "f" else f"SUM({text})"

    # -- tables

    position = "ROW_NUMBER() OVER ()"  # of a row, as the rows were given

    def arc_order(self, block: int) -> str:
        """Return the order of arcs in their table: blocks of sources, then targets."""
        return f"src // {block}, dst, arc"

    def digest(self, columns: list[str]) -> str:
        """Return an aggregate that differs for different rows, in any order."""
        return f"SUM(CAST(hash({', '.join(columns)}) AS HUGEINT))"

    def wrapped_sum(self, text: str, dtype: Kind) -> str:
        """Return a sum of integers as it wraps in their dtype."""
        return self.wrap(f"CAST({text} AS HUGEINT)", dtype, "HUGEINT")
