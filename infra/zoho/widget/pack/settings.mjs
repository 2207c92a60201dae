// Reads settings.json and the folders of forms, and says every mistake at once.

import { readFileSync, readdirSync, existsSync } from 'node:fs';
import { join } from 'node:path';
import { fieldsOf, valuesOf, mistakes, collect } from '../app/js/core/schema.js';

export const SDK_URL = 'https://live.zwidgets.com/js-sdk/1.5/ZohoEmbededAppSDK.min.js';
const NAME = /^[A-Za-z0-9_]{1,64}$/;
/** Says something to people, and rules nothing. */
const REMARKS = ['title', 'description', 'examples', '$comment'];
const FORM_ID = /^[a-z0-9-]{1,40}$/;
const HISTORY_FIELDS = ['state', 'input', 'request_key', 'document_sha256', 'source_module', 'source_record'];
/** What schema.js understands; anything else would be a rule that nobody keeps. */
const KEYWORDS = {
  object: ['type', 'properties', 'required', 'additionalProperties', '$schema', '$id'],
  array: ['type', 'items', 'minItems', 'maxItems'],
  string: ['type', 'minLength', 'maxLength', 'pattern', 'enum', 'format', 'default'],
  number: ['type', 'minimum', 'maximum', 'default'],
  boolean: ['type', 'default'],
};
KEYWORDS.integer = KEYWORDS.number;

/** Everything in `folder`; templates from their own folder where one is given: the one the functions are packed with. */
export function readSettings(folder, templates = join(folder, 'templates')) {
  const problems = [];
  const read = (path) => {
    try {
      return JSON.parse(readFileSync(path, 'utf8'));
    } catch (error) {
      problems.push(`${path}: ${error.message}`);
      return {};
    }
  };
  const settings = { sdk_url: SDK_URL, csp: {}, ...read(join(folder, 'settings.json')) };
  checkSettings(settings, problems);
  const forms = [
    ...readForms(join(folder, 'files'), 'file', read, problems),
    ...readForms(templates, 'template', read, problems),
  ];
  const seen = new Set();
  for (const { id } of forms) {
    if (seen.has(id)) problems.push(`${id}: two forms have this name`);
    seen.add(id);
  }
  if (forms.length === 0) problems.push(`${folder}: needs a folder in files/ or templates/`);
  return { settings, forms, problems };
}

function checkSettings(settings, problems) {
  const wrong = (key, what) => problems.push(`settings.json: ${key}: ${what}`);
  if (!/^[a-z0-9-]{1,20}$/.test(settings.stage ?? '')) wrong('stage', '1 to 20 lower-case letters, digits or -');
  for (const key of ['intake_url', 'side_effect_url', 'crm_api_url', 'sdk_url']) {
    if (!isUrl(settings[key])) wrong(key, 'an https:// address without a slash at its end');
    if (/REPLACE/.test(settings[key] ?? '')) wrong(key, 'still the example\'s');
  }
  for (const key of ['history_module', 'functions.save', 'functions.press', ...HISTORY_FIELDS.map((f) => `history_fields.${f}`)]) {
    const value = key.split('.').reduce((node, part) => node?.[part], settings);
    if (!NAME.test(value ?? '')) wrong(key, 'an API name');
  }
  if (!Array.isArray(settings.modules) || settings.modules.length === 0 || !settings.modules.every((m) => NAME.test(m))) {
    wrong('modules', 'the API names of the modules whose records may be sent from');
  }
  if (!Array.isArray(settings.file_fields) || !settings.file_fields.every((f) => NAME.test(f?.api_name ?? ''))) {
    wrong('file_fields', 'a list of {"api_name": …}, or []');
  }
  if (!(settings.max_document_bytes > 0 && settings.max_document_bytes <= 4_400_000)) {
    wrong('max_document_bytes', 'at most 4400000, and what documents.max_bytes says');
  }
}

