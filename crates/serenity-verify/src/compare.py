"""Inputs for models, and how their outputs differ. Whoever uses it has imported numpy."""


def random_value(wanted, generator):
    """Values that exercise a tensor: the whole range of small types, small numbers where they may be indices."""
    dtype = numpy.dtype(wanted["dtype"])
    shape = wanted["shape"]
    if dtype.kind == "f":
        return generator.uniform(-1, 1, shape).astype(dtype)
    if dtype.kind == "b":
        return generator.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu" and dtype.itemsize <= 2:
        limits = numpy.iinfo(dtype)
        return generator.integers(limits.min, limits.max + 1, shape).astype(dtype)
    if dtype.kind in "iu":
        return generator.integers(0, 4, shape).astype(dtype)
    raise ValueError(f"no random values can be made for the input `{wanted['name']}` of type {dtype}")


class Comparison:
    """What is known so far of one output."""

    def __init__(self, name):
        self.name = name
        self.equal = True
        self.largest = 0
        self.incomparable = 0

    def add(self, a, b):
        a, b = numpy.asarray(a), numpy.asarray(b)
        if a.dtype != b.dtype or a.shape != b.shape:
            self.equal = False
            self.incomparable += max(a.size, b.size)
            return
        if a.dtype == object:
            differing = int((a != b).sum())
            self.equal &= differing == 0
            self.incomparable += differing
            return
        if a.tobytes() == b.tobytes():
            return
        self.equal = False
        if a.dtype.kind in "iub":
            # The true difference of two integers fits the unsigned type of their width, modulo 2 to its power.
            difference = numpy.maximum(a, b).astype(numpy.uint64) - numpy.minimum(a, b).astype(numpy.uint64)
            self.largest = max(self.largest, int(difference.max()))
            return
        a, b = a.astype(numpy.float64), b.astype(numpy.float64)
        alike = (a == b) | (numpy.isnan(a) & numpy.isnan(b))
        comparable = numpy.isfinite(a) & numpy.isfinite(b)
        self.incomparable += int((~alike & ~comparable).sum())
        difference = numpy.abs(a[comparable] - b[comparable])
        if difference.size:
            # Of two finite numbers the difference may still be infinite, which JSON cannot say.
            self.largest = min(max(self.largest, float(difference.max())), sys.float_info.max)

    def as_json(self):
        return {
            "name": self.name,
            "equal": self.equal,
            "max_abs_difference": self.largest,
            "incomparable": self.incomparable,
        }


