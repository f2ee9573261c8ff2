"""The program ``cerlab``, also as ``python -m cerlab``."""

import os
import sys


def main() -> int:
    """Run a command and return its exit status: 130 after an interrupt, also while it loads."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # NumPy starts some, and cerlab uses none
    try:
        from cerlab.cli import main as command

        return command()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
