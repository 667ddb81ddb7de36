"""The cache directory: its location, and the private one that replaces it."""

import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile
import types
import warnings
from pathlib import Path

import pytest

from weft.storage import cache_dir as cachedir

if os.name == "posix":
    import grp
    import pwd

SOURCE = Path(__file__).parents[2] / "src"


def test_the_directory_follows_the_environment(tmp_path, monkeypatch):
    monkeypatch.delenv("WEFT_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cachedir.cache_dir() == tmp_path / "xdg" / "weft"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cachedir.cache_dir() == tmp_path / "home" / ".cache" / "weft"
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path / "own"))
    assert cachedir.cache_dir() == tmp_path / "own"
    assert (tmp_path / "own").is_dir()


@pytest.mark.skipif(os.name != "posix", reason="owners and modes")
def test_an_unwritable_directory_is_replaced_with_one_warning(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / "file").touch()
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path / "file" / "below"))
    with pytest.warns(RuntimeWarning, match="Set WEFT_CACHE_DIR"):
        instead = cachedir.cache_dir()
    assert instead == tmp_path / f"weft-{os.getuid()}"
    assert stat.S_IMODE(instead.stat().st_mode) == 0o700
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert cachedir.cache_dir() == instead
        for part in ("cpu", "simt", "cubin"):
            assert cachedir.cache_dir(part) == instead / part
            assert (instead / part).is_dir()
    instead.chmod(0o777)
    assert cachedir.private_temporary() != instead, "others could put code there"


def test_each_kind_of_code_has_its_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path / "own"))
    for part in ("cpu", "simt", "cubin"):
        assert cachedir.cache_dir(part) == tmp_path / "own" / part
        assert cachedir.cache_dir(part).is_dir()
    shutil.rmtree(tmp_path / "own")
    assert cachedir.cache_dir("cpu").is_dir(), "made again after the cache was emptied"


# -- directories that others can write -------------------------------------------------------------

posix = pytest.mark.skipif(os.name != "posix", reason="owners and modes")
STRANGER = 54321


@pytest.fixture
def wanted(tmp_path, monkeypatch):
    """The cache directory from the environment; does not exist yet."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path / "own"))
    return tmp_path / "own"


def give_away(path, monkeypatch):
    """Let a path belong to another user, or this process to another one."""
    if os.geteuid() == 0:
        os.chown(path, STRANGER, STRANGER, follow_symlinks=False)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: STRANGER)


def assert_refused(part, reason):
    """Check that a private directory is used, nothing was written, and the warning says why."""
    instead = cachedir.private_temporary()
    with pytest.warns(RuntimeWarning, match=reason) as told:
        found = cachedir.cache_dir(part)
    assert len(told) == 1
    assert found == instead / part and found.is_dir()
    assert cachedir.used_dir(part) == found
    assert cachedir.cache_dir(part) == found, "no second warning"


@posix
@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o722, 0o702])
@pytest.mark.parametrize("part", ["", "cpu"])
def test_directories_that_others_can_write_are_refused(wanted, part, mode):
    (wanted / part).mkdir(parents=True)
    (wanted / part).chmod(mode)
    assert_refused("cpu", rf"others can write to it \(mode {mode:04o}.* Set WEFT_CACHE_DIR")
    assert [path.name for path in wanted.iterdir()] == [part] * bool(part)
    if part:
        assert cachedir.cache_dir("simt") == wanted / "simt", "the other parts are sound"
    (wanted / part).chmod(0o755)
    assert cachedir.cache_dir("cpu") == wanted / "cpu", "repaired"


@posix
@pytest.mark.parametrize("part", ["", "cpu"])
def test_directories_of_others_are_refused(wanted, part, monkeypatch):
    (wanted / part).mkdir(parents=True)
    (wanted / part).chmod(0o755)
    give_away(wanted / part, monkeypatch)
    assert_refused("cpu", "it belongs to user")
    assert not any((wanted / part).iterdir())


@posix
def test_new_directories_are_private(wanted):
    before = os.umask(0)
    try:
        cachedir.cache_dir("cpu/__pycache__")
    finally:
        os.umask(before)
    for path in (wanted, wanted / "cpu", wanted / "cpu" / "__pycache__"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700


@posix
def test_only_private_groups_may_write(wanted, monkeypatch):
    wanted.mkdir()
    wanted.chmod(0o770)
    me, group = os.geteuid(), wanted.stat().st_gid

    def known(name="me", members=(), primary=group):
        user = types.SimpleNamespace(pw_name="me", pw_gid=primary)
        theirs = types.SimpleNamespace(gr_name=name, gr_mem=list(members))
        monkeypatch.setattr(pwd, "getpwuid", lambda uid: user)
        monkeypatch.setattr(grp, "getgrgid", lambda gid: theirs)
        return cachedir._is_private.__wrapped__(group, me)

    assert known() and known(members=["me"])
    assert not known(name="staff")
    assert not known(members=["me", "you"])
    assert not known(primary=group + 1)
    monkeypatch.setattr(cachedir, "_is_private", lambda gid, uid: True)
    assert cachedir.cache_dir() == wanted
    monkeypatch.setattr(cachedir, "_is_private", lambda gid, uid: False)
    assert "mode 0770" in cachedir.refusal(wanted)


@posix
def test_links_lead_to_directories_that_are_checked(wanted, tmp_path, monkeypatch):
    (tmp_path / "real").mkdir(mode=0o700)
    wanted.symlink_to(tmp_path / "real")
    assert cachedir.cache_dir("cpu") == wanted / "cpu"
    (tmp_path / "real").chmod(0o777)
    assert_refused("simt", "others can write to it")
    (tmp_path / "real").chmod(0o700)
    give_away(wanted, monkeypatch)
    assert cachedir.refusal(wanted).startswith(("the link", "it belongs"))


@posix
def test_a_parent_that_others_can_write_needs_the_sticky_bit(wanted, tmp_path):
    try:
        tmp_path.chmod(0o777)
        reason = "others can replace it: .* has mode 0777"
        assert re.match(reason, cachedir.refusal(wanted)), "it does not exist"
        wanted.mkdir(mode=0o700)
        assert_refused("cpu", reason)
        tmp_path.chmod(0o1777)
        assert cachedir.refusal(wanted) == ""
    finally:
        tmp_path.chmod(0o700)


def test_other_systems_have_no_owners(wanted, monkeypatch):
    wanted.mkdir()
    wanted.chmod(0o777)
    monkeypatch.delattr(os, "geteuid", raising=False)
    monkeypatch.setattr(cachedir.os, "name", "nt")
    assert cachedir.trust_problem(wanted) == "" and cachedir.owner_problem(wanted.stat()) == ""
    monkeypatch.undo()


@posix
def test_a_private_directory_of_one_process_is_removed_at_its_end(tmp_path):
    (tmp_path / f"weft-{os.geteuid()}").write_text("in the way")
    script = (
        "from weft.storage.cache_dir import private_temporary as p; assert p() == p(); print(p())"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE), "TMPDIR": str(tmp_path)},
    )  # fmt: skip
    assert Path(done.stdout.strip()).parent == tmp_path
    assert not Path(done.stdout.strip()).exists()
