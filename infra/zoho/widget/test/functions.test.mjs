// The CRM functions: their sources, read; and what they sign, against the doors' own vectors.

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';
import assert from 'node:assert/strict';
import { FUNCTIONS, functionSource, literal, rulesOf } from '../pack/functions.mjs';
import { readSettings } from '../pack/settings.mjs';
import { EXAMPLE, surroundings } from './core-kit.mjs';
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

test('nothing is signed for what the caller may not read, or may not name', () => {
  const world = surroundings();
  const other = world.crm.add('Deals', { Deal_Name: 'Other' });
  const save = (more) => run(world, 'sendtrail_save', args(world, more));
  assert.equal(save({}).ok, true);
  assert.equal(save({ module: 'Users' }).code, 'not_allowed');
  assert.equal(save({ record_id: '999' }).code, 'not_allowed');
  assert.equal(save({ record_id: '1/../2' }).code, 'not_allowed');
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
