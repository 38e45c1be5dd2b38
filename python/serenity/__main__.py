"""The command ``serenity``, also as ``python -m serenity``."""

import os
import sys

from . import _options, _serenity


def main() -> int:
    """Run the command with the arguments of this process; the exit code."""
    # Runtimes are looked for where the command was installed, unless somebody says otherwise.
    os.environ.setdefault("SERENITY_PYTHON", _options.python())
    return _serenity.run_command(["serenity", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
