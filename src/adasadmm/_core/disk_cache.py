"""Machine code on disk: one file for each kernel and signature, named by a digest of all it was compiled from.

This replaces the files of numba's own cache, and uses private parts of numba. `jit` imports this module inside a
``try``: where a version of numba lacks one of them, kernels are compiled in each process.

A cache must never stop a fit. What cannot be read counts as absent, and the kernel is compiled; what cannot be written
is reported and given up. Each file starts with a digest of its content, since damaged machine code may crash.
"""

from __future__ import annotations

import contextlib
import glob
import hashlib
import pathlib
import pickle
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import numba
from numba import config
from numba.core.caching import CompileResultCacheImpl, NullCache
from numba.core.serialize import dumps

from .files import write_whole
from .fingerprint import file_digest, fingerprint, plug_in_classes

if TYPE_CHECKING:
    from numba.core.codegen import CPUCodegen
    from numba.core.compiler import CompileResult
    from numba.core.cpu import CPUContext
    from numba.core.typing import Signature

__all__ = ["DiskCache"]

_DIGEST_SIZE = hashlib.sha256().digest_size
_SETTINGS = ("BOUNDSCHECK", "OPT")  # environment variables NUMBA_... that change the machine code


class DiskCache(NullCache):
    """The cache of one kernel, as numba's dispatcher calls it.

    Parameters
    ----------
    function : function
        The kernel before compilation.
    options : dict
        The options it is compiled with.
    report : callable
        Called with the exception when machine code could not be written.

    Raises
    ------
    RuntimeError
        If numba finds no folder that it can write to.
    """

    enabled: ClassVar[bool] = True

    def __init__(self, function: Callable, options: dict[str, object], report: Callable[[Exception], None]) -> None:
        self._function = function
        self._report = report
        self._storage = CompileResultCacheImpl(function)  # chooses the folder, turns machine code into bytes and back
        self._folder = pathlib.Path(self._storage.locator.get_cache_path())
        file = function.__code__.co_filename
        self._name = f"{pathlib.Path(file).stem}.{function.__qualname__}".replace("<", "").replace(">", "")
        self._version = file_digest(file)[:8]
        settings = [getattr(config, name, None) for name in _SETTINGS]
        self._compiler = repr((numba.__version__, sys.version, sorted(options.items()), settings))

    @property
    def cache_path(self) -> str:
        return str(self._folder)

    def load_overload(self, sig: Signature | tuple, target_context: CPUContext) -> CompileResult | None:
        """The machine code for a signature, or None if it has to be compiled."""
        if not self.enabled:
            return None
        try:
            target_context.refresh()
            path = self._path(sig, target_context.codegen())
            content = path.read_bytes()
        except Exception:  # mostly because there is no such file; any other fault recurs when saving, which reports it
            return None
        digest, payload = content[:_DIGEST_SIZE], content[_DIGEST_SIZE:]
        if digest != _digest(path, payload):
            return None
        try:
            return _for_arguments(self._storage.rebuild(target_context, pickle.loads(payload)), _arguments(sig))
        except Exception as error:
            self._report(error)
            return None

    def save_overload(self, sig: Signature | tuple, data: CompileResult) -> None:
        """Write the machine code for a signature."""
        try:
            if not self.enabled or not self._storage.check_cachable(data):
                return
            self._storage.locator.ensure_cache_path()
            path = self._path(sig, data.codegen)
            payload = dumps(self._storage.reduce(data))
            write_whole(path, _digest(path, payload) + payload)
            self._delete_other_versions()
        except Exception as error:
            self._report(error)

    def _path(self, sig: Signature | tuple, codegen: CPUCodegen) -> pathlib.Path:
        classes = [cls for argument in _arguments(sig) for cls in plug_in_classes(argument)]
        parts = str(sig), self._compiler, repr(codegen.magic_tuple()), fingerprint(self._function, classes)
        key = hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]
        return self._folder / f"{self._name}.{self._version}.{key}.nbc"

    def _delete_other_versions(self) -> None:
        """Delete code compiled from other versions of the kernel's file, so that the folder stays small."""
        for path in self._folder.glob(f"{glob.escape(self._name)}.{'[0-9a-f]' * 8}.{'[0-9a-f]' * 32}.nbc"):
            if not path.name.startswith(f"{self._name}.{self._version}."):
                with contextlib.suppress(OSError):
                    path.unlink()


def _arguments(sig: Signature | tuple) -> tuple:
    return sig if isinstance(sig, tuple) else sig.args


def _for_arguments(loaded: Any, arguments: tuple) -> CompileResult:
    """The machine code as that of these types.

    A class of a notebook is stored with the code, and loading makes another class of it. The name of the file says that
    both are the same, but numba would not find the code when it compiles a kernel that calls this one.
    """
    if loaded.signature.args == arguments:
        return loaded
    loaded.fndesc.argtypes = arguments
    return loaded._replace(signature=loaded.signature.replace(args=arguments))


def _digest(path: pathlib.Path, payload: bytes) -> bytes:
    """The digest that a file starts with; with the name, so that no file can take the place of another one."""
    return hashlib.sha256(path.name.encode() + payload).digest()
