// Random users on random networks. Whatever they do, reload, lose or wait for: no document goes out twice unless a
// person pressed "send it once more", no key is ever used for two texts, and who goes on gets to the end.

import { test } from 'node:test';
import assert from 'node:assert/strict';
import { Widget, keysFrom, randomOf, surroundings } from './core-kit.mjs';
import { sha256 } from './fakes/signature.mjs';

const RUNS = Number(process.env.RUNS ?? 400);
const EVENTS = 60;

function run(seed) {
  const random = randomOf(seed);
  const world = surroundings();
  const key = keysFrom();
  const texts = new Map();
  const trail = [];
  let calm = false;
  let againPresses = 0;
  const network = (_door, ask, asked) => {
    const id = asked.headers['webhook-id'];
    if (id) {
      const seen = texts.get(id) ?? sha256(asked.body);
      assert.equal(seen, sha256(asked.body), `seed ${seed}: one key, two texts`);
      texts.set(id, seen);
    }
    if (calm) return ask();
    if (random.chance(0.15)) return null;
    if (random.chance(0.05)) return { status: 503, headers: {}, body: JSON.stringify({ code: 'crm_unavailable' }) };
    const answer = ask();
    if (random.chance(0.15)) return null;
    return random.chance(0.05) ? { status: 502, headers: {}, body: '{}' } : answer;
  };
  let widget = new Widget(world, { key, network });

  const user = [
    () => widget.chooseFile(),
    () => widget.send({ type: 'choose', choice: { form: 'letter-en' } }),
    () => widget.send({ type: 'edit', pointer: '/to/name', value: `Name ${random.below(3)}` }),
    () => ['body', 'signed_by'].forEach((k) => widget.send({ type: 'edit', pointer: `/fields/${k}`, value: `Text ${random.below(3)}` })),
    () => widget.send({ type: 'submitForm' }), () => widget.send({ type: 'confirm' }), () => widget.send({ type: 'press' }),
    () => widget.send({ type: 'submitForm' }), () => widget.send({ type: 'confirm' }), () => widget.send({ type: 'press' }),
    () => widget.send({ type: 'back' }), () => widget.send({ type: 'retry' }), () => widget.send({ type: 'renew' }),
    () => widget.send({ type: 'retry' }),
    () => {
      const before = widget.pending.length;
      widget.send({ type: 'again' });
      if (widget.pending.length > before) againPresses += 1;
    },
    () => {
      const rows = widget.state.sends ?? [];
      if (rows.length > 0) widget.send({ type: 'continueDraft', id: rows[random.below(rows.length)].id });
    },
    () => random.chance(0.2) && widget.send({ type: 'restart' }),
    () => {
      world.time += random.below(900) * 1000;
    },
    () => {
      world.doors.outcome = ['accepted', 'accepted', 'rejected', 'not_sent', 'unknown'][random.below(5)];
    },
    // A reload in the middle of whatever; sometimes another tab, sometimes a browser without storage.
    () => {
      if (!random.chance(0.4)) return;
      if (random.chance(0.3)) world.storage = { ...world.storage, tab: null };
      if (random.chance(0.1)) world.storage = { tab: null, shared: null };
      trail.push('reload');
      widget = new Widget(world, { key, network });
    },
  ];
  for (let i = 0; i < EVENTS; i += 1) {
    if (random.chance(0.6)) widget.step();
    else {
      const act = user[random.below(user.length)];
      act();
      trail.push(`${widget.state.step}:${widget.state.failure?.code ?? ''}`);
    }
  }
  check(world, againPresses, seed, trail);

  // The weather clears. Whoever presses the main button of what is shown gets to the end.
  calm = true;
  world.doors.outcome = 'accepted';
  widget.settle();
  for (let i = 0; i < 25 && widget.state.step !== 'done'; i += 1) {
    forward(widget, () => {
      againPresses += 1;
    });
    widget.settle();
  }
  assert.equal(widget.state.step, 'done', `seed ${seed}: stuck at ${widget.state.step} ${widget.state.failure?.code}\n${JSON.stringify(widget.state.errors)} ${JSON.stringify(widget.state.values)}\n${trail.slice(-12).join(' ')}`);
  check(world, againPresses, seed, trail);
}

function forward(widget, onAgain) {
  const { step, failure } = widget.state;
  if (failure?.code === 'already_sent') {
    onAgain();
    widget.send({ type: 'again' });
  } else if (failure) widget.send({ type: failure.actions[0] });
  else if (step === 'start') widget.chooseFile();
  else if (step === 'form') {
    // What a template needs that the record does not have.
    for (const [key, value] of Object.entries({ subject: 'S', body: 'B', signed_by: 'C', date: '2026-01-15' })) {
      if (widget.state.values.fields[key] === '') widget.send({ type: 'edit', pointer: `/fields/${key}`, value });
    }
    widget.send({ type: 'submitForm' });
  }
  else widget.send({ type: { preview: 'confirm', send: 'press' }[step] ?? 'retry' });
}

/** Each history at most once; each document of this record once, and once more for each "send it once more". */
function check(world, againPresses, seed) {
  const { submits } = world.doors;
  const ids = submits.map((s) => s.id);
  assert.equal(new Set(ids).size, ids.length, `seed ${seed}: a history was submitted twice`);
  const failed = world.crm.all('Send_Histories').filter((row) => row.Delivery_State === 'failed').length;
  const documents = new Set(submits.map((s) => s.sha256));
  assert.ok(submits.length <= documents.size + againPresses + failed, `seed ${seed}: ${submits.length} submits`);
}

test(`${RUNS} random users never send twice, and all get to the end`, () => {
  const first = Number(process.env.SEED ?? 1);
  for (let seed = first; seed < first + RUNS; seed += 1) run(seed);
});
