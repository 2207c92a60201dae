import { test } from 'node:test';
import assert from 'node:assert/strict';
import { Widget, keysFrom, surroundings } from './core-kit.mjs';
import { initial, update } from '../app/js/core/machine.js';
import { FAILURES } from '../app/js/core/failures.js';

/** A widget at a step of the plain path. */
function at(step, options = {}) {
  const world = surroundings();
  const widget = new Widget(world, { key: keysFrom(), ...options });
  widget.settle();
  if (step === 'start') return { world, widget };
  widget.chooseFile();
  if (step === 'form') return { world, widget };
  widget.send({ type: 'submitForm' });
  widget.settle();
  if (step === 'preview') return { world, widget };
  widget.send({ type: 'confirm' });
  widget.settle();
  if (step === 'send') return { world, widget };
  widget.send({ type: 'press' });
  widget.settle();
  return { world, widget };
}

/** Another widget over the same storage: a reload, or with `isTab` false another tab. */
function reload(world, widget, isTab = true) {
  if (!isTab) world.storage.tab = null;
  const next = new Widget(world, { key: keysFrom(5000), network: widget.network });
  next.settle();
  return next;
}

/** A network that does `what` to the next request of this kind: `before` loses the request, `after` the answer. */
function cut() {
  const plan = { what: null, method: null };
  const network = (_door, ask, { method }) => {
    if (!plan.what || method !== plan.method) return ask();
    const { what } = plan;
    plan.what = null;
    if (what === 'before') return null;
    const answer = ask();
    return what === 'after' ? null : what(answer);
  };
  return { plan, network };
}

test('the plain path ends with one submit of the bytes that were drawn', () => {
  const { world, widget } = at('done');
  assert.equal(widget.state.step, 'done');
  assert.equal(widget.state.history.state, 'accepted');
  assert.deepEqual(world.doors.submits.map((s) => s.sha256), [widget.state.doc.sha256]);
});

test('a key is stored before the effect that uses it', () => {
  const { world, widget } = at('form');
  widget.send({ type: 'submitForm' });
  assert.equal(JSON.parse(world.storage.shared).save_key, widget.pending[0].args.request_key);
  const { world: w2, widget: ready } = at('send');
  ready.send({ type: 'press' });
  assert.equal(JSON.parse(w2.storage.shared).press_key, ready.pending[0].args.request_key);
});

test('nothing a user does starts anything while work is under way', () => {
  for (const [step, type] of [['form', 'submitForm'], ['preview', 'confirm'], ['send', 'press']]) {
    const { widget } = at(step);
    widget.send({ type });
    const { state, pending } = { state: widget.state, pending: widget.pending.length };
    for (const again of [type, 'back', 'restart', 'renew', 'retry', 'press', 'confirm', 'submitForm', 'choose', 'refresh']) {
      widget.send({ type: again, choice: {} });
    }
    assert.equal(widget.pending.length, pending);
    assert.deepEqual({ ...widget.state, now: 0 }, { ...state, now: 0 });
  }
});

test('what is not drawn is not confirmed', () => {
  const { widget } = at('preview');
  widget.send({ type: 'undrawable', handle: widget.state.doc.handle });
  widget.send({ type: 'confirm' });
  assert.equal(widget.pending.length, 0);
  assert.equal(widget.state.failure.code, 'cannot_draw');
});

test('a changed form is saved on the same record under a new key', () => {
  const { world, widget } = at('preview');
  const first = widget.state.save;
  widget.send({ type: 'back' });
  widget.send({ type: 'edit', pointer: '/to/name', value: 'Grace Hopper' });
  widget.send({ type: 'submitForm' });
  widget.settle();
  assert.equal(widget.state.step, 'preview');
  assert.equal(widget.state.save.historyId, first.historyId);
  assert.notEqual(widget.state.save.key, first.key);
  assert.equal(world.crm.all('Send_Histories').length, 1);
});

