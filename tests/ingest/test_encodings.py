"""Texts of every stated encoding come out right, or not at all."""

import pytest

from folio.errors import IngestError
from ingest.parsers.plain import decode

CHINESE = "文件必须在三十天之内归还，否则每天收取两元的费用。图书馆星期一闭馆，其他时间正常开放。" * 4
TRADITIONAL = "文件必須在三十天之內歸還，否則每天收取兩元的費用。圖書館星期一閉館，其他時間正常開放。" * 4
JAPANESE = "資料は三十日以内に返却してください。図書館は月曜日に休館しますが、その他の日は開いています。" * 4
KOREAN = "자료는 삼십 일 이내에 반납해야 합니다. 도서관은 월요일에 쉬고 다른 날에는 문을 엽니다. " * 4
GERMAN = "Bücher müssen innerhalb von dreißig Tagen zurückgegeben werden, größere Gebühren fallen später an. " * 4


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        *((CHINESE, name) for name in ("utf-8", "utf-8-sig", "utf-16", "utf-32", "gbk", "gb18030")),
        *((GERMAN, name) for name in ("utf-8", "utf-16-le", "utf-16-be", "latin-1")),
        (TRADITIONAL, "big5"),
        (JAPANESE, "shift_jis"),
        (KOREAN, "euc-kr"),
    ],
)
def test_a_text_is_read_in_its_own_encoding(text, encoding):
    assert decode(text.encode(encoding)) == text


@pytest.mark.parametrize("declared", ["latin-1", "ascii", "no-such-encoding"])
def test_a_misleading_declaration_does_not_spoil_utf8(declared):
    assert decode(CHINESE.encode(), declared) == CHINESE


@pytest.mark.parametrize(
    "data", [b"\xff\xfe\x00\xd8\x41", bytes(range(256)) * 8, b"\x00\x01\x02\x03" * 100], ids=["bom", "all", "binary"]
)
def test_what_is_no_text_is_refused(data):
    with pytest.raises(IngestError) as refused:
        decode(data)
    assert refused.value.reason in ("encoding", "unsupported")
