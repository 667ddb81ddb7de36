"""Every code block of the documentation runs and prints the output shown; every link resolves."""

import contextlib
import io
import os
import pkgutil
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from weft.algorithms import registry
from weft.formats import base as formats
from weft.ir import elementwise
from weft.schedules import base as schedules

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
DESIGN = DOCS / "design"
ALL_PAGES = sorted(DOCS.rglob("*.md"))
PAGES = [path for path in ALL_PAGES if not path.is_relative_to(DESIGN)]
DECISIONS = sorted(path for path in DESIGN.glob("*.md") if path.name != "README.md")
FENCE = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.DOTALL | re.M)
WITH_CODE = [path for path in PAGES if FENCE.search(path.read_text(encoding="utf-8"))]
# Compiled, but not run.
NOT_HERE = ('title="on a GPU"', 'title="with weft-networkx"', 'title="with Spark"')
NOT_RUN = ("pip ", "make ", "NETWORKX_")  # they change the environment, or need another


@pytest.fixture(autouse=True)
def _what_pages_register_is_forgotten(monkeypatch):
    monkeypatch.setattr(formats, "_formats", dict(formats.formats()))
    monkeypatch.setattr(schedules, "_schedules", dict(schedules.schedules()))
    monkeypatch.setattr(registry, "_known", dict(registry.algorithms()))
    declared = set(elementwise.OPS)
    yield
    for name in set(elementwise.OPS) - declared:
        del elementwise.OPS[name]
        elementwise.ELEMENTWISE.discard(name)


@dataclass
class Block:
    language: str
    marks: str
    text: str
    line: int
    output: str | None = None


def name_of(path):
    return str(path.relative_to(DOCS))


def blocks_of(path):
    """Return the blocks of a page; one without a language is the output of the one before."""
    text = path.read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        language, _, marks = match.group(1).partition(" ")
        if language:
            line = text.count("\n", 0, match.start()) + 2
            found.append(Block(language, marks, match.group(2), line))
        else:
            assert found and found[-1].output is None, f"{path}: output of nothing"
            found[-1].output = match.group(2)
    return found


def run_shell(line, environment):
    """Run a command of weft as a process; others are left to the reader."""
    words = shlex.split(line, comments=True)
    if not words or line.startswith(NOT_RUN):
        return
    assert words[0] == "weft", line
    done = subprocess.run(
        [sys.executable, "-m", *words], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"


def run_python(block, path, names):
    """Run a block where it stands, so that errors and tracebacks name the line of the page."""
    code = compile("\n" * (block.line - 1) + block.text, str(path), "exec")
    if block.marks in NOT_HERE:
        return
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, names)
    shown = block.output or ""
    assert printed.getvalue() == shown, f"{path}:{block.line}"


