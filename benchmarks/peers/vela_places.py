#!/usr/bin/env python3
"""Vela's hill-climb allocator, with the iterations that it takes by default. A line a table of buffers: `offsets`, in the order of the table."""

from types import SimpleNamespace

from beside import add_alignment, buffers, judging
from ethosu.vela.hillclimb_allocation import allocate_live_ranges


def judge(path, options, _log):
    align = options.align
    ranges = [
        SimpleNamespace(size=-(-size // align) * align, start_time=first, end_time=last, get_alignment=lambda: align)
        for size, first, last in buffers(path)
    ]
    # It goes on for as long as it is above the limit, and has iterations left.
    return {"offsets": allocate_live_ranges(ranges, None, options.limit)}


def add_options(parser):
    add_alignment(parser)
    parser.add_argument("--limit", type=int, default=4 << 20, help="bytes to get by with; below that it stops once it no longer gains (default 4 MiB, as Vela's)")


if __name__ == "__main__":
    judging.main(__doc__, judge, add_options)
