// The two doors, from crates/intake, crates/side-effect and crates/door: their checks, order and words. Where the real
// ones take more, these take less; they are never kinder.

import { issue, read, refusal, sha256 } from './signature.mjs';
import { pdf } from './pdf.mjs';

const MAX_JSON = 64 * 1024;
const SAVE_KEYS = ['aud', 'op', 'history_id', 'driver', 'source', 'to', 'fields', 'actor'];
const SEND_KEYS = ['aud', 'op', 'history_id', 'document_sha256', 'again_of', 'actor'];
const STATUS = {
  unauthorized: 401, malformed_request: 400, not_found: 404, method_not_allowed: 405, invalid_request: 422, too_large: 413,
  unsupported_media_type: 415, not_sendable: 409, changed_elsewhere: 409, record_changed: 409, already_sent: 409,
  id_reused: 409, stale_ticket: 409, document_changed: 409, document_unusable: 422, source_unavailable: 502,
  rate_limited: 503, crm_unavailable: 503, no_time: 503, internal: 500,
};
const IN_FLIGHT = ['sending', 'accepted', 'succeeded', 'needs_review'];

/** A refusal, thrown by any check. */
class Refused {
  constructor(code, more = {}) {
    Object.assign(this, { code, more });
  }
}

export function problem(code, requestId, more = {}, headers = {}) {
  const status = STATUS[code];
  const retry = [503].includes(status) ? { 'retry-after': '5' } : {};
  const body = { type: `urn:sendtrail:problem:${code}`, title: code, status, code, request_id: requestId, ...more };
  return { status, headers: { 'content-type': 'application/problem+json', ...retry, ...headers }, body: JSON.stringify(body) };
}

const json = (status, value) => ({ status, headers: { 'content-type': 'application/json' }, body: JSON.stringify(value) });

export class FakeDoors {
  constructor({ crm, settings, keys, now, drivers }) {
    Object.assign(this, { crm, settings, keys, now, drivers });
    this.fields = settings.history_fields;
    this.previewTtl = 600;
    this.confirmTtl = 3600;
    /** What went out: one entry for each submit the send API saw. */
    this.submits = [];
    this.outcome = 'accepted';
    this.requests = [];
    this.nextRequest = 1;
  }

  /** Serves one request of a door; always an answer, as the doors never panic. */
  serve(door, request) {
    const requestId = `req-${this.nextRequest++}`;
    this.requests.push({ door, method: request.method, path: request.path, id: request.headers['webhook-id'] });
    try {
      return this.route(door, request);
    } catch (refused) {
      if (refused instanceof Refused) return problem(refused.code, requestId, refused.more);
      console.error(refused);
      return problem('internal', requestId);
    }
  }

  route(door, request) {
    const path = request.path.split('/').slice(1);
    const is = (method, ...parts) => request.method === method && parts.length === path.length
      && parts.every((part, i) => part === null || part === path[i]);
    if (door === 'intake') {
      if (is('POST', 'v1', 'histories')) return this.save(request);
      if (is('PUT', 'v1', 'histories', null)) return this.saveAgain(request, path[2]);
      if (is('GET', 'v1', 'histories', null, 'preview')) return this.preview(request, path[2]);
      if (is('PUT', 'v1', 'histories', null, 'document')) return this.confirm(request, path[2]);
    } else if (is('POST', 'v1', 'sends')) return this.send(request);
    throw new Refused('not_found');
  }

  signed(request, key, aud, op, historyId) {
    if (request.body.length > MAX_JSON) throw new Refused('too_large');
    if (refusal(key, request.headers, request.body, this.now())) throw new Refused('unauthorized');
    if (request.headers['content-type'] !== 'application/json') throw new Refused('unsupported_media_type');
    let body;
    try {
      body = JSON.parse(request.body);
    } catch {
      throw new Refused('invalid_request');
    }
    const isFor = body.aud === aud && body.op === op
      && (historyId === null ? !('history_id' in body) : historyId === undefined || body.history_id === historyId);
    if (!isFor) throw new Refused('unauthorized');
    return body;
  }

