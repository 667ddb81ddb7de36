"""Generated modules: kept machine code, fresh after edits, whole after damage."""

import ast
import os
import pickle
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from random import Random

import numba
import numpy as np
import pytest

import weft.errors
from damage import damage_file
from weft.backends.cpu.host import bind, cache
from weft.backends.cpu.runtime import names as runtime
from weft.storage import cache_dir as cachedir
from weft.storage import sealed

SOURCE = str(Path(weft.errors.__file__).parents[1])

KERNEL = """
from numba import njit
from weft.backends.cpu.runtime.names import *

@njit(nogil=True, cache=True, error_model="numpy")
def kernel(a, n):
    for i in range(n):
        atomic_add(a, i % 2, floordiv(i, 2))
    return a[0] + a[1]
"""


@pytest.fixture
def directory(tmp_path, monkeypatch):
    """An empty cache directory for this process."""
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(cache, "_modules", {})
    return tmp_path / "cpu"


def load_again():
    """Load the module as a new process would."""
    cache._modules.clear()
    return cache.load_module(KERNEL, "test kernel")


def work(module):
    """Run the kernel; return how it came: hits and misses of the cache."""
    assert module.kernel(np.zeros(2, np.int64), 5) == 4
    stats = module.kernel.stats
    return sum(stats.cache_hits.values()), sum(stats.cache_misses.values())


