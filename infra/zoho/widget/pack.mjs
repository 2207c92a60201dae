// Makes the widget's zip and the CRM functions from a folder of settings.
//
//   node pack.mjs [FOLDER] [--templates DIR] [--out DIR]
//       FOLDER has settings.json, files/ and, unless DIR is given, templates/ (default: example)
//   node pack.mjs --hashes                 writes pdfjs.sha256 anew, after pdf.js was upgraded and looked at
//
// OUT/widget.zip goes into Zoho; OUT/functions/*.dg are pasted into the CRM. OUT/widget/ is what the zip holds.

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { readSettings } from './pack/settings.mjs';
import { hashes, vendor } from './pack/vendor.mjs';
import { FUNCTIONS, functionSource } from './pack/functions.mjs';

const HERE = dirname(fileURLToPath(import.meta.url));
const PDFJS = join(HERE, 'node_modules/pdfjs-dist');
const HASHES = join(HERE, 'pdfjs.sha256');
/** Zoho's own limits for a widget. */
const MAX_FILES = 250;
const MAX_BYTES = 20_000_000;

/** The policy of widget.html: nothing from anywhere but what is named here. */
export function policy({ sdk_url: sdk, intake_url: intake, side_effect_url: sideEffect, csp }) {
  const directives = {
    'default-src': ["'none'"],
    'script-src': ["'self'", sdk],
    'style-src': ["'self'"],
    'font-src': ["'self'"],
    'worker-src': ["'self'"],
    'connect-src': ["'self'", origin(intake), origin(sideEffect)],
    'base-uri': ["'none'"],
    'form-action': ["'none'"],
  };
  for (const [name, more] of Object.entries(csp ?? {})) directives[name] = [...(directives[name] ?? []), ...more];
  return Object.entries(directives).map(([name, sources]) => `${name} ${[...new Set(sources)].join(' ')}`).join('; ');
}

const origin = (url) => new URL(url).origin;

/** What the widget reads: no secret is among the settings. */
function configOf({ settings, forms }) {
  const { sdk_url: _sdk, crm_api_url: _api, csp: _csp, modules: _modules, ...rest } = settings;
  const shown = forms.map(({ id, kind, driver, name, about, labels, options, prefill, fixed, schema }) =>
    ({ id, kind, driver, name, about, labels, options, prefill, fixed, schema }));
  return { v: 1, ...rest, forms: shown };
}

/** Builds OUT/widget and OUT/functions. Throws with every mistake there is. */
export function build(folder, out, templates = undefined) {
  const read = readSettings(folder, templates);
  if (read.problems.length > 0) throw new Error(read.problems.join('\n'));
  rmSync(out, { recursive: true, force: true });
  const widget = join(out, 'widget');
  const app = join(widget, 'app');
  mkdirSync(app, { recursive: true });
  cpSync(join(HERE, 'plugin-manifest.json'), join(widget, 'plugin-manifest.json'));
  cpSync(join(HERE, 'app'), app, { recursive: true });
  const page = readFileSync(join(HERE, 'app/widget.html'), 'utf8')
    .replace('@CSP@', policy(read.settings)).replace('@SDK_URL@', read.settings.sdk_url);
  writeFileSync(join(app, 'widget.html'), page);
  writeFileSync(join(app, 'config.json'), `${JSON.stringify(configOf(read), null, 1)}\n`);
  vendor(PDFJS, HASHES, join(app, 'pdfjs'));
  checkSize(app);
  mkdirSync(join(out, 'functions'));
  for (const name of FUNCTIONS) {
    writeFileSync(join(out, 'functions', `${name}.dg`), functionSource(join(HERE, '../functions'), name, read));
  }
  return widget;
}

function filesIn(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true }).filter((e) => e.isFile())
    .map((e) => join(e.parentPath ?? e.path, e.name));
}

function checkSize(app) {
  const files = filesIn(app);
  const bytes = files.reduce((sum, path) => sum + statSync(path).size, 0);
  if (files.length > MAX_FILES || bytes > MAX_BYTES) {
    throw new Error(`${files.length} files of ${bytes} bytes: Zoho takes ${MAX_FILES} files of ${MAX_BYTES} bytes`);
  }
}

/** Zoho's own toolkit checks the folder and zips it. */
export function zip(widget) {
  const zet = join(HERE, 'node_modules/zoho-extension-toolkit/index.js');
  const run = (command) => execFileSync(process.execPath, [zet, command], {
    cwd: widget, encoding: 'utf8', env: { ...process.env, NO_UPDATE_NOTIFIER: '1', CI: '1' },
  });
  const said = run('validate') + run('pack');
  // It drops files of a kind it does not know, and calls that success.
  if (/not allowed/i.test(said)) throw new Error(said);
  const made = join(widget, 'dist/widget.zip');
  const target = join(dirname(widget), 'widget.zip');
  cpSync(made, target);
  rmSync(join(widget, 'dist'), { recursive: true });
  rmSync(join(widget, 'ZET-debug.log'), { force: true });
  return { said, target };
}

function main(args) {
  if (args.includes('--hashes')) {
    writeFileSync(HASHES, hashes(PDFJS));
    console.log(`${relative('.', HASHES)} written: look at the change before you commit it`);
    return;
  }
  const { values, positionals } = parseArgs({
    args, allowPositionals: true, options: { out: { type: 'string' }, templates: { type: 'string' } },
  });
  const out = resolve(values.out ?? join(HERE, 'dist'));
  const widget = build(resolve(positionals[0] ?? join(HERE, 'example')), out, values.templates && resolve(values.templates));
  const { said, target } = zip(widget);
  console.log(said.trim());
  console.log(`\nUpload to Zoho: ${relative('.', target)}  (index page: /widget.html)`);
  console.log(`Paste into the CRM: ${FUNCTIONS.map((name) => relative('.', join(out, 'functions', `${name}.dg`))).join(', ')}`);
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  try {
    main(process.argv.slice(2));
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
