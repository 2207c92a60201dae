"""A small, valid PDF."""


def sample(line: str) -> bytes:
    """One page with this line of text."""
    content = f"BT /F1 24 Tf 72 700 Td ({line}) Tj ET"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>",
        "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>",
        f"<< /Length {len(content)} >>\nstream\n{content}\nendstream",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    text, offsets = "%PDF-1.4\n", []
    for number, body in enumerate(objects, 1):
        offsets.append(len(text))
        text += f"{number} 0 obj\n{body}\nendobj\n"
    entries = "".join(f"{offset:010} 00000 n \n" for offset in offsets)
    count = len(objects) + 1
    text_end = f"xref\n0 {count}\n0000000000 65535 f \n{entries}trailer\n<< /Size {count} /Root 1 0 R >>\n"
    return f"{text}{text_end}startxref\n{len(text)}\n%%EOF\n".encode()
