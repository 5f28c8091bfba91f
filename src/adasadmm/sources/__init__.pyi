"""The public names of this folder, for type checkers and for `__init__.py`, which loads each on first use."""

from ._arrays import (
    arrays as arrays,
    iterator as iterator,
    memmap as memmap,
)
from ._base import Source as Source
from ._cached import cached as cached
from ._faults import (
    BadRow as BadRow,
    Faults as Faults,
    RawBlock as RawBlock,
    SourceError as SourceError,
    SourceWarning as SourceWarning,
)
from ._files import (
    arrow as arrow,
    csv as csv,
    open as open,
    parquet as parquet,
    svmlight as svmlight,
)
from ._gate import check_block as check_block
from ._scaled import scaled as scaled
from ._summary import Summary as Summary
from ._tables import (
    Tables as Tables,
    tables as tables,
)