@pytest.mark.parametrize("path", WITH_CODE, ids=name_of)
def test_blocks_run_in_order(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WEFT_TUNINGS", str(tmp_path / "tunings.sqlite"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    names = {"__name__": "page"}
    for block in blocks_of(path):
        if block.language == "python":
            run_python(block, path, names)
        elif block.language == "sh":
            for line in block.text.splitlines():
                run_shell(line, environment)
        else:
            pytest.fail(f"{path}:{block.line}: a block of {block.language!r} is not run")


def anchor_of(heading):
    """Return the anchor that the site gives to a heading."""
    kept = re.sub(r"[^\w\s-]", "", heading.replace("`", "")).strip().lower()
    return re.sub(r"[\s-]+", "-", kept)


@pytest.mark.parametrize("path", ALL_PAGES, ids=name_of)
def test_links_lead_somewhere(path):
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?://", target):
            continue
        file, _, anchor = target.partition("#")
        page = (path.parent / file).resolve() if file else path
        assert page.is_file(), f"{name_of(path)} links to {target}"
        assert page.is_relative_to(DOCS), f"{name_of(path)} links out of the site: {target}"
        if anchor:
            content = page.read_text(encoding="utf-8")
            anchors = set(map(anchor_of, re.findall(r"^#+ (.*)$", content, re.M)))
            anchors |= set(re.findall(r"^::: (.*)$", content, re.M))
            assert anchor in anchors, f"{name_of(path)} links to {target}"


def test_pages_are_in_the_navigation():
    _, _, nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").partition("\nnav:\n")
    listed = set(re.findall(r"[\w/-]+\.md", nav))
    assert listed == {name_of(path) for path in PAGES} | {"design/README.md"}


def test_the_index_of_decisions_lists_every_design_page():
    index = (DESIGN / "README.md").read_text(encoding="utf-8")
    listed = re.findall(r"^- \[[^\]]+\]\(([\w-]+\.md)\)", index, re.M)
    assert sorted(listed) == sorted(path.name for path in DECISIONS)


@pytest.mark.parametrize("path", DECISIONS, ids=name_of)
def test_a_design_page_is_one_decision(path):
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    assert re.findall(r"^## (.*)$", text, re.M) == ["Context", "Decision", "Consequences"]
    assert len(text.split()) <= 400


@pytest.mark.parametrize("path", ALL_PAGES, ids=name_of)
def test_named_modules_and_files_exist(path):
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    for name in re.findall(r"`(weft(?:\.\w+)+)`", text):
        pkgutil.resolve_name(name)  # raises if there is no such module or attribute
    for file in re.findall(r"`((?:src|tests|benchmarks)/[\w./]+)`", text):
        assert (ROOT / file).exists(), f"{name_of(path)} names {file}"


def test_the_table_of_algorithms_matches_the_registry():
    text = (DOCS / "reference" / "algorithms.md").read_text(encoding="utf-8")
    known = sorted(registry.algorithms().values(), key=lambda a: registry.GROUPS.index(a.group))
    rows = [
        f"| [`weft.{a.name}`](#weft.{a.name}) | {a.group} | {a.summary} | {a.weights} "
        f"| {a.directed} |"
        for a in known
    ]
    assert [line for line in text.splitlines() if line.startswith("| [")] == rows
    assert re.findall(r"^::: weft\.(\w+)$", text, re.M) == [a.name for a in known]


def test_the_reference_names_everything_public():
    import weft

    pages = sorted((DOCS / "reference").glob("*.md"))
    text = "\n".join(path.read_text(encoding="utf-8") for path in pages)
    named = set(re.findall(r"weft\.(?:graph\.)?(\w+)\b", text))
    assert "\n::: weft.ir.trace.functions\n" in text and "\n::: weft.errors\n" in text
    missing = set(weft.__all__) - {"__version__", "vertex_id", "WeftError"}
    missing -= named | defined_functions(text) | {name for name in missing if hasattr(np, name)}
    assert missing == set()


PARTS = re.compile(r"^::: (weft[\w.]*)\n((?: {4}.*\n)*)", re.M)


def test_the_reference_shows_no_private_names():
    """What a page shows of a module or a class is public, or filtered out there."""
    import weft

    for path in sorted((DOCS / "reference").glob("*.md")):
        for name, options in PARTS.findall(path.read_text(encoding="utf-8") + "\n"):
            hidden = re.findall(r"!\^(\w+)\$", options)
            shown = pkgutil.resolve_name(name)
            if name.startswith("weft.ir."):
                source = Path(shown.__file__).read_text(
                    encoding="utf-8"
                )  # pages may declare more ops
                own = {*re.findall(r"^(?:def|class) (\w+)", source, re.MULTILINE)}
                assert {n for n in own if n[0] != "_"} - {*weft.__all__} == set(hidden), name
            elif isinstance(shown, type):
                assert all(hasattr(shown, part) for part in hidden), name


def defined_functions(text):
    """Return the functions of the modules that a reference page shows whole."""
    found = set()
    for module in re.findall(r"^::: (weft\.ir\.trace\.\w+)$", text, re.M):
        path = ROOT / "src" / Path(*module.split(".")).with_suffix(".py")
        found |= set(re.findall(r"^def (\w+)", path.read_text(encoding="utf-8"), re.M))
    return found