test('the same form again has the same key, and writes nothing', () => {
  const { world, widget } = at('preview');
  const { key } = widget.state.save;
  widget.send({ type: 'back' });
  widget.send({ type: 'submitForm' });
  widget.settle();
  assert.equal(widget.state.save.key, key);
  assert.equal(world.crm.all('Send_Histories')[0].$progress.rev, 1);
});

for (const what of ['before', 'after']) {
  test(`a save whose network is cut ${what} is repeated under its key`, () => {
    const { plan, network } = cut();
    const { world, widget } = at('form', { network });
    Object.assign(plan, { what, method: 'POST' });
    widget.send({ type: 'submitForm' });
    widget.settle();
    assert.equal(widget.state.failure.code, 'no_answer');
    const { key } = widget.state.save;
    widget.send({ type: 'retry' });
    widget.settle();
    assert.equal(widget.state.step, 'preview');
    assert.equal(widget.state.save.key, key);
    assert.equal(world.crm.all('Send_Histories').length, 1);
  });

  test(`a confirm whose network is cut ${what} is repeated`, () => {
    const { plan, network } = cut();
    const { world, widget } = at('preview', { network });
    Object.assign(plan, { what, method: 'PUT' });
    widget.send({ type: 'confirm' });
    widget.settle();
    assert.equal(widget.state.failure.code, 'no_answer');
    widget.send({ type: 'retry' });
    widget.settle();
    assert.equal(widget.state.step, 'send');
    assert.equal(world.crm.all('Send_Histories')[0].$progress.rev, 2);
  });

  test(`a press whose network is cut ${what} is one send, however it goes on`, () => {
    for (const how of ['retry', 'reload', 'other tab']) {
      const { plan, network } = cut();
      const { world, widget } = at('send', { network });
      Object.assign(plan, { what, method: 'POST' });
      widget.send({ type: 'press' });
      widget.step();
      widget.step();
      if (how === 'retry') {
        widget.settle();
        if (what === 'after') assert.equal(widget.state.step, 'done');
        else {
          assert.equal(widget.state.failure.code, 'press_no_answer');
          widget.send({ type: 'retry' });
          widget.settle();
          assert.equal(widget.state.step, 'done');
        }
      } else {
        const next = reload(world, widget, how === 'reload');
        if (what === 'before') {
          assert.equal(next.state.step, 'send', how);
          assert.equal(next.state.notice, 'press_again');
          next.send({ type: 'press' });
          next.settle();
          assert.equal(next.state.step, 'done');
        } else assert.equal(next.state.step, how === 'reload' ? 'done' : 'start', how);
      }
      assert.equal(world.doors.submits.length, 1, how);
      const keys = new Set(world.doors.requests.filter((r) => r.path === '/v1/sends').map((r) => r.id));
      assert.equal(keys.size, 1, how);
    }
  });
}

test('a reload at each step comes back to it', () => {
  for (const step of ['form', 'preview', 'send', 'done']) {
    const { world, widget } = at(step);
    const next = reload(world, widget);
    assert.equal(next.state.step, step);
    assert.equal(next.state.failure, null);
    assert.ok(world.crm.all('Send_Histories').length <= 1);
    assert.equal(world.doors.submits.length, step === 'done' ? 1 : 0);
  }
});

test('another tab that may press shows to whom, from the record', () => {
  const { world, widget } = at('send');
  const next = reload(world, widget, false);
  assert.equal(next.state.step, 'send');
  assert.equal(next.state.values.to.name, 'Ada');
  assert.equal(next.state.press.key, widget.state.press.key);
});

test('after what was requested another tab begins anew', () => {
  const { world, widget } = at('done');
  const next = reload(world, widget, false);
  assert.equal(next.state.step, 'start');
  assert.deepEqual(next.state.sends.map((row) => row.state), ['accepted']);
});

test('an expired preview is renewed by one click, and nothing is written', () => {
  const { world, widget } = at('preview');
  world.time += 3_700_000;
  widget.send({ type: 'confirm' });
  widget.settle();
  assert.equal(widget.state.failure.code, 'expired');
  widget.send({ type: 'renew' });
  widget.settle();
  assert.equal(widget.state.step, 'preview');
  assert.equal(widget.state.failure, null);
  assert.equal(world.crm.all('Send_Histories')[0].$progress.rev, 1);
});

