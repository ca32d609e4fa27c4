"""The command `sketch`: count a table once, so that it can be compared for ever, and where its rows may not go."""

import argparse
from pathlib import Path

from copula_discrepancy.cli import counting, printing
from copula_discrepancy.compare.engine import SUFFIX
from copula_discrepancy.estimate.scanning import ScanOptions, checked_memory, sketch_of


def sketch(options: argparse.Namespace) -> int:
    """Count the rows of a table and write the counts to a file."""
    counting.check_memory(options)
    path = Path(options.out)
    if path.suffix != SUFFIX:
        options.parser.error(f"--out must be a file that ends in {SUFFIX}, got {options.out!r}")
    printing.check_room(path, options.force)
    chosen = counting.selection(options)
    chains, group = chosen.pop("chains"), chosen.pop("group")
    files = options.files if len(options.files) > 1 else options.files[0]
    scanning = ScanOptions(
        checked_memory(options.memory), options.jobs, None, options.checkpoint, options.resolution, chosen, options.triples
    )
    try:
        found, caveats = sketch_of(files, iid=options.iid, options=scanning, chains=chains, group=group)
    except KeyboardInterrupt:
        printing.say_saved(options.checkpoint)
        raise
    written = found.save(path, force=options.force)
    console = printing.console()
    console.print(f"{found!r}.", highlight=False, markup=False, soft_wrap=True)
    for note in (*found.plan_.notes, *(caveat.sentence for caveat in caveats)):
        console.print(f"note: {note}", highlight=False, markup=False, soft_wrap=True)
    size = written.stat().st_size
    console.print(
        f"Wrote {written} ({size / 1e6:.3g} MB): counts of pairs of intervals and the edges of the intervals, no rows. Compare "
        f"it with: copula-discrepancy compare other.parquet {written}{' --iid' if options.iid else ''}",
        highlight=False, markup=False, soft_wrap=True,
    )  # fmt: skip
    return 0
