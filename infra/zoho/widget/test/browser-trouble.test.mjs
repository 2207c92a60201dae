// What goes wrong, in a real browser: the network, the doors, the CRM, the bytes. Every failure has words and a way on.

import { after, test } from 'node:test';
import assert from 'node:assert/strict';
import { close, withWidget } from './browser-kit.mjs';
import { problem } from './fakes/doors.mjs';
import { sha256 } from './fakes/signature.mjs';
import { pdf } from './fakes/pdf.mjs';

after(close);

const STEPS = {
  save: { method: 'POST', path: /histories$/, from: 'form', button: '#to-preview', next: '#confirm:enabled' },
  preview: { method: 'GET', path: /preview$/, from: 'form', button: '#to-preview', next: '#confirm:enabled' },
  confirm: { method: 'PUT', path: /document$/, from: 'preview', button: '#confirm', next: '#press:enabled' },
  press: { method: 'POST', path: /sends$/, from: 'send', button: '#press', next: '#open-history' },
};

for (const [name, { method, path, from, button, next }] of Object.entries(STEPS)) {
  for (const cut of ['refuse', 'drop']) {
    test(`the network is cut at the ${name} (${cut}): the way on works, and nothing happens twice`, () =>
      withWidget({ mayFail: true }, async ({ world, w, to, fails }) => {
        // For as long as it is cut: a browser repeats a request by itself when a connection it had kept is closed.
        world.faults.push({ method, path, do: cut });
        await to[from]();
        await w.locator(button).click();
        if (name === 'press' && cut === 'drop') {
          // The history record tells what the answer could not.
          await w.locator('#open-history').waitFor();
        } else {
          const panel = await fails(name === 'press' ? 'press_no_answer' : 'no_answer');
          assert.equal(await w.locator(button).isEnabled(), name === 'save' || name === 'preview');
          world.faults.length = 0;
          await panel.locator('.main').click();
        }
        await w.locator(next).waitFor();
        for (const more of ['#confirm:enabled', '#press:enabled']) {
          if (await w.locator(more).isVisible()) {
            await w.locator(more).click();
            await w.locator(more === '#press:enabled' ? '#open-history' : '#press:enabled').waitFor();
          }
        }
        assert.equal(world.histories().length, 1);
        assert.equal(world.doors.submits.length, 1);
        const keys = world.doors.requests.filter((r) => r.method === method && path.test(r.path)).map((r) => r.id);
        assert.equal(new Set(keys).size, 1);
      }));
  }

  for (const [code, status, shown] of [
    ['unauthorized', 401, { save: 'unauthorized', preview: 'expired', confirm: 'expired', press: 'unauthorized' }],
    ['too_large', 413, 'too_large'], ['rate_limited', 503, 'busy'], ['crm_unavailable', 503, 'unavailable'],
    ['internal', 500, { save: 'broken', preview: 'broken', confirm: 'broken', press: 'press_no_answer' }],
    ['document_unusable', 422, 'unusable'],
  ]) {
    test(`${status} ${code} at the ${name}: words, request id, and the way on`, () =>
      withWidget({ mayFail: true }, async ({ world, w, to, fails }) => {
        await to[from]();
        world.faults.push({ method, path, times: 1, do: () => problem(code, 'req-shown-1') });
        await w.locator(button).click();
        const panel = await fails(typeof shown === 'string' ? shown : shown[name]);
        assert.equal(await panel.locator('.request-id').textContent(), 'req-shown-1');
        assert.ok((await panel.locator('p').first().textContent()).length > 20);
        assert.ok(await panel.locator('button').first().isEnabled());
        assert.equal(world.doors.submits.length, 0);
      }));
  }

  test(`429 at the ${name}, as the gateway gives it: wait, then the same again`, () =>
    withWidget({ mayFail: true }, async ({ world, w, to, fails }) => {
      await to[from]();
      world.faults.push({
        method, path, times: 1,
        do: () => ({ status: 429, headers: { 'content-type': 'application/json', 'retry-after': '3' }, body: '{"Message":"Rate Exceeded."}' }),
      });
      await w.locator(button).click();
      const panel = await fails('busy');
      assert.match(await panel.textContent(), /3 seconds/);
      await panel.locator('.main').click();
      await w.locator(next).waitFor();
    }));
}

