// Schema, words, failures and storage names: the small pure parts.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import * as schema from '../app/js/core/schema.js';
import { FAILURES, ACTIONS, doorFailure } from '../app/js/core/failures.js';
import { KEEP_MS, intentOf, readIntent, storageName } from '../app/js/core/intent.js';
import { initial } from '../app/js/core/machine.js';
import { languageOf, wordsOf } from '../app/js/words/words.js';
import en from '../app/js/words/en.js';
import ja from '../app/js/words/ja.js';

const fields = schema.fieldsOf({
  type: 'object', required: ['to'], properties: {
    to: {
      type: 'object', required: ['name', 'zip'], properties: {
        name: { type: 'string', minLength: 2, maxLength: 5 }, zip: { type: 'string', pattern: '^[0-9]+$', maxLength: 5 },
        mail: { type: 'string', format: 'email' },
      },
    },
    fields: {
      type: 'object', required: ['kind'], properties: {
        kind: { type: 'string', enum: ['a', 'b'], default: 'a' }, on: { type: 'string', format: 'date' },
        note: { type: 'string', maxLength: 900 }, urgent: { type: 'boolean' },
        lines: {
          type: 'array', minItems: 1, maxItems: 2, items: {
            type: 'object', required: ['n'], properties: { n: { type: 'integer', minimum: 1, maximum: 9 }, price: { type: 'number' } },
          },
        },
      },
    },
  },
});
const start = (prefill = {}, record = {}) => schema.startValues(fields, prefill, record);
const check = (pointer, value) => {
  let values = schema.withValue(schema.withValue(start(), '/to/name', 'Ada'), '/to/zip', '1');
  values = schema.withValue(values, '/fields/lines/0/n', '1');
  return schema.mistakes(fields, schema.withValue(values, pointer, value))[pointer]?.code ?? null;
};

test('bounds hold exactly', () => {
  for (const [pointer, good, bad, code] of [
    ['/to/name', ['ab', 'abcde', '🐈🐈🐈🐈🐈', ' ab '], ['a'], 'too_short'], ['/to/name', [], ['abcdef', '🐈🐈🐈🐈🐈🐈'], 'too_long'],
    ['/to/name', [], ['', '   ', '\u0000'], 'missing'], ['/to/zip', ['12345'], ['x'], 'pattern'],
    ['/to/mail', ['', 'a@b.c'], ['a', 'a@b', 'a b@c.d'], 'email'],
    ['/fields/on', ['', '2026-02-28', '2028-02-29'], ['2026-02-29', '2026-13-01', '26-1-1', '2026-02-30'], 'date'],
    ['/fields/kind', ['a', 'b'], ['c'], 'choice'], ['/fields/lines/0/n', ['1', '9'], ['1.5', 'x', '1e3', '٣'], 'integer'],
    ['/fields/lines/0/n', [], ['0'], 'too_small'], ['/fields/lines/0/n', [], ['10'], 'too_big'],
    ['/fields/lines/0/price', ['', '-1', '19.90', '0.000001'], ['1,5', '.5', 'NaN', '1e9', '0x10', '9999999999999999'], 'number'],
  ]) {
    for (const value of good) assert.equal(check(pointer, value), null, `${pointer} ${value}`);
    for (const value of bad) assert.equal(check(pointer, value), code, `${pointer} ${value}`);
  }
});

test('what is collected has numbers as numbers, and nothing for what is empty', () => {
  let values = start();
  for (const [pointer, value] of [['/to/name', ' Ada '], ['/to/zip', '007'], ['/fields/lines/0/n', '3'], ['/fields/lines/0/price', '1.50'],
    ['/fields/urgent', true]]) values = schema.withValue(values, pointer, value);
  assert.deepEqual(schema.collect(fields, values), {
    to: { name: 'Ada', zip: '007' }, fields: { kind: 'a', urgent: true, lines: [{ n: 3, price: 1.5 }] },
  });
});

test('collected values come back as the same form', () => {
  const sent = { to: { name: 'Ada', zip: '1' }, fields: { kind: 'b', note: 'x', urgent: false, lines: [{ n: 3 }, { n: 4, price: 0.5 }] } };
  assert.deepEqual(schema.collect(fields, schema.valuesOf(fields, sent)), sent);
  for (const rubbish of [null, undefined, 7, 'x', [], { to: 7, fields: { lines: 'x' } }]) {
    assert.doesNotThrow(() => schema.mistakes(fields, schema.valuesOf(fields, rubbish)));
  }
});

