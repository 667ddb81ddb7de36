"""Writing replaces what a name leads to: links stay links, files keep their permissions."""

import os
import stat
import sys

import pytest

import weft

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX permissions and links")

G = weft.Graph.from_edges([0, 1], [1, 2])


def mode_of(path) -> int:
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.mark.parametrize("name", ["g.txt", "g.weft", "g.mtx.gz"])
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o444, 0o777])
def test_an_existing_file_keeps_its_permissions(tmp_path, name, mode):
    path = tmp_path / name
    path.write_bytes(b"before")
    path.chmod(mode)
    weft.write(G, path)
    assert mode_of(path) == mode
    assert weft.read(path).num_edges == 2


def test_a_new_file_follows_the_umask(tmp_path):
    before = os.umask(0o027)
    try:
        weft.write(G, tmp_path / "g.txt")
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "g.txt") == 0o640


def test_nobody_else_can_read_a_private_file_while_it_is_written(tmp_path, monkeypatch):
    path = tmp_path / "g.txt"
    path.write_bytes(b"before")
    path.chmod(0o600)
    modes = []
    monkeypatch.setattr(
        os,
        "replace",
        lambda old, new: (modes.append(mode_of(old)), os.rename(old, new)),
    )
    weft.write(G, path)
    assert modes == [0o600]


@pytest.mark.parametrize("relative", [True, False])
def test_a_link_stays_and_its_target_is_replaced(tmp_path, relative):
    store = tmp_path / "store"
    store.mkdir()
    target, link = store / "data", tmp_path / "g.txt"
    target.write_bytes(b"before")
    target.chmod(0o600)
    middle = tmp_path / "middle"
    middle.symlink_to("store/data" if relative else target)
    link.symlink_to("middle" if relative else middle)
    weft.write(G, link)
    assert link.is_symlink() and middle.is_symlink() and not target.is_symlink()
    assert mode_of(target) == 0o600
    assert weft.read(link).num_edges == 2
    assert [path.name for path in store.iterdir()] == ["data"]


def test_a_link_to_nothing_makes_its_target(tmp_path):
    (tmp_path / "store").mkdir()
    (tmp_path / "g.txt").symlink_to("store/new")
    weft.write(G, tmp_path / "g.txt")
    assert (tmp_path / "g.txt").is_symlink()
    assert (tmp_path / "store" / "new").is_file()


def test_a_failure_leaves_the_target_of_a_link(tmp_path):
    (tmp_path / "data").write_bytes(b"before")
    (tmp_path / "g.graph").symlink_to("data")
    with pytest.raises(weft.WeftError, match="directed"):
        weft.write(G, tmp_path / "g.graph")
    assert (tmp_path / "data").read_bytes() == b"before"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data", "g.graph"]


def test_a_device_is_written_to_and_not_replaced(tmp_path):
    (tmp_path / "g.txt").symlink_to(os.devnull)
    weft.write(G, tmp_path / "g.txt")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path):
    path = tmp_path / ("g" * 251 + ".txt")
    weft.write(G, path)
    assert weft.read(path).num_edges == 2
