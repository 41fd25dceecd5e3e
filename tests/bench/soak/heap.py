"""What the C library's allocator holds: native libraries take their memory there, unseen by Python."""

import ctypes
import re
from typing import Any

_TOTALS = re.compile(r'<(?:total type="(fast|rest|mmap)" count="\d+"|system type="(current)") size="(\d+)"/>')


def heap_bytes() -> dict[str, int] | None:
    """Bytes in use, bytes free but kept, and bytes mapped one by one; None where the library cannot say."""
    if (report := _malloc_info()) is None:
        return None
    sizes = {kind or current: int(size) for kind, current, size in _TOTALS.findall(report)}  # the last is all
    free = sizes["fast"] + sizes["rest"]
    return {"used": sizes["current"] - free, "free": free, "mapped": sizes["mmap"]}


def _malloc_info() -> str | None:
    libc: Any = ctypes.CDLL(None)
    if not hasattr(libc, "malloc_info"):
        return None
    libc.open_memstream.restype = ctypes.c_void_p
    text, size = ctypes.c_void_p(), ctypes.c_size_t()
    stream = ctypes.c_void_p(libc.open_memstream(ctypes.byref(text), ctypes.byref(size)))
    libc.malloc_info(0, stream)
    libc.fclose(stream)
    report = ctypes.string_at(text, size.value).decode()
    libc.free(text)
    return report
