// A form from a JSON Schema, and its values: plain functions, no DOM.
//
// What is understood of JSON Schema: object, array of objects, string (minLength, maxLength, pattern, enum,
// format date and email), number and integer (minimum, maximum), boolean, required, default. pack.mjs refuses
// a schema that needs more, so that no rule is silently left out.

/** Longest text of a field whose schema names no maxLength. The CRM function has the same bound. */
export const DEFAULT_MAX_LENGTH = 500;
/** Most rows of a list whose schema names no maxItems. */
export const DEFAULT_MAX_ROWS = 50;
const MULTILINE_FROM = 200;

const escapeToken = (key) => key.replaceAll('~', '~0').replaceAll('/', '~1');

/** The fields of a schema, in its own order. `pointer` names a field as the doors do. */
export function fieldsOf(schema, pointer = '') {
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).map(([key, part]) =>
    field(key, part, required.has(key), `${pointer}/${escapeToken(key)}`));
}

function field(key, part, required, pointer) {
  const base = { key, pointer, required, title: part.title ?? key, initial: part.default };
  switch (part.type) {
    case 'object':
      return { ...base, kind: 'group', fields: fieldsOf(part, pointer) };
    case 'array':
      return {
        ...base, kind: 'rows', fields: fieldsOf(part.items, `${pointer}/*`),
        min: part.minItems ?? 0, max: part.maxItems ?? DEFAULT_MAX_ROWS,
      };
    case 'boolean':
      return { ...base, kind: 'boolean' };
    case 'integer':
    case 'number':
      return { ...base, kind: part.type, min: part.minimum, max: part.maximum };
    default:
      return textField(base, part);
  }
}

function textField(base, part) {
  const max = part.maxLength ?? DEFAULT_MAX_LENGTH;
  const text = { ...base, max, min: part.minLength ?? 0, pattern: part.pattern };
  if (part.enum) return { ...text, kind: 'choice', options: part.enum };
  if (part.format === 'date' || part.format === 'email') return { ...text, kind: part.format };
  return { ...text, kind: max > MULTILINE_FROM ? 'multiline' : 'text' };
}

/** The values a form starts with: what the record has, else the schema's default, else nothing. */
export function startValues(fields, prefill, record) {
  return Object.fromEntries(fields.map((f) => [f.key, startValue(f, prefill, record)]));
}

function startValue(f, prefill, record) {
  if (f.kind === 'group') return startValues(f.fields, prefill, record);
  if (f.kind === 'rows') {
    return Array.from({ length: Math.max(f.min, 1) }, () => startValues(f.fields, {}, {}));
  }
  const known = prefill[f.pointer] === undefined ? undefined : recordText(record[prefill[f.pointer]]);
  const value = known ?? f.initial;
  if (f.kind === 'boolean') return value === true || value === 'true';
  return value === undefined ? '' : cut(String(value), f.max);
}

/** A CRM value as text: a look-up gives its name. */
function recordText(value) {
  if (value === null || value === undefined || value === '') return undefined;
  if (typeof value === 'object') return value.name === undefined ? undefined : String(value.name);
  return String(value);
}

function cut(text, max) {
  return typeof max === 'number' ? [...text].slice(0, max).join('') : text;
}

/** Saved input as form values, so that a draft can be gone on with. What the schema does not know is dropped. */
export function valuesOf(fields, saved) {
  const object = saved !== null && typeof saved === 'object' ? saved : {};
  return Object.fromEntries(fields.map((f) => {
    const value = object[f.key];
    if (f.kind === 'group') return [f.key, valuesOf(f.fields, value)];
    if (f.kind === 'rows') {
      const rows = Array.isArray(value) ? value.slice(0, f.max) : [];
      return [f.key, rows.map((row) => valuesOf(f.fields, row))];
    }
    if (f.kind === 'boolean') return [f.key, value === true];
    return [f.key, value === undefined || value === null ? '' : String(value)];
  }));
}

/** What is sent: numbers as numbers, nothing for an empty field that need not be there. */
export function collect(fields, values) {
  const entries = [];
  for (const f of fields) {
    const value = values[f.key];
    if (f.kind === 'group') entries.push([f.key, collect(f.fields, value)]);
    else if (f.kind === 'rows') entries.push([f.key, value.map((row) => collect(f.fields, row))]);
    else if (f.kind === 'boolean') entries.push([f.key, value === true]);
    else if (clean(value) !== '') entries.push([f.key, scalar(f, clean(value))]);
  }
  return Object.fromEntries(entries);
}

