"""The one directory of compiled code: where it is, and what stands in for it."""

import os
import shutil
import stat
import tempfile
import warnings

import pytest

from weft.storage import cache_dir as cachedir


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
