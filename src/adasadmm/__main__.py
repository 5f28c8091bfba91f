"""`python -m adasadmm` runs the command line, even if the `adasadmm` script is not on the path."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
