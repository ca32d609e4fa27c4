"""Valid files, damaged at random and read by the library."""

import contextlib
import gzip
import io
import json
import os
import re
import shutil
import struct
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray as xr

import copula_discrepancy as cd
from tests.fuzz import oracle
from tests.fuzz.arrays import Fuzz, anything
from tests.fuzz.kinds import NAMES, Kind, choice
from tests.fuzz.target import Target


@cache
def originals() -> dict[str, bytes]:
    """A valid file of every kind, by its ending; "stan" and "classic" are other files with the same ending."""
    draws = cd.Gumbel(2.0).sample(24, rng=1)
    frame = pd.DataFrame(draws, columns=["mu", "theta[0]"])
    chained = frame.assign(chain=np.repeat([0, 1], 12))
    dataset = xr.Dataset({"mu": (("chain", "draw"), draws[None, :, 0]), "theta": (("chain", "draw", "k"), draws[None])})
    found = {
        ".csv": frame.to_csv(index=False).encode(),
        "chains.csv": chained.to_csv().encode(),
        "stan.csv": _stan(draws),
        ".tsv": frame.to_csv(index=False, sep="\t").encode(),
        ".csv.gz": gzip.compress(frame.to_csv(index=False).encode()),
        ".tsv.gz": gzip.compress(frame.to_csv(index=False, sep="\t").encode()),
        "plain.csv": "\n".join(f"{a:.6f},{b:.3e}" for a, b in draws).encode(),
    }
    arrays = {".npy": draws, "chains.npy": draws.reshape(2, 12, 2), "whole.npy": (draws * 99).astype(">i4")}
    for name, array in arrays.items():
        buffer = io.BytesIO()
        np.save(buffer, array)
        found[name] = buffer.getvalue()
    for name, save in ((".npz", np.savez), ("packed.npz", np.savez_compressed)):
        buffer = io.BytesIO()
        save(buffer, mu=draws[:, 0], theta=draws[:, 1])
        found[name] = buffer.getvalue()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        frame.to_parquet(path)
        found[".parquet"] = path.read_bytes()
        for name, engine, group in (
            (".nc", "h5netcdf", "posterior"),
            ("flat.nc", "h5netcdf", None),
            ("classic.nc", "scipy", None),
        ):
            path.unlink()
            dataset.to_netcdf(path, engine=engine, group=group)
            found[name] = path.read_bytes()
    return found


_STAN_HEAD = """# method = sample (Default)
#   sample
#     num_samples = 24
#     num_warmup = 5
#     save_warmup = false
#     thin = 1
lp__,accept_stat__,mu,theta.1
# Adaptation terminated
# Step size = 0.8
"""


def _stan(draws: np.ndarray) -> bytes:
    rows = "".join(f"{-a:.5f},0.9,{a:.6f},{b:.6f}\n" for a, b in draws)
    return f"{_STAN_HEAD}{rows}# \n#  Elapsed Time: 0.01 seconds\n".encode()


# ---- how files break ---------------------------------------------------------------------------------------------------

_WORDS = (
    b"nan",
    b"inf",
    b"-inf",
    b"1e999",
    b"1e-400",
    b"9" * 40,
    b"",
    b'"',
    b"'",
    b"#",
    b"\0",
    b"\xff",
    b"\xef\xbb\xbf",
    b",",
    b";",
    b"\t",
    b"\r",
    b"\n",
    b"\r\n",
    b"\n\n",
    b" ",
    b"chain",
    b"draw",
    b".chain",
    b"mu",
    b"lp__",
    b"theta[1]",
    b"NA",
    b"1,5",
    b"0x1F",
    b"True",
    b"1_000",
    b"\xe2\x88\x921",
    b"=1+1",
    b"1e",
    b"--",
    b"num_samples = 99999999999999999999",
    b"num_samples = x",
    b"num_warmup = -3",
    b"save_warmup = true",
    b"thin = 0",
    b"thin = nan",
    b"\\",
    b"1e309",
    b"2147483648",
    b"18446744073709551616",
    b"''",
    b"\x1a",
    b"-0",
)


