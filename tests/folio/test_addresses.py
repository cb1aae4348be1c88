"""Addresses: what readers see of a uri holds nothing of the server's disk above the folder that was named."""

from pathlib import Path

import pytest

from folio.addresses import address_below, shown_address


@pytest.mark.parametrize(
    ("uri", "address"),
    [
        ("file:///home/someone/archive/x.pdf", "file:x.pdf"),
        ("file:///home/someone/%E6%8A%A5%20100%25.pdf", "file:报 100%.pdf"),
        ("file:///home/someone/box.zip!/letters/a%20b.txt", "file:box.zip!/letters/a%20b.txt"),
        ("file:///C:/Users/someone/x.pdf", "file:x.pdf"),
        ("https://example.org/home/someone/x.pdf", "https://example.org/home/someone/x.pdf"),
        ("crawl:1:200:https://example.org/", "crawl:1:200:https://example.org/"),
        ("upload:notes/x.pdf", "upload:notes/x.pdf"),
        ("text:file:///x", "text:file:///x"),
    ],
)
def test_an_address_is_the_uri_without_the_place_on_disk(uri, address):
    assert shown_address(uri) == address
    assert shown_address(address) == address


def test_below_a_folder_its_name_and_what_follows_are_kept(tmp_path, monkeypatch):
    (tmp_path / "archive").mkdir()
    monkeypatch.chdir(tmp_path / "archive")
    for folder in (tmp_path / "archive", Path(), tmp_path / "archive" / ".." / "archive"):
        assert address_below(folder, folder / "2019" / "x y.pdf") == "file:archive/2019/x y.pdf"


def test_a_home_folder_does_not_give_its_owners_name(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "someone"))
    for home in ("someone", "another"):
        assert address_below(tmp_path / home, tmp_path / home / "x.pdf") == "file:x.pdf"
