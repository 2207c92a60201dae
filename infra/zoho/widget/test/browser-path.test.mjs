// The whole path in a real browser: a file, a template, Japanese, keyboard, double clicks, reloads.

import { after, test } from 'node:test';
import assert from 'node:assert/strict';
import { close, gate, withWidget } from './browser-kit.mjs';
import { pdf } from './fakes/pdf.mjs';
import { sha256 } from './fakes/signature.mjs';

after(close);

test('a file of the record goes out as it was seen', () => withWidget({}, async ({ world, page, w, to }) => {
  await to.preview();
  assert.equal(await w.locator('.page').count(), 3);
  assert.equal(await w.locator('.hash code').textContent(), sha256(world.file.bytes));
  await w.locator('.page[data-drawn=true]').first().waitFor();
  assert.match(await w.locator('.page').first().textContent(), /Springfield library/);
  await w.locator('#confirm').click();
  await w.locator('#press').click();
  await w.getByRole('heading', { name: 'Requested' }).waitFor();
  assert.match(await w.locator('.done').textContent(), /result will appear on the history record/);
  assert.deepEqual(world.doors.submits.map((s) => s.sha256), [sha256(world.file.bytes)]);
  const [history] = world.histories();
  assert.deepEqual(JSON.parse(history.Input_JSON).source, { module: 'Deals', record_id: world.deal.id, attachment_id: world.file.id });
  assert.equal(history.$progress.request.actor.name, 'Sam Seller');
  await w.locator('#open-history').click();
  await page.waitForFunction(() => window.opened.length === 1);
  assert.deepEqual(await page.evaluate(() => window.opened[0]), { Entity: 'Send_Histories', RecordID: history.id });
}));

test('a template is filled in, from a button that gives the id as a list', () => withWidget({ how: '?button' }, async ({ world, w, to }) => {
  await to.start();
  await w.locator('button[data-form=quotation-en]').click();
  await w.getByLabel('Quotation number').fill('Q-2026-7');
  await w.getByLabel('Description').fill('Setup <b>bold</b> & more');
  await w.getByLabel('Quantity').fill('2');
  await w.getByLabel('Unit price').fill('19.90');
  await w.getByRole('button', { name: 'Add a row' }).click();
  assert.equal(await w.getByLabel('Description').first().inputValue(), 'Setup <b>bold</b> & more');
  await w.getByRole('button', { name: 'Remove row 2' }).click();
  await w.locator('#to-preview').click();
  await to.drawn();
  await w.locator('#confirm').click();
  await w.locator('#press').click();
  await w.locator('#open-history').waitFor();
  const input = JSON.parse(world.histories()[0].Input_JSON);
  assert.deepEqual(input.source, { module: 'Deals', record_id: world.deal.id, kind: 'template', template: 'quotation-en' });
  assert.deepEqual(input.fields.lines, [{ description: 'Setup <b>bold</b> & more', quantity: 2, unit_price: 19.9 }]);
  assert.equal(world.doors.submits.length, 1);
}));

test('the same in Japanese, with Japanese text on the page', () => withWidget({ language: 'ja_JP' }, async ({ world, w, frame, to }) => {
  await to.start();
  assert.equal(await frame().evaluate(() => document.documentElement.lang), 'ja');
  await w.locator('button[data-form=letter-ja]').click();
  for (const [label, text] of [['氏名', '山田 花子'], ['番地', '丸の内1-1-1'], ['件名', '契約書の送付'], ['日付', '2026-01-15'],
    ['本文', '髙橋様\n𠮷野家 🐈 からのお知らせ'], ['署名者', '佐藤']]) {
    await w.getByLabel(new RegExp(`^${label}`)).fill(text);
  }
  await w.locator('#to-preview').click();
  await to.drawn();
  assert.match(await w.locator('.page').first().textContent(), /契約書の送付/);
  await w.getByRole('button', { name: 'この文書で確定する' }).click();
  await w.getByRole('button', { name: '送信を依頼する' }).click();
  await w.getByRole('heading', { name: '依頼しました' }).waitFor();
  assert.equal(JSON.parse(world.histories()[0].Input_JSON).fields.body, '髙橋様\n𠮷野家 🐈 からのお知らせ');
  assert.equal(world.doors.submits.length, 1);
}));

