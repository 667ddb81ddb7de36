"""Programs that cannot be written as queries: refused before anything runs."""

from __future__ import annotations

from weft.errors import ConfigError
from weft.ir.ops import Step


class Refused(Exception):
    """An operation without a form in SQL, and the reason; the caller adds the function."""

    def __init__(self, what: str, why: str, remedy: str = "") -> None:
        super().__init__(what, why, remedy)
        self.what, self.why = what, why
        self.remedy = remedy or "run it in memory, with g.to('cpu')"


def refusal(refused: Refused, step: Step | None, dialect: str) -> ConfigError:
    """Return the error for a function that was refused."""
    where = "the run"
    if step is not None:
        where = f"{step.name} ({step.place})" if step.place else step.name
    return ConfigError(
        f"{where} uses {refused.what}, which is not possible on {dialect}: {refused.why}. "
        f"Expected a function that can be written as a query; {refused.remedy}."
    )
