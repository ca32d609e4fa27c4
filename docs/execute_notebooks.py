"""Run the gallery's notebooks and keep their outputs in them: `make notebooks`.

The site runs them again by itself; this is for those who read them where they are kept. Pictures are stored with 128 colours,
which shows in none of them and takes a third of the room; what changes with every run, such as times, is left out.
"""

import base64
import io
import sys
from pathlib import Path

import nbclient
import nbformat
from PIL import Image

GALLERY = Path(__file__).parent / "gallery"
COLOURS = 128
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
KEPT = {"kernelspec": KERNEL, "language_info": {"name": "python"}}


def smaller(png: str) -> str:
    """The same picture, base64 as notebooks hold it, with few colours."""
    picture = Image.open(io.BytesIO(base64.b64decode(png))).convert("RGB").quantize(COLOURS, dither=Image.Dither.NONE)
    buffer = io.BytesIO()
    picture.save(buffer, "png", optimize=True)
    return base64.b64encode(buffer.getvalue()).decode() + "\n"


def execute(path: Path) -> None:
    """Run all cells of one notebook in its folder, and write it."""
    notebook = nbformat.read(path, as_version=4)
    nbclient.NotebookClient(notebook, timeout=240, resources={"metadata": {"path": str(path.parent)}}).execute()
    notebook.metadata = nbformat.from_dict(KEPT)
    for k, cell in enumerate(notebook.cells):
        cell.id = f"cell-{k}"
        cell.metadata.pop("execution", None)
        for output in cell.get("outputs", []):
            picture = output.get("data", {}).get("image/png")
            if picture:
                output["data"]["image/png"] = smaller(picture)
    nbformat.validate(notebook)
    nbformat.write(notebook, path)


def main() -> None:
    """Run those named, or all."""
    sys.path.insert(0, str(Path(__file__).parent))
    import conf  # noqa: F401  what pages' code finds in its environment

    for path in [Path(name) for name in sys.argv[1:]] or sorted(GALLERY.glob("*.ipynb")):
        execute(path)
        print(path.name, f"{path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
