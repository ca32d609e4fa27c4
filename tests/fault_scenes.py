"""Scenes of `test_faults.py` that need a separate process: resource limits, other users and kills.

`python -m tests.fault_scenes NAME FOLDER` loads the library once, plays every scene of that name in a child forked from there,
so that none sees the limits of another, and prints what each ended with as JSON.
"""

import contextlib
import json
import math
import os
import random
import resource
import signal
import sys
import time
import warnings
from importlib import import_module
from pathlib import Path

import numpy as np

import copula_discrepancy as cd


def apart(scene, *given):
    """The return value or error of a function in a child process; None if the process was killed."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    found = scene(*given)
                except cd.InputError as error:
                    found = f"InputError: {error.code}"
                except Exception as error:
                    found = f"{type(error).__name__}: {error}"
            told = json.dumps([found, [f"{each.category.__name__}: {each.message}" for each in caught]])
            os.write(writer, told.encode())
        finally:
            os._exit(0)
    os.close(writer)
    with open(reader) as file:
        text = file.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else None


# ---- memory ---------------------------------------------------------------------------------------------------------------


def memory(folder):
    from copula_discrepancy.estimate import ranked_pairs

    rng = np.random.default_rng(1)
    n = 200_000
    draws, reference = rng.standard_normal((n, 3)), rng.standard_normal((n, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # compiled, loaded, and what is computed once: a kernel that numba cannot load for lack of memory ends the process
        for each in calls(draws[:500], reference[:500]).values():
            each()
        cd.pairwise(draws[:500], reference[:500], iid=True, n_jobs=1, engine="counted")  # as so many rows are
        ranked_pairs.FEW_DRAWS, few = 0, ranked_pairs.FEW_DRAWS  # beyond, loops are for one pair
        cd.discrepancy(draws[:500, :2], cd.Gaussian(0.1))
        ranked_pairs.FEW_DRAWS = few
    import_module("joblib")  # which the library loads when it first needs it
    full = calls(draws, reference)
    return {name: apart(with_room, room, full[name]) for name, room in ROOM.items()} | {
        "too much to rank": apart(with_room, 4, full["pairwise"])
    }


def calls(draws, reference):
    def taus():
        return [float(row["tau"]) for row in cd.pairwise(draws, reference, iid=True, n_jobs=1).rows]

    return {
        "pairwise": taus,
        "discrepancy": lambda: cd.discrepancy(draws[:, :2], cd.Gaussian(0.1)).cd,
        "fit": lambda: cd.fit(draws[:, :2], "gumbel").theta,
        "ksd": lambda: cd.ksd(draws[:20_000, :2], cd.Gaussian(0.1), n_jobs=1).value,
        "kendall_matrix": lambda: cd.kendall_matrix(draws, n_jobs=1).tolist(),
    }


ROOM = {"pairwise": 34, "discrepancy": 8, "fit": 8, "ksd": 1, "kendall_matrix": 4}  # MiB more than it has: too few for each


def with_room(room, call):
    used = int(next(line for line in Path("/proc/self/status").read_text().split("\n") if line.startswith("VmSize")).split()[1])
    resource.setrlimit(resource.RLIMIT_AS, (used * 1024, resource.RLIM_INFINITY))
    taken = []  # what earlier calls freed, and the process still has, would be room as well
    with contextlib.suppress(MemoryError):
        while True:
            taken.append(bytearray(2**16))
    resource.setrlimit(resource.RLIMIT_AS, (used * 1024 + room * 2**20, resource.RLIM_INFINITY))
    return call()


# ---- disks ----------------------------------------------------------------------------------------------------------------


def disk(folder):
    """Everything that writes, where files must stay small, and where the disk is."""
    from copula_discrepancy.compare import jobs
    from copula_discrepancy.studies.paper.reproduce import reproduce

    jobs._SECONDS, jobs._SHARE, jobs._PART = 0.0, 0.0, 32  # three files instead of one
    draws = np.random.default_rng(1).standard_normal((300, 14))
    whole = cd.pairwise(draws, cd.Gaussian(0.1), iid=True, n_jobs=1)
    result = cd.pairwise(draws[:, :2], cd.Gaussian(0.1), iid=True)
    small, tiny = folder / "small", folder / "tiny"

    def pairs(where):
        again = cd.pairwise(draws, cd.Gaussian(0.1), iid=True, n_jobs=1, checkpoint=where / "checkpoint")
        return again.rows.tobytes() == whole.rows.tobytes()

    def page(where):
        result.to_html(where / "page.html", force=True)

    def replications(where):
        reproduce("experiment3", replications=2, sizes=[100], n_jobs=1, out=where / "run")

    def limited(call, where):
        resource.setrlimit(resource.RLIMIT_FSIZE, (5_000, 5_000))
        return call(where)

    for where in (small, tiny):
        where.mkdir()
    mounted = os.system(f"mount -t tmpfs -o size=32k tmpfs {tiny} 2>/dev/null") == 0
    try:
        found = {}
        for where in (small, *([tiny] if mounted else [])):
            (where / "page.html").write_text("an older page")
            (where / "page.json").write_text("{}")
            play = (lambda call, where: call(where)) if where is tiny else limited
            # no reproduction where that would only draw the same pictures again
            found[where.name] = {
                call.__name__: apart(play, call, where) for call in (pairs, page, *([replications] if where is small else []))
            }
            found[where.name]["left"] = _files(where)
            found[where.name]["older"] = [(where / "page.html").read_text(), (where / "page.json").read_text()]
        if mounted:
            os.system(f"mount -o remount,size=1m {tiny}")
            found["with room"] = apart(pairs, tiny)
    finally:
        if mounted:
            os.system(f"umount {tiny}")
    return found


def _files(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


# ---- numba's cache ----------------------------------------------------------------------------------------------------------

KERNEL = """
from copula_discrepancy._core.kernels.compiled import compiled