function scalar(f, text) {
  return f.kind === 'number' || f.kind === 'integer' ? Number(text) : text;
}

/** No lone surrogates, no control characters but line ends, nothing blank around it. */
export function clean(value) {
  const text = String(value ?? '').toWellFormed?.() ?? String(value ?? '');
  return text.replaceAll('\r\n', '\n').replace(/[\u0000-\u0009\u000b-\u001f\u007f]/g, ' ').trim();
}

/** Every mistake at once: pointer → { code, limit }. */
export function mistakes(fields, values, at = '') {
  const found = {};
  for (const f of fields) {
    const pointer = `${at}/${escapeToken(f.key)}`;
    const value = values[f.key];
    if (f.kind === 'group') Object.assign(found, mistakes(f.fields, value, pointer));
    else if (f.kind === 'rows') {
      if (value.length < f.min) found[pointer] = { code: 'rows_missing', limit: f.min };
      value.forEach((row, i) => Object.assign(found, mistakes(f.fields, row, `${pointer}/${i}`)));
    } else {
      const mistake = mistakeIn(f, f.kind === 'boolean' ? value : clean(value));
      if (mistake) found[pointer] = mistake;
    }
  }
  return found;
}

function mistakeIn(f, value) {
  if (f.kind === 'boolean') return null;
  if (value === '') return f.required ? { code: 'missing' } : null;
  if (f.kind === 'number' || f.kind === 'integer') return mistakeInNumber(f, value);
  if (f.kind === 'choice') return f.options.includes(value) ? null : { code: 'choice' };
  const length = [...value].length;
  if (length > f.max) return { code: 'too_long', limit: f.max };
  if (length < f.min) return { code: 'too_short', limit: f.min };
  if (f.kind === 'date' && !isDate(value)) return { code: 'date' };
  if (f.kind === 'email' && !/^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(value)) return { code: 'email' };
  if (f.pattern && !new RegExp(f.pattern, 'u').test(value)) return { code: 'pattern' };
  return null;
}

function mistakeInNumber(f, value) {
  if (!/^-?\d{1,15}(\.\d{1,6})?$/.test(value)) return { code: f.kind };
  const number = Number(value);
  if (f.kind === 'integer' && !Number.isInteger(number)) return { code: 'integer' };
  if (f.min !== undefined && number < f.min) return { code: 'too_small', limit: f.min };
  if (f.max !== undefined && number > f.max) return { code: 'too_big', limit: f.max };
  return null;
}

function isDate(text) {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

/** The value at a pointer, and a copy of the values with another one there. */
export function withValue(values, pointer, value) {
  const path = pointer.split('/').slice(1).map((t) => t.replaceAll('~1', '/').replaceAll('~0', '~'));
  const set = (node, [key, ...rest]) => {
    const next = rest.length === 0 ? value : set(node[key], rest);
    return Array.isArray(node) ? node.with(Number(key), next) : { ...node, [key]: next };
  };
  return set(values, path);
}

/** With one row more, where the list may have it. */
export function withRow(values, fields, pointer) {
  const { list, rows } = rowsAt(values, fields, pointer);
  if (!list || rows.length >= list.max) return values;
  return withValue(values, pointer, [...rows, startValues(list.fields, {}, {})]);
}

/** Without this row, where the list may do without it. */
export function withoutRow(values, fields, pointer, index) {
  const { list, rows } = rowsAt(values, fields, pointer);
  if (!list || rows.length <= Math.max(list.min, 0)) return values;
  return withValue(values, pointer, rows.filter((_, i) => i !== index));
}

function rowsAt(values, fields, pointer) {
  let list = null;
  let rows = values;
  let level = fields;
  for (const token of pointer.split('/').slice(1)) {
    list = level?.find((f) => escapeToken(f.key) === token) ?? null;
    rows = rows?.[list?.key];
    level = list?.fields;
  }
  return { list: list?.kind === 'rows' ? list : null, rows: Array.isArray(rows) ? rows : [] };
}