function isUrl(text) {
  try {
    const url = new URL(text);
    const isLoopback = url.protocol === 'http:' && ['localhost', '127.0.0.1'].includes(url.hostname);
    return (url.protocol === 'https:' || isLoopback) && !text.endsWith('/') && !/[\s;,'"*]/.test(text);
  } catch {
    return false;
  }
}

function readForms(folder, kind, read, problems) {
  if (!existsSync(folder)) return [];
  const ids = readdirSync(folder, { withFileTypes: true }).filter((e) => e.isDirectory()).map((e) => e.name).sort();
  return ids.map((id) => {
    const at = join(folder, id);
    const form = { id, kind, prefill: {}, fixed: [], labels: {}, ...read(join(at, 'widget.json')), schema: read(join(at, 'schema.json')) };
    const say = (what) => problems.push(`${at}: ${what}`);
    if (!FORM_ID.test(id)) say('the folder\'s name: 1 to 40 lower-case letters, digits or -');
    if (!/^[a-z0-9-]{1,64}$/.test(form.driver ?? '')) say('widget.json: driver: the name of a driver file');
    const before = problems.length;
    checkShape(form.schema, say);
    if (problems.length > before) return form;
    checkPointers(form, say);
    checkSample(form.schema, read(join(at, 'sample.json')), say);
    return form;
  });
}

/** `{to, fields}`, each flat but for lists of flat rows: what the CRM function can build. */
function checkShape(schema, say) {
  checkKeywords(schema, 'object', '', say);
  const parts = Object.keys(schema.properties ?? {});
  if (parts.some((key) => key !== 'to' && key !== 'fields') || parts.length !== 2) {
    say('schema.json: must be an object of `to` and `fields`, and nothing else');
    return;
  }
  for (const part of parts) {
    const inner = schema.properties[part];
    checkKeywords(inner, 'object', `/${part}`, say);
    for (const [key, value] of Object.entries(inner.properties ?? {})) {
      const pointer = `/${part}/${key}`;
      if (!NAME.test(key)) say(`schema.json: ${pointer}: letters, digits and _ only`);
      if (value.type !== 'array') checkKeywords(value, value.type, pointer, say, true);
      else {
        checkKeywords(value, 'array', pointer, say);
        checkKeywords(value.items ?? {}, 'object', `${pointer}/*`, say);
        for (const [name, cell] of Object.entries(value.items?.properties ?? {})) {
          if (!NAME.test(name)) say(`schema.json: ${pointer}/*/${name}: letters, digits and _ only`);
          checkKeywords(cell, cell.type, `${pointer}/*/${name}`, say, true);
        }
      }
    }
  }
}

function checkKeywords(schema, type, pointer, say, isScalar = false) {
  const known = KEYWORDS[type];
  if (schema.type !== type || !known || (isScalar && (type === 'object' || type === 'array'))) {
    say(`schema.json: ${pointer || '/'}: type ${schema.type} cannot be shown here`);
    return;
  }
  for (const key of Object.keys(schema)) {
    if (!known.includes(key) && !REMARKS.includes(key)) say(`schema.json: ${pointer || '/'}: the widget does not know "${key}"`);
  }
  if (schema.format && !['date', 'email'].includes(schema.format)) say(`schema.json: ${pointer}: format ${schema.format} is not known`);
  if (schema.pattern) {
    try {
      new RegExp(schema.pattern, 'u');
    } catch (error) {
      say(`schema.json: ${pointer}: ${error.message}`);
    }
  }
}

function checkPointers({ schema, prefill, fixed, labels }, say) {
  const all = new Set();
  const collectPointers = (fields) => fields.forEach((f) => {
    all.add(f.pointer);
    collectPointers(f.fields ?? []);
  });
  collectPointers(fieldsOf(schema));
  for (const [pointer, name] of Object.entries(prefill)) {
    if (!all.has(pointer)) say(`widget.json: prefill ${pointer}: no such field in the schema`);
    if (!NAME.test(name)) say(`widget.json: prefill ${pointer}: the API name of a CRM field`);
  }
  for (const pointer of Object.keys(labels)) {
    if (!all.has(pointer)) say(`widget.json: labels ${pointer}: no such field in the schema`);
  }
  for (const pointer of fixed) {
    if (!prefill[pointer]) say(`widget.json: fixed ${pointer}: needs a prefill`);
  }
}

/** A sample that the form would refuse is a form that nobody can send. */
function checkSample(schema, sample, say) {
  const fields = fieldsOf(schema);
  const values = valuesOf(fields, sample);
  for (const [pointer, { code }] of Object.entries(mistakes(fields, values))) say(`sample.json: ${pointer}: ${code}`);
  if (JSON.stringify(sorted(collect(fields, values))) !== JSON.stringify(sorted(sample))) {
    say('sample.json: does not come back as it is: a key the schema does not have, or a value of another type');
  }
}

function sorted(value) {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)).map(([k, v]) => [k, sorted(v)]));
}