def test_a_module_is_loaded_once(directory):
    modules = []
    threads = [
        threading.Thread(target=lambda: modules.append(cache.load_module(KERNEL, "test kernel")))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(modules) == 4 and len(set(map(id, modules))) == 1
    (file,) = directory.glob("*.py")
    assert file.name.startswith("weft_cpu_test_kernel_")
    assert modules[0].__file__ == str(file)
    assert sys.modules[modules[0].__name__] is modules[0]
    assert cache.fingerprint() in file.read_text().splitlines()[0]
    assert not list(directory.glob("*.tmp"))


def cut(path):
    path.write_bytes(path.read_bytes()[:-20])


def empty(path):
    path.write_bytes(b"")


def garble(path):
    path.write_bytes(b"\x80\x04garbage" * 20)


@pytest.mark.parametrize("damage", [cut, empty, garble])
def test_damaged_files_are_repaired(directory, damage):
    assert work(load_again()) == (0, 1)
    assert work(load_again()) == (1, 0)
    for pattern in ("*.py", "__pycache__/*.nbi", "__pycache__/*.nbc"):
        files = list(directory.glob(pattern))
        assert files
        for file in files:
            damage(file)
        hits, misses = work(load_again())
        assert hits + misses == 1
        assert work(load_again()) == (1, 0), f"{pattern} is still damaged"


def test_damaged_bytecode_is_repaired(directory, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    work(load_again())
    (bytecode,) = directory.glob("__pycache__/*.pyc")
    whole = bytecode.read_bytes()
    for content in (whole[:30], whole[:16] + b"\xff" * 40, b""):
        bytecode.write_bytes(content)
        assert work(load_again()) == (1, 0)


def test_random_damage_is_repaired(directory, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    work(load_again())
    rng = Random(1)
    for _ in range(12):
        file = rng.choice(sorted(path for path in directory.rglob("*") if path.is_file()))
        damage_file(file, rng)
        work(load_again())
        assert work(load_again()) == (1, 0), f"{file.name} is still damaged"


def test_sealed_files_are_refused_after_any_damage(tmp_path):
    rng = Random(2)
    path = tmp_path / "code"
    for size in (0, 1, 100, 5000):
        data = rng.randbytes(size)
        for _ in range(25):
            sealed.write_sealed(path, data)
            assert sealed.read_sealed(path) == data
            damage_file(path, rng)
            assert sealed.read_sealed(path) is None
    sealed.write_sealed(path, data)
    path.rename(tmp_path / "other")
    assert sealed.read_sealed(tmp_path / "other") is None, "it is that of another function"


@pytest.mark.skipif(os.name != "posix", reason="owners, modes and pipes")
def test_files_of_others_are_not_executed(directory, monkeypatch):
    """A planted pickle that has the right checksum and would run."""

    class Planted:
        def __reduce__(self):
            return exec, ("import sys; sys.planted = True",)

    before = os.umask(0)
    try:
        assert work(load_again()) == (0, 1)
    finally:
        os.umask(before)
    assert work(load_again()) == (1, 0), "private whatever the umask"
    for pattern in ("*.nbi", "*.nbc"):
        (file,) = directory.glob(f"__pycache__/{pattern}")
        sealed.write_sealed(file, pickle.dumps(Planted()))
        file.chmod(0o666)
        assert work(load_again()) == (0, 1)
        assert work(load_again()) == (1, 0)
        (file,) = directory.glob(f"__pycache__/{pattern}")
        file.unlink()
        os.mkfifo(file)
        assert work(load_again()) == (0, 1)
        assert work(load_again()) == (1, 0)
    assert not hasattr(sys, "planted")


@pytest.mark.skipif(os.name != "posix", reason="modes")
def test_code_is_not_kept_where_others_can_write(directory, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    (directory / "__pycache__").mkdir(parents=True)
    (directory / "__pycache__").chmod(0o777)
    (tmp_path / "cpu").chmod(0o777)
    with pytest.warns(RuntimeWarning, match="cpu' is not used: others can write to it") as told:
        module = load_again()
        work(module)
    assert len(told) == 1
    assert Path(module.__file__).is_relative_to(cachedir.private_temporary())
    assert not [path for path in directory.rglob("*") if path.is_file()]


def test_numba_settings_do_not_move_machine_code(directory, tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "elsewhere"))
    work(load_again())
    assert len(list(directory.glob("__pycache__/*.nbc"))) == 1
    assert not list((tmp_path / "elsewhere").rglob("*.nb*"))


def test_a_full_disk_is_no_error(directory, monkeypatch):
    def fail(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(cache, "write_whole", fail)
    with pytest.warns(RuntimeWarning, match="a kernel was not cached: .*No space left"):
        module = load_again()
    assert work(module) == (0, 1)
    monkeypatch.undo()
    cache._modules.clear()


def test_functions_of_weft_itself_are_sealed(tmp_path):
    """Also those of modules, which Numba would keep beside their source or in its own cache."""
    script = """
import sys
from weft.topology import row_search
from weft.io import decimals, kernels
from weft.formats.regular import kernels as regular
from weft.topology.orders import community
from weft.backends.cpu.host import clock
from weft.storage.compiled import RepairingCache
from numba.core.dispatcher import Dispatcher
clock._now()
for module in (row_search, decimals, kernels, regular, community, clock):
    found = [f for f in vars(module).values() if isinstance(f, Dispatcher)]
    assert found and all(isinstance(f._cache, RepairingCache) for f in found), module
print(sum(clock._now.stats.cache_hits.values()))
"""
    environment = {**os.environ, "PYTHONPATH": SOURCE, "WEFT_CACHE_DIR": str(tmp_path)}
    environment["HOME"] = str(tmp_path / "file")
    (tmp_path / "file").write_text("no home")
    for hits in ("0", "1"):
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True
        )
        assert done.stdout.split() == [hits], done.stderr
    assert list((tmp_path / "cpu" / "__pycache__").glob("clock._now-*.nbc"))


def test_an_error_of_the_module_itself_is_raised(directory):
    for _ in range(2):
        with pytest.raises(ValueError, match="its own"):
            cache.load_module("raise ValueError('its own')", "broken")
    assert not [name for name in sys.modules if name.startswith("weft_cpu_broken")]


def test_an_edited_run_time_gives_another_file(directory, monkeypatch):
    work(load_again())
    monkeypatch.setattr(cache, "fingerprint", lambda: "edited")
    assert work(load_again()) == (0, 1), "the machine code of the old run-time is not used"
    first, second = sorted(directory.glob("*.py"), key=lambda path: path.stat().st_mtime_ns)
    assert first.read_text().splitlines()[1:] == second.read_text().splitlines()[1:]


def test_the_fingerprint_follows_each_source(tmp_path, monkeypatch):
    folder = Path(cache.__file__).parent
    prints = set()
    for edited in ("nothing", *cache.RUNTIME_SOURCES):
        for name in cache.RUNTIME_SOURCES:
            copy = tmp_path / "a" / "b" / name
            copy.parent.mkdir(parents=True, exist_ok=True)
            text = (folder / name).read_text()
            copy.write_text(text + "# edited" * (name == edited))
        monkeypatch.setattr(cache, "__file__", str(tmp_path / "a" / "b" / "cache.py"))
        prints.add(cache.fingerprint.__wrapped__())
    assert len(prints) == 1 + len(cache.RUNTIME_SOURCES)


def test_the_fingerprint_covers_all_that_generated_code_imports():
    """No listed file may import one that is not listed, within weft."""
    folder = Path(cache.__file__).parent
    package = folder.parents[2]
    listed = {(folder / name).resolve() for name in cache.RUNTIME_SOURCES}
    todo, seen = [folder.parent / "runtime" / "names.py", *listed], set()
    while todo:
        path = todo.pop().resolve()
        if path in seen:
            continue
        seen.add(path)
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("weft."):
                todo.append(package.joinpath(*node.module.split(".")[1:]).with_suffix(".py"))
    assert seen == listed


def test_run_time_exports():
    names = {name for name in vars(runtime) if not name.startswith("_")}
    assert set(runtime.__all__) == names


def test_machine_code_is_kept_between_processes(tmp_path):
    """Two processes start at once with an empty cache; a third compiles nothing."""
    script = f"""
import numpy as np
from weft.backends.cpu.host import cache
module = cache.load_module({KERNEL!r}, "shared")
assert module.kernel(np.zeros(2, np.int64), 5) == 4
print(sum(module.kernel.stats.cache_hits.values()))
"""
    environment = {**os.environ, "PYTHONPATH": SOURCE, "WEFT_CACHE_DIR": str(tmp_path)}

    def start():
        command = [sys.executable, "-c", script]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)

    for process in (start(), start()):
        process.communicate(timeout=120)
        assert process.returncode == 0
    third = start()
    assert third.communicate(timeout=120)[0].split() == ["1"]
    assert third.returncode == 0


def test_read_only_arrays_share_the_machine_code_of_others():
    array = np.arange(5, dtype=np.int32)
    frozen = array.copy()
    frozen.flags.writeable = False
    for of in (bind.unsigned, bind.alike):
        assert numba.typeof(of(frozen)) == numba.typeof(of(array))
    shared = bind.alike(frozen)
    assert shared.tolist() == array.tolist() and np.shares_memory(shared, frozen)
    assert bind.alike(array) is array
