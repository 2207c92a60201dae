// Small PDFs: real enough for pdf.js, with Latin text in a font every reader has, and Japanese in one none embeds.

/** A document of these pages, each a list of lines. */
export function pdf(pages) {
  const objects = [];
  const add = (body) => objects.push(body);
  const first = 5;
  const kids = pages.map((_, i) => `${first + 2 * i} 0 R`).join(' ');
  add('<< /Type /Catalog /Pages 2 0 R >>');
  add(`<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`);
  add('<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>');
  add('<< /Type /Font /Subtype /Type0 /BaseFont /HeiseiKakuGo-W5 /Encoding /UniJIS-UCS2-H /DescendantFonts [<< /Type /Font '
    + '/Subtype /CIDFontType0 /BaseFont /HeiseiKakuGo-W5 /CIDSystemInfo << /Registry (Adobe) /Ordering (Japan1) /Supplement 2 >> '
    + '/DW 1000 /FontDescriptor << /Type /FontDescriptor /FontName /HeiseiKakuGo-W5 /Flags 4 /FontBBox [0 -200 1000 900] '
    + '/ItalicAngle 0 /Ascent 800 /Descent -200 /CapHeight 700 /StemV 80 >> >>] >>');
  pages.forEach((lines, i) => {
    const content = lines.map((line, n) => lineOf(line, n)).join('\n');
    add(`<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents ${first + 2 * i + 1} 0 R `
      + '/Resources << /Font << /F1 3 0 R /F2 4 0 R >> >> >>');
    add(`<< /Length ${Buffer.byteLength(content)} >>\nstream\n${content}\nendstream`);
  });
  return assemble(objects);
}

function lineOf(line, n) {
  const y = 770 - n * 24;
  const isLatin = /^[\x20-\x7e]*$/.test(line);
  const text = isLatin ? `(${line.replace(/[\\()]/g, '\\$&')})`
    : `<${Buffer.from(line, 'utf16le').swap16().toString('hex')}>`;
  return `BT /${isLatin ? 'F1' : 'F2'} ${n === 0 ? 20 : 12} Tf 56 ${y} Td ${text} Tj ET`;
}

function assemble(objects) {
  let text = '%PDF-1.7\n';
  const offsets = objects.map((body, i) => {
    const offset = Buffer.byteLength(text);
    text += `${i + 1} 0 obj\n${body}\nendobj\n`;
    return offset;
  });
  const start = Buffer.byteLength(text);
  const rows = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('');
  text += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${rows}`
    + `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`;
  return Buffer.from(text);
}
