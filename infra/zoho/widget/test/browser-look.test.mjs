// The policy, what a screen reader and the eye meet, and narrow windows.

import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';
import { after, test } from 'node:test';
import assert from 'node:assert/strict';
import { close, withWidget } from './browser-kit.mjs';
import { problem } from './fakes/doors.mjs';

after(close);

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const STEPS = ['start', 'form', 'preview', 'send', 'done'];

/** Serious findings of axe-core in the frame. Best practices count too. */
async function findings(frame) {
  await frame.evaluate(AXE);
  const { violations } = await frame.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  return violations.map((v) => `${v.impact} ${v.id}: ${v.nodes.map((n) => n.target).join(', ')}`);
}

for (const language of ['en_US', 'ja_JP']) {
  for (const width of [900, 400, 320]) {
    test(`no finding of axe-core, and nothing cut off, at ${width} px in ${language}`, () =>
      withWidget({ width, language, mayFail: true }, async ({ world, w, frame, to, fails }) => {
        const look = async (what) => {
          assert.deepEqual(await findings(frame()), [], what);
          const [wide, room] = await frame().evaluate(() =>
            [document.scrollingElement.scrollWidth, document.scrollingElement.clientWidth]);
          assert.ok(wide <= room, `${what}: ${wide} px wide`);
          const small = await frame().evaluate(() => [...document.querySelectorAll('button')]
            .filter((b) => b.getBoundingClientRect().height < 32).map((b) => b.textContent));
          assert.deepEqual(small, [], `${what}: targets too small`);
        };
        await to.start();
        await look('start');
        await w.locator('button[data-form=quotation-en]').click();
        await w.locator('#to-preview').click();
        await look('form with mistakes');
        await w.locator('form .buttons button').last().click();
        for (const step of STEPS.slice(1)) {
          if (step === 'form') await to.form();
          if (step === 'preview') await w.locator('#to-preview').click().then(to.drawn);
          if (step === 'send') {
            world.faults.push({ method: 'PUT', times: 1, do: () => problem('crm_unavailable', 'req-1') });
            await w.locator('#confirm').click();
            const panel = await fails('unavailable');
            await look('a failure');
            await panel.locator('.main').click();
            await w.locator('#press:enabled').waitFor();
          }
          if (step === 'done') {
            await w.locator('#press').click();
            await w.locator('#open-history').waitFor();
          }
          await look(step);
        }
        await w.locator('.done .plain').click();
        await w.locator('.card.send').waitFor();
        await look('start with a send');
      }));
  }
}

test('the policy is as strict as it says, and no element has inline style or script', () => withWidget({}, async ({ world, frame, to, trouble }) => {
  await to.preview();
  assert.match(world.policy, /^default-src 'none';/);
  assert.ok(!/unsafe|blob:|data:|\*/.test(world.policy), world.policy);
  const inline = await frame().evaluate(() => {
    const all = [...document.querySelectorAll('*')];
    return all.filter((e) => (e.localName === 'script' && !e.src) || e.localName === 'style'
      || [...e.attributes].some((a) => a.name.startsWith('on'))).map((e) => e.outerHTML);
  });
  assert.deepEqual(inline, []);
  assert.deepEqual(trouble, []);
  // The meta element alone, as in a place whose server sends no policy, forbids the same.
  const meta = await frame().evaluate(() => document.querySelector('meta[http-equiv]').content);
  assert.equal(meta, world.policy);
  const told = await frame().evaluate(() => new Promise((resolve) => {
    addEventListener('securitypolicyviolation', (e) => resolve([e.violatedDirective, globalThis.ran === true]));
    const script = document.createElement('script');
    script.textContent = 'globalThis.ran = true';
    document.head.append(script);
  }));
  assert.deepEqual(told, ['script-src-elem', false]);
  // Provoked.
  await frame().evaluate(() => new Promise((resolve) => setTimeout(resolve, 50)));
  trouble.length = 0;
}));

test('no secret and no key of a signature is in what the widget can read', () => withWidget({}, async ({ world, frame, to }) => {
  await to.done();
  const config = readFileSync(`${world.app}/config.json`, 'utf8');
  const storage = await frame().evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));
  for (const secret of Object.values(world.keys)) {
    assert.ok(!config.includes(secret) && !storage.includes(secret));
  }
  // What stays on the machine has no name and no address in it.
  const kept = await frame().evaluate(() => JSON.stringify({ ...localStorage }));
  assert.ok(!/Ada|Main Street/.test(kept), kept);
}));

test('work under way is said, and the page is marked as busy', () => withWidget({}, async ({ world, w, to }) => {
  let open;
  const held = new Promise((resolve) => {
    open = resolve;
  });
  world.faults.push({ method: 'POST', path: /sends/, times: 1, wait: () => held });
  await to.send();
  await w.locator('#press').click();
  await w.getByText('Requesting the send…').waitFor();
  assert.equal(await w.locator('main').getAttribute('aria-busy'), 'true');
  assert.equal(await w.locator('#press').isDisabled(), true);
  open();
  await w.locator('#open-history').waitFor();
  assert.equal(await w.locator('main').getAttribute('aria-busy'), 'false');
}));