def broken(f: Fuzz, raw: bytes) -> bytes:
    """The file after one to three random damages."""
    for _ in range(f.one(1, 1, 1, 2, 3)):
        raw = f.one(*_ACCIDENTS)(f, raw)
    return raw


def _place(f: Fuzz, raw: bytes) -> int:
    """A random position; headers and ends are more frequent."""
    reach = f.one(len(raw), len(raw), min(len(raw), 200))
    place = f.between(0, max(reach - 1, 0))
    return len(raw) - 1 - place if f.chance(0.25) and raw else place


def _flipped(f: Fuzz, raw: bytes) -> bytes:
    data = bytearray(raw)
    for _ in range(f.one(1, 1, 2, 8)):
        if data:
            data[_place(f, raw)] = f.one(f.between(0, 255), f.between(0, 255), 0, 255, data[_place(f, raw)] ^ 1)
    return bytes(data)


def _cut(f: Fuzz, raw: bytes) -> bytes:
    place = _place(f, raw)
    return f.one(raw[:place], raw[place:], raw[:place] + raw[place + f.between(1, 30) :])


def _doubled(f: Fuzz, raw: bytes) -> bytes:
    place = _place(f, raw)
    return f.one(raw + raw, raw[:place] + raw[max(place - f.between(1, 40), 0) :])


def _with_word(f: Fuzz, raw: bytes) -> bytes:
    place = _place(f, raw)
    return raw[:place] + f.one(*_WORDS) + raw[place + f.one(0, 0, 1, 5) :]


def _with_other_field(f: Fuzz, raw: bytes) -> bytes:
    """One value of a text, or one number anywhere, replaced."""
    fields = list(re.finditer(rb"[^,\t\n#]+" if f.chance(0.7) else rb"[0-9]+", raw[:5000]))
    if not fields:
        return raw
    found = f.one(*fields)
    return raw[: found.start()] + f.one(*_WORDS, b"99999999999", b"7") + raw[found.end() :]


def _with_lines_moved(f: Fuzz, raw: bytes) -> bytes:
    lines = raw.split(b"\n")
    a, b = f.between(0, len(lines) - 1), f.between(0, len(lines) - 1)
    lines[a], lines[b] = lines[b], lines[a]
    if f.chance(0.3):
        lines.insert(a, lines[b])
    if f.chance(0.2):
        del lines[b]
    return b"\n".join(lines)


def _without_a_line(f: Fuzz, raw: bytes) -> bytes:
    """One of the first lines, a setting or the header, is removed."""
    lines = raw.split(b"\n")
    del lines[f.between(0, min(len(lines), 12) - 1)]
    return b"\n".join(lines)


def _encoded(f: Fuzz, raw: bytes) -> bytes:
    text = raw.decode("latin-1")
    return f.one(
        text.encode("utf-16"),
        text.encode("utf-32"),
        b"\xef\xbb\xbf" + raw,
        raw.replace(b"mu", "µ".encode()),
        raw.replace(b"mu", b"\xb5"),
        raw.replace(b"\n", b"\r\n"),
        raw.replace(b"\n", b"\r"),
        raw.replace(b",", b";"),
        raw.replace(b".", b","),
        raw.upper(),
    )


