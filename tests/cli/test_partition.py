"""`weft partition`, and commands on what it wrote."""

import weft as weft_package


def test_edges_become_a_folder_that_commands_take(weft, tmp_path):
    weft_package.write(weft_package.generators.grid(4, 4), tmp_path / "grid.txt")
    done = weft("partition", "grid.txt", "out", "--blocks", 3, "--memory", "50MB", "--simple")
    assert (done.code, done.err) == (0, "out: 16 vertices, 24 edges, 3 blocks\n")
    ran = weft("run", "bfs", "out", "--source", 0, "-o", "levels.csv")
    assert ran.code == 0
    lines = (tmp_path / "levels.csv").read_text().splitlines()
    assert [int(line.split(",")[1]) for line in lines[1:5]] == [0, 1, 2, 3]


def test_mistakes_end_with_one_message(weft):
    done = weft("partition", "nothing.txt", "out")
    assert done.code == 1 and "nothing.txt does not exist" in done.err
    assert weft("partition", "alone.txt").code == 2
