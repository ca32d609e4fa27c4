"""`python -m copula_discrepancy` is `copula-discrepancy`."""

import sys

from copula_discrepancy.cli.parser import main

sys.exit(main())
