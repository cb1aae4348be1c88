"""File names from strangers, on their way in and out."""

import pytest
from flask import Flask, send_file

from web.api.names import LONGEST, clean_name


@pytest.mark.parametrize(
    ("name", "clean"),
    [
        ("../../etc/passwd", "etc/passwd"),
        ("C:\\Users\\a.txt", "C:/Users/a.txt"),
        ("a\r\nSet-Cookie: b=c.txt", "aSet-Cookie: b=c.txt"),
        ("\ud800a\u2028b.txt", "ab.txt"),
        ("文档/说明.md", "文档/说明.md"),
        ("", "unnamed"),
        ("../..", "unnamed"),
    ],
)
def test_a_name_can_neither_climb_nor_break_a_header(name, clean, tmp_path):
    assert clean_name(name) == clean
    file = tmp_path / "stored"
    file.write_bytes(b"x")
    with (
        Flask("test").test_request_context(),
        send_file(file, download_name=clean_name(name), as_attachment=True) as sent,
    ):
        assert "\n" not in sent.headers["Content-Disposition"]


def test_the_end_of_a_long_name_is_kept():
    assert clean_name("a" * 5000 + ".pdf")[-4:] == ".pdf"
    assert len(clean_name("a" * 5000)) == LONGEST
