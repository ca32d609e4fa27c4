"""`--device` of `check` and `compare`: what is said of a device that is not there, and of one that was used."""

import json
from dataclasses import replace

import numpy as np
import pytest

from copula_discrepancy._core.tensors import device as devices
from copula_discrepancy.cli import commands, groups_command, main
from copula_discrepancy.compare.groups_result import GroupedPairwise

WHERE = {"device": "cuda:1", "device_name": "Some Card [1]"}  # brackets would be markup


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("device"), np.random.default_rng(1)
    for name, values in zip(("draws", "reference"), rng.standard_normal((2, 120, 3)), strict=True):
        rows = [f"{a:.6f},{b:.6f},{c:.6f},{'old' if a > 0 else 'young'}" for a, b, c in values]
        (folder / f"{name}.csv").write_text("\n".join(["a,b,c,who", *rows]) + "\n")
    return folder


@pytest.fixture(params=["no PyTorch", "no CUDA"])
def without_cuda(request, monkeypatch):
    """A machine without PyTorch, or with PyTorch and no graphics processor."""
    if request.param == "no PyTorch":
        monkeypatch.setattr(devices, "find_spec", lambda name: None)
    else:
        torch = pytest.importorskip("torch")
        monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    return request.param


def compare(files, *options):
    try:
        return main(["compare", str(files / "draws.csv"), str(files / "reference.csv"), "--iid", *options])
    except SystemExit as ended:  # argparse
        return ended.code


def test_auto_without_a_graphics_processor_says_so_once(files, capsys, without_cuda):
    assert compare(files, "--device", "auto", "--columns", "a,b,c", "--interactions") == 0
    notes = [line for line in capsys.readouterr().out.splitlines() if line.startswith("note: ") and "auto" in line]
    assert len(notes) == 1
    assert "PyTorch" in notes[0]


def test_auto_has_the_numbers_of_the_processor(files, capsys, without_cuda):
    found = []
    for device in ("auto", "cpu"):
        assert compare(files, "--device", device, "--json") == 0
        found.append(json.loads(capsys.readouterr().out))
    assert found[0]["pairs"] == found[1]["pairs"]
    assert [numbers["device"] for numbers in found] == ["cpu", "cpu"]
    assert len(found[0]["notes"]) == len(found[1]["notes"]) + 1


@pytest.mark.parametrize("command", ["check", "compare", "compare --by who", "compare --interactions"])
def test_cuda_that_is_not_there_is_one_error_before_files_are_read(tmp_path, capsys, without_cuda, command):
    name, *options = command.split()
    missing = [str(tmp_path / "missing.csv")] * (2 if name == "compare" else 1)
    assert main([name, *missing, *options, "--device", "cuda:0"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert "missing.csv" not in line
    assert "--device cuda:0" in line
    assert "--device cpu" in line  # the way out, as it is typed
    assert "device='" not in line
    assert ("[gpu]" in line) == (without_cuda == "no PyTorch")


@pytest.mark.parametrize("name", ["gpu", "cuda:", "cuda:x", "mps", "CUDA"])
def test_a_device_that_does_not_exist_is_invalid_usage(files, capsys, name):
    assert compare(files, "--device", name) == 2
    told = capsys.readouterr().err.splitlines()[-1]
    assert repr(name) in told
    assert "cuda:1" in told


def test_rows_that_are_counted_are_not_for_a_device(files, capsys, monkeypatch):
    monkeypatch.setattr(commands, "checked_device", lambda name: (None, ()))
    assert compare(files, "--device", "cuda", "--engine", "counted") == 2
    assert "--engine exact" in capsys.readouterr().err


def on_device(function, called):
    """A function of the library that says it ran on another device."""

    def found(*given, device, **choices):
        called.append(device)
        result = function(*given, **choices)
        if isinstance(result, GroupedPairwise):
            return replace(result, overall=replace(result.overall, **WHERE))
        return replace(result, **WHERE)

    return found


@pytest.mark.slow
@pytest.mark.parametrize("options", [(), ("--by", "who"), ("--interactions", "--columns", "a,b,c")])
def test_the_device_is_passed_on_and_told(files, capsys, monkeypatch, tmp_path, options):
    called = []
    monkeypatch.setattr(commands, "checked_device", lambda name: (None, ()))
    for module, name in ((commands, "rank_pairs"), (commands, "rank_triples"), (groups_command, "compare_groups")):
        monkeypatch.setattr(module, name, on_device(getattr(module, name), called))
    page = tmp_path / "page.html"
    assert compare(files, *options, "--device", "cuda:1", "--html", str(page)) == 0
    assert called == ["cuda:1"] * (2 if "--interactions" in options else 1)
    lines = [line for line in capsys.readouterr().out.splitlines() if "Some Card [1] (cuda:1)" in line]
    assert len(lines) == len(called)
    assert "Some Card [1] (cuda:1)" in page.read_text(encoding="utf-8")
    words = json.loads(page.with_suffix(".json").read_text(encoding="utf-8"))["words"]
    assert words["Device"].endswith("Some Card [1] (cuda:1).")


def test_the_processor_is_not_told(files, capsys):
    assert compare(files) == 0
    assert "\nDevice:" not in capsys.readouterr().out