@compiled(nogil=True)
def double(x):
    return 2.0 * x
"""
NOBODY = 65534


def cache(folder):
    """A module with a kernel in a folder that cannot be written, for a user who cannot write where numba would."""
    import logging

    import numba.core.caching
    from numba.misc.appdirs import AppDirs

    from copula_discrepancy._core.kernels import compiled

    compiled.compiled()(lambda x: x + 1.0)(1.0)  # all that compiling loads, while it can be read
    AppDirs(appname="numba").user_cache_dir  # noqa: B018
    package = folder / "package"
    package.mkdir()
    (package / "kernel.py").write_text(KERNEL)
    home = folder / "home"
    home.mkdir(mode=0o777)
    home.chmod(0o777)
    package.chmod(0o555)
    sys.path.insert(0, str(package))
    sys.dont_write_bytecode = True
    numba.config.CACHE_DIR = ""

    def play(cache_dir, own_home, limit=None, spoilt=False):
        told = []
        handler = logging.Handler()
        handler.emit = lambda record: told.append(record.getMessage())
        logging.getLogger("copula_discrepancy").addHandler(handler)
        numba.config.CACHE_DIR, os.environ["HOME"], os.environ["XDG_CACHE_HOME"] = cache_dir, own_home, own_home
        compiled._said.clear()
        compiled._waiting._PATIENCE = math.inf  # on a busy machine even these take a second, and say so
        if os.getuid() == 0:
            os.setuid(NOBODY)
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        if spoilt:
            for path in home.rglob("*.nb[ic]"):
                path.write_bytes(path.read_bytes()[:20])
        import kernel

        values = [kernel.double(3.0), kernel.double(4)]  # compiled twice
        return {"values": values, "logged": told, "cached": sorted({path.suffix for path in home.rglob("*.nb?")})}

    nowhere = "/dev/null/nowhere"
    return {
        "full disk": apart(play, "", str(home), 100),
        "no folder": apart(play, nowhere, nowhere),
        "own folder": apart(play, "", str(home)),
        "own folder again": apart(play, "", str(home)),
        "spoilt": apart(play, "", str(home), None, True),
        "asked for": apart(play, str(home / "asked"), nowhere),
        "asked in vain": apart(play, nowhere, str(home / "other")),
    }


def cache_at_import(folder):
    """The library's kernels when numba has no cache folder: imported and called, with one warning."""
    import numba.core.caching

    caching = numba.core.caching
    name = "UserProvidedCacheLocator"  # with an underscore before numba 0.62
    caching.CacheImpl._locator_classes = [getattr(caching, name, None) or getattr(caching, f"_{name}")]
    numba.config.CACHE_DIR = "/dev/null/nowhere"

    def play():
        from copula_discrepancy._core import kernels

        x = np.array([1.0, 2.0])
        return [*kernels.gaussian_sums(x, x[::-1].copy()), *kernels.gaussian_sums(x[::2], x[::2])]

    return apart(play)


# ---- kills ----------------------------------------------------------------------------------------------------------------


def kills(folder):
    from copula_discrepancy.compare import jobs
    from copula_discrepancy.studies.paper import figures
    from copula_discrepancy.studies.paper.reproduce import reproduce

    jobs._SECONDS, jobs._SHARE, jobs._PART = 0.0, 0.0, 32  # four parts, and every one is kept: the runs are short
    figures.draw = lambda *given: []  # slow, and after all that is kept
    rng = np.random.default_rng(2)
    draws, reference = rng.standard_normal((4, 300, 16)), rng.standard_normal((4, 300, 16))

    def pairs(where):
        return cd.pairwise(draws, reference, family="gaussian", n_jobs=1, checkpoint=where).rows.tobytes().hex()

    def replications(where):
        return repr(reproduce("experiment3", replications=30, sizes=[100], n_jobs=1, out=where).experiments["experiment3"].rows)

    warnings.simplefilter("ignore")
    return {name: _killed(call, folder / name) for name, call in (("pairwise", pairs), ("reproduce", replications))}


def _killed(call, folder):
    """How often a run was killed until it completed, and whether its numbers equal those of an undisturbed run.

    Twice it is killed where that is worst, between the writing of a part and its name; then at random.
    """
    undisturbed = call(folder / "undisturbed")  # what is computed once per process is computed here, for all that follow
    begin = time.monotonic()
    call(folder / "timed")
    took = time.monotonic() - begin
    moments = random.Random(4)
    for attempt in range(40):
        child = os.fork()
        if child == 0:
            if attempt < 2:
                _die_at_the_second_file()
            try:
                (folder / "unnamed").write_text(call(folder / "disturbed"))
                (folder / "unnamed").rename(folder / "result")  # whole or not there: a kill may come in between
            finally:
                os._exit(0)
        if attempt >= 2:
            time.sleep(took * moments.uniform(0.1, 0.6) * (1.0 + 0.1 * attempt))  # on a busy machine one comes through, too
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        if (folder / "result").exists():
            parts = sum(1 for _ in (folder / "disturbed" / "parts").rglob("*.json"))
            return {"kills": attempt, "parts": parts, "same": (folder / "result").read_text() == undisturbed}
    return {"kills": attempt, "same": False}


def _die_at_the_second_file():
    """Exit between writing a file and renaming it, except the first time."""
    move, moved = os.replace, []

    def replace(source, target):
        if moved:
            os.kill(os.getpid(), signal.SIGKILL)
        moved.append(target)
        move(source, target)

    os.replace = replace


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](Path(sys.argv[2]))))
