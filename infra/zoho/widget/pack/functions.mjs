// The CRM functions with their settings filled in: all but the key, which nobody keeps in a file.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fieldsOf } from '../app/js/core/schema.js';

export const FUNCTIONS = ['sendtrail_save', 'sendtrail_press', 'sendtrail_review'];

/** A text as a literal of Deluge. */
export function literal(text) {
  return `"${text.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

/** What the save function may take from a browser: for each form its driver, and for each field its longest text. */
export function rulesOf(forms) {
  return Object.fromEntries(forms.map((form) => {
    const [to, fields] = ['to', 'fields'].map((part) =>
      fieldsOf(form.schema).find((f) => f.key === part).fields.map((f) => ruleOf(f, form)));
    return [form.id, { kind: form.kind, driver: form.driver, to, fields }];
  }));
}

function ruleOf(f, form) {
  const rule = { k: f.key, t: f.kind };
  if (f.kind === 'rows') return { ...rule, n: f.max, c: f.fields.map((cell) => ruleOf(cell, form)) };
  if (f.max !== undefined && !['number', 'integer'].includes(f.kind)) rule.m = f.max;
  if (form.fixed.includes(f.pointer)) rule.crm = form.prefill[f.pointer];
  return rule;
}

/** The function's source with `@NAME@` replaced. */
export function functionSource(folder, name, { settings, forms }) {
  const { history_fields: fields } = settings;
  const values = {
    STAGE: settings.stage,
    CRM_API_URL: settings.crm_api_url,
    MODULES: JSON.stringify(settings.modules),
    FILE_FIELDS: JSON.stringify(settings.file_fields.map((f) => f.api_name)),
    RULES: JSON.stringify(rulesOf(forms)),
    HISTORY_MODULE: settings.history_module,
    SOURCE_MODULE: fields.source_module,
    SOURCE_RECORD: fields.source_record,
  };
  const source = readFileSync(join(folder, `${name}.dg`), 'utf8');
  return source.replace(/"@([A-Z_]+)@"/g, (whole, key) => (values[key] === undefined ? whole : literal(values[key])));
}
