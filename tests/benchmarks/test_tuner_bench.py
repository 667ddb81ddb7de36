"""The benchmark of the tuner: its sub-spaces, its replayed searches, and one small run."""

import json
import random
import sys
import types
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[2]))

from benchmarks import tuner, tuner_replay
from weft.formats import formats
from weft.schedules import schedules
from weft.tuning.space import Traits, make_space


@pytest.mark.parametrize("sides", [("push", "pull"), ("gather",)])
def test_sub_spaces_hold_all_formats_and_schedules(sides):
    space = tuner_replay.sub_space(make_space(Traits("emulated", sides)))
    assert space.axis("schedule").values == tuple(schedules())
    assert space.axis("format").values == tuple(formats())
    assert tuner_replay.LEAST <= space.size <= tuner_replay.MOST
    configs = tuner_replay.every_config(space)
    assert len(set(configs)) == len(configs) <= space.size
    assert not any(space.why_not(config) for config in configs)


def test_replayed_searches_are_counted():
    space = tuner_replay.sub_space(make_space(Traits("emulated", ("gather",))))
    times = {
        config: (1.0 if config.schedule == "warp" else 5.0) * (1 + (config.block_size == 128))
        for config in tuner_replay.every_config(space)
    }
    ours, by_chance, halving = tuner_replay.replay(space, times)
    assert ours.ratio == by_chance.ratio == 1.0
    assert ours.until_near <= ours.tried < by_chance.tried == len(times)
    assert halving.tried == len(times) // 4 and halving.ratio >= 1.0


def test_optuna_is_replayed_where_it_is_installed(monkeypatch):
    class Trial:
        def suggest_categorical(self, name, choices):
            return numbers.choice(choices)

    class Study:
        def ask(self):
            return Trial()

        def tell(self, trial, value):
            told.append(value)

    numbers, told = random.Random(3), []
    fake = types.SimpleNamespace(
        logging=types.SimpleNamespace(set_verbosity=lambda level: None, ERROR=0),
        create_study=lambda sampler: Study(),
        samplers=types.SimpleNamespace(TPESampler=lambda seed: None),
        __spec__=object(),
    )
    monkeypatch.setitem(sys.modules, "optuna", fake)
    space = tuner_replay.sub_space(make_space(Traits("emulated", ("gather",))))
    configs = tuner_replay.every_config(space)
    times = {config: 1.0 + k for k, config in enumerate(configs)}
    *_, last = tuner_replay.replay(space, times)
    assert last.name == "Optuna's TPE" and last.tried <= len(configs)
    assert set(told) <= {*times.values(), 2.0 * len(configs)}


def test_a_small_run_tells_everything(tmp_path, capsys):
    path = tmp_path / "tuner.json"
    arguments = ["--device", "cpu", "--graphs", "kron6", "--tasks", "bfs", "--budget", "0.2"]
    assert tuner.main([*arguments, "--json", str(path)]) == 0
    (row,) = json.loads(path.read_text(encoding="utf-8"))
    assert row["tuned_ms"] <= row["default_ms"] and row["errors"] == []
    assert row["timed"] + row["not_reached"] == row["stated"] >= 100
    assert "done; all figures are in" in capsys.readouterr().out


def test_tuned_times_stand_beside_defaults_and_what_was_not_reached(tmp_path, capsys):
    path = tmp_path / "tuner.json"
    arguments = ["--defaults", "--device", "cpu", "--graphs", "kron6,kron7", "--tasks", "bfs"]
    assert tuner.main([*arguments, "--budget", "0.2", "--json", str(path)]) == 0
    rows = json.loads(path.read_text(encoding="utf-8"))
    assert rows and all(row["tuned_ms"] <= row["default_ms"] for row in rows)
    told = capsys.readouterr().out
    for name in ("kron6", "kron7")[: len(rows)]:
        assert f"| {name} | bfs |" in told
    assert told.count("not reached: bfs on") == 2 - len(rows)
    assert tuner.main([*arguments, "--budget", "0", "--json", str(path)]) == 0
    assert json.loads(path.read_text(encoding="utf-8")) == []
    assert "not reached: bfs on kron6" in capsys.readouterr().out


def test_summaries_compare_with_the_best():
    row = {"best_ms": 1.0, "second_ms": 1.2, "worst_ms": 20.0, "tuned_over_best": 1.05}
    row |= {"second_differs_in_format": True, "worst_stopped": False}
    row["searches"] = [{"name": "random order", "until_near": 4.0, "tried": 9.0, "ratio": 1.0}]
    late = row | {"worst_stopped": True, "searches": [row["searches"][0] | {"until_near": None}]}
    assert "1.20 × best, worst 20.0 × best" in tuner.summary([row])
    told = tuner.summary([row, late])
    assert "worst at least 20.0 × best" in told and "second place: 100%" in told
    assert "within 10 %: 2 of 2" in told
    assert "random order: within 10 % on 1 of 2 tables after 4.0 tried in the mean" in told
    assert tuner.summary([]) == "nothing was timed"


@pytest.mark.parametrize("arguments", [["--graphs", "web9"], ["--tasks", "cores"]])
def test_what_is_not_known_is_refused(arguments):
    with pytest.raises(SystemExit):
        tuner.parse(arguments)
