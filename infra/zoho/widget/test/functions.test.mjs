// The CRM functions: their sources, read, and run by fakes/deluge.mjs.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { FUNCTIONS, functionSource, literal, rulesOf } from '../pack/functions.mjs';
import { readSettings } from '../pack/settings.mjs';
import { EXAMPLE, surroundings } from './core-kit.mjs';
import { FakeCrm } from './fakes/crm.mjs';
import { refusal, sign } from './fakes/signature.mjs';

const FOLDER = fileURLToPath(new URL('../../functions', import.meta.url));
const VECTORS = new URL('../../../../crates/signature/vectors/signatures.json', import.meta.url);
const sources = Object.fromEntries(FUNCTIONS.map((name) => [name, readFileSync(join(FOLDER, `${name}.dg`), 'utf8')]));
const code = (text) => text.replace(/^\s*\/\/.*$/gm, '');

for (const [name, source] of Object.entries(sources)) {
  test(`${name} signs once, what it built, with the key first`, () => {
    const text = code(source);
    assert.equal(text.split('hmacsha256').length, 2);
    assert.match(text, /hmacsha256\(key,request_key \+ "\." \+ timestamp \+ "\." \+ text,"base64"\)/);
    assert.match(text, /text = body\.toString\(\);/);
    assert.match(text, /answer\.put\("body",text\);/);
    // The body is made here: no argument is one.
    assert.match(text, /body = Map\(\);/);
    const args = source.slice(0, source.indexOf('{')).match(/string (\w+)[,)]/g).map((m) => m.match(/ (\w+)/)[1]);
    assert.ok(!args.some((arg) => ['body', 'aud', 'op', 'actor', 'timestamp', 'stage', 'driver'].includes(arg)), args.join());
    for (const key of ['aud', 'op', 'actor']) assert.match(text, new RegExp(`body\\.put\\("${key}",`), key);
  });

  test(`${name} reads with the caller's rights alone, logs nothing, and always returns`, () => {
    const text = code(source);
    assert.ok(!/zoho\.crm\.|\binfo\b|sendmail|zoho\.loginuser/.test(text));
    const calls = text.split('invokeurl').length - 1;
    assert.ok(calls >= 2);
    assert.equal(text.split('connection:"sendtrail_user"').length - 1, calls);
    assert.equal(text.split('type :GET').length - 1, calls);
    assert.match(text.trimEnd(), /return "[^\n]*";\n\}$/);
    const outside = text.replace(/"(?:[^"\\]|\\.)*"/g, '""');
    for (const [open, shut] of ['{}', '()', '[]']) assert.equal(outside.split(open).length, outside.split(shut).length);
    // No key is in a file, and the word in its place is too short to sign.
    assert.match(text, /key = "PASTE-THE-KEY-HERE";/);
    assert.match(text, /if\(key\.length\(\) < 32\)/);
  });
}

test('a settings block is filled in whole, whatever is in it', () => {
  const read = readSettings(EXAMPLE);
  for (const name of FUNCTIONS) {
    const text = functionSource(FOLDER, name, read);
    assert.ok(!/"@[A-Z_]+@"/.test(text), name);
    assert.match(text, /stage = "prod";/);
  }
  const filled = functionSource(FOLDER, 'sendtrail_save', read).match(/rules = (".*");\n/)[1];
  assert.deepEqual(JSON.parse(JSON.parse(filled)), rulesOf(read.forms));
  assert.equal(JSON.parse(literal('a"b\\c')), 'a"b\\c');
});

test('the stand-in of the functions makes the signatures of the doors\' vectors', () => {
  const { keys, cases } = JSON.parse(readFileSync(VECTORS, 'utf8'));
  const [newest] = keys;
  let checked = 0;
  for (const one of cases.filter((c) => c.signature?.startsWith('v1,') && typeof c.id === 'string')) {
    const body = Buffer.from(one.body_base64, 'base64');
    if (one.expect === 'ok' && sign(newest.text, one.id, one.timestamp, body) === one.signature) checked += 1;
    const headers = { 'webhook-id': one.id, 'webhook-timestamp': one.timestamp, 'webhook-signature': one.signature };
    // Never kinder: what the vectors refuse is refused.
    if (one.expect !== 'ok') assert.ok(refusal(newest.text, headers, body, one.now * 1000), one.name);
  }
  assert.ok(checked >= 3, `${checked}`);
});