  order(request, historyId) {
    const body = this.signed(request, this.keys.intake, `${this.settings.stage}/intake`, 'save', historyId);
    const errors = Object.keys(body).filter((key) => !SAVE_KEYS.includes(key)).map((key) => ({ pointer: `/${key}` }));
    if (!body.actor?.id?.trim()) errors.push({ pointer: '/actor/id' });
    if (!body.actor?.name?.trim()) errors.push({ pointer: '/actor/name' });
    if (!this.drivers.includes(body.driver)) errors.push({ pointer: '/driver' });
    const kinds = ['attachment_id', 'field', 'template'].filter((key) => key in (body.source ?? {}));
    if (kinds.length !== 1) errors.push({ pointer: '/source' });
    if (typeof body.to !== 'object' || typeof body.fields !== 'object') errors.push({ pointer: '/to' });
    errors.push(...(this.refuse?.(body) ?? []));
    if (errors.length > 0) throw new Refused('invalid_request', { errors });
    const stored = JSON.stringify({ driver: body.driver, source: body.source, to: body.to, fields: body.fields });
    return { key: request.headers['webhook-id'], bodySha256: sha256(request.body), stored, source: body.source, actor: body.actor };
  }

  save(request) {
    const order = this.order(request, null);
    const found = this.crm.all(this.settings.history_module).find((row) => row[this.fields.request_key] === order.key);
    if (found) return this.same(found, order);
    const record = this.crm.add(this.settings.history_module, {
      [this.fields.state]: 'saved', [this.fields.input]: order.stored, [this.fields.request_key]: order.key,
      [this.fields.source_module]: order.source.module, [this.fields.source_record]: order.source.record_id,
      [this.fields.document_sha256]: null, $progress: { rev: 1, request: order },
    });
    return this.tokens(201, record, order);
  }

  same(record, order) {
    const { request } = record.$progress;
    if (request.key !== order.key || request.bodySha256 !== order.bodySha256) throw new Refused('id_reused');
    return this.tokens(200, record, order);
  }

  saveAgain(request, id) {
    const order = this.order(request, id);
    const record = this.history(id);
    const progress = record.$progress;
    if (progress.request.key === order.key) return this.same(record, order);
    const isOpen = progress.submission || (progress.claim && !progress.claim.resolved);
    if (isOpen || !['saved', 'confirmed'].includes(record[this.fields.state])) throw new Refused('not_sendable');
    record.$progress = { rev: progress.rev + 1, request: order, claim: progress.claim };
    record[this.fields.state] = 'saved';
    record[this.fields.input] = order.stored;
    record[this.fields.document_sha256] = null;
    return this.tokens(200, record, order);
  }

  history(id) {
    const record = this.crm.read(this.settings.history_module, id);
    if (!record) throw new Refused('not_found');
    return record;
  }

  tokens(status, record, order) {
    const token = (purpose, ttl) => issue(this.keys.token, {
      purpose, history_id: record.id, rev: record.$progress.rev, input_sha256: sha256(order.stored),
      expires_at: Math.floor(this.now() / 1000) + ttl,
    });
    return json(status, {
      history_id: record.id, state: record[this.fields.state], preview_token: token('preview', this.previewTtl),
      confirm_ticket: token('confirm', this.confirmTtl), expires_at: new Date(this.now() + this.confirmTtl * 1000).toISOString(),
    });
  }

  claims(token, purpose, id) {
    const claims = read(this.keys.token, token, { purpose, history_id: id }, this.now());
    if (!claims) throw new Refused('unauthorized');
    return claims;
  }

  bearer(request) {
    return /^Bearer ([\w.-]+)$/.exec(request.headers.authorization ?? '')?.[1];
  }

  preview(request, id) {
    const claims = this.claims(this.bearer(request), 'preview', id);
    const record = this.history(id);
    const stored = record[this.fields.input];
    const isFresh = ['saved', 'confirmed'].includes(record[this.fields.state]) && record.$progress.rev === claims.rev
      && sha256(stored) === claims.input_sha256;
    if (!isFresh) throw new Refused('stale_ticket');
    const bytes = this.document(JSON.parse(stored));
    if (bytes.length > this.settings.max_document_bytes) throw new Refused('too_large');
    if (!bytes.subarray(0, 5).equals(Buffer.from('%PDF-'))) throw new Refused('document_unusable');
    const receipt = issue(this.keys.token, {
      ...claims, purpose: 'receipt', document_sha256: sha256(bytes), expires_at: Math.floor(this.now() / 1000) + this.confirmTtl,
    });
    return {
      status: 200, body: bytes,
      headers: {
        'content-type': 'application/pdf', 'cache-control': 'no-store',
        'sendtrail-document-sha256': sha256(bytes), 'sendtrail-receipt': receipt,
      },
    };
  }

  document({ source, to, fields }) {
    if (source.template) return pdf([templateLines(source.template, to, fields), ['Page two']]);
    const files = this.crm.attachments.get(`${source.module}/${source.record_id}`) ?? [];
    const file = files.find((one) => one.id === source.attachment_id);
    if (!file) throw new Refused('source_unavailable');
    return file.bytes;
  }

