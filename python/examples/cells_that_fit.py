"""Which random cells fit a device? Samples cells of two search spaces, computes the true least peak of each, keeps those that fit, and plots multiplications against memory.

python cells_that_fit.py --count 3000 --budget 256KB --plot cells.svg
"""

import argparse
import random
import time
from dataclasses import dataclass

import serenity

SIDE, WIDTH = 32, 16  # Feature maps of 32 x 32 and 16 channels, in bytes: int8.


@dataclass
class Cell:
    kind: str
    graph: serenity.Graph
    macs: int


def watts_strogatz(draw: random.Random, nodes: int, neighbours: int, rewire: float) -> list:
    """A small world as RandWire makes them: a ring of neighbours, each edge with some chance put elsewhere; directed from the lower number to the higher. The predecessors of each node."""
    edges = set()
    for node in range(nodes):
        for step in range(1, neighbours // 2 + 1):
            other = (node + step) % nodes
            if draw.random() < rewire:
                free = [n for n in range(nodes) if n != node and tuple(sorted((node, n))) not in edges]
                other = draw.choice(free)
            edges.add(tuple(sorted((node, other))))
    return [sorted(a for a, b in edges if b == node) for node in range(nodes)]


def randwire(draw: random.Random, nodes: int = 32) -> Cell:
    """Every node adds up what it gets and convolves it, depthwise and then pointwise."""
    size = SIDE * SIDE * WIDTH
    ops, macs = [], 0
    read = set()
    for node, before in enumerate(watts_strogatz(draw, nodes, 4, 0.75)):
        read.update(before)
        ops.append((f"n{node}", [f"n{other}" for other in before] or ["x"], size, "CONV_2D"))
        macs += SIDE * SIDE * WIDTH * (9 + WIDTH)
    ends = [f"n{node}" for node in range(nodes) if node not in read]
    ops.append(("mean", ends, size, "ADD"))
    return Cell("RandWire", serenity.Graph.from_ops(ops, inputs={"x": size}), macs)


def searched(draw: random.Random, blocks: int = 8) -> Cell:
    """A cell as searches for architectures draw them: every block adds two convolutions of earlier results, of random widths; what nobody reads is joined."""
    widths = {"x": WIDTH, "y": WIDTH}
    ops, macs, read = [], 0, set()
    for block in range(blocks):
        width = draw.choice([8, 16, 24, 32])
        halves = []
        for side in "ab":
            source = draw.choice(list(widths))
            kernel = draw.choice([1, 3, 5])
            read.add(source)
            halves.append(f"b{block}{side}")
            ops.append((halves[-1], [source], SIDE * SIDE * width, "CONV_2D"))
            macs += SIDE * SIDE * (widths[source] * kernel * kernel + widths[source] * width)
        ops.append((f"b{block}", halves, SIDE * SIDE * width, "ADD"))
        widths[f"b{block}"] = width
    loose = [name for name in widths if name not in read and name.startswith("b")]
    ops.append(("joined", loose, SIDE * SIDE * sum(widths[name] for name in loose), "CONCATENATION"))
    inputs = {name: SIDE * SIDE * WIDTH for name in ("x", "y")}
    return Cell("searched", serenity.Graph.from_ops(ops, inputs=inputs), macs)


def sample(count: int, seed: int = 0) -> list:
    """So many cells of each kind."""
    draw = random.Random(seed)
    return [make(draw) for make in (randwire, searched) for _ in range(count)]


def study(cells: list, budget: str) -> list:
    """The cells with their results, in the same order; every peak is proved least."""
    results = serenity.optimize_many([cell.graph for cell in cells], budget=budget, rewrite="none", errors="raise")
    return list(zip(cells, results))


def plot(rows: list, path: str) -> None:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(8, 5))
    for kind in ("RandWire", "searched"):
        for fits, marker in ((True, "o"), (False, "x")):
            chosen = [
                (cell.macs / 1e6, best.peak / 1e3) for cell, best in rows if cell.kind == kind and best.fits is fits
            ]
            axes.scatter(
                *zip(*chosen) if chosen else ((), ()),
                s=8,
                marker=marker,
                label=f"{kind}, {'fits' if fits else 'too large'}",
            )
    axes.set(
        xlabel="million multiplications",
        ylabel="least peak, KB",
        title="What a cell computes, and the least memory it needs",
    )
    axes.legend()
    figure.savefig(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=1500, help="cells of each kind")
    parser.add_argument("--budget", default="256KB")
    parser.add_argument("--plot", help="a picture, as .svg or .png")
    args = parser.parse_args()
    cells = sample(args.count)
    begin = time.perf_counter()
    rows = study(cells, args.budget)
    seconds = time.perf_counter() - begin
    for kind in ("RandWire", "searched"):
        mine = [best for cell, best in rows if cell.kind == kind]
        own = sum(best.before.peak <= best.plan["budget"] for best in mine)
        print(
            f"{kind}: {len(mine)} cells, {sum(best.is_optimal for best in mine)} proved least; "
            f"{sum(best.fits for best in mine)} fit {args.budget}, {own} of them in the order they were drawn in"
        )
    print(f"{len(rows) / seconds:,.0f} cells a second")
    if args.plot:
        plot(rows, args.plot)


if __name__ == "__main__":
    main()