const args = (world, more) => ({
  module: 'Deals', record_id: world.deal.id, request_key: 'k'.repeat(36), history_id: '', form: 'letter', file_kind: 'attachment',
  file_id: world.file.id, input: JSON.stringify({ to: { name: 'Ada' }, fields: { from_address: 'adr_main' } }), ...more,
});
const run = (world, name, given) => JSON.parse(world.crm.execute(name, { arguments: JSON.stringify(given) }).answer.details.output);

test('the sources are read whole, and nothing in a run of them fails unseen', () => {
  const world = surroundings();
  const caught = [];
  world.crm.onCaught = (error) => caught.push(error.message);
  assert.equal(run(world, 'sendtrail_save', args(world)).ok, true);
  assert.deepEqual(caught, []);
});

test('nothing is signed for what the caller may not read, or may not name', () => {
  const world = surroundings();
  const other = world.crm.add('Deals', { Deal_Name: 'Other' });
  const save = (more) => run(world, 'sendtrail_save', args(world, more));
  assert.equal(save({}).ok, true);
  assert.equal(save({ module: 'Users' }).code, 'not_allowed');
  assert.equal(save({ record_id: '999' }).code, 'not_allowed');
  assert.equal(save({ record_id: '1/../2' }).code, 'bad_field');
  assert.equal(save({ record_id: other.id }).code, 'not_allowed', 'a file of another record');
  assert.equal(save({ file_kind: 'field', file_id: 'Secret_File' }).code, 'not_allowed');
  assert.equal(save({ request_key: 'a.b' }).code, 'bad_field');
  assert.equal(save({ form: 'constructor' }).code, 'bad_field');
  assert.equal(save({ input: 'x'.repeat(30_001) }).code, 'bad_field');
  assert.deepEqual(save({ input: JSON.stringify({ to: { name: 'x'.repeat(81) }, fields: {} }) }), { ok: false, code: 'bad_field', field: '/to/name' });
  world.deal.$hidden_from = [world.crm.user.id];
  assert.equal(save({}).code, 'not_allowed');
});

test('what is no field of the form is dropped, and nobody names another actor', () => {
  const world = surroundings();
  const input = { to: { name: 'Ada', evil: 1 }, fields: {}, actor: { id: '1', name: 'Boss' }, aud: 'x', driver: 'fax' };
  const { body } = run(world, 'sendtrail_save', args(world, { input: JSON.stringify(input) }));
  const built = JSON.parse(body);
  assert.deepEqual(Object.keys(built), ['aud', 'op', 'driver', 'source', 'to', 'fields', 'actor']);
  assert.deepEqual(built.to, { name: 'Ada' });
  assert.equal(built.driver, 'lob-letter');
  assert.equal(built.actor.name, 'Sam Seller');
});

test('a press is signed for histories of the record it is on, and no others', () => {
  const world = surroundings();
  const row = world.crm.add('Send_Histories', { Source_Module: 'Deals', Source_Record: world.deal.id });
  const other = world.crm.add('Send_Histories', { Source_Module: 'Deals', Source_Record: '1' });
  const given = { module: 'Deals', record_id: world.deal.id, request_key: 'k'.repeat(36), document_sha256: 'a'.repeat(64), again_of: '' };
  assert.equal(run(world, 'sendtrail_press', { ...given, history_id: row.id }).ok, true);
  assert.equal(run(world, 'sendtrail_press', { ...given, history_id: other.id }).code, 'wrong_record');
  assert.equal(run(world, 'sendtrail_press', { ...given, history_id: '404' }).code, 'not_allowed');
  assert.equal(run(world, 'sendtrail_press', { ...given, history_id: row.id, document_sha256: 'A'.repeat(64) }).code, 'bad_field');
  assert.equal(run(world, 'sendtrail_press', { ...given, history_id: row.id, again_of: 'a b' }).code, 'bad_field');
});

test('a user who has not authorised the connection is told so, and one without a key', () => {
  const world = surroundings();
  world.crm.isConnected = false;
  assert.equal(run(world, 'sendtrail_save', args(world)).code, 'connection');
  world.crm.isConnected = true;
  delete world.crm.keys.intake;
  assert.equal(run(world, 'sendtrail_save', args(world)).code, 'function_setup');
});