test('an expired preview is renewed by one click', () => withWidget({ mayFail: true }, async ({ world, w, to, fails }) => {
  await to.preview();
  world.offset += 3_700_000;
  await w.locator('#confirm').click();
  const panel = await fails('expired');
  assert.equal(await w.locator('#confirm').isEnabled(), false);
  await panel.getByRole('button', { name: 'Show the preview again' }).click();
  await to.drawn();
  await w.locator('#confirm').click();
  await w.locator('#press').click();
  await w.locator('#open-history').waitFor();
  assert.equal(world.histories().length, 1);
  assert.equal(world.doors.submits.length, 1);
}));

test('bytes changed on their way to the door are refused by it', () => withWidget({
  mayFail: true,
  init: () => {
    const real = globalThis.fetch;
    globalThis.fetch = (url, options) => {
      if (options?.method === 'PUT' && String(url).endsWith('/document')) {
        const body = options.body.slice();
        body[body.length - 30] ^= 1;
        return real(url, { ...options, body });
      }
      return real(url, options);
    };
  },
}, async ({ world, w, to, fails }) => {
  await to.preview();
  await w.locator('#confirm').click();
  await fails('document_changed');
  assert.equal(world.histories()[0].Delivery_State, 'saved');
  assert.equal(world.doors.submits.length, 0);
}));

test('bytes changed within the page are refused before they leave it', () => withWidget({
  mayFail: true,
  init: () => {
    // What pdf.js is given is a copy; this reaches the bytes that are kept, as a hostile extension might.
    const real = Map.prototype.get;
    Map.prototype.get = function (key) {
      const value = real.call(this, key);
      if (globalThis.tamper && value instanceof Uint8Array && String(key).startsWith('document-')) value[value.length - 30] ^= 1;
      return value;
    };
  },
}, async ({ world, w, frame, to, fails }) => {
  await to.preview();
  await frame().evaluate(() => {
    globalThis.tamper = true;
  });
  await w.locator('#confirm').click();
  await fails('bytes_changed');
  assert.ok(!world.doors.requests.some((r) => r.path.endsWith('/document')));
}));

test('a document damaged on its way here is not shown', () => withWidget({ mayFail: true }, async ({ world, w, to, fails }) => {
  world.faults.push({
    method: 'GET', times: 1,
    do: (request) => {
      const answer = world.doors.serve('intake', request);
      return { ...answer, body: Buffer.concat([answer.body, Buffer.from('x')]) };
    },
  });
  await to.form();
  await w.locator('#to-preview').click();
  const panel = await fails('damaged');
  await panel.locator('.main').click();
  await to.drawn();
}));

test('a document that cannot be drawn cannot be confirmed', () => withWidget({
  mayFail: true,
  prepare: (world) => world.crm.attach('Deals', world.deal.id, 'broken.pdf', Buffer.from('%PDF-1.7\nnot a document')),
}, async ({ w, to, fails, trouble }) => {
  await to.start();
  await w.getByRole('button', { name: /broken\.pdf/ }).click();
  await w.locator('#to-preview').click();
  await fails('cannot_draw');
  assert.equal(await w.locator('#confirm').isEnabled(), false);
  // pdf.js says what it thinks of the file.
  trouble.splice(0, trouble.length, ...trouble.filter((line) => !line.startsWith('warning: Warning:')));
}));

test('a page that turns out not to be drawable takes the confirm back', () => withWidget({
  mayFail: true,
  prepare: (world) => {
    const text = pdf([['Page one'], ['Page two']]).toString('latin1').replace('/Kids [5 0 R 7 0 R]', '/Kids [5 0 R 99 0 R]');
    world.crm.attach('Deals', world.deal.id, 'half.pdf', Buffer.from(text, 'latin1'));
  },
}, async ({ w, to, fails, trouble }) => {
  await to.start();
  await w.getByRole('button', { name: /half\.pdf/ }).click();
  await w.locator('#to-preview').click();
  await fails('cannot_draw');
  assert.equal(await w.locator('#confirm').isEnabled(), false);
  trouble.splice(0, trouble.length, ...trouble.filter((line) => !line.startsWith('warning: Warning:')));
}));

