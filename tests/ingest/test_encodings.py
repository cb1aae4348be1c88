"""Texts of every stated encoding come out exactly right, or not at all: a wrong guess is worse than a refusal."""

import random
from functools import partial

import pytest

from folio.errors import IngestError
from ingest.parser_children import ParserChildren
from ingest.parsers.plain import decode

TEXTS = {
    "zh": "文件必须在三十天之内归还，否则每天收取两元的费用。图书馆星期一闭馆，其他时间正常开放。读者可以在网上"
    "预约座位，也可以到柜台办理手续。学生凭证件半价。丢失的书要按原价赔偿，并且支付处理费。",
    "zh-hant": "文件必須在三十天之內歸還，否則每天收取兩元的費用。圖書館星期一閉館，其他時間正常開放。"
    "讀者可以在網上預約座位，也可以到櫃檯辦理手續。學生憑證件半價。",
    "ja": "資料は三十日以内に返却してください。図書館は月曜日に休館しますが、その他の日は開いています。予約した本は"
    "カウンターで受け取れます。学生は半額です。",
    "ko": "자료는 삼십 일 이내에 반납해야 합니다. 도서관은 월요일에 쉬고 다른 날에는 문을 엽니다. "
    "예약한 책은 창구에서 받습니다. ",
    "de": "Bücher müssen innerhalb von dreißig Tagen zurückgegeben werden, größere Gebühren fallen später an. "
    "Die Bücherei öffnet täglich außer montags. Schüler zahlen die Hälfte. ",
    "fr": "La bibliothèque ferme à neuf heures le vendredi. Les élèves peuvent réserver une salle où travailler. ",
    "pl": "Książki należy zwrócić w ciągu trzydziestu dni, w przeciwnym razie naliczana jest opłata za każdy dzień. ",
    "cs": "Knihy je třeba vrátit do třiceti dnů, jinak se účtuje poplatek dvě koruny za každý den. ",
    "ru": "Библиотека закрыта по понедельникам. Книги нужно вернуть в течение тридцати дней, иначе взимается плата. ",
    "en": "Books must be returned within thirty days, or a fee of two euros is charged for each day. ",
}
UNICODE = ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be")
ENCODINGS = {
    "zh": ("gbk", "gb18030", "gb2312"), "zh-hant": ("big5",),
    "ja": ("shift_jis", "cp932", "euc_jp", "iso2022_jp"),
    "ko": ("euc_kr", "cp949", "iso2022_kr"), "de": ("latin-1", "cp1252", "cp850", "mac_roman"), "fr": ("latin-1",),
    "pl": ("cp1250", "iso8859_2"), "cs": ("cp1250",), "ru": ("cp1251", "koi8_r", "cp866", "mac_cyrillic"),
    "en": ("ascii",),
}  # fmt: skip
PAIRS = [(language, encoding) for language in TEXTS for encoding in (*ENCODINGS[language], *UNICODE)]
SURE = [
    *((language, encoding) for language in TEXTS for encoding in UNICODE),
    ("zh", "gbk"), ("zh", "gb18030"), ("zh-hant", "big5"), ("ja", "shift_jis"), ("ja", "euc_jp"), ("ko", "euc_kr"),
    ("de", "latin-1"), ("ru", "cp1251"), ("ru", "koi8_r"), ("en", "ascii"),
]  # fmt: skip


def unless_refused(read):
    """What `read` gives; None where it refuses with the right reason."""
    try:
        return read()
    except IngestError as refusal:
        return None if refusal.reason in ("encoding", "unsupported") else refusal


def windows(language: str, length: int, count: int):
    """Pieces of the language's text, from places drawn with a fixed seed."""
    text = TEXTS[language] * (length // len(TEXTS[language]) + 2)
    draw = random.Random(length)
    for _ in range(count):
        start = draw.randrange(len(text) - length)
        yield text[start : start + length]


@pytest.mark.parametrize("length", [20, 60, 200, 2000])
@pytest.mark.parametrize(("language", "encoding"), PAIRS)
def test_a_text_is_read_exactly_or_refused(language, encoding, length):
    for text in windows(language, length, 1 if length > 200 else 3):
        assert unless_refused(partial(decode, text.encode(encoding))) in (text, None)


@pytest.mark.parametrize(("language", "encoding"), SURE)
def test_a_text_of_some_length_is_read(language, encoding):
    for text in windows(language, 200, 5):
        assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("받습니다. 자료는", "euc_kr"), ("합니다. 도서관", "cp949"), ("понедельни", "cp866"), ("てくださ", "euc_jp"),
    ],
)  # fmt: skip
def test_a_few_characters_that_are_also_chinese_ones_are_no_evidence(text, encoding):
    assert unless_refused(partial(decode, text.encode(encoding))) in (text, None)


@pytest.mark.parametrize("declared", ["koi8-r", "windows-1251", "cp866", "cp1253", "iso8859_5", "cp874"])
@pytest.mark.parametrize(
    ("text", "encoding"),
    [("，也可以到柜台办理手", "gb18030"), ("一闭馆，其他时间正常开放。读者可", "gbk"), ("他时间正常开放。", "gb2312")],
)
def test_a_short_chinese_text_is_not_read_as_the_alphabet_that_it_declares(text, encoding, declared):
    assert unless_refused(partial(decode, text.encode(encoding), declared)) in (text, None)


@pytest.mark.parametrize("declared", ["latin-1", "ascii", "gb2312", "windows-1251", "no-such-encoding"])
def test_a_misleading_declaration_does_not_spoil_utf8(declared):
    assert decode(TEXTS["zh"].encode(), declared) == TEXTS["zh"]


@pytest.fixture(scope="module")
def parser_children():
    """As a worker has them: one child reads many files."""
    children = ParserChildren()
    yield children
    children.close()


@pytest.mark.parametrize(
    "declared", ["latin-1", "iso-8859-1", "windows-1251", "big5", "shift_jis", "euc-kr", "utf-8", ""]
)
@pytest.mark.parametrize(
    ("language", "encoding"),
    [("zh", "gbk"), ("zh-hant", "big5"), ("ja", "shift_jis"), ("ko", "euc_kr"), ("de", "latin-1")],
)
def test_a_misleading_declaration_never_makes_a_wrong_text(tmp_path, parser_children, declared, language, encoding):
    page = tmp_path / "page.html"
    source = f'<html><head><meta charset="{declared}"></head><body><p>{TEXTS[language]}</p></body></html>'
    page.write_bytes(source.encode(encoding))
    parsed = unless_refused(partial(parser_children.parse, page, page.name, "", timeout_s=60, memory_mib=1024))
    assert parsed is None or TEXTS[language].strip() in parsed.text


@pytest.mark.parametrize(
    "head", ['<?xml version="1.0" encoding="{}"?>\n<a>', '<html><meta charset="{}">', "# -*- coding: {} -*-\n"]
)
@pytest.mark.parametrize(
    ("language", "encoding"), [("zh", "gbk"), ("ko", "euc-kr"), ("fr", "iso-8859-1"), ("cs", "cp1250")]
)
def test_a_true_declaration_helps_a_short_text(head, language, encoding):
    text = head.format(encoding) + TEXTS[language][:24]
    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize(
    "data", [b"\xff\xfe\x00\xd8\x41", bytes(range(256)) * 8, b"\x00\x01\x02\x03" * 100], ids=["bom", "all", "binary"]
)
def test_what_is_no_text_is_refused(data):
    with pytest.raises(IngestError) as refused:
        decode(data)
    assert refused.value.reason in ("encoding", "unsupported")
