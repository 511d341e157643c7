"""Files named in a prompt."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from orchestrator.cli.attachments import UnusableFile, references, take_files

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
JPEG = b"\xff\xd8\xff\xe0" + bytes(8)
WEBP = b"RIFF\x00\x00\x00\x00WEBPVP8 "
WAVE = b"RIFF\x00\x00\x00\x00WAVEfmt "


@pytest.mark.parametrize(
    ("prompt", "found"),
    [
        ("what is ./a.png?", ["./a.png"]),
        ("/tmp/a.JPG and ./b.webp", ["/tmp/a.JPG", "./b.webp"]),
        (r"see /tmp/two\ words.jpeg now", [r"/tmp/two\ words.jpeg"]),
        (r"C:\pictures\a.png", [r"C:\pictures\a.png"]),
        ("a.png is no path, nor is /tmp/a.gif", []),
        ("/tmp/Screenshot\\ 10.00\u202fAM.png?", ["/tmp/Screenshot\\ 10.00\u202fAM.png"]),
        ("./bild.pngé", ["./bild.png"]),
        ("./a\nb.png", []),
    ],
)
def test_paths_are_found_in_a_prompt(prompt: str, found: list[str]) -> None:
    assert references(prompt) == found


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [("a.png", PNG, "image"), ("a.jpg", JPEG, "image"), ("a.webp", WEBP, "image"), ("a.wav", WAVE, "audio")],
)
def test_a_file_is_taken_out_of_the_prompt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: bytes, kind: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    assert take_files(f"what is {path} ") == ("what is", [base64.b64encode(content).decode()])
    assert capsys.readouterr().err == f"Added {kind} '{path}'\n"


@pytest.mark.parametrize("form", ["'{}'", "{}"])
def test_quotes_go_with_the_path(tmp_path: Path, form: str) -> None:
    path = tmp_path / "a b.png"
    path.write_bytes(PNG)
    typed = form.format(str(path).replace(" ", r"\ "))
    assert take_files(f"{typed} what?")[0] == "what?"


def test_a_path_that_leads_nowhere_stays_text(tmp_path: Path) -> None:
    prompt = f"{tmp_path}/none.png"
    assert take_files(f" {prompt}\n") == (prompt, [])


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"no picture", "text/plain; charset=utf-8"),
        ("kein Bild: ä".encode(), "text/plain; charset=utf-8"),
        (b"GIF89a" + bytes(8), "image/gif"),
        (b"%PDF-1.7", "application/pdf"),
        (b"\x00\x01", "application/octet-stream"),
        (b"RIFF\0\0\0\0WAVX", "application/octet-stream"),
    ],
)
def test_a_file_of_another_kind_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, kind: str
) -> None:
    (tmp_path / "a.png").write_bytes(content)
    with pytest.raises(UnusableFile, match=f"^invalid file type: {kind}$"):
        take_files(f"{tmp_path}/a.png")
    assert capsys.readouterr().err == f'Couldn\'t process file: "invalid file type: {kind}"\n'


def test_a_file_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "a.png").open("wb") as file:
        file.truncate(100 * 1024 * 1024 + 1)
    with pytest.raises(UnusableFile, match="exceeds maximum limit"):
        take_files(f"{tmp_path}/a.png")
