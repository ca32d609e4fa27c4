"""A library that is imported later gives notice; nothing else about imports changes."""

import subprocess
import sys

import pytest

# a library of one file, which can fail once, and what is called when it has been imported
LIBRARY = (
    "import sys\nif sys.argv[2] == 'fails' and not hasattr(sys, 'tried'):\n    sys.tried = True\n    raise OSError\nvalue = 1\n"
)
NOTED = "import sys\n\n\ndef note():\n    import library\n    print('called', library.value)\n"
SCRIPT = """
import importlib.util, sys
sys.path.insert(0, sys.argv[1])
from copula_discrepancy._core.when_imported import when_imported
before = [*sys.meta_path]
if sys.argv[2] == 'first':
    import library
when_imported('library', 'noted', 'note')
when_imported('library', 'noted', 'note')
print('waiting', len(sys.meta_path) - len(before), importlib.util.find_spec('library') is not None)
if sys.argv[2] == 'fails':
    try:
        import library
    except OSError:
        print('failed', len(sys.meta_path) - len(before))
import library
print(sys.meta_path == before, type(library.__loader__).__name__, sorted(vars(library.__loader__)))
"""


def output(tmp_path, how):
    (tmp_path / "library.py").write_text(LIBRARY)
    (tmp_path / "noted.py").write_text(NOTED)
    code = SCRIPT if how != "twice" else f"{SCRIPT}\nimport importlib\nimportlib.reload(library)\n"
    ended = subprocess.run([sys.executable, "-c", code, str(tmp_path), how], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.splitlines()


@pytest.mark.parametrize("how", ["later", "twice"])
def test_it_is_called_once_when_the_library_has_been_imported(tmp_path, how):
    assert output(tmp_path, how) == ["waiting 1 True", "called 1", "True SourceFileLoader ['name', 'path']"]


def test_it_is_called_at_once_for_a_library_that_is_there(tmp_path):
    called = ["called 1", "called 1"]  # callers see to it that this does no harm
    assert output(tmp_path, "first") == [*called, "waiting 0 True", "True SourceFileLoader ['name', 'path']"]


def test_an_import_that_fails_leaves_it_waiting(tmp_path):
    lines = ["waiting 1 True", "failed 1", "called 1", "True SourceFileLoader ['name', 'path']"]
    assert output(tmp_path, "fails") == lines
