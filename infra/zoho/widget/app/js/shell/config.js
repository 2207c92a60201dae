// app/config.json, as pack.mjs wrote it, with the fields of each form worked out.

import { fieldsOf } from '../core/schema.js';

/** The configuration; null where it is missing or not what this version writes. */
export async function loadConfig() {
  try {
    const response = await fetch(new URL('../../config.json', import.meta.url), { cache: 'no-cache' });
    if (!response.ok) return null;
    const raw = await response.json();
    if (raw.v !== 1) return null;
    return { ...raw, forms: raw.forms.map((form) => ({ ...form, fields: fieldsOf(form.schema) })) };
  } catch {
    return null;
  }
}
