// The same questions for the fake doors and for the real ones: what each answers, as [question, status, code or state].

import { sha256, sign } from './signature.mjs';

/** `side`: `serve(door, request)`, `keys`, `stage`, `source` (a record with a PDF attached) and `now()`. */
export async function interview(side) {
  const said = [];
  let n = 0;
  const key = () => `ask-${side.name}-${String(n++).padStart(6, '0')}`;
  const body = (more = {}) => ({
    aud: `${side.stage}/intake`, op: 'save', driver: 'lob-letter', source: side.source,
    to: { name: 'Ada', address_line1: '1 Main Street', address_city: 'Springfield', address_state: 'IL', address_zip: '62701' },
    fields: { from_address: 'adr_main' }, actor: { id: 'u1', name: 'Sam Seller' }, ...more,
  });
  const send = (more) => ({ aud: `${side.stage}/side-effect`, op: 'send', actor: { id: 'u1', name: 'Sam Seller' }, ...more });

  async function ask(question, door, request) {
    const got = await side.serve(door, { headers: {}, body: Buffer.alloc(0), ...request });
    let json = null;
    try {
      json = JSON.parse(got.body);
    } catch {
      // A PDF.
    }
    said.push([question, got.status, json ? json.code ?? [json.state, json.outcome, json.repeated].filter((v) => v !== undefined).join(' ') : 'bytes']);
    return { ...got, json };
  }

  function signed(question, door, method, path, content, { id = key(), secret = side.keys[door], age = 0, type = 'application/json' } = {}) {
    const text = Buffer.from(typeof content === 'string' ? content : JSON.stringify(content));
    const timestamp = String(Math.floor(side.now() / 1000) - age);
    return ask(question, door, {
      method, path, body: text,
      headers: { 'content-type': type, 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': sign(secret, id, timestamp, text) },
    });
  }

  // Who is let in.
  const H = '/v1/histories';
  await ask('no signature', 'intake', { method: 'POST', path: H, body: Buffer.from('{}') });
  await signed('another key', 'intake', 'POST', H, body(), { secret: 'x'.repeat(40) });
  await signed('too old', 'intake', 'POST', H, body(), { age: 400 });
  await signed('from the future', 'intake', 'POST', H, body(), { age: -400 });
  await signed('another stage', 'intake', 'POST', H, body({ aud: 'other/intake' }));
  await signed('another op', 'intake', 'POST', H, body({ op: 'send' }));
  await signed('a history id where none is due', 'intake', 'POST', H, body({ history_id: '1' }));
  await signed('no JSON', 'intake', 'POST', H, '{"aud"');
  await signed('no actor', 'intake', 'POST', H, body({ actor: { id: '', name: 'x' } }));
  await signed('an unknown driver', 'intake', 'POST', H, body({ driver: 'pigeon' }));
  await signed('a key too many', 'intake', 'POST', H, body({ extra: 1 }));
  await signed('no source', 'intake', 'POST', H, body({ source: { module: 'Deals', record_id: '1' } }));
  await ask('no such path', 'intake', { method: 'GET', path: '/v1/nothing' });

  // Saving.
  const first = key();
  const saved = (await signed('save', 'intake', 'POST', H, body(), { id: first })).json;
  await signed('the same again', 'intake', 'POST', H, body(), { id: first });
  await signed('the same key, another text', 'intake', 'POST', H, body({ fields: { from_address: 'adr_second' } }), { id: first });
  const path = `${H}/${saved.history_id}`;
  await signed('save again, another id in the text', 'intake', 'PUT', path, body({ history_id: '1' }));
  await signed('save again, no such record', 'intake', 'PUT', `${H}/4876876000000999999`, body({ history_id: '4876876000000999999' }));
  const second = key();
  const newer = body({ history_id: saved.history_id, fields: { from_address: 'adr_second' } });
  const again = (await signed('save again', 'intake', 'PUT', path, newer, { id: second })).json;
  await signed('save again, the same', 'intake', 'PUT', path, newer, { id: second });
  await signed('save again, the same key, another text', 'intake', 'PUT', path, body({ history_id: saved.history_id }), { id: second });
  await signed('the first save again', 'intake', 'POST', H, body(), { id: first });

  // Preview and confirm.
  const bearer = (token) => ({ authorization: `Bearer ${token}` });
  const look = (question, token) => ask(question, 'intake', { method: 'GET', path: `${path}/preview`, headers: bearer(token) });
  await look('preview with the older token', saved.preview_token);
  await look('preview with the ticket', again.confirm_ticket);
  await look('preview without a token', '');
  const seen = await look('preview', again.preview_token);
  const receipt = seen.headers['sendtrail-receipt'];
  const confirm = (question, { bytes = seen.body, ticket = again.confirm_ticket, given = receipt, type = 'application/pdf' } = {}) =>
    ask(question, 'intake', { method: 'PUT', path: `${path}/document`, body: bytes, headers: { ...bearer(ticket), 'sendtrail-receipt': given, 'content-type': type } });
  await confirm('confirm without a receipt', { given: '' });
  await confirm('confirm with the preview token', { ticket: again.preview_token });
  await confirm('confirm with the older ticket', { ticket: saved.confirm_ticket });
  await confirm('confirm as JSON', { type: 'application/json' });
  await confirm('confirm other bytes', { bytes: Buffer.concat([seen.body, Buffer.from(' ')]) });
  const press = (question, more, options) => signed(question, 'side_effect', 'POST', '/v1/sends', send({ history_id: saved.history_id, document_sha256: sha256(seen.body), ...more }), options);
  await press('press before the confirm', {});
  await confirm('confirm');
  await confirm('the same confirm again');
  await confirm('other bytes after the confirm', { bytes: Buffer.from('%PDF-1.7 other') });

  // Pressing.
  await press('press another hash', { document_sha256: 'a'.repeat(64) });
  await press('press a hash in capitals', { document_sha256: 'A'.repeat(64) });
  await press('press a key too many', { extra: 1 });
  await press('press with intake\'s key', {}, { secret: side.keys.intake });
  await press('press no such record', { history_id: '4876876000000999999' });
  const wish = key();
  await press('press', {}, { id: wish });
  await press('the same press', {}, { id: wish });
  await press('another press', {});
  await signed('save again after the press', 'intake', 'PUT', path, body({ history_id: saved.history_id }));
  await look('preview after the press', again.preview_token);

  // A twin.
  const twin = (await signed('save a twin', 'intake', 'POST', H, body())).json;
  const shown = await ask('preview of the twin', 'intake', { method: 'GET', path: `${H}/${twin.history_id}/preview`, headers: bearer(twin.preview_token) });
  await ask('confirm the twin', 'intake', {
    method: 'PUT', path: `${H}/${twin.history_id}/document`, body: shown.body,
    headers: { ...bearer(twin.confirm_ticket), 'sendtrail-receipt': shown.headers['sendtrail-receipt'], 'content-type': 'application/pdf' },
  });
  const refused = await press('press the twin', { history_id: twin.history_id });
  said.push(['the twin is named', refused.json.twin === saved.history_id ? 1 : 0, '']);
  await press('press the twin, knowing of it', { history_id: twin.history_id, again_of: saved.history_id });
  return said;
}
