"""Creates PDF files for the tests. Text is placed from the upper left corner, in the fonts that every reader has."""

from collections.abc import Sequence
from typing import NamedTuple

WIDTH, HEIGHT = 612, 792
FONTS = {"roman": "Times-Roman", "bold": "Times-Bold", "italic": "Times-Italic"}


class Put(NamedTuple):
    x: float
    y: float
    text: str
    size: float = 10
    font: str = "roman"
    turned: bool = False


def column(lines: Sequence[str], x: float, y: float, *, pitch: float = 12, size: float = 10) -> list[Put]:
    r"""Places lines below one another. A line that begins with "# " is bold and larger, one that begins with "\t" is
    indented, and "" is a gap."""
    out = []
    for line in lines:
        if line.startswith("# "):
            out.append(Put(x, y, line[2:], size + 2, "bold"))
        elif line:
            out.append(Put(x + 15 * line.startswith("\t"), y, line.lstrip("\t"), size))
        y += pitch
    return out


def pdf(pages: Sequence[Sequence[Put]], *, title: str = "", trailer: str = "") -> bytes:
    fonts = "".join(f"/{key} << /Type /Font /Subtype /Type1 /BaseFont /{name} /Encoding /WinAnsiEncoding >> "
                    for key, name in FONTS.items())  # fmt: skip
    kids = " ".join(f"{4 + 2 * index} 0 R" for index in range(len(pages)))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>".encode(),
        f"<< /Title ({title}) >>".encode(),
    ]
    for index, puts in enumerate(pages):
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 {WIDTH} {HEIGHT}] /Contents {5 + 2 * index} 0 R "
            f"/Resources << /Font << {fonts}>> >> >>".encode()
        )
        stream = b"\n".join(_shown(put) for put in puts)
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream))
    return _file(objects, trailer)


def scan() -> bytes:
    """Creates a page that consists of one image."""
    image = (
        b"<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8 /Length 1 >>"
    )
    drawn = b"600 0 0 700 0 0 cm /scan Do"
    return _file(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Kids [4 0 R] /Count 1 >>",
            b"<< >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 5 0 R "
            b"/Resources << /XObject << /scan 6 0 R >> >> >>",
            b"<< /Length %d >>\nstream\n%s\nendstream" % (len(drawn), drawn),
            image + b"\nstream\n\x80\nendstream",
        ],
        "",
    )


def encrypted() -> bytes:
    """Creates a PDF whose password is unknown."""
    lock = f"/Encrypt << /Filter /Standard /V 1 /R 2 /P -44 /O <{'ab' * 32}> /U <{'cd' * 32}> >> /ID [<00> <00>]"
    return pdf([[Put(72, 72, "hidden")]], trailer=lock)


def _shown(put: Put) -> bytes:
    text = put.text.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)").encode("cp1252")
    turn = "0 1 -1 0" if put.turned else "1 0 0 1"
    start = f"BT /{put.font} {put.size} Tf {turn} {put.x} {HEIGHT - put.y} Tm (".encode()
    return start + text + b") Tj ET"


def _file(objects: Sequence[bytes], trailer: str) -> bytes:
    data = bytearray(b"%PDF-1.4\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(data)
    data += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    data += b"".join(b"%010d 00000 n \n" % place for place in places)
    data += f"trailer << /Size {len(objects) + 1} /Root 1 0 R /Info 3 0 R {trailer} >>\n".encode()
    return bytes(data + b"startxref\n%d\n%%%%EOF\n" % start)
