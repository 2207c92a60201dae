// A real browser on the make-believe surroundings.

import { existsSync } from 'node:fs';
import { chromium } from 'playwright-core';
import { startWorld } from './fakes/world.mjs';

const CHROMIUM = process.env.CHROMIUM ?? '/usr/bin/chromium';
const ARGS = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
  // Chromium may refuse storage to a frame of another site. That has its own test; the others are of browsers that do not.
  '--disable-features=TrackingProtection3pcd',
];

let browser;

export async function launch() {
  if (!existsSync(CHROMIUM)) throw new Error(`needs Chromium at ${CHROMIUM}: apt-get install chromium, or set CHROMIUM`);
  browser ??= await chromium.launch({ executablePath: CHROMIUM, args: ARGS });
  return browser;
}

export async function close() {
  await browser?.close();
  browser = undefined;
}

/** Words a browser writes for a request that failed, which a test that fails them on purpose expects. */
const NETWORK = /Failed to load resource/;

/**
 * Runs `act` with a world and a page on which the widget is open. Afterwards: no exception, no violation of the policy,
 * no console error but those of requests that `act` made fail (`mayFail`).
 */
export async function withWidget(options, act) {
  const { how = '', width = 900, height = 900, language = 'en_US', mayFail = false, init, prepare, real } = options;
  const world = await startWorld({ real });
  world.crm.user.language = language;
  await prepare?.(world);
  const context = await (await launch()).newContext({ viewport: { width, height }, locale: 'en-US', reducedMotion: 'reduce' });
  const trouble = [];
  try {
    await context.addInitScript(() => {
      addEventListener('securitypolicyviolation', (e) => {
        console.error(`CSP violation: ${e.violatedDirective} ${e.blockedURI}`);
      });
    });
    if (init) await context.addInitScript(init.script ?? init, init.arg);
    const kit = await openPage(context, world, how, trouble, mayFail);
    await act({ ...kit, world, context, trouble, another: () => openPage(context, world, how, trouble, mayFail) });
    if (trouble.length > 0) throw new Error(`trouble on the page:\n${trouble.join('\n')}`);
  } finally {
    await context.close();
    await world.stop();
  }
}

async function openPage(context, world, how, trouble, mayFail) {
  const page = await context.newPage();
  page.setDefaultTimeout(10_000);
  page.on('pageerror', (error) => trouble.push(`exception: ${error.message}`));
  page.on('console', (message) => {
    if (!['error', 'warning'].includes(message.type())) return;
    if (mayFail && NETWORK.test(message.text())) return;
    trouble.push(`${message.type()}: ${message.text()}`);
  });
  await page.goto(world.page(how));
  const w = page.frameLocator('iframe');
  const frame = () => page.frames().find((one) => one.url().startsWith(world.widgetUrl));
  return { page, w, frame, ...steps(w) };
}

/** The plain path, step by step, as a user takes it. */
function steps(w) {
  const to = {
    start: () => w.locator('.choices').waitFor(),
    form: async () => {
      await to.start();
      await w.locator('button[data-form=letter]').click();
      await w.locator('#to-preview').waitFor();
    },
    preview: async () => {
      await to.form();
      await w.locator('#to-preview').click();
      await to.drawn();
    },
    drawn: () => w.locator('#confirm:enabled').waitFor(),
    send: async () => {
      await to.preview();
      await w.locator('#confirm').click();
      await w.locator('#press:enabled').waitFor();
    },
    done: async () => {
      await to.send();
      await w.locator('#press').click();
      await w.locator('#open-history').waitFor();
    },
  };
  const fails = async (code) => {
    const panel = w.locator(`.failure[data-code=${code}]`);
    await panel.waitFor();
    return panel;
  };
  return { to, fails };
}

/** A promise and what ends it: holds an answer back until a test says so. */
export function gate() {
  let open;
  const opened = new Promise((resolve) => {
    open = resolve;
  });
  return { open, wait: () => opened };
}
