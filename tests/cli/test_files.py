"""`weft info`, `convert` and `generate`, and what the commands have in common."""

import json
import os
import pty
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import weft as weft_package
from weft.cli import app
from weft.generators import __all__ as KINDS

SIZES = {
    "erdos_renyi": ("20", "--p", "0.2"),
    "geometric": ("20", "0.5"),
    "grid": ("3", "4"),
    "kron": ("5",),
    "rmat": ("5",),
    "tree": ("2", "3"),
}


def test_info_tells_size_degrees_and_components(weft, edges):
    done = weft("info", edges)
    assert (done.code, done.err) == (0, "")
    told = dict(line.rsplit(None, 1) for line in done.out.splitlines() if line.strip())
    assert told["vertices"] == "6" and told["edges"] == "5"
    assert told["directed"] == "yes" and told["weight largest"] == "5"
    assert told["out-degree largest"] == "2" and told["components number"] == "2"


def test_info_as_json(weft, edges):
    told = json.loads(weft("info", edges, "--json", "--undirected", "--no-components").out)
    assert told["directed"] is False
    assert told["degree"]["largest"] == 3
    assert "components" not in told


def test_info_tells_what_formats_take(weft, tmp_path):
    (tmp_path / "star.txt").write_text("".join(f"0 {v}\n" for v in range(1, 40)))
    told = json.loads(weft("info", "star.txt", "--formats", "--json", "--no-components").out)
    csr, tigr = told["formats"]["csr"], told["formats"]["tigr"]
    assert csr["bytes"] == 39 * 4 + 41 * 8 and csr["formula_bytes"] == 4 * (39 + 40 + 1)
    assert tigr["virtual rows"] == 5 and tigr["bytes"] > csr["bytes"]
    assert "would waste memory" in told["formats"]["dia"]["refused"]
    assert all(facts.get("build_ms", 0) >= 0 for facts in told["formats"].values())
    both = [told["formats"][name]["order_ms"] for name in ("cr2", "cr2_bare")]
    assert both[0] == both[1] > 0  # one order, whoever asked for it first
    text = weft("info", "star.txt", "--formats", "--no-components").out
    assert "E + V + 1" in text and "virtual rows 5" in text and "waste memory" in text


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_info_draws_the_degrees(weft, edges, tmp_path, suffix):
    done = weft("info", edges, "--plot", f"d.{suffix}")
    assert (done.code, done.err) == (0, f"wrote d.{suffix}\n")
    assert (tmp_path / f"d.{suffix}").stat().st_size > 1000


def test_info_of_an_empty_graph(weft, tmp_path):
    (tmp_path / "none.txt").write_text("# Nodes: 3 Edges: 0\n")
    done = weft("info", "none.txt", "--plot", "d.png")
    assert done.code == 0 and "isolated vertices" in done.out


def test_info_names_possible_plots(weft, edges):
    done = weft("info", edges, "--plot", "d.doc")
    assert done.code == 1 and "Expected .png, .svg or .pdf." in done.err


def test_convert_and_back(weft, edges, tmp_path):
    done = weft("convert", edges, "small.csv.gz")
    assert (done.code, done.out) == (0, "")
    assert done.err == "small.csv.gz: 6 vertices, 5 edges\n"
    g = weft_package.read(tmp_path / "small.csv.gz")
    assert g.to_edges().weight.tolist() == [2, 5, 1, 4, 1]


@pytest.mark.parametrize("suffix", ["weft", "mtx", "gr", "parquet"])
def test_files_of_each_kind_are_written_and_read(weft, edges, tmp_path, suffix):
    assert weft("convert", edges, f"small.{suffix}").code == 0
    told = json.loads(weft("info", f"small.{suffix}", "--json", "--no-components").out)
    assert (told["vertices"], told["edges"], told["weighted"]) == (6, 5, True)
    assert told["file_bytes"] == (tmp_path / f"small.{suffix}").stat().st_size


