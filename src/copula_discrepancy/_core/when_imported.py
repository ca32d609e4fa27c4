"""Something done as soon as a library is imported, without importing it.

Accessors exist on a library's classes only after the library has been imported, and importing xarray takes half a second. If
the library is there already, the function is called at once. Otherwise a finder waits at the front of `sys.meta_path`. It
finds nothing itself: it asks the other finders for the library, lets its own loader run it, calls the function, and is gone.
"""

import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any


class _Waiting:
    """A finder that lets all others find a library, and learns when it has been loaded."""

    def __init__(self, library: str, then: Callable[[], Any]) -> None:
        self.library, self.then = library, then

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: Any = None) -> Any:
        """The spec that the other finders give, with a loader that calls the function once; None for all other modules."""
        if name != self.library:
            return None
        finders = (finder.find_spec for finder in sys.meta_path if finder is not self and hasattr(finder, "find_spec"))
        spec: Any = next((found for find in finders if (found := find(name, path, target)) is not None), None)
        loader: Any = None if spec is None else spec.loader
        if isinstance(loader, type) or not hasattr(loader, "__dict__") or not hasattr(loader, "exec_module"):
            return spec  # what is built into Python has its finder, a class, as its loader
        run, before = loader.exec_module, dict(vars(loader))

        def run_then_call(module: Any) -> None:
            vars(loader).clear()
            vars(loader).update(before)  # the loader that the module keeps is as it was
            run(module)
            if self in sys.meta_path:
                sys.meta_path.remove(self)
                self.then()

        loader.exec_module = run_then_call
        return spec


def when_imported(library: str, module: str, function: str) -> None:
    """Call a function of one of our modules now if a library is imported, otherwise when it will be.

    Parameters
    ----------
    library : str
        A top-level module, such as "xarray".
    module, function : str
        The module, which is imported only then, and the name of the function in it.
    """

    def then() -> None:
        getattr(import_module(module), function)()

    if sys.modules.get(library) is not None:
        import_module(library)  # waits for another thread that is importing it
        then()
    elif not any(isinstance(finder, _Waiting) and finder.library == library for finder in sys.meta_path):
        sys.meta_path.insert(0, _Waiting(library, then))