test('tokens refused as soon as they are made are a fault of the installation', () => {
  const { world, widget } = at('preview');
  world.doors.previewTtl = 0;
  world.time += 3_700_000;
  widget.send({ type: 'confirm' });
  widget.settle();
  widget.send({ type: 'renew' });
  widget.settle();
  assert.equal(widget.state.failure.code, 'unauthorized');
  assert.ok(widget.state.failure.requestId);
});

test('a draft that somebody edited is saved anew and looked at again', () => {
  const { world, widget } = at('preview');
  world.crm.all('Send_Histories')[0].Input_JSON += ' ';
  widget.send({ type: 'confirm' });
  widget.settle();
  assert.equal(widget.state.failure.code, 'stale');
  widget.send({ type: 'renew' });
  widget.settle();
  assert.equal(widget.state.step, 'preview');
  widget.send({ type: 'confirm' });
  widget.settle();
  assert.equal(widget.state.step, 'send');
});

test('nothing goes out of a record that was edited after the confirm', () => {
  const { world, widget } = at('send');
  world.crm.all('Send_Histories')[0].Input_JSON += ' ';
  widget.send({ type: 'press' });
  widget.settle();
  assert.equal(widget.state.failure.code, 'record_changed');
  assert.equal(world.doors.submits.length, 0);
  widget.send({ type: 'renew' });
  widget.settle();
  assert.equal(widget.state.step, 'preview');
});

test('what was proved not to be sent is pressed again under another key', () => {
  const { world, widget } = at('send');
  world.doors.outcome = 'not_sent';
  widget.send({ type: 'press' });
  widget.settle();
  assert.equal(widget.state.failure.code, 'not_sent');
  assert.equal(widget.state.failure.reason, 'connect_failed');
  world.doors.outcome = 'accepted';
  const { key } = widget.state.press;
  widget.send({ type: 'retry' });
  widget.settle();
  assert.equal(widget.state.step, 'done');
  assert.notEqual(widget.state.press.key, key);
  assert.equal(world.doors.submits.length, 1);
});

test('the same document is sent once more only by the button that says so', () => {
  const { world, widget } = at('done');
  widget.send({ type: 'restart' });
  widget.settle();
  widget.chooseFile();
  for (const type of ['submitForm', 'confirm', 'press']) {
    widget.send({ type });
    widget.settle();
  }
  assert.equal(widget.state.failure.code, 'already_sent');
  assert.equal(world.doors.submits.length, 1);
  widget.send({ type: 'openTwin' });
  assert.deepEqual(widget.opened, [world.doors.submits[0].id]);
  widget.send({ type: 'again' });
  widget.settle();
  assert.equal(widget.state.step, 'done');
  assert.equal(world.doors.submits.length, 2);
});

test('an unknown outcome is shown as requested, and is never pressed again', () => {
  const { world, widget } = at('send');
  world.doors.outcome = 'unknown';
  widget.send({ type: 'press' });
  widget.settle();
  assert.equal(widget.state.step, 'done');
  assert.equal(widget.state.history.state, 'sending');
  widget.send({ type: 'press' });
  assert.equal(widget.pending.length, 0);
});

test('a record that was sent meanwhile is shown as it is', () => {
  const { world, widget } = at('preview');
  const [row] = world.crm.all('Send_Histories');
  row.Delivery_State = 'succeeded';
  widget.send({ type: 'back' });
  widget.send({ type: 'edit', pointer: '/to/name', value: 'Someone else' });
  widget.send({ type: 'submitForm' });
  widget.settle();
  assert.equal(widget.state.step, 'done');
  assert.equal(widget.state.history.state, 'succeeded');
});

test('a save with the key of another text goes on with the record it made', () => {
  const { plan, network } = cut();
  const { world, widget } = at('form', { network });
  Object.assign(plan, { what: 'after', method: 'POST' });
  widget.send({ type: 'submitForm' });
  widget.settle();
  world.crm.user.full_name = 'Sam Newname';
  widget.send({ type: 'retry' });
  widget.settle();
  assert.equal(widget.state.step, 'preview');
  assert.equal(world.crm.all('Send_Histories').length, 1);
});

