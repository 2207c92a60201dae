// What an administrator makes and uploads.

import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { after, test } from 'node:test';
import assert from 'node:assert/strict';
import { build, policy, zip } from '../pack.mjs';
import { readSettings } from '../pack/settings.mjs';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const base = mkdtempSync(join(tmpdir(), 'sendtrail-pack-'));
after(() => rmSync(base, { recursive: true, force: true }));

let n = 0;
/** A copy of the example with real-looking addresses, changed by `change(read, write)`. */
function folder(change = () => {}) {
  const at = join(base, `f${n++}`);
  cpSync(join(ROOT, 'example'), at, { recursive: true });
  const edit = (path, act) => {
    const value = JSON.parse(readFileSync(join(at, path), 'utf8'));
    act(value);
    writeFileSync(join(at, path), JSON.stringify(value));
  };
  edit('settings.json', (s) => {
    s.intake_url = 'https://a.lambda-url.eu-central-1.on.aws';
    s.side_effect_url = 'https://b.lambda-url.eu-central-1.on.aws';
  });
  change(edit, at);
  return at;
}

const files = (at) => readdirSync(at, { recursive: true, withFileTypes: true }).filter((e) => e.isFile())
  .map((e) => join(e.parentPath ?? e.path, e.name).slice(at.length + 1)).sort();

/** The names in a zip's central directory. */
function namesIn(zipped) {
  let at = zipped.readUInt32LE(zipped.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1')) + 16);
  const names = [];
  while (zipped.readUInt32LE(at) === 0x02014b50) {
    const [name, extra, comment] = [28, 30, 32].map((offset) => zipped.readUInt16LE(at + offset));
    names.push(zipped.toString('utf8', at + 46, at + 46 + name));
    at += 46 + name + extra + comment;
  }
  return names;
}

test('Zoho\'s own toolkit validates it, and packs every file of it', () => {
  const out = join(base, 'out');
  const widget = build(folder(), out);
  const { said, target } = zip(widget);
  assert.match(said, /Validation Rules passed/);
  const packed = namesIn(readFileSync(target)).sort();
  assert.deepEqual(packed, files(widget).filter((name) => name !== 'plugin-manifest.json'));
  assert.ok(packed.includes('app/widget.html') && packed.includes('app/config.json') && packed.includes('app/pdfjs/pdf.worker.js'));
  assert.deepEqual(JSON.parse(readFileSync(join(widget, 'plugin-manifest.json'), 'utf8')), { service: 'CRM' });
});

test('the package has no secret, no inline script or style, and nothing from elsewhere but the SDK', () => {
  const widget = build(folder(), join(base, 'out2'));
  const html = readFileSync(join(widget, 'app/widget.html'), 'utf8');
  assert.ok(!html.includes('@'), 'a placeholder is left');
  assert.ok(!/<style|style=|\son\w+=|<script(?![^>]*\ssrc=)/.test(html));
  assert.deepEqual([...html.matchAll(/(?:src|href)="([^"]+)"/g)].map((m) => m[1]),
    ['widget.css', 'https://live.zwidgets.com/js-sdk/1.5/ZohoEmbededAppSDK.min.js', 'js/main.js']);
  const config = JSON.parse(readFileSync(join(widget, 'app/config.json'), 'utf8'));
  assert.deepEqual(Object.keys(config).sort(), ['file_fields', 'forms', 'functions', 'history_fields', 'history_module', 'intake_url',
    'max_document_bytes', 'side_effect_url', 'stage', 'v']);
  for (const name of files(join(widget, 'app/js'))) {
    const text = readFileSync(join(widget, 'app/js', name), 'utf8');
    assert.ok(!/innerHTML|outerHTML|insertAdjacent|document\.write|\beval\(|new Function|setAttribute\('style/.test(text), name);
    assert.ok(text.split('\n').length < 400, `${name} is too long`);
  }
});

test('the policy names the two doors and the SDK, and nothing else', () => {
  const { settings } = readSettings(folder());
  assert.equal(policy(settings), "default-src 'none'; script-src 'self' https://live.zwidgets.com/js-sdk/1.5/ZohoEmbededAppSDK.min.js; "
    + "style-src 'self'; font-src 'self'; worker-src 'self'; connect-src 'self' https://a.lambda-url.eu-central-1.on.aws "
    + "https://b.lambda-url.eu-central-1.on.aws; base-uri 'none'; form-action 'none'");
});

test('a pdf.js other than the one that was looked at is not packed', () => {
  const copy = join(base, 'pdfjs.sha256');
  const list = readFileSync(join(ROOT, 'pdfjs.sha256'), 'utf8');
  assert.match(list, /^[0-9a-f]{64} {2}legacy\/build\/pdf\.min\.mjs$/m);
  writeFileSync(copy, list.replace(/^./, (c) => (c === '0' ? '1' : '0')));
  return import('../pack/vendor.mjs').then(({ vendor }) =>
    assert.throws(() => vendor(join(ROOT, 'node_modules/pdfjs-dist'), copy, join(base, 'v')), /is not what/));
});

test('the example itself is refused until its addresses are filled in, and nothing else is wrong with it', () => {
  const { problems } = readSettings(join(ROOT, 'example'));
  assert.deepEqual(problems, ['settings.json: intake_url: still the example\'s', 'settings.json: side_effect_url: still the example\'s']);
});

for (const [what, change, problem] of [
  ['http', (edit) => edit('settings.json', (s) => { s.intake_url = 'http://example.com'; }), /intake_url/],
  ['a policy smuggled into an address', (edit) => edit('settings.json', (s) => { s.intake_url = "https://a.example; script-src *"; }), /intake_url/],
  ['a stage with capitals', (edit) => edit('settings.json', (s) => { s.stage = 'Prod'; }), /stage/],
  ['a quote in an API name', (edit) => edit('settings.json', (s) => { s.history_module = "X' or"; }), /history_module/],
  ['no module', (edit) => edit('settings.json', (s) => { s.modules = []; }), /modules/],
  ['a keyword nobody keeps', (edit) => edit('templates/letter-en/schema.json', (s) => { s.properties.to.properties.name.const = 'x'; }), /does not know "const"/],
  ['a type nobody shows', (edit) => edit('templates/letter-en/schema.json', (s) => { s.properties.fields.properties.body = { type: 'null' }; }), /cannot be shown/],
  ['a sample that the form refuses', (edit) => edit('templates/letter-en/sample.json', (s) => { s.to.name = ''; }), /sample\.json: \/to\/name: missing/],
  ['a sample with a key more', (edit) => edit('templates/letter-en/sample.json', (s) => { s.fields.other = 1; }), /does not come back/],
  ['a prefill of no field', (edit) => edit('files/letter/widget.json', (s) => { s.prefill['/to/nobody'] = 'X'; }), /no such field/],
  ['a fixed field without a source', (edit) => edit('files/letter/widget.json', (s) => { s.fixed = ['/to/address_line2']; }), /needs a prefill/],
  ['no JSON', (_edit, at) => writeFileSync(join(at, 'files/letter/schema.json'), '{'), /schema\.json/],
]) {
  test(`${what} is refused, with its place`, () => {
    const { problems } = readSettings(folder(change));
    assert.ok(problems.some((p) => problem.test(p)), problems.join('\n'));
  });
}
