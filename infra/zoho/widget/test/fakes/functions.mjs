// The CRM functions as JavaScript, step for step what functions/*.dg say. A test compares the two's answers and bounds.

import { sign } from './signature.mjs';

const KEY = /^[A-Za-z0-9_-]{8,64}$/;
const ID = /^[A-Za-z0-9_]{1,64}$/;

const no = (code, more = {}) => ({ ok: false, code, ...more });

/** `crm` answers with the caller's own rights: what the user may not see is not there. */
export function functionsOf({ crm, settings, rules, keys, now }) {
  const signed = (key, id, body) => {
    const timestamp = String(Math.floor(now() / 1000));
    return { ok: true, id, timestamp, signature: sign(key, id, timestamp, body), body };
  };
  const actor = () => ({ id: crm.user.id, name: crm.user.full_name });
  const history = (id) => crm.readAsUser(settings.history_module, id);
  const fields = settings.history_fields;

  function sourceOf(module, recordId) {
    if (!settings.modules.includes(module) || !ID.test(recordId)) return null;
    return crm.readAsUser(module, recordId);
  }

  function save(args) {
    if (!keys.intake) return no('function_setup');
    const rule = Object.hasOwn(rules, args.form) ? rules[args.form] : null;
    if (!rule || !KEY.test(args.request_key) || args.input.length > 30_000) return no('bad_field', { field: '' });
    const record = sourceOf(args.module, args.record_id);
    if (!record) return no('not_allowed');
    const source = { module: args.module, record_id: args.record_id };
    if (rule.kind === 'template') Object.assign(source, { kind: 'template', template: args.form });
    else if (args.file_kind === 'attachment') {
      const files = crm.attachmentsAsUser(args.module, args.record_id);
      if (!files.some((file) => file.id === args.file_id)) return no('not_allowed');
      source.attachment_id = args.file_id;
    } else {
      if (!settings.file_fields.some((f) => f.api_name === args.file_id)) return no('not_allowed');
      source.field = args.file_id;
    }
    const input = JSON.parse(args.input);
    const body = { aud: `${settings.stage}/intake`, op: 'save' };
    if (args.history_id !== '') {
      const old = history(args.history_id);
      if (!old) return no('not_allowed');
      if (old[fields.source_record] !== args.record_id || old[fields.source_module] !== args.module) return no('wrong_record');
      body.history_id = args.history_id;
    }
    const bad = [];
    body.driver = rule.driver;
    body.source = source;
    body.to = taken(rule.to, input.to, record, '/to', bad);
    body.fields = taken(rule.fields, input.fields, record, '/fields', bad);
    body.actor = actor();
    if (bad.length > 0) return no('bad_field', { field: bad[0] });
    return signed(keys.intake, args.request_key, JSON.stringify(body));
  }

  function press(args) {
    if (!keys.side_effect) return no('function_setup');
    if (!KEY.test(args.request_key) || !/^[0-9a-f]{64}$/.test(args.document_sha256)) return no('bad_field', { field: '' });
    if (!sourceOf(args.module, args.record_id)) return no('not_allowed');
    const old = history(args.history_id);
    if (!old) return no('not_allowed');
    if (old[fields.source_record] !== args.record_id || old[fields.source_module] !== args.module) return no('wrong_record');
    const body = {
      aud: `${settings.stage}/side-effect`, op: 'send', history_id: args.history_id,
      document_sha256: args.document_sha256, actor: actor(),
    };
    if (args.again_of !== '') {
      if (!ID.test(args.again_of)) return no('bad_field', { field: '' });
      body.again_of = args.again_of;
    }
    return signed(keys.side_effect, args.request_key, JSON.stringify(body));
  }

  return { [settings.functions.save]: save, [settings.functions.press]: press };
}

/** The known fields alone, each within its bounds; one that is fixed comes from the record. */
function taken(rules, given, record, at, bad) {
  const out = {};
  for (const rule of rules) {
    const pointer = `${at}/${rule.k}`;
    const value = rule.crm ? recordText(record[rule.crm]) : given?.[rule.k];
    if (value === undefined || value === null || value === '') continue;
    if (rule.t === 'rows') {
      if (!Array.isArray(value) || value.length > rule.n) bad.push(pointer);
      else out[rule.k] = value.map((row, i) => taken(rule.c, row, record, `${pointer}/${i}`, bad));
    } else if (rule.t === 'boolean') out[rule.k] = String(value) === 'true';
    else if (rule.t === 'number' || rule.t === 'integer') {
      if (!/^-?[0-9]{1,15}([.][0-9]{1,6})?$/.test(String(value))) bad.push(pointer);
      out[rule.k] = value;
    } else {
      if (String(value).length > 2 * rule.m) bad.push(pointer);
      out[rule.k] = String(value);
    }
  }
  return out;
}

function recordText(value) {
  if (value === null || value === undefined) return '';
  return typeof value === 'object' ? String(value.name ?? '') : String(value);
}

