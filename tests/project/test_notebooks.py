"""Notebooks of the gallery are stored with their outputs, as `make notebooks` writes them; building the site reruns them."""

import json
from pathlib import Path

import pytest

GALLERY = Path(__file__).parents[2] / "docs" / "gallery"
NAMES = (
    "every_kind", "many_samplers", "posterior_check", "step_size_study", "synthetic_data", "vi_against_nuts", "what_it_costs",
)  # fmt: skip
LARGEST = 400_000  # bytes: all that is kept is cloned by everyone


@pytest.fixture(params=NAMES)
def notebook(request):
    path = GALLERY / f"{request.param}.ipynb"
    assert path.stat().st_size < LARGEST
    return json.loads(path.read_text(encoding="utf-8"))


def test_every_cell_was_run_in_order_and_none_failed(notebook):
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    kinds = {output["output_type"] for cell in code for output in cell["outputs"]}
    assert "error" not in kinds
    assert sum("image/png" in output.get("data", {}) for cell in code for output in cell["outputs"]) >= 2


def test_outputs_tell_nothing_of_the_machine(notebook):
    outputs = json.dumps([cell.get("outputs", []) for cell in notebook["cells"]])
    for word in ("/tmp/", "/home/", "/root/", "ipykernel", "site-packages"):
        assert word not in outputs
    assert set(notebook["metadata"]) == {"kernelspec", "language_info"}


def test_the_gallery_has_just_these():
    assert {path.stem for path in GALLERY.glob("*.ipynb")} == set(NAMES)