  confirm(request, id) {
    const ticket = this.claims(this.bearer(request), 'confirm', id);
    const receipt = this.claims(request.headers['sendtrail-receipt'], 'receipt', id);
    if (receipt.rev !== ticket.rev || receipt.input_sha256 !== ticket.input_sha256) throw new Refused('unauthorized');
    if (request.headers['content-type'] !== 'application/pdf') throw new Refused('unsupported_media_type');
    if (request.body.length > this.settings.max_document_bytes) throw new Refused('too_large');
    const hash = sha256(request.body);
    if (hash !== receipt.document_sha256) throw new Refused('document_changed');
    const record = this.history(id);
    const progress = record.$progress;
    const done = json(200, { history_id: id, state: 'confirmed', document_sha256: hash });
    const isSame = record[this.fields.state] === 'confirmed' && progress.document?.sha256 === hash
      && receipt.rev + 1 === progress.rev;
    if (isSame) return done;
    const isFresh = record[this.fields.state] === 'saved' && progress.rev === receipt.rev
      && sha256(record[this.fields.input]) === receipt.input_sha256;
    if (!isFresh) throw new Refused('stale_ticket');
    record.$progress = {
      ...progress, rev: progress.rev + 1,
      document: { sha256: hash, bytes: request.body, input_sha256: receipt.input_sha256 },
    };
    record[this.fields.state] = 'confirmed';
    record[this.fields.document_sha256] = hash;
    return done;
  }

  send(request) {
    const body = this.signed(request, this.keys.side_effect, `${this.settings.stage}/side-effect`, 'send', undefined);
    if (Object.keys(body).some((key) => !SEND_KEYS.includes(key)) || !body.actor?.id || !body.actor?.name
      || !/^[0-9a-f]{64}$/.test(body.document_sha256)) {
      throw new Refused('invalid_request');
    }
    const record = this.history(body.history_id);
    const progress = record.$progress;
    const key = request.headers['webhook-id'];
    const state = () => record[this.fields.state];
    if (progress.claim?.key === key) {
      return json(200, { history_id: record.id, state: state(), outcome: progress.claim.outcome, repeated: true });
    }
    const isOpen = progress.submission || (progress.claim && !progress.claim.resolved);
    if (state() !== 'confirmed' || isOpen) throw new Refused('not_sendable');
    if (progress.document.sha256 !== body.document_sha256) throw new Refused('record_changed');
    if (sha256(record[this.fields.input]) !== progress.document.input_sha256) throw new Refused('record_changed');
    const twin = this.twinOf(record, body);
    if (twin) throw new Refused('already_sent', { twin: twin.id });
    return this.submit(record, key, body);
  }

  twinOf(record, { document_sha256: hash, again_of: againOf }) {
    return this.crm.all(this.settings.history_module).find((other) => other.id !== record.id && other.id !== againOf
      && other[this.fields.source_record] === record[this.fields.source_record]
      && other[this.fields.document_sha256] === hash && IN_FLIGHT.includes(other[this.fields.state]));
  }

  submit(record, key, { actor }) {
    const progress = record.$progress;
    progress.rev += 1;
    progress.claim = { key, actor, outcome: this.outcome, resolved: this.outcome === 'not_sent' };
    if (this.outcome !== 'not_sent') this.submits.push({ id: record.id, sha256: sha256(progress.document.bytes) });
    const states = { accepted: 'accepted', rejected: 'failed', not_sent: 'confirmed', unknown: 'sending' };
    record[this.fields.state] = states[this.outcome];
    if (this.outcome === 'accepted' || this.outcome === 'rejected') progress.submission = { outcome: this.outcome };
    return json(200, {
      history_id: record.id, state: states[this.outcome], outcome: this.outcome,
      ...(this.outcome === 'accepted' ? { external_id: `ltr_${record.id}` } : {}),
      ...(this.outcome === 'not_sent' ? { reason: 'connect_failed', retry_after: 7 } : {}),
    });
  }
}

function templateLines(template, to, fields) {
  const rows = (fields.lines ?? []).map((line) => `${line.description}  ${line.quantity} x ${line.unit_price}`);
  return [fields.subject ?? `${template} ${fields.number}`, '', to.name, to.address_line1, `${to.address_zip} ${to.address_city}`, '',
    ...(fields.body ?? '').split('\n'), ...rows, '', fields.signed_by ?? ''].map(String);
}
