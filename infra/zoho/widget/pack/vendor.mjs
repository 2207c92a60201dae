// pdf.js into the package: the files that are used, each checked against the committed list of hashes.

import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

// The legacy build runs in browsers some years old. `.js` instead of `.mjs`: not every server knows the latter's type.
// Zoho's toolkit leaves out what has an extension it does not know, with exit code 0, and takes 250 files: licences go
// as text, Type 1 fonts and character maps as base64 in JSON, the maps in one file, read when a document needs one.
const COPIED = {
  'legacy/build/pdf.min.mjs': 'pdf.js',
  'legacy/build/pdf.worker.min.mjs': 'pdf.worker.js',
  LICENSE: 'LICENSE.txt',
  // What draws JPEG 2000 and JBIG2 where WebAssembly may not run: a strict policy forbids it.
  'wasm/openjpeg_nowasm_fallback.js': 'wasm/openjpeg_nowasm_fallback.js',
  'wasm/jbig2_nowasm_fallback.js': 'wasm/jbig2_nowasm_fallback.js',
  'wasm/LICENSE_OPENJPEG': 'wasm/LICENSE_OPENJPEG.txt',
  'wasm/LICENSE_JBIG2': 'wasm/LICENSE_JBIG2.txt',
  'cmaps/LICENSE': 'LICENSE_CMAPS.txt',
  'standard_fonts/LICENSE_FOXIT': 'standard_fonts/LICENSE_FOXIT.txt',
  'standard_fonts/LICENSE_LIBERATION': 'standard_fonts/LICENSE_LIBERATION.txt',
};

const named = (root, folder, pattern) => readdirSync(join(root, folder)).filter((name) => pattern.test(name)).sort();
const maps = (root) => named(root, 'cmaps', /\.bcmap$/);
const fonts = (root) => named(root, 'standard_fonts', /\.(pfb|ttf)$/);
const hashOf = (path) => createHash('sha256').update(readFileSync(path)).digest('hex');

/** The list of hashes of all that is used, in the form of `sha256sum`. */
export function hashes(root) {
  const used = [...Object.keys(COPIED), ...maps(root).map((m) => `cmaps/${m}`), ...fonts(root).map((f) => `standard_fonts/${f}`)];
  return used.map((from) => `${hashOf(join(root, from))}  ${from}\n`).join('');
}

/** Copies pdf.js to `out`. Throws where a file is not the one that was looked at when the list was made. */
export function vendor(root, listPath, out) {
  if (hashes(root) !== readFileSync(listPath, 'utf8')) {
    throw new Error(`pdfjs-dist is not what ${listPath} lists: run "npm ci", or after an upgrade "node pack.mjs --hashes"`);
  }
  const base64 = (path) => readFileSync(join(root, path), 'base64');
  const write = (to, value) => writeFileSync(join(out, to), JSON.stringify(value));
  for (const [from, to] of Object.entries(COPIED)) {
    mkdirSync(dirname(join(out, to)), { recursive: true });
    cpSync(join(root, from), join(out, to));
  }
  for (const font of fonts(root)) {
    if (font.endsWith('.ttf')) cpSync(join(root, 'standard_fonts', font), join(out, 'standard_fonts', font));
    else write(`standard_fonts/${font.replace(/\.\w+$/, '.json')}`, base64(`standard_fonts/${font}`));
  }
  write('cmaps.json', Object.fromEntries(maps(root).map((map) => [map, base64(`cmaps/${map}`)])));
}
