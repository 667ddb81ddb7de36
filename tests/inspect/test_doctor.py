"""The doctor: every finding and remedy, and no exception on a broken machine."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import fake_cupy
from weft.arrays import device as devices
from weft.cli import app
from weft.inspect import doctor

SOURCE = Path(__file__).parents[2] / "src"


def found(findings, name):
    (finding,) = [f for f in findings if f.name == name]
    return finding


@pytest.fixture
def no_gpu(monkeypatch):
    monkeypatch.setattr(devices, "driver_version", lambda: None)
    has = devices.has_module
    monkeypatch.setattr(devices, "has_module", lambda name: not name.startswith("cu") and has(name))


def test_a_machine_without_a_gpu_works(no_gpu):
    findings = doctor.examine()
    assert doctor.works(findings)
    assert found(findings, "trial run").status == "ok"
    assert found(findings, "NVIDIA driver").remedy.endswith("nvidia.com/drivers")
    for name in ("CuPy", "cuda-core", "NVRTC"):
        assert found(findings, name).remedy == "pip install 'weft[cuda13]'"
        assert found(findings, name).status == "note"
    text = doctor.report(findings)
    assert "The CPU works. A GPU cannot be used." in text
    assert "-> pip install 'weft[cuda13]'" in text


def test_the_command_prints_the_report_and_succeeds(no_gpu):
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 0
    assert "Python" in result.output and "The CPU works" in result.output


def test_the_module_can_be_run():
    done = subprocess.run(
        [sys.executable, "-m", "weft", "--help"],
        env={"PYTHONPATH": str(SOURCE), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert "doctor" in done.stdout


def test_a_driver_without_cupy_is_missing_something(no_gpu, monkeypatch):
    monkeypatch.setattr(devices, "driver_version", lambda: 12080)
    findings = doctor.examine()
    assert found(findings, "NVIDIA driver").detail == "supports CUDA 12.8"
    assert found(findings, "CuPy").status == "missing"
    assert found(findings, "CuPy").remedy == "pip install 'weft[cuda12]'"
    assert doctor.works(findings)


def test_gpus_are_listed_with_what_is_wrong_with_them(monkeypatch):
    def version(module):
        if module == "cuda.core":
            raise ImportError("libnvrtc.so.13: cannot open shared object file")
        return "13.0"

    with fake_cupy.installed(monkeypatch):
        monkeypatch.setattr(doctor, "_cuda_version", version)
        findings = doctor.examine()
    first, second = found(findings, "GPU 0"), found(findings, "GPU 1")
    assert first.status == "ok"
    assert first.detail == "Fake H200, compute capability 9.0, 149.3 GB"
    assert second.status == "missing"
    assert "compute capability 6.1. Expected 7.5" in second.remedy
    assert "A GPU can be used" in doctor.report(findings)
    assert found(findings, "CuPy").detail == "13.0"
    assert found(findings, "cuda-core").status == "missing"
    assert "libnvrtc.so.13" in found(findings, "cuda-core").detail
    assert found(findings, "cuda-core").remedy == "pip install 'weft[cuda13]'"


def test_a_broken_probe_becomes_a_finding(monkeypatch, no_gpu):
    def broken(*args):
        raise OSError("no such processor")

    monkeypatch.setattr("weft.arrays.threads.num_threads", broken)
    findings = doctor.examine()
    assert found(findings, "CPU threads").detail == "OSError: no such processor"
    assert not doctor.works(findings)
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 1
    assert "The CPU does not work" in result.output


def test_a_missing_package_is_named_with_its_command(monkeypatch, no_gpu):
    has = devices.has_module
    monkeypatch.setattr(devices, "has_module", lambda name: name != "numba" and has(name))
    finding = found(doctor.examine(), "numba")
    assert (finding.status, finding.remedy) == ("missing", "pip install numba")


def test_a_cache_that_cannot_be_written_is_a_note(monkeypatch, no_gpu, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path / "file" / "cache"))
    finding = found(doctor.examine(), "cache directory")
    assert finding.status == "note"
    assert "is not used: Not a directory" in finding.detail
    assert "WEFT_CACHE_DIR" in finding.remedy


@pytest.mark.skipif(os.name != "posix", reason="modes")
def test_a_cache_that_others_can_write_is_a_note(monkeypatch, tmp_path):
    monkeypatch.setenv("WEFT_CACHE_DIR", str(tmp_path))
    (tmp_path / "simt").mkdir()
    (tmp_path / "simt").chmod(0o777)
    (finding,) = doctor._cache()
    assert finding.status == "note"
    assert "simt is not used: others can write to it (mode 0777" in finding.detail
    (tmp_path / "simt").chmod(0o700)
    assert doctor._cache()[0].status == "ok"
