"""Encodings that are told apart without a byte-order mark."""

import pytest

from widemargin.app.encoding import find_encoding
from widemargin.app.errors import AppError

TEXTS = {
    "french": "nom;âge;région\nAndré;45;Île-de-France\nZoé;33;Provence\n",
    "german": "Größe,Straße\nüber,Müller\nschön,Köln\n",
    "short": "a,b\ncafé,1\n",
    "one word": "größe,b\n1,1\n",
    "english": "name,note\nO’Brien,“5 €”\n",  # noqa: RUF001
    "polish": "imię,miasto\nŁukasz,Łódź\nJózef,Chełm\nMałgorzata,Częstochowa\n",
    "russian": "имя,город\nИван,Москва\nМария,Казань\n",  # noqa: RUF001
    "japanese": "名前,都市\n田中さくら,東京都\n鈴木たろう,大阪市\n",
}


@pytest.mark.parametrize(
    ("text", "written", "found"),
    [
        ("french", "latin-1", "cp1252"),
        ("german", "latin-1", "cp1252"),
        ("short", "latin-1", "cp1252"),
        ("one word", "latin-1", "cp1252"),
        ("english", "cp1252", "cp1252"),
        ("polish", "cp1250", "cp1250"),
        ("russian", "cp1251", "cp1251"),
        ("japanese", "shift_jis", "shift_jis"),
        *((text, "utf-8", "utf-8") for text in TEXTS),
        *((text, "utf-8-sig", "utf-8-sig") for text in TEXTS),
        *((text, "utf-16", "utf-16") for text in TEXTS),
        ("french", "utf-16-le", "utf-16-le"),
        ("german", "utf-16-be", "utf-16-be"),
    ],
)
def test_encoding(text: str, written: str, found: str) -> None:
    head = TEXTS[text].encode(written)
    assert find_encoding(head, "t.csv", complete=True) == found
    assert head.decode(found).lstrip("\ufeff") == TEXTS[text]


def test_a_letter_cut_by_the_end_of_the_look_is_no_error() -> None:
    head = "a,b\nKöln,ö".encode()[:-1]
    assert find_encoding(head, "t.csv", complete=False) == "utf-8"


def test_binary_files_are_refused() -> None:
    with pytest.raises(AppError, match="is a binary file, not a table"):
        find_encoding(bytes(range(256)) * 4, "t.csv", complete=True)