test('a form starts with what the record has, cut to what the field takes', () => {
  const values = start({ '/to/name': 'Contact_Name', '/to/zip': 'Zip' }, { Contact_Name: { name: 'Lovelace', id: '1' }, Zip: 62701 });
  assert.deepEqual([values.to.name, values.to.zip, values.fields.kind], ['Lovel', '62701', 'a']);
  assert.equal(start({ '/to/name': 'X' }, { X: null }).to.name, '');
});

test('rows are added and removed within their bounds', () => {
  const one = start();
  const two = schema.withRow(one, fields, '/fields/lines');
  assert.equal(two.fields.lines.length, 2);
  assert.equal(schema.withRow(two, fields, '/fields/lines'), two);
  assert.equal(schema.withoutRow(two, fields, '/fields/lines', 0).fields.lines.length, 1);
  assert.equal(schema.withoutRow(one, fields, '/fields/lines', 0), one);
  assert.equal(schema.withRow(one, fields, '/to/name'), one);
});

test('control characters and lone surrogates do not leave the form', () => {
  assert.equal(schema.clean(' a\u0000b\u007f\r\nc\u2028 '), 'a b \nc');
  assert.equal(schema.clean('x\ud800y'), 'x\ufffdy');
});

test('both languages have the same words', () => {
  const shape = (value, at = '') => (value !== null && typeof value === 'object' && !Array.isArray(value)
    ? Object.entries(value).flatMap(([key, inner]) => shape(inner, `${at}.${key}`))
    : [`${at}:${Array.isArray(value) ? `list${value.length}` : typeof value}`]);
  assert.deepEqual(shape(en).sort(), shape(ja).sort());
});

test('every failure and every way on has words', () => {
  assert.deepEqual(Object.keys(en.failures).sort(), Object.keys(FAILURES).sort());
  for (const action of Object.values(ACTIONS)) assert.ok(en.actions[action], action);
  for (const actions of Object.values(FAILURES)) for (const action of actions) assert.ok(ACTIONS[action], action);
});

test('an acceptance is never called final', () => {
  for (const words of [en, ja]) {
    for (const state of ['sending', 'accepted']) assert.doesNotMatch(words.done.texts[state] + words.done.headings[state], /delivered|success|配達|成功/i);
  }
});

test('a press that was answered by a gateway may have arrived', () => {
  for (const status of [500, 502, 504]) assert.equal(doorFailure({ status, json: null }, 'press').code, 'press_no_answer');
  assert.equal(doorFailure({ status: 503, json: null }, 'press').code, 'press_no_answer');
  assert.equal(doorFailure({ status: 503, json: { code: 'no_time' } }, 'press').code, 'unavailable');
  assert.equal(doorFailure({ status: 429, json: null }, 'press').code, 'busy');
});

test('the language is the CRM user\'s, then the browser\'s, then English', () => {
  assert.equal(languageOf('ja_JP', 'en-US'), 'ja');
  assert.equal(languageOf(undefined, 'ja'), 'ja');
  assert.equal(languageOf('de_DE', 'fr'), 'en');
  assert.equal(wordsOf('ja').label({ en: 'a', ja: 'あ' }), 'あ');
  assert.equal(wordsOf('ja').label({ en: 'a' }), 'a');
});

test('what is stored for all tabs has no text of the form', () => {
  const state = { ...initial(), phase: 'saving', now: 5, choice: { form: 'x' }, values: { to: { name: 'Ada' } }, save: { key: 'k'.repeat(9), at: 5 } };
  const { shared, tab } = intentOf(state);
  assert.ok(!JSON.stringify(shared).includes('Ada') && JSON.stringify(tab).includes('Ada'));
  assert.equal(readIntent(JSON.stringify(shared), 5 + KEEP_MS).saveKey, 'k'.repeat(9));
  assert.equal(readIntent(JSON.stringify(shared), 6 + KEEP_MS), null);
});

test('intents of two users, records or stages never meet', () => {
  const names = [['a', 'u', 'M', '1'], ['b', 'u', 'M', '1'], ['a', 'v', 'M', '1'], ['a', 'u', 'N', '1'], ['a', 'u', 'M', '2']].map((p) => storageName(...p));
  assert.equal(new Set(names).size, names.length);
});
