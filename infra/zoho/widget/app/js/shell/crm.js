// The CRM as the widget sees it: Zoho's embedded-app SDK, with every answer checked and no wait without an end.

import { functionFailure, failure } from '../core/failures.js';

const CRM_TIMEOUT_MS = 20_000;
const FUNCTION_TIMEOUT_MS = 40_000;
const ID = /^[A-Za-z0-9_-]{1,64}$/;
const NAME = /^[A-Za-z0-9_]{1,64}$/;

/** An answer that did not come in time. */
class Late extends Error {}

function within(promise, ms) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Late('no answer in time')), ms);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** The SDK rejects with errors, with bare objects and with texts. */
function codeOf(thrown) {
  const code = thrown?.code ?? thrown?.data?.[0]?.code ?? thrown?.message ?? thrown;
  return String(code ?? '').slice(0, 100);
}

let pageLoad;

/** Registers for `PageLoad` and then starts the SDK: in the other order the event is missed. Once for each page. */
function start(sdk) {
  pageLoad ??= new Promise((resolve, reject) => {
    sdk.embeddedApp.on('PageLoad', resolve);
    Promise.resolve(sdk.embeddedApp.init()).catch(reject);
  });
  return pageLoad;
}

/** Where the widget was opened: `{ module, id }`. The id is a text on a record, a list from a button. */
async function place(sdk) {
  const data = await within(start(sdk), CRM_TIMEOUT_MS);
  const id = Array.isArray(data?.EntityId) ? data.EntityId[0] : data?.EntityId;
  const [module, text] = [String(data?.Entity ?? ''), String(id ?? '')];
  return NAME.test(module) && ID.test(text) ? { module, id: text } : null;
}

const rowsOf = (answer) => (Array.isArray(answer?.data) ? answer.data : []);