test('every kind of field is taken within its bounds, rows too', () => {
  const world = surroundings();
  const to = { name: 'Ada', address_line1: '1', address_city: 'S', address_state: 'IL', address_zip: '01234' };
  const line = { description: 'Setup', quantity: 2, unit_price: 19.9, evil: 'x' };
  const save = (fields) => run(world, 'sendtrail_save', args(world, { form: 'quotation-en', input: JSON.stringify({ to, fields }) }));
  const good = { number: 'Q "1" \\ 山田 🐈', currency: 'EUR', lines: [line, { ...line, unit_price: -0.5 }] };
  const built = JSON.parse(save(good).body);
  assert.deepEqual(built.source, { module: 'Deals', record_id: world.deal.id, kind: 'template', template: 'quotation-en' });
  assert.equal(built.to.address_zip, '01234');
  assert.equal(built.fields.number, good.number);
  assert.deepEqual(built.fields.lines, [{ description: 'Setup', quantity: 2, unit_price: 19.9 }, { description: 'Setup', quantity: 2, unit_price: -0.5 }]);
  for (const fields of [
    { ...good, number: 'x'.repeat(81) }, { ...good, lines: Array(21).fill(line) }, { ...good, lines: [{ ...line, quantity: 'many' }] },
    { ...good, lines: [{ ...line, unit_price: { a: 1 } }] }, { ...good, lines: [{ ...line, description: 'x'.repeat(241) }] },
  ]) assert.equal(save(fields).code, 'bad_field', JSON.stringify(fields));
  for (const lines of ['x', 7, [7], [[]]]) assert.equal(save({ ...good, lines }).ok, false);
  // A text field is a text, whatever it was.
  assert.equal(JSON.parse(save({ ...good, number: { a: [1] } }).body).fields.number, '{"a":[1]}');
});

test('a fixed field is the record\'s, whatever the browser says', () => {
  const world = surroundings();
  const form = world.config.forms.find((f) => f.id === 'letter');
  form.fixed = ['/to/name', '/to/address_city'];
  const fresh = new FakeCrm({ settings: world.config, forms: world.config.forms, keys: world.keys, now: () => world.time });
  Object.assign(fresh, { records: world.crm.records, attachments: world.crm.attachments });
  const input = JSON.stringify({ to: { name: 'Somebody else', address_city: 'Elsewhere', address_zip: '1' }, fields: {} });
  const { to } = JSON.parse(run({ crm: fresh }, 'sendtrail_save', args(world, { input })).body);
  assert.deepEqual(to, { name: 'Ada', address_city: 'Springfield', address_zip: '1' });
});

test('a review is signed for operators, with a reason, and for nobody else', () => {
  const world = surroundings();
  const row = world.crm.add('Send_Histories', {});
  const given = { history_id: row.id, request_key: 'k'.repeat(36), decision: 'settle_failed', external_id: '', reason: 'Came back by post.' };
  const review = (more = {}) => run(world, 'sendtrail_review', { ...given, ...more });
  assert.equal(review().code, 'not_allowed');
  world.crm.operators = ['26011'];
  const { body, signature, id, timestamp } = review();
  assert.deepEqual(JSON.parse(body), {
    aud: 'local/intake', op: 'review', history_id: row.id, decision: 'settle_failed', reason: 'Came back by post.',
    actor: { id: world.crm.user.id, name: 'Sam Seller' },
  });
  assert.equal(signature, sign(world.keys.intake, id, timestamp, body));
  assert.equal(JSON.parse(review({ decision: 'resume', external_id: 'ltr_1' }).body).external_id, 'ltr_1');
  assert.equal(review({ reason: ' x ' }).field, '/reason');
  assert.equal(review({ reason: 'x'.repeat(501) }).field, '/reason');
  assert.equal(review({ external_id: 'a b' }).field, '/external_id');
  assert.equal(review({ decision: 'delete' }).code, 'bad_field');
  assert.equal(review({ history_id: '404' }).code, 'not_allowed');
});

test('no argument makes a function fail without an answer', () => {
  const world = surroundings();
  const odd = ['', 'null', '[]', '{}', '{"to":7}', '{"to":{"name":{}}}', '{"to":[]}', '"', '\u0000', 'x'.repeat(70), '1', '../', '${x}', '"+key+"'];
  const known = ['bad_field', 'not_allowed', 'wrong_record', 'function_failed'];
  for (const name of ['sendtrail_save', 'sendtrail_press', 'sendtrail_review']) {
    for (const key of Object.keys(args(world)).concat('document_sha256', 'again_of', 'decision', 'external_id', 'reason')) {
      for (const value of odd) {
        const told = run(world, name, { ...args(world), document_sha256: '0'.repeat(64), again_of: '', decision: 'resume', external_id: '', reason: 'why', [key]: value });
        assert.ok(told.ok === true || known.includes(told.code), `${name} ${key} ${value}: ${JSON.stringify(told)}`);
        if (told.ok) assert.ok(!told.body.includes(world.keys.intake) && !JSON.parse(told.body).key);
      }
    }
  }
});
