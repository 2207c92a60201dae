// Drives the core without a browser: events in, effects answered by the fakes or by a script.

import { fieldsOf } from '../app/js/core/schema.js';
import { readSettings } from '../pack/settings.mjs';
import { initial, update } from '../app/js/core/machine.js';
import { FakeCrm } from './fakes/crm.mjs';
import { FakeDoors } from './fakes/doors.mjs';
import { pdf } from './fakes/pdf.mjs';
import { sha256 } from './fakes/signature.mjs';
import { fileURLToPath } from 'node:url';

export const EXAMPLE = fileURLToPath(new URL('../example', import.meta.url));

export const sampleConfig = () => {
  const { settings, forms } = readSettings(EXAMPLE);
  return { v: 1, ...settings, stage: 'local', forms: forms.map((form) => ({ ...form, fields: fieldsOf(form.schema) })) };
};

/** A small random source that gives the same run for the same seed. */
export function randomOf(seed) {
  let a = seed >>> 0;
  const next = () => {
    a = (a + 0x6d2b79f5) >>> 0;
    let t = Math.imul(a ^ (a >>> 15), 1 | a);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  return { below: (n) => Math.floor(next() * n), chance: (p) => next() < p };
}

/** CRM and doors in one process, with one deal that has one PDF. */
export function surroundings() {
  const config = sampleConfig();
  const world = { time: 1_800_000_000_000 };
  const now = () => world.time;
  const keys = { intake: 'i'.repeat(32), side_effect: 's'.repeat(32), token: 't'.repeat(32) };
  world.keys = keys;
  world.config = config;
  world.crm = new FakeCrm({ settings: config, forms: config.forms, keys, now });
  world.doors = new FakeDoors({ crm: world.crm, settings: config, keys, now, drivers: config.forms.map((f) => f.driver) });
  world.deal = world.crm.add('Deals', {
    Deal_Name: 'Library', Contact_Name: { name: 'Ada' }, Mailing_Street: '1 Main Street', Mailing_City: 'Springfield',
    Mailing_State: 'IL', Mailing_Zip: '62701',
  });
  world.file = world.crm.attach('Deals', world.deal.id, 'a.pdf', pdf([['Hello']]));
  world.storage = { tab: null, shared: null };
  return world;
}

/**
 * A widget in these surroundings. `network(door, ask)` may lose requests and answers: it returns `ask()` or null.
 * Effects wait in `pending` until `step()` runs the first of them.
 */
export class Widget {
  constructor(world, { network = (_door, ask) => ask(), key }) {
    Object.assign(this, { world, network, key });
    this.state = initial();
    this.pending = [];
    this.documents = new Map();
    this.opened = [];
    this.send({ type: 'begin' });
  }

  send(event) {
    const { state, effects } = update(this.state, { ...event, fresh: this.key(), now: this.world.time });
    this.state = state;
    for (const effect of effects) this.perform(effect);
  }

  perform(effect) {
    if (effect.kind === 'store') {
      this.world.storage = { tab: JSON.stringify(effect.tab), shared: JSON.stringify(effect.shared) };
    } else if (effect.kind === 'openHistory') this.opened.push(effect.id);
    else if (effect.kind === 'forget') this.documents.delete(effect.handle);
    else this.pending.push(effect);
  }

  /** Runs one pending effect; false where there is none. */
  step() {
    const effect = this.pending.shift();
    if (!effect) return false;
    const result = this.run(effect);
    this.send({ type: 'result', task: effect.task, n: effect.n, ...result });
    if (effect.kind === 'preview' && this.state.doc?.handle) {
      this.send({ type: 'drawn', handle: this.state.doc.handle, pages: 1 });
    }
    return true;
  }

  settle() {
    for (let i = 0; this.step(); i += 1) if (i > 50) throw new Error('it does not come to rest');
  }

  run(effect) {
    const { crm, config, deal } = this.world;
    const rows = () => crm.all(config.history_module);
    const historyOf = (row) => row && {
      id: row.id, state: row[config.history_fields.state], sha256: row[config.history_fields.document_sha256],
      input: JSON.parse(row[config.history_fields.input]),
    };
    switch (effect.kind) {
      case 'open':
        return {
          config, user: { id: crm.user.id, language: 'en_US' }, stored: this.world.storage,
          record: { module: 'Deals', id: deal.id, name: 'Library', values: deal },
          files: [{ key: `attachment:${this.world.file.id}`, kind: 'attachment', id: this.world.file.id, name: 'a.pdf', isUsable: true }],
          sends: this.sends(),
        };
      case 'sends': return { sends: this.sends() };
      case 'look': {
        const found = rows().find((row) =>
          (effect.id ? row.id === effect.id : row[config.history_fields.request_key] === effect.key));
        return { history: historyOf(found) ?? null };
      }
      case 'sign': {
        const { answer } = crm.execute(config.functions[effect.what], { arguments: JSON.stringify(effect.args) });
        const output = JSON.parse(answer.details.output);
        if (!output.ok) throw new Error(`${effect.what}: ${answer.details.output}`);
        return { signed: output };
      }
      default: return this.door(effect);
    }
  }

  sends() {
    const { crm, config } = this.world;
    return crm.all(config.history_module).map((row) => ({ id: row.id, state: row[config.history_fields.state], at: row.Created_Time }));
  }

  door(effect) {
    const base = `/v1/histories/${effect.historyId}`;
    const asked = {
      post: () => ({
        method: effect.method, path: effect.path, body: Buffer.from(effect.signed.body),
        headers: {
          'content-type': 'application/json', 'webhook-id': effect.signed.id,
          'webhook-timestamp': effect.signed.timestamp, 'webhook-signature': effect.signed.signature,
        },
      }),
      preview: () => ({ method: 'GET', path: `${base}/preview`, headers: { authorization: `Bearer ${effect.token}` }, body: Buffer.alloc(0) }),
      confirm: () => ({
        method: 'PUT', path: `${base}/document`, body: this.documents.get(effect.handle),
        headers: { authorization: `Bearer ${effect.ticket}`, 'sendtrail-receipt': effect.receipt, 'content-type': 'application/pdf' },
      }),
    }[effect.kind]();
    const name = effect.door ?? 'intake';
    const got = this.network(name, () => this.world.doors.serve(name, asked), asked);
    if (!got) return { answer: { lost: true } };
    if (effect.kind !== 'preview' || got.status !== 200) {
      return { answer: { status: got.status, json: JSON.parse(got.body), retryAfter: null } };
    }
    const handle = `d${this.key()}`;
    this.documents.set(handle, got.body);
    return {
      answer: {
        status: 200, handle, sha256: sha256(got.body), bytes: got.body.length,
        toldSha256: got.headers['sendtrail-document-sha256'], receipt: got.headers['sendtrail-receipt'],
      },
    };
  }

  chooseFile() {
    const file = this.state.files[0];
    this.send({ type: 'choose', choice: { form: 'letter', file } });
  }
}

/** Keys in order: no two are the same. */
export function keysFrom(start = 1) {
  let n = start;
  return () => `key-${String(n++).padStart(8, '0')}`;
}
