"""Relations under construction: columns that are computed in stages, each from those before."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

Cte = tuple[str, str]
# Engines push conditions down through stages, and write out all that they are made of on the way.
# In a long chain that doubles with every stage, so now and then one is computed by itself.
_BARRIER = 8


@dataclass(frozen=True)
class Cell:
    """A SQL expression over the columns of a relation, from one of its stages on."""

    text: str
    stage: int = 0
    simple: bool = True  # a column or a constant: repeating it costs nothing
    constant: bool = False  # the same in every row


@dataclass
class Stage:
    """The additions of a stage to the previous one: columns, joins and a condition on rows."""

    columns: list[tuple[str, str]] = field(default_factory=list)
    joins: list[str] = field(default_factory=list)
    filters: list[str] = field(default_factory=list)
    before: list[Callable[[], list[Cte]]] = field(default_factory=list)  # what the joins name


class Rows:
    """A relation under construction.

    Parameters
    ----------
    names
        Gives numbers that no other relation of the query uses.
    base
        Writes what follows FROM in the first stage, once all of its columns are known.
    """

    def __init__(self, names: Iterator[int], base: Callable[[Rows], str]) -> None:
        self.names, self.base = names, base
        self.name = f"r{next(names)}"
        self.stages = [Stage()]
        self.used: set[str] = set()  # the tables that the base must join
        self._leaves: dict[str, Cell] = {}
        self._bound: dict[tuple[str, int], Cell] = {}

    def leaf(self, text: str, *tables: str) -> Cell:
        """Return a column of the first stage, computed from the tables of the base."""
        self.used.update(tables)
        if text not in self._leaves:
            name = f"c{next(self.names)}"
            self.stages[0].columns.append((name, text))
            self._leaves[text] = Cell(name)
        return self._leaves[text]

    def bind(self, cell: Cell) -> Cell:
        """Return a cell as a column, so that its text is written once."""
        if cell.simple:
            return cell
        key = cell.text, cell.stage
        if key not in self._bound:
            name = f"c{next(self.names)}"
            self.stage(cell.stage + 1).columns.append((name, cell.text))
            self._bound[key] = Cell(name, cell.stage + 1)
        return self._bound[key]

    def column(self, cell: Cell) -> Cell:
        """Return a cell as a column in any case, also a constant."""
        return self.bind(Cell(cell.text, cell.stage, False)) if cell.constant else self.bind(cell)

    def stage(self, number: int) -> Stage:
        """Return a stage, made when it is first needed."""
        while len(self.stages) <= number:
            self.stages.append(Stage())
        return self.stages[number]

    def keep(self, cell: Cell) -> None:
        """Keep only the rows where a condition holds, from the stage after the cell's on."""
        self.stage(cell.stage + 1).filters.append(cell.text)

    def join(
        self,
        table: str,
        condition: str,
        columns: list[str],
        stage: int,
        before: Callable[[], list[Cte]] | None = None,
    ) -> list[Cell]:
        """Join a table from the left after a stage, and return some of its columns.

        `condition` and `columns` name the table as `t` and the columns of the stage as `p`.
        """
        alias = f"t{next(self.names)}"
        target = self.stage(stage + 1)
        target.joins.append(f"LEFT JOIN {table} {alias} ON {condition.replace('t.', alias + '.')}")
        if before is not None:
            target.before.append(before)
        cells = []
        for column in columns:
            name = f"c{next(self.names)}"
            target.columns.append((name, f"{alias}.{column}"))
            cells.append(Cell(name, stage + 1))
        return cells

    def at(self, number: int) -> str:
        """Return the name of the relation as it is after a stage."""
        self.stage(number)
        barrier = "_barrier" if number and not number % _BARRIER else ""
        return f"{self.name}_{number}{barrier}"

    @property
    def last(self) -> str:
        """The name of the finished relation."""
        return self.at(len(self.stages) - 1)

    def ctes(self) -> list[Cte]:
        """Return the finished relation as named queries, each from those before."""
        columns = self.stages[0].columns or [("nothing", "0")]
        listed = ", ".join(f"{text} AS {name}" for name, text in columns)
        parts = [f"SELECT {listed} FROM {base}" for base in self.base(self).split("\n")]
        found = [cte for before in self.stages[0].before for cte in before()]
        found.append((self.at(0), " UNION ALL ".join(parts)))
        for number in range(1, len(self.stages)):
            stage = self.stages[number]
            for before in stage.before:
                found += before()
            listed = "".join(f", {text} AS {name}" for name, text in stage.columns)
            text = " ".join([f"SELECT p.*{listed} FROM {self.at(number - 1)} p", *stage.joins])
            if stage.filters:
                text += f" WHERE {' AND '.join(stage.filters)}"
            found.append((self.at(number), text))
        return found


def numbers() -> Iterator[int]:
    """Return a source of numbers for the names of one query."""
    return count()


def query(ctes: list[Cte], last: str, barrier: str) -> str:
    """Return a query of named parts; `barrier` makes the engine compute one by itself."""
    if not ctes:
        return last
    parts = ",\n     ".join(
        f"{name} AS {barrier if name.endswith('_barrier') else ''}({text})" for name, text in ctes
    )
    return f"WITH {parts}\n{last}"