test('what decodes JPEG 2000 and JBIG2 without WebAssembly runs under the policy', () => withWidget({}, async ({ frame, to }) => {
  await to.start();
  const kinds = await frame().evaluate(async () => {
    const made = [];
    for (const name of ['openjpeg', 'jbig2']) {
      const { default: instantiate } = await import(new URL(`pdfjs/wasm/${name}_nowasm_fallback.js`, document.baseURI).href);
      made.push(typeof instantiate);
    }
    return made;
  });
  assert.deepEqual(kinds, ['function', 'function']);
}));

test('a refusal of what no form has a field for is for the administrator', () => withWidget({ mayFail: true }, async ({ world, w, to, fails }) => {
  world.doors.refuse = () => [{ pointer: '/source', detail: 'needs either attachment_id or field' }];
  await to.form();
  await w.locator('#to-preview').click();
  const panel = await fails('driver_missing');
  assert.match(await panel.textContent(), /needs either attachment_id or field/);
}));

test('a document with scripts is drawn, and runs none of them', () => withWidget({
  prepare: (world) => {
    const text = pdf([['With a script']]).toString('latin1')
      .replace('/Type /Catalog', '/Type /Catalog /OpenAction << /S /JavaScript /JS (app.alert\\("x"\\); this.ran = 1;) >>');
    world.crm.attach('Deals', world.deal.id, 'script.pdf', Buffer.from(text, 'latin1'));
  },
}, async ({ page, w, to, trouble }) => {
  page.on('dialog', () => trouble.push('a dialog'));
  await to.start();
  await w.getByRole('button', { name: /script\.pdf/ }).click();
  await w.locator('#to-preview').click();
  await to.drawn();
  trouble.splice(0, trouble.length, ...trouble.filter((line) => !/^warning: Warning: Indexing all PDF objects/.test(line)));
}));

test('a receipt that CORS withholds is a fault of the installation', () => withWidget({ mayFail: true }, async ({ world, w, to, fails }) => {
  world.cors.intake.expose = [];
  await to.form();
  await w.locator('#to-preview').click();
  const panel = await fails('damaged').catch(() => fails('no_receipt'));
  assert.ok(panel);
  assert.equal(world.doors.submits.length, 0);
}));

test('an answer without the widget\'s origin is no answer', () => withWidget({ mayFail: true }, async ({ world, w, to, fails, trouble }) => {
  world.cors.intake.origin = 'https://elsewhere.example';
  await to.form();
  await w.locator('#to-preview').click();
  await fails('no_answer');
  assert.equal(world.histories().length, 0);
  trouble.splice(0, trouble.length, ...trouble.filter((line) => !/blocked by CORS policy/.test(line)));
}));

for (const [name, fault, code] of [
  ['is missing', { answer: { code: 'RESOURCE_NOT_FOUND' } }, 'function_missing'],
  ['is not for this user', { error: { code: 'NO_PERMISSION' } }, 'function_missing'],
  ['fails', { error: 'error' }, 'function_failed'],
  ['answers nonsense', { answer: { code: 'success', details: { output: '<html>' } } }, 'function_failed'],
  ['has no key', { answer: { code: 'success', details: { output: '{"ok":false,"code":"function_setup"}' } } }, 'function_setup'],
  ['needs the user\'s consent', { answer: { code: 'success', details: { output: '{"ok":false,"code":"connection"}' } } }, 'connection'],
]) {
  test(`a CRM function that ${name} has words`, () => withWidget({}, async ({ world, w, to, fails }) => {
    await to.form();
    world.crm.broken.set('FUNCTIONS.execute', fault);
    await w.locator('#to-preview').click();
    await fails(code);
    assert.equal(world.doors.requests.length, 0);
    world.crm.broken.clear();
    const retry = w.locator('.failure .main');
    if (await retry.isVisible()) {
      await retry.click();
      await to.drawn();
    }
  }));
}

test('a record the user may not read has words', () => withWidget({
  prepare: (world) => {
    world.deal.$hidden_from = [world.crm.user.id];
  },
}, async ({ fails }) => {
  await fails('no_record');
}));