def _packed(f: Fuzz, raw: bytes) -> bytes:
    """Compressed once more, a small bomb, or an archive with odd members."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(f.one("a.npy", "../a.npy", "a.txt", "a", "mu.npy"), f.one(raw, b"", originals()[".npy"], bytes(10**6)))
        if f.chance(0.3):
            archive.writestr(
                "b.npy",
                b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False, 'shape': (9999999999999,)}".ljust(128) + b"\n",
            )
    return f.one(
        gzip.compress(raw),
        gzip.compress(gzip.compress(raw)),
        gzip.compress(bytes(10**6)),
        buffer.getvalue(),
        gzip.compress(raw)[:-9],
    )


def _other(f: Fuzz, raw: bytes) -> bytes:
    """Another file with this name."""
    return f.one(
        b"",
        b"\n",
        b" ",
        b"#\n",
        b"a\n",
        b"a,b\n",
        b"1,2\n",
        bytes(50),
        f.rng.bytes(60),
        f.one(*originals().values()),
        json.dumps({"mu": [1, 2, 3]}).encode(),
        b"\x89HDF\r\n\x1a\n" + f.rng.bytes(99),
        b"PAR1" + f.rng.bytes(60) + b"PAR1",
        b"CDF\x01" + f.rng.bytes(60),
        b"\x93NUMPY" + f.rng.bytes(60),
        b"PK\x03\x04" + f.rng.bytes(60),
        b"\x1f\x8b" + f.rng.bytes(60),
        struct.pack("<q", -1) * 9,
        b"\x80\x04\x8c\x05posix\x8c\x06system\x93.",
        b"a,b\n" + b"1,2\n" * 2000,
        b",".join([b"a"] * 300) + b"\n",
        b'"' + b"a\n" * 50,
    )


_ACCIDENTS = (
    _flipped,
    _flipped,
    _flipped,
    _cut,
    _doubled,
    _with_word,
    _with_word,
    _with_other_field,
    _with_other_field,
    _with_other_field,
    _with_lines_moved,
    _without_a_line,
    _encoded,
    _packed,
    _other,
)


@contextlib.contextmanager
def folder_of(files: dict[str, bytes | None]) -> Any:
    """A new folder with these files as the current one; None makes a directory."""
    before, folder = os.getcwd(), tempfile.mkdtemp()
    try:
        for name, raw in files.items():
            path = Path(folder) / name
            if raw is None:
                path.mkdir()
            else:
                path.write_bytes(raw)
        os.chdir(folder)
        yield Path(folder)
    finally:
        os.chdir(before)
        shutil.rmtree(folder)


def _file(f: Fuzz, name: str, *, whole: float) -> tuple[str, bytes | None]:
    """A file of this kind, whole with this probability."""
    raw = originals()[name]
    stem = f.one("file", "file", "a b", "ü", "x[1]", "CAPS")
    ending = "." + name.partition(".")[2]
    if f.chance(whole):
        return stem + ending, raw
    if f.chance(0.08):
        ending = f.one(".csv", ".tsv", ".npy", ".npz", ".nc", ".parquet", ".csv.gz", ".txt", ".json", ".h5", "", ".CSV")
        return stem + ending, None if f.chance(0.1) else raw
    return stem + ending, broken(f, raw)


_HEAVY = (".nc", "flat.nc", "classic.nc")  # xarray takes ten times as long as the others


def files(f: Fuzz, *, whole: float = 0.3) -> dict[str, bytes | None]:
    """One file, or two as chains."""
    kinds = [name for name in originals() if (name in _HEAVY) == f.chance(0.12)] or [".csv"]
    name = f.one(*kinds, *(["stan.csv"] * 4))  # no other reader decides as much
    found = dict([_file(f, name, whole=whole)])
    if f.chance(0.15):
        found["second." + name.partition(".")[2]] = _file(f, name, whole=0.7)[1]
    return found


FILES = Kind(files, files)


def read(files: dict[str, bytes | None], way: Any, **choices: Any) -> Any:
    with folder_of(files) as folder:
        names = list(files)
        given = {
            "name": names[0] if len(names) == 1 else names,
            "path": folder / names[0],
            "folder": os.curdir,
            "pattern": "*" + os.path.splitext(names[0])[1],
            "bytes": os.fsencode(names[0]),
        }.get(str(way), way)
        return cd.as_draws(given, **choices)


TARGETS = [
    Target(
        "files",
        read,
        {
            "files": FILES,
            "way": Kind(
                lambda f: f.one("name", "name", "path", "pattern", "folder"),
                lambda f: f.one("bytes", "no.csv", "*.x", "", anything(f)),
            ),
        },
        lambda a, g: oracle.draws(a),
        22.0,
        options={
            "var_names": NAMES,
            "chains": choice(None, None, None, 2, "chain"),
            "group": choice("posterior"),
            "delimiter": choice(",", ";", "\t"),
            "exclude": choice("mu", "theta[0]", ["mu"], None),
            "missing": choice("raise", "drop", "pairs", None),
            "parts": choice("auto", "chains", "rows"),
        },
    ),
]
