"""The comparison of gathers by vertex and by place, on a graph of a few vertices."""

from benchmarks import places


def test_every_way_is_measured_and_agrees(capsys, monkeypatch):
    monkeypatch.setattr(places, "RUNS", 1)
    monkeypatch.setattr(places, "ITERATIONS", 2)
    assert places.main(["--graphs", "kron5", "--device", "emulated"]) == 0
    lines = capsys.readouterr().out.splitlines()
    timed = [line for line in lines if "an iteration" in line]
    assert len(timed) == 2 * len(places.WAYS)
    assert all(float(line.rsplit(" ", 1)[1]) < 1e-6 for line in timed)
