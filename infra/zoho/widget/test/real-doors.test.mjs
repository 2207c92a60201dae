// The widget on the real doors: SENDTRAIL=/path/to/sendtrail npm test (its functions next to it). Skipped without.
//
// Here the fakes' kindness would show: every request of these paths is served by the functions themselves.

import { after, before, test } from 'node:test';
import assert from 'node:assert/strict';
import { close, withWidget } from './browser-kit.mjs';
import { surroundings } from './core-kit.mjs';
import { interview } from './fakes/interview.mjs';
import { startReal } from './fakes/real.mjs';

const BINARY = process.env.SENDTRAIL;
const skip = BINARY ? false : 'SENDTRAIL names no binary';
let real;

before(async () => {
  if (BINARY) real = await startReal(BINARY);
});
after(async () => {
  await close();
  await real?.stop();
});

const on = (options, act) => withWidget({ real, ...options }, act);
const states = async () => (await real.records('Send_Histories')).map((record) => record.fields.Delivery_State);
const count = async () => (await real.posts()).received;

/** Waits until the poller has brought the newest send to its end. */
async function ended() {
  for (let i = 0; i < 200; i += 1) {
    const all = await states();
    if (!all.some((state) => ['sending', 'accepted'].includes(state))) return all;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error('it does not end');
}

test('a file goes out once, and its result arrives after the page is closed', { skip }, () => on({}, async ({ page, w, to, another }) => {
  const posts = await count();
  await to.start();
  await w.locator('button[data-form=letter]').first().click();
  await fillAddress(w, 'Žofie Lovelace');
  await w.locator('#to-preview').click();
  await to.drawn();
  await page.reload();
  await to.drawn();
  await w.locator('#confirm').click();
  await w.locator('#press:enabled').waitFor();
  await page.reload();
  await w.locator('#press').dblclick();
  await w.getByRole('heading', { name: 'Requested' }).waitFor();
  await page.close();
  assert.equal(await count(), posts + 1);
  await ended();
  const again = await another();
  await again.w.getByRole('heading', { name: 'Delivered' }).or(again.w.locator('.card.send')).first().waitFor();
}));

test('the same document once more is asked about, and from a file field it is the same document', { skip }, () => on({ mayFail: true }, async ({ w, to, fails }) => {
  const posts = await count();
  await to.start();
  await w.locator('button[data-file="field:Contract_PDF"]').click();
  await fillAddress(w);
  await w.locator('#to-preview').click();
  await to.drawn();
  await w.locator('#confirm').click();
  await w.locator('#press').click();
  const panel = await fails('already_sent');
  assert.equal(await count(), posts);
  await panel.getByRole('button', { name: 'Send it once more' }).click();
  await w.locator('#open-history').waitFor();
  assert.equal(await count(), posts + 1);
}));

test('a press whose answer is lost is one send', { skip }, () => on({ mayFail: true }, async ({ world, w, to, fails }) => {
  const posts = await count();
  await to.start();
  await w.locator('button[data-form=letter]').first().click();
  await fillAddress(w);
  await w.locator('#to-preview').click();
  await to.drawn();
  await w.locator('#confirm').click();
  await w.locator('#press:enabled').waitFor();
  await w.locator('#press').click();
  const panel = await fails('already_sent');
  world.faults.push({ door: 'side_effect', do: 'drop' });
  await panel.getByRole('button', { name: 'Send it once more' }).click();
  await w.locator('#open-history').waitFor();
  assert.equal(await count(), posts + 1);
}));

test('a confirm whose answer is lost, and a form that is changed after it', { skip }, () => on({ mayFail: true }, async ({ world, w, to, fails }) => {
  await to.start();
  await w.locator('button[data-form=letter]').first().click();
  await fillAddress(w);
  await w.locator('#to-preview').click();
  await to.drawn();
  world.faults.push({ method: 'PUT', path: /document$/, do: 'drop' });
  await w.locator('#confirm').click();
  const panel = await fails('no_answer');
  world.faults.length = 0;
  await panel.locator('.main').click();
  await w.locator('#press:enabled').waitFor();
  await w.getByRole('button', { name: 'Change it' }).click();
  await w.getByLabel(/^Name/).fill('Grace Hopper');
  await w.locator('#to-preview').click();
  await to.drawn();
  await w.locator('#confirm').click();
  await w.locator('#press:enabled').waitFor();
  const drafts = (await real.records('Send_Histories')).filter((record) => record.fields.Delivery_State === 'confirmed');
  assert.equal(drafts.length, 1);
  assert.equal(JSON.parse(drafts[0].fields.Input_JSON).to.name, 'Grace Hopper');
}));

test('a wrong key names the administrator', { skip }, () => on({ mayFail: true }, async ({ world, w, to, fails }) => {
  const { intake } = world.crm.keys;
  world.crm.keys.intake = 'x'.repeat(40);
  await to.start();
  await w.locator('button[data-form=letter]').first().click();
  await fillAddress(w);
  await w.locator('#to-preview').click();
  const panel = await fails('unauthorized');
  assert.match(await panel.locator('.request-id').textContent(), /^[0-9a-f-]{36}$/);
  world.crm.keys.intake = intake;
  await panel.locator('.main').click();
  await to.drawn();
}));

test('the fake doors answer as the real ones do', { skip }, async () => {
  const world = surroundings();
  const fake = {
    name: 'fake', keys: world.keys, stage: 'local', now: () => world.time,
    source: { module: 'Deals', record_id: world.deal.id, attachment_id: world.file.id },
    serve: (door, request) => world.doors.serve(door, request),
  };
  // A stack of its own: here nothing was sent from the record before.
  const own = await startReal(BINARY);
  const { keys, stage, source, serve } = own;
  const [one, other] = [await interview(fake), await interview({ name: 'real', keys, stage, source, serve, now: Date.now }).finally(own.stop)];
  const settled = (said) => said
    // By then the poller may have been there.
    .map(([question, status, what]) => [question, status, String(what).replace(/^(accepted|succeeded)\b/, 'on its way')]);
  assert.deepEqual(settled(one), settled(other));
});

async function fillAddress(w, name = 'Ada Lovelace') {
  for (const [label, text] of [['Name', name], ['Street', '1 Main Street'], ['City', 'Springfield'], ['State', 'IL'], ['Postcode', '62701']]) {
    await w.getByLabel(new RegExp(`^${label}( \\(|$)`)).fill(text);
  }
}
