"""``python -m cerlab``: the same as the ``cerlab`` command."""

import sys

from cerlab.cli import main

if __name__ == "__main__":
    sys.exit(main())