test('the key or the clock of the CRM is wrong: the administrator is named', () => withWidget({ mayFail: true }, async ({ world, w, to, fails }) => {
  world.crm.keys.intake = 'another key than the door knows, 32';
  await to.form();
  await w.locator('#to-preview').click();
  const panel = await fails('unauthorized');
  assert.match(await panel.textContent(), /tell your administrator/);
  assert.match(await panel.locator('.request-id').textContent(), /^req-/);
}));

test('the same document once more is a question, and the earlier send is shown', () => withWidget({ mayFail: true }, async ({ world, page, w, to, fails }) => {
  await to.done();
  await w.getByRole('button', { name: 'Send another document' }).click();
  await w.locator('button[data-form=letter]').click();
  await w.locator('#to-preview').click();
  await to.drawn();
  await w.locator('#confirm').click();
  await w.locator('#press').click();
  const panel = await fails('already_sent');
  assert.equal(world.doors.submits.length, 1);
  await panel.getByRole('button', { name: 'Open the earlier send' }).click();
  await page.waitForFunction(() => window.opened.length === 1);
  await panel.getByRole('button', { name: 'Send it once more' }).click();
  await w.locator('#open-history').waitFor();
  assert.equal(world.doors.submits.length, 2);
}));

test('what was proved not to be sent can be pressed again', () => withWidget({}, async ({ world, w, to, fails }) => {
  await to.send();
  world.doors.outcome = 'not_sent';
  await w.locator('#press').click();
  const panel = await fails('not_sent');
  assert.match(await panel.textContent(), /connect_failed/);
  world.doors.outcome = 'accepted';
  await panel.locator('.main').click();
  await w.locator('#open-history').waitFor();
  assert.equal(world.doors.submits.length, 1);
}));

test('a refusal of the send service is shown as not delivered, an unknown outcome as requested', async () => {
  for (const [outcome, heading] of [['rejected', 'Not delivered'], ['unknown', 'Requested']]) {
    await withWidget({}, async ({ world, w, to }) => {
      world.doors.outcome = outcome;
      await to.send();
      await w.locator('#press').click();
      await w.getByRole('heading', { name: heading }).waitFor();
    });
  }
});

test('the signed text reaches the door byte for byte, and tokens travel in headers alone', () => withWidget({ language: 'ja_JP' }, async ({ world, page, w, to }) => {
  const seen = [];
  page.on('request', (request) => {
    if (request.method() !== 'OPTIONS' && /:\d+\/v1\//.test(request.url())) seen.push({ url: request.url(), body: request.postData(), headers: request.headers() });
  });
  world.deal.Contact_Name = { name: 'Žofie 🐈 "山田"' };
  await page.reload();
  await to.form();
  await w.locator('#to-preview').click();
  await to.drawn();
  const signed = world.crm.calls.filter((call) => call.name === 'FUNCTIONS.execute').length;
  assert.equal(signed, 1);
  const post = seen.find((request) => request.body?.includes('"op":"save"'));
  assert.equal(sha256(post.body), world.histories()[0].$progress.request.bodySha256);
  for (const { url } of seen) assert.ok(!/[?&]/.test(url), url);
  assert.match(seen.find((request) => request.url.endsWith('/preview')).headers.authorization, /^Bearer /);
  assert.ok(world.seen.length >= 2 && world.seen.every((headers) => !('cookie' in headers) && !('referer' in headers)));
}));

test('outside the CRM, and where the SDK is blocked, it says so', () => withWidget({
  mayFail: true,
  prepare: (world) => {
    world.withoutSdk = true;
  },
}, async ({ world, w, fails, trouble }) => {
  const panel = await fails('no_crm');
  world.withoutSdk = false;
  assert.match(await panel.textContent(), /Reload the page/);
  assert.equal(await w.locator('main').textContent(), 'Loading…');
  trouble.splice(0, trouble.length, ...trouble.filter((line) => !/MIME|Refused to execute/.test(line)));
}));

test('without its settings it says so', () => withWidget({
  mayFail: true,
  prepare: (world) => {
    world.withoutConfig = true;
  },
}, async ({ fails }) => {
  await fails('no_config');
}));