test('the keyboard alone is enough', () => withWidget({}, async ({ world, page, w, frame, to }) => {
  const tabTo = async (selector) => {
    for (let i = 0; i < 60; i += 1) {
      await page.keyboard.press('Tab');
      if (await frame().evaluate((s) => document.activeElement.matches(s), selector)) return;
    }
    assert.fail(`${selector} is not reached`);
  };
  await to.start();
  await tabTo('button[data-form=letter]');
  await page.keyboard.press('Enter');
  await w.locator('#to-preview').waitFor();
  assert.equal(await frame().evaluate(() => document.activeElement.textContent), 'Details');
  await tabTo('#f-to-address_line2');
  await page.keyboard.type('Second floor');
  assert.equal(await w.locator('#f-to-address_line2').inputValue(), 'Second floor');
  await page.keyboard.press('Enter');
  await to.drawn();
  assert.equal(await frame().evaluate(() => document.activeElement.tagName), 'H2');
  await tabTo('.viewer');
  await page.keyboard.press('End');
  await tabTo('#confirm');
  await page.keyboard.press('Space');
  await w.locator('#press:enabled').waitFor();
  await tabTo('#press');
  await page.keyboard.press('Enter');
  await w.locator('#open-history').waitFor();
  assert.equal(await frame().evaluate(() => document.activeElement.textContent), 'Requested');
  assert.equal(world.doors.submits.length, 1);
}));

test('a double click does nothing twice', () => withWidget({}, async ({ world, w, to }) => {
  await to.start();
  await w.locator('button[data-form=letter]').dblclick();
  await w.locator('#to-preview').dblclick();
  await to.drawn();
  await w.locator('#confirm').dblclick();
  // Where the second click of a double click meets the button of the next screen, it is a click of its own: the
  // screens do not put two of them in one place.
  await w.locator('#press:enabled').waitFor();
  assert.equal(world.doors.submits.length, 0);
  await w.locator('#press').dblclick();
  await w.locator('#open-history').waitFor();
  const count = (method, path) => world.doors.requests.filter((r) => r.method === method && path.test(r.path)).length;
  assert.deepEqual([count('POST', /histories$/), count('GET', /preview$/), count('PUT', /document$/), count('POST', /sends$/)], [1, 1, 1, 1]);
}));

test('a hundred clicks in one turn of the page are one press', () => withWidget({}, async ({ world, w, to }) => {
  await to.send();
  await w.locator('#press').evaluate((button) => {
    for (let i = 0; i < 100; i += 1) button.click();
  });
  await w.locator('#open-history').waitFor();
  assert.equal(world.doors.requests.filter((r) => r.path === '/v1/sends').length, 1);
}));

test('a reload at each step comes back to it', () => withWidget({}, async ({ world, page, w, to }) => {
  await to.form();
  await w.getByLabel(/^Name/).fill('Grace Hopper');
  await page.reload();
  await w.locator('#to-preview').waitFor();
  assert.equal(await w.getByLabel(/^Name/).inputValue(), 'Grace Hopper');
  await w.locator('#to-preview').click();
  await to.drawn();
  await page.reload();
  await to.drawn();
  await w.locator('#confirm').click();
  await w.locator('#press:enabled').waitFor();
  await page.reload();
  await w.locator('#press').click();
  await w.locator('#open-history').waitFor();
  await page.reload();
  await w.getByRole('heading', { name: 'Requested' }).waitFor();
  await w.getByRole('button', { name: 'Send another document' }).click();
  await w.locator('.card.send').waitFor();
  assert.match(await w.locator('.card.send').textContent(), /Requested, result pending/);
  assert.equal(world.histories().length, 1);
  assert.equal(world.doors.submits.length, 1);
  await page.reload();
  await to.start();
}));

for (const [name, method, path, state] of [
  ['save', 'POST', /histories$/, 'preview'], ['preview', 'GET', /preview$/, 'preview'],
  ['confirm', 'PUT', /document$/, 'send'], ['press', 'POST', /sends$/, 'done'],
]) {
  test(`a reload in the middle of the ${name} makes nothing twice`, () => withWidget({ mayFail: true }, async ({ world, page, w, to }) => {
    const held = gate();
    const arrived = gate();
    world.faults.push({
      method, path, times: 1,
      wait: () => {
        arrived.open();
        return held.wait();
      },
    });
    if (name === 'save' || name === 'preview') {
      await to.form();
      await w.locator('#to-preview').click();
    } else if (name === 'confirm') {
      await to.preview();
      await w.locator('#confirm').click();
    } else {
      await to.send();
      await w.locator('#press').click();
    }
    await arrived.wait();
    await page.reload();
    // The lost request is served while, or after, the new page asks.
    held.open();
    const next = { preview: '#confirm:enabled', send: '#press:enabled, #confirm:enabled', done: '#open-history, #press:enabled' }[state];
    await w.locator(next).first().waitFor();
    if (await w.locator('#confirm:enabled').isVisible()) {
      await w.locator('#confirm').click();
      await w.locator('#press:enabled, .failure .main').first().waitFor();
      if (await w.locator('.failure .main').isVisible()) {
        await w.locator('.failure .main').click();
        await to.drawn();
        await w.locator('#confirm').click();
      }
      await w.locator('#press:enabled').waitFor();
    }
    if (await w.locator('#press:enabled').isVisible()) await w.locator('#press').click();
    await w.locator('#open-history').waitFor();
    assert.equal(world.doors.submits.length, 1);
    assert.equal(world.histories().length, 1);
    assert.equal(new Set(world.doors.requests.filter((r) => r.path === '/v1/sends').map((r) => r.id)).size, 1);
  }));
}

