// Writes a picture of each step: node test/screenshots.mjs [FOLDER]   (default: screenshots/)

import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { close, withWidget } from './browser-kit.mjs';
import { problem } from './fakes/doors.mjs';

const folder = process.argv[2] ?? 'screenshots';
mkdirSync(folder, { recursive: true });

/** Earlier sends of the record, so that the list has something to show. */
function earlier(world) {
  const { history_module: module, history_fields: fields } = world.settings;
  ['succeeded', 'needs_review', 'accepted', 'failed'].forEach((state, i) => world.crm.add(module, {
    [fields.state]: state, [fields.source_module]: 'Deals', [fields.source_record]: world.deal.id,
    Created_Time: new Date(world.now() - (i + 1) * 86_400_000).toISOString(), $progress: {},
  }));
}

async function shoot(name, options) {
  const { ja = false } = options;
  await withWidget({ mayFail: true, language: ja ? 'ja_JP' : 'en_US', prepare: earlier, ...options }, async (kit) => {
    const { world, page, w, to, fails } = kit;
    const picture = async (step) => {
      await page.mouse.move(0, 0);
      await page.screenshot({ path: join(folder, `${name}-${step}.png`) });
    };
    await to.start();
    await picture('1-choose');
    const template = ja ? 'letter-ja' : 'quotation-en';
    await w.locator(`button[data-form=${template}]`).click();
    await w.locator('#to-preview').click();
    await picture('2-mistakes');
    const answers = ja
      ? { '件名': '契約書の送付について', '日付': '2026-01-15', '本文': 'いつもお世話になっております。\n契約書をお送りします。', '署名者': '佐藤' }
      : { 'Quotation number': 'Q-2026-007', 'Description': 'Setup and training', 'Quantity': '2', 'Unit price': '1200.50' };
    for (const [label, text] of Object.entries(answers)) await w.getByLabel(new RegExp(`^${label}`)).fill(text);
    await picture('3-form');
    await w.locator('#to-preview').click();
    await to.drawn();
    await page.waitForTimeout(300);
    await picture('4-preview');
    world.offset += 3_700_000;
    await w.locator('#confirm').click();
    const panel = await fails('expired');
    await picture('5-expired');
    await panel.locator('.main').click();
    await to.drawn();
    await w.locator('#confirm').click();
    await w.locator('#press:enabled').waitFor();
    await picture('6-send');
    world.faults.push({ door: 'side_effect', times: 1, do: () => problem('unauthorized', '6f1f0c1e-2b52-4c60-9d7e-6f2a3c1b0d55') });
    await w.locator('#press').click();
    const refused = await fails('unauthorized');
    await picture('7-failure');
    await refused.locator('.main').click();
    await w.locator('#open-history').waitFor();
    await picture('8-requested');
  });
}

try {
  await shoot('en', { height: 1000 });
  await shoot('ja', { ja: true, height: 1000 });
  await shoot('narrow', { width: 400, height: 860 });
  console.log(`pictures are in ${folder}/`);
} finally {
  await close();
}