test('a draft of the list is gone on with through its form and a preview', () => {
  const { world, widget } = at('send');
  widget.send({ type: 'restart' });
  widget.settle();
  widget.send({ type: 'continueDraft', id: world.crm.all('Send_Histories')[0].id });
  widget.settle();
  assert.equal(widget.state.step, 'form');
  assert.equal(widget.state.values.to.address_city, 'Springfield');
  widget.send({ type: 'press' });
  assert.equal(widget.pending.length, 0);
  for (const type of ['submitForm', 'confirm', 'press']) {
    widget.send({ type });
    widget.settle();
  }
  assert.equal(widget.state.step, 'done');
  assert.equal(world.crm.all('Send_Histories').length, 1);
});

test('refused fields are marked', () => {
  const { world, widget } = at('form');
  world.doors.refuse = () => [{ pointer: '/to/address_zip' }];
  widget.send({ type: 'submitForm' });
  widget.settle();
  assert.equal(widget.state.step, 'form');
  assert.deepEqual(widget.state.errors, { '/to/address_zip': { code: 'refused' } });
});

test('mistakes are all told before anything is asked of anybody', () => {
  const { widget } = at('form');
  widget.send({ type: 'edit', pointer: '/to/name', value: ' ' });
  widget.send({ type: 'edit', pointer: '/to/address_zip', value: '#' });
  widget.send({ type: 'submitForm' });
  assert.deepEqual(Object.keys(widget.state.errors), ['/to/name', '/to/address_zip']);
  assert.equal(widget.pending.length, 0);
});

test('stored rubbish is no intent', () => {
  for (const text of ['', '{', '[]', '7', '{"v":2}', '{"v":1,"phase":"pressing","at":1}', '{"v":1,"phase":"x","at":1800000000000}',
    '{"v":1,"phase":"saving","at":1800000000000,"save_key":"a b","choice":7,"values":"x"}']) {
    const world = surroundings();
    world.storage = { tab: text, shared: text };
    const widget = new Widget(world, { key: keysFrom() });
    widget.settle();
    assert.equal(widget.state.step, 'start', text);
  }
});

test('an answer to a task that is not waited for changes nothing', () => {
  const { widget } = at('send');
  const before = widget.state;
  widget.send({ type: 'result', task: 'press', n: 999, answer: { status: 200, json: { state: 'accepted' } } });
  assert.deepEqual({ ...widget.state, now: 0 }, { ...before, now: 0 });
});

test('every answer of a door, known or not, has a failure with words', async () => {
  const { default: en } = await import('../app/js/words/en.js');
  const answers = [{ lost: true }, ...[400, 401, 403, 404, 405, 409, 413, 415, 418, 422, 429, 500, 502, 503, 504].flatMap((status) =>
    [null, {}, { code: 'never_heard_of' }, { code: 'unauthorized', request_id: 7 }].map((json) => ({ status, json, retryAfter: null })))];
  for (const step of ['form', 'preview', 'send']) {
    for (const answer of answers) {
      const { widget } = at(step);
      widget.send({ type: { form: 'submitForm', preview: 'confirm', send: 'press' }[step] });
      while (widget.pending.length > 0) {
        const [effect] = widget.pending;
        if (effect.kind === 'sign' || effect.kind === 'look') widget.step();
        else {
          widget.pending.shift();
          widget.send({ type: 'result', task: effect.task, n: effect.n, answer });
        }
      }
      const { failure } = widget.state;
      assert.ok(failure && FAILURES[failure.code] && en.failures[failure.code], `${step} ${JSON.stringify(answer)}`);
      assert.equal(widget.state.busy, null);
    }
  }
});

test('an event nobody knows is ignored', () => {
  const { state, effects } = update(initial(), { type: 'nonsense', now: 1, fresh: 'x' });
  assert.equal(state.step, 'opening');
  assert.deepEqual(effects, []);
});