test('two tabs with one wish have one key, and one send', () => withWidget({}, async ({ world, w, to, another }) => {
  await to.send();
  const second = await another();
  await second.w.locator('#press:enabled').waitFor();
  await w.locator('#press').click();
  await w.locator('#open-history').waitFor();
  await second.w.locator('#press').click();
  await second.w.locator('#open-history').waitFor();
  assert.equal(world.doors.submits.length, 1);
}));

test('a tab closed after "requested" leaves a record that shows the result', () => withWidget({}, async ({ world, page, to, another }) => {
  await to.done();
  await page.close();
  world.histories()[0].Delivery_State = 'succeeded';
  const { w } = await another();
  await w.locator('.card.send').waitFor();
  assert.match(await w.locator('.card.send').textContent(), /Delivered/);
}));

test('a draft of the list is gone on with', () => withWidget({}, async ({ world, w, to }) => {
  await to.send();
  await w.getByRole('button', { name: 'Change it' }).click();
  await w.getByRole('button', { name: 'Other document' }).click();
  await w.getByRole('button', { name: 'Refresh' }).click();
  await w.locator('[data-continue]').click();
  await w.locator('#to-preview').click();
  await to.drawn();
  await w.locator('#confirm').click();
  await w.locator('#press').click();
  await w.locator('#open-history').waitFor();
  assert.equal(world.histories().length, 1);
}));

test('a browser that refuses storage still sends once', () => withWidget({
  init: () => {
    for (const name of ['localStorage', 'sessionStorage']) {
      Object.defineProperty(globalThis, name, { get: () => { throw new DOMException('no', 'SecurityError'); } });
    }
  },
}, async ({ world, page, w, to }) => {
  await to.done();
  await page.reload();
  await to.start();
  await w.locator('button[data-form=letter]').click();
  await w.locator('#to-preview').click();
  await to.drawn();
  await w.locator('#confirm').click();
  await w.locator('#press').click();
  await w.locator('.failure[data-code=already_sent]').waitFor();
  assert.equal(world.doors.submits.length, 1);
}).catch((error) => {
  // The refusal itself is a 409, which a browser writes down.
  if (!/^trouble on the page:\n(error: Failed to load resource.*\n?)+$/.test(error.message)) throw error;
}));

test('mistakes are told at their fields and in a list that leads to them', () => withWidget({}, async ({ world, w, frame, to }) => {
  await to.form();
  await w.getByLabel(/^Name/).fill('');
  await w.getByLabel(/^Postcode/).fill('###');
  await w.locator('#to-preview').click();
  await w.locator('.mistakes').waitFor();
  assert.equal(await w.locator('.mistakes li').count(), 2);
  await w.locator('.mistakes a').first().click();
  assert.equal(await frame().evaluate(() => document.activeElement.id), 'f-to-name');
  assert.equal(await w.getByLabel(/^Name/).getAttribute('aria-invalid'), 'true');
  assert.equal(world.doors.requests.length, 0);
}));

test('zoom changes the size of the pages', () => withWidget({}, async ({ w, to }) => {
  await to.preview();
  const width = () => w.locator('.page').first().evaluate((page) => page.getBoundingClientRect().width);
  const before = await width();
  await w.getByRole('button', { name: 'Zoom in' }).click();
  assert.ok(await width() > before);
  await w.getByRole('button', { name: 'Fit width' }).click();
  assert.equal(await width(), before);
}));

test('a document of 300 pages is drawn as it is read', () => withWidget({
  prepare: (world) => world.crm.attach('Deals', world.deal.id, 'long.pdf', pdf(Array.from({ length: 300 }, (_, i) => [`Page ${i + 1}`]))),
}, async ({ w, to }) => {
  await to.start();
  await w.getByRole('button', { name: /long\.pdf/ }).click();
  await w.locator('#to-preview').click();
  await to.drawn();
  assert.ok(await w.locator('.page[data-drawn]').count() < 20);
  await w.locator('.page').nth(250).scrollIntoViewIfNeeded();
  await w.locator('.page:nth-child(251)[data-drawn=true]').waitFor();
}));
