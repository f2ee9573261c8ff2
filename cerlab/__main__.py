"""The program ``cerlab``, also run as ``python -m cerlab``."""

import os
import sys


def main() -> int:
    """Run a command and return its exit status: 130 after an interrupt, even during imports."""
    # NumPy would start threads that cerlab never uses
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from cerlab.cli import main as command

        return command()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
