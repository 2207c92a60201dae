// A small CRM: records, attachments, history records, one signed-in user, and the SDK's calls on them.

import { functionsOf } from './functions.mjs';

export class FakeCrm {
  constructor({ settings, forms, keys, now }) {
    Object.assign(this, { settings, now });
    this.user = { id: '4150868000000225013', full_name: 'Sam Seller', email: 'sam@example.com', language: 'en_US', profile: { id: '26011', name: 'Standard' } };
    this.records = new Map();
    this.attachments = new Map();
    this.opened = [];
    this.calls = [];
    this.broken = new Map();
    this.nextId = 5725767000000524100n;
    this.keys = keys;
    /** Whether the user has authorised the connection. */
    this.isConnected = true;
    this.functions = functionsOf({ crm: this, settings, forms, now });
  }

  add(module, values) {
    const id = String(this.nextId++);
    const at = new Date(this.now()).toISOString().replace(/\.\d+Z$/, '+00:00');
    const record = { id, Created_Time: at, Modified_Time: at, ...values };
    this.records.set(`${module}/${id}`, record);
    return record;
  }

  attach(module, recordId, name, bytes) {
    const file = { id: String(this.nextId++), File_Name: name, Size: String(bytes.length), bytes };
    const key = `${module}/${recordId}`;
    this.attachments.set(key, [...(this.attachments.get(key) ?? []), file]);
    return file;
  }

  read(module, id) {
    return this.records.get(`${module}/${id}`) ?? null;
  }

  readAsUser(module, id) {
    const record = this.read(module, id);
    return record && !record.$hidden_from?.includes(this.user.id) ? record : null;
  }

  attachmentsAsUser(module, id) {
    return this.readAsUser(module, id) ? this.attachments.get(`${module}/${id}`) ?? [] : [];
  }

  all(module) {
    return [...this.records].filter(([key]) => key.startsWith(`${module}/`)).map(([, record]) => record);
  }

  /** A call of the SDK. What is wrong about it is told as the SDK would. */
  call(name, args) {
    this.calls.push({ name, args });
    const fault = this.broken.get(name) ?? this.broken.get(`${name} ${args[0]}`);
    if (fault) return fault;
    const [first, second] = args;
    switch (name) {
      case 'CONFIG.getCurrentUser': return { answer: { users: [this.user] } };
      case 'API.getRecord': return { answer: list([this.readAsUser(first.Entity, String(first.RecordID))]) };
      case 'API.getRelatedRecords':
        return { answer: list(this.attachmentsAsUser(first.Entity, String(first.RecordID)).map(({ bytes: _, ...row }) => row)) };
      case 'API.coql': return this.coql(first.select_query);
      case 'FUNCTIONS.execute': return this.execute(first, second);
      default: return { error: { code: 'INVALID_REQUEST' } };
    }
  }

  /** The CRM's REST API over the connection: with the rights of the user who is signed in. */
  invoke(url, connection) {
    if (connection !== 'sendtrail_user') throw new Error(`no connection ${connection}`);
    if (!this.isConnected) throw new Error('not authorised');
    const base = `${this.settings.crm_api_url}/crm/v8/`;
    if (!url.startsWith(base)) throw new Error(`another address: ${url}`);
    const [path, query = ''] = url.slice(base.length).split('?');
    const [module, id, related] = path.split('/');
    if (path === 'users' && query === 'type=CurrentUser') return { status: 200, json: { users: [this.user] } };
    const record = id && this.readAsUser(module, id);
    if (!record) return { status: 204 };
    if (related === undefined) return { status: 200, json: { data: [record] } };
    const files = this.attachmentsAsUser(module, id).map(({ bytes: _, ...row }) => row);
    return files.length > 0 && related === 'Attachments' ? { status: 200, json: { data: files } } : { status: 204 };
  }

  /** `select a, b from M where (x = '1' and y = '2') order by … limit n`, and nothing else. */
  coql(query) {
    const form = /^select ([\w, ]+) from (\w+) where \(?(\w+ = '[\w-]*'(?: and \w+ = '[\w-]*')*)\)?(?: order by \w+ desc)? limit \d+$/;
    const parts = form.exec(query);
    if (!parts) return { error: { code: 'SYNTAX_ERROR', message: query } };
    const criteria = parts[3].split(' and ').map((text) => /^(\w+) = '(.*)'$/.exec(text).slice(1));
    const rows = this.all(parts[2]).filter((row) => criteria.every(([key, value]) => row[key] === value));
    const columns = ['id', ...parts[1].split(',').map((column) => column.trim())];
    return { answer: list(rows.map((row) => Object.fromEntries(columns.map((column) => [column, row[column]])))) };
  }

  execute(name, { arguments: text }) {
    const run = this.functions[name];
    if (!run) return { answer: { code: 'RESOURCE_NOT_FOUND', message: 'no such function' } };
    const args = JSON.parse(text);
    // A function's arguments are texts, and all of them are there.
    if (Object.values(args).some((value) => typeof value !== 'string')) return { answer: { code: 'INVALID_DATA' } };
    return { answer: { code: 'success', details: { output: JSON.stringify(run(args)), output_type: 'string' } } };
  }
}

/** Rows as the SDK gives them; none is a 204 without data. */
function list(rows) {
  const found = rows.filter(Boolean);
  return found.length > 0 ? { data: found, info: { more_records: false } } : { status: 204, statusText: 'nocontent' };
}