export function crmOf(sdk, config) {
  const fields = config.history_fields;

  async function open() {
    const at = await place(sdk);
    if (!at) return { failure: failure('no_record', 'open') };
    enlarge();
    const user = await currentUser();
    const record = await within(sdk.CRM.API.getRecord({ Entity: at.module, RecordID: at.id }), CRM_TIMEOUT_MS);
    const values = rowsOf(record)[0];
    if (!values) return { user, failure: failure('no_record', 'open') };
    const [files, sends] = await Promise.all([filesOf(at, values), sendsOf(at)]);
    return { user, record: { ...at, name: nameOf(values), values }, files, sends };
  }

  /** A window of the CRM opens small. Where it cannot be enlarged the page is what it is. */
  function enlarge() {
    Promise.resolve().then(() => sdk.CRM.UI.Resize({ height: '800', width: '960' })).catch(() => {});
  }

  async function currentUser() {
    const answer = await within(sdk.CRM.CONFIG.getCurrentUser(), CRM_TIMEOUT_MS);
    const user = answer?.users?.[0] ?? {};
    return { id: String(user.id ?? ''), name: String(user.full_name ?? ''), language: user.language ?? user.locale };
  }

  /** The PDFs of a record: attachments, and the file fields of the configuration. */
  async function filesOf({ module, id }, values) {
    const list = { Entity: module, RecordID: id, RelatedList: 'Attachments', page: 1, per_page: 200 };
    const attached = rowsOf(await within(sdk.CRM.API.getRelatedRecords(list), CRM_TIMEOUT_MS));
    const files = attached.filter((row) => ID.test(String(row.id))).map((row) =>
      file('attachment', String(row.id), row.File_Name, row.Size));
    for (const { api_name: name } of config.file_fields) {
      const first = Array.isArray(values[name]) ? values[name][0] : null;
      if (first) files.push(file('field', name, first.File_Name__s ?? first.file_Name, first.Size__s ?? first.file_Size));
    }
    return files;
  }

  function file(kind, id, name, size) {
    const bytes = Number(size);
    const title = String(name ?? id);
    const isPdf = /\.pdf$/i.test(title);
    const isSmall = !Number.isFinite(bytes) || bytes <= config.max_document_bytes;
    const why = isPdf ? (isSmall ? null : 'too_large') : 'not_pdf';
    return { key: `${kind}:${id}`, kind, id, name: title, size: Number.isFinite(bytes) ? bytes : null, isUsable: !why, why };
  }

  /** The sends of a record, newest first; null where the CRM does not tell. A list may be some seconds old. */
  async function sendsOf({ module, id }) {
    const columns = ['id', fields.state, 'Created_Time'].join(', ');
    const where = `(${fields.source_record} = '${id}' and ${fields.source_module} = '${module}')`;
    try {
      const rows = await query(columns, where, 'order by Created_Time desc limit 20',
        `(${fields.source_record}:equals:${id})`);
      return rows.map((row) => ({
        id: String(row.id), state: String(row[fields.state] ?? ''), at: row.Created_Time ?? '',
      })).sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
    } catch {
      return null;
    }
  }

  /** COQL, or a search where this SDK has none. */
  async function query(columns, where, rest, criteria) {
    const module = config.history_module;
    const api = sdk.CRM.API;
    const answer = typeof api.coql === 'function'
      ? api.coql({ select_query: `select ${columns} from ${module} where ${where} ${rest}` })
      : api.searchRecord({ Entity: module, Type: 'criteria', Query: criteria, delay: false });
    return rowsOf(await within(answer, CRM_TIMEOUT_MS));
  }

  /** One history record, by its id or by the key of its save; null where there is none. */
  async function look({ id, key }) {
    const found = id ?? await idOf(key);
    if (!found) return null;
    const answer = await within(
      sdk.CRM.API.getRecord({ Entity: config.history_module, RecordID: found }), CRM_TIMEOUT_MS);
    const row = rowsOf(answer)[0];
    if (!row) return null;
    const sha256 = String(row[fields.document_sha256] ?? '');
    return {
      id: String(row.id ?? found),
      state: String(row[fields.state] ?? ''),
      sha256: /^[0-9a-f]{64}$/.test(sha256) ? sha256 : null,
      input: parsed(row[fields.input]),
    };
  }

  async function idOf(key) {
    const rows = await query('id', `${fields.request_key} = '${key}'`, 'limit 1', `(${fields.request_key}:equals:${key})`);
    const id = String(rows[0]?.id ?? '');
    return ID.test(id) ? id : null;
  }

  /** Has the CRM function build and sign a text. Gives `{ signed }` or `{ failure }`. */
  async function sign(what, args, task) {
    try {
      const answer = await within(
        sdk.CRM.FUNCTIONS.execute(config.functions[what], { arguments: JSON.stringify(args) }), FUNCTION_TIMEOUT_MS);
      if (answer?.code !== 'success') return { failure: functionFailure(notRun(codeOf(answer)), task) };
      const output = parsed(answer.details?.output);
      if (output?.ok !== true) return { failure: functionFailure({ code: output?.code, field: output?.field }, task) };
      const signed = {
        id: String(output.id), timestamp: String(output.timestamp), signature: String(output.signature),
        body: String(output.body),
      };
      return { signed };
    } catch (thrown) {
      const lost = thrown instanceof Late;
      return { failure: functionFailure(lost ? { lost } : notRun(codeOf(thrown)), task) };
    }
  }

  function openHistory(id) {
    return sdk.CRM.UI.Record.open({ Entity: config.history_module, RecordID: id });
  }

  return { open, look, sign, sendsOf, openHistory };
}

/** A function that could not be run at all is one that is not there, or not for this user. */
function notRun(code) {
  return /not_found|not found|no_such|invalid_function|invalid_url|no_permission|does not exist/i.test(code)
    ? { missing: true } : { code: 'function_failed' };
}

function parsed(text) {
  if (typeof text !== 'string') return text ?? null;
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** A CRM's name for a record of any module. */
function nameOf(values) {
  const keys = ['Deal_Name', 'Full_Name', 'Account_Name', 'Subject', 'Name', 'Last_Name'];
  const value = keys.map((key) => values[key]).find((v) => typeof v === 'string' && v !== '');
  return value ?? String(values.id ?? '');
}
