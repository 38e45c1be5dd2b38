"""Reading models."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Optional, Union

from . import _options, _serenity
from ._graph import Graph

Source = Union[str, "os.PathLike[str]", bytes, Graph]


def load(
    source: Source,
    *,
    format: Optional[str] = None,
    runtime: Optional[str] = None,
    shapes: Optional[Mapping[str, _options.Shape]] = None,
    fold_constants: bool = False,
) -> Graph:
    """Read a model: the path of a ``.tflite`` or ``.onnx`` model or of a ``.json`` graph, ``zoo:NAME`` for a built-in network, or the bytes of a file.

    ``format`` (``tflite``, ``onnx`` or ``json``) says what bytes are; without it they tell by themselves. ``shapes`` gives the shapes of inputs that an ``.onnx`` model leaves open, by name, as ``(1, 3,
    224, 224)`` or with a type as ``((1, 64), "float32")``. ``runtime`` matters to ``.onnx`` models only: the memory models ``plain`` and ``paper`` leave out operators on constants.
    ``fold_constants`` leaves them out in any case; in a ``.tflite`` model, 16-bit weights become 32-bit ones.

    :raises FileNotFoundError: if there is no such file
    :raises ValueError: if it is not a model
    """
    reading = _options.reading(runtime, shapes, fold_constants)
    if isinstance(source, Graph):
        return source
    if isinstance(source, (bytes, bytearray, memoryview)):
        return Graph(_serenity.read("bytes", bytes(source), format, reading))
    if isinstance(source, str) or hasattr(source, "__fspath__"):
        path = os.fspath(source)
        if not isinstance(path, str):
            path = os.fsdecode(path)
        return Graph(_serenity.load(path, reading))
    raise TypeError(f"a model is a path, bytes or a serenity.Graph, not {type(source).__name__}")


def as_graph(
    source: Source, runtime: Optional[str] = None, shapes: Optional[Mapping[str, _options.Shape]] = None
) -> Graph:
    """A model that may have been read already."""
    return load(source, runtime=runtime, shapes=shapes)
