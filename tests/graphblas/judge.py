"""A pytest plugin: python-graphblas's own tests against weft.graphblas.

The tests are copied from the installed package into a folder of the caller's, their imports are
rewritten to `gbview`, a module that shows the public names of the target and of python-graphblas's
inner modules only what the tests name: classes for isinstance, parsers of operators, lists of data
types. A message about the library's own module gets the target's name.

Run as ``python -m pytest -p judge FOLDER`` with this folder on the path and JUDGE_FOLDER set.
"""

import importlib.util
import os
import re
import sys
from pathlib import Path
from types import ModuleType

FILES = ("matrix", "vector", "scalar", "infix", "mask", "resolving", "io", "dtype", "op")
CONFTEST = """\
import functools
import pytest
import gbview as gb

pypy = False


def pytest_configure(config):
    config.addinivalue_line("markers", "slow: a longer test")


orig_semirings = {
    name
    for name in dir(gb.semiring)
    if isinstance(getattr(gb.semiring, name, None), gb.core.operator.Semiring)
}
orig_binaryops = {
    name
    for name in dir(gb.binary)
    if isinstance(getattr(gb.binary, name, None), gb.core.operator.BinaryOp)
}


def autocompute(func):
    @functools.wraps(func)
    def inner(*args, **kwargs):
        with gb.config.set(autocompute=True):
            return func(*args, **kwargs)
    return inner


def compute(x):
    return x


def shouldhave(module, opname):
    return True
"""


def prepare(folder: Path) -> None:
    """Copy the tests into a folder, with the imports rewritten."""
    found = importlib.util.find_spec("graphblas")
    source = Path(found.submodule_search_locations[0]) / "tests"
    target = folder / "gbtests"
    target.mkdir(parents=True, exist_ok=True)
    (target / "__init__.py").write_text("")
    (target / "conftest.py").write_text(CONFTEST)
    for name in FILES:
        text = (source / f"test_{name}.py").read_text(encoding="utf-8")
        text = re.sub(r"\b(from|import) graphblas\b", r"\1 gbview", text)
        text = text.replace("module 'graphblas.", "module 'weft.graphblas.")
        (target / f"test_{name}.py").write_text(text, encoding="utf-8")


class View(ModuleType):
    """A module whose missing names are errors of import, not of the tests."""


def module(name: str, **names: object) -> ModuleType:
    """Return a module of some names, known to imports."""
    made = ModuleType(name)
    made.__path__ = []
    vars(made).update(names)
    sys.modules[name] = made
    return made


class Missing:
    """A C library that is not there: whoever uses it is skipped."""

    def __getattr__(self, name: str) -> object:
        import pytest

        if not name.startswith(("GrB", "GxB")):
            raise AttributeError(name)
        pytest.skip("uses the C library")


def install() -> None:
    """Make `gbview` show weft.graphblas."""
    import weft.graphblas as gb
    from weft.graphblas import infix, mask, matrix, scalar, updates, vector
    from weft.graphblas.operators import agg, base, lookup
    from weft.graphblas.operators.binary import BinaryOp, ParameterizedBinaryOp
    from weft.graphblas.operators.indexunary import IndexUnaryOp
    from weft.graphblas.operators.monoid import Monoid, ParameterizedMonoid
    from weft.graphblas.operators.select import SelectOp
    from weft.graphblas.operators.semiring import ParameterizedSemiring, Semiring
    from weft.graphblas.operators.unary import ParameterizedUnaryOp, UnaryOp

    for kind in (base.TypedOp, gb.dtypes.DataType):
        kind.gb_obj = property(lambda self: Missing().GrB_object)
    base.Operator._initialize = classmethod(lambda cls: None)  # operators need none
    gb.dtypes._INDEX = gb.dtypes.UINT64
    names = {name: getattr(gb, name) for name in gb.__all__}
    operator = module(
        "gbview.core.operator",
        UnaryOp=UnaryOp,
        BinaryOp=BinaryOp,
        Monoid=Monoid,
        Semiring=Semiring,
        IndexUnaryOp=IndexUnaryOp,
        SelectOp=SelectOp,
        OpBase=base.Operator,
        OpPath=base.OpPath,
        ParameterizedUdf=base.Parameterized,
        ParameterizedUnaryOp=ParameterizedUnaryOp,
        ParameterizedBinaryOp=ParameterizedBinaryOp,
        ParameterizedMonoid=ParameterizedMonoid,
        ParameterizedSemiring=ParameterizedSemiring,
        TypedOpBase=base.TypedOp,
        Aggregator=agg.Aggregator,
        find_opclass=lookup.find_opclass,
        get_typed_op=lookup.get_typed_op,
        get_semiring=lookup.get_semiring,
        UNKNOWN_OPCLASS=base.UNKNOWN_OPCLASS,
    )
    core = module(
        "gbview.core",
        _supports_udfs=True,
        lib=Missing(),
        ffi=Missing(),
        NULL=None,
        operator=operator,
        mask=module("gbview.core.mask", **vars(mask)),
        expr=module("gbview.core.expr", **vars(updates)),
        infix=module("gbview.core.infix", **vars(infix)),
        matrix=module(
            "gbview.core.matrix", **vars(matrix), MatrixExpression=infix.MatrixExpression
        ),
        vector=module("gbview.core.vector", **vars(vector)),
        scalar=module("gbview.core.scalar", **vars(scalar)),
        dtypes=module("gbview.core.dtypes", **vars(gb.dtypes)),
        utils=module("gbview.core.utils", _NP2=True, ensure_type=None, normalize_chunks=None),
    )
    view = module("gbview", **{**names, "backend": "weft", "core": core})
    for name in ("dtypes", "exceptions", "unary", "binary", "monoid", "semiring", "op", "agg"):
        sys.modules[f"gbview.{name}"] = names[name]
    for name in ("io", "select", "indexunary", "viz"):
        sys.modules[f"gbview.{name}"] = names[name]
    view.config.set(autocompute=False)
    gb.init(blocking=os.environ.get("JUDGE_BLOCKING", "1") == "1")


def pytest_load_initial_conftests() -> None:
    """Prepare the tests and the view before they are collected."""
    folder = Path(os.environ["JUDGE_FOLDER"])
    prepare(folder)
    sys.path.insert(0, str(folder))
    install()


def pytest_configure(config: object) -> None:
    """Keep the outcome of every test for the one who started the run."""
    config.pluginmanager.register(Outcomes(), "outcomes")


class Outcomes:
    """Writes "outcome node-id" lines to the file that JUDGE_OUTCOMES names."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def pytest_runtest_logreport(self, report: object) -> None:
        """Keep the outcome of a test: of its call, or of its set-up where that ends it."""
        if report.when == "call" or report.outcome != "passed":
            self.lines.append(f"{report.outcome} {report.nodeid.removeprefix('gbtests/')}")

    def pytest_sessionfinish(self) -> None:
        """Write the outcomes."""
        path = os.environ.get("JUDGE_OUTCOMES")
        if path:
            Path(path).write_text("\n".join(sorted(set(self.lines))) + "\n")
