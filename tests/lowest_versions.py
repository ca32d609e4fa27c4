"""`python -m tests.lowest_versions` prints the lowest supported versions as constraints for pip."""

import re
import tomllib
from pathlib import Path

# extras that users install; the others are for work on the library. Not gpu: the tests need one version of PyTorch, which a
# constraint to another would contradict
USED = ("vine", "dask", "parquet")


def constraints():
    """One line per dependency."""
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [*project["dependencies"], *(line for extra in USED for line in project["optional-dependencies"][extra])]
    return [re.sub(r"^([\w.-]+)(\[.*\])?>=([\w.]+)$", r"\1==\3", line) for line in wanted]


if __name__ == "__main__":
    print("\n".join(constraints()))