def test_convert_names_the_formats(weft, edges):
    done = weft("convert", edges, "small.doc")
    assert done.code == 1 and ".doc" in done.err and ".csv" in done.err


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_generated(tmp_path, kind):
    target = str(tmp_path / "g.txt")
    done = CliRunner().invoke(app, ["generate", kind, *SIZES.get(kind, ("20",)), "-o", target])
    assert done.exit_code == 0, done.output
    assert weft_package.read(target).num_edges > 10


def test_what_a_format_does_not_hold_is_named(weft):
    done = weft("generate", "planted", "20", "-o", "p.txt")
    assert done.code == 0, done.err
    assert "Warning: edge list files do not hold everything: vertex column 'comm" in done.err
    done = weft("generate", "planted", "20", "-o", "p.weft")
    assert done.code == 0 and "Warning" not in done.err


def test_generated_weights(weft, tmp_path):
    done = weft("generate", "path", "50", "--weights", "3:9", "--directed", "-o", "p.txt")
    assert done.code == 0, done.err
    g = weft_package.read(tmp_path / "p.txt")
    weight = g.edge["weight"]
    assert g.directed and weight.min() >= 3 and weight.max() <= 9


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["generate", "paths", "3", "-o", "p.txt"], 2, "Did you mean 'path'?"),
        (["generate", "path", "3"], 2, "Missing option"),
        (["generate", "path", "-1", "-o", "p.txt"], 2, "No such option"),
        (["generate", "path", "3", "-o", "p.doc"], 1, "suffix"),
        (["generate", "path", "3", "--weights", "a:b", "-o", "p.txt"], 1, "LOW:HIGH"),
        (["generate", "road", "10", "--keep", "7", "-o", "p.txt"], 1, "keep"),
        (["generate", "path", "3", "-o", "none/p.txt"], 1, "none"),
        (["info", "none.txt"], 1, "none.txt"),
        (["frob"], 2, "frob"),
    ],
)
def test_mistakes(weft, arguments, code, message):
    done = weft(*arguments)
    assert (done.code, done.out) == (code, "")
    assert message in done.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), ("run", "info", "convert", "generate", "doctor", "Exit codes")),
        (("run",), ("ALGORITHM FILE", "Examples", "pagerank")),
        (("info",), ("--plot", "--json", "FILE")),
        (("convert",), ("TARGET", ".parquet")),
        (("generate",), ("KIND", "rmat", "Examples")),
        (("generate", "road"), ("SIDE", "--keep", "--weights", "LOW:HIGH")),
        (("doctor",), ("exit code",)),
    ],
)
def test_help(weft, arguments, words):
    done = weft(*arguments, "--help")
    assert (done.code, done.err) == (0, "")
    for word in words:
        assert word in done.out


def test_a_reader_that_has_seen_enough_is_no_error(edges):
    command = f"{sys.executable} -m weft info {edges} | head -1; exit ${{PIPESTATUS[0]}}"
    source = os.path.dirname(os.path.dirname(weft_package.__file__))
    done = subprocess.run(
        ["bash", "-c", command],
        env={**os.environ, "PYTHONPATH": source},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_progress_is_shown_on_a_terminal_only(edges):
    ours, theirs = pty.openpty()
    code = (
        "import sys, time\n"
        "from weft.cli.progress import working\n"
        "with working('Reading [x]'):\n"
        "    time.sleep(1.2)\n"
    )
    source = os.path.dirname(os.path.dirname(weft_package.__file__))
    environment = {**os.environ, "PYTHONPATH": source, "TERM": "xterm"}
    subprocess.run([sys.executable, "-c", code], env=environment, stderr=theirs, check=True)
    os.close(theirs)
    shown = os.read(ours, 65536).decode()
    assert "Reading [x]" in shown and "0:00:0" in shown
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, check=True
    )
    assert done.stderr == b""
