"""Which encoding a text file has, from its first megabyte."""

import codecs
import re

from widemargin.app.errors import AppError

_BOMS = [  # the longer mark first: the UTF-32 one starts with the UTF-16 one
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
]
# Guesses the program believes; anything more exotic must be said by the file's
# owner, by saving it as UTF-8.
_GUESSES = ["cp1250", "cp1251", "cp1253", "mac_roman"]
_GUESSES += ["shift_jis", "gb18030", "euc_kr", "big5"]


def find_encoding(head: bytes, name: str, *, complete: bool) -> str:
    """The encoding of a text file, from its first megabyte."""
    for mark, encoding in _BOMS:
        if head.startswith(mark):
            return encoding
    if b"\0" in head:
        return _utf16_without_mark(head, name)
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head, complete)
        return "utf-8"
    except UnicodeDecodeError as error:
        return guess_encoding(head, error.start, name)


def guess_encoding(data: bytes, bad_byte: int, name: str) -> str:
    """The one-byte (or East Asian) encoding of text that is not UTF-8.

    A table holds few letters beyond ASCII, too few for statistics: Western European
    is believed as long as it gives single letters inside words.
    """
    # The text around the first bad byte: in a long table it is the telling part.
    sample = data[max(0, bad_byte - 50_000) : bad_byte + 50_000]
    if _reads_as_western(sample):
        return "cp1252"
    from charset_normalizer import from_bytes

    best = from_bytes(sample, cp_isolation=_GUESSES, enable_fallback=False).best()
    if best is not None:
        return best.encoding
    # Latin-1 gives every byte a meaning; control characters say that it is no text.
    if re.search(r"[\x00-\x08\x0e-\x1f\x7f-\x9f]", sample.decode("latin-1")):
        raise AppError(
            f"{name} is not text in any encoding that can be told; save it as UTF-8"
        )
    return "latin-1"


def _reads_as_western(sample: bytes) -> bool:
    try:
        text = sample.decode("cp1252")
    except UnicodeDecodeError:
        return False
    runs = re.findall(r"[^\x00-\x7f]+", text)
    # Cyrillic, Greek and East Asian words are all non-ASCII; in Polish words read in
    # the wrong code page, signs such as "³" stand between letters.
    signs = re.findall(r"(?<=[a-z])[^\w\s\x00-\x7f\u2019](?=[a-z])|[¹²³¿]\w", text)
    mean = sum(map(len, runs)) / max(1, len(runs))
    return mean <= 2.2 and len(signs) <= 0.1 * len(runs)


def _utf16_without_mark(head: bytes, name: str) -> str:
    even, odd = head[0::2].count(0), head[1::2].count(0)
    half = max(1, len(head) // 2)
    if odd > 0.5 * half and even < 0.1 * half:
        return "utf-16-le"
    if even > 0.5 * half and odd < 0.1 * half:
        return "utf-16-be"
    raise AppError(
        f"{name} is a binary file, not a table; "
        "CSV, TSV, JSON, LIBSVM and Parquet are read"
    )


def decode_head(head: bytes, encoding: str, *, complete: bool) -> str:
    """The head as text; a line cut off by its end is left out."""
    text = codecs.getincrementaldecoder(encoding)("replace").decode(head, complete)
    if complete:
        return text
    end = max(text.rfind("\n"), text.rfind("\r"))
    return text[: end + 1] if end >= 0 else text
