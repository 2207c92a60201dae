// The document, drawn from the bytes that were received.

import { h } from './dom.js';
import { buttons, setBusy } from './view.js';
import { drawDocument } from '../shell/pdf.js';

const ZOOMS = [0.5, 0.75, 1, 1.25, 1.5, 2, 3];

export function previewScreen(main, state, context) {
  const { words: { words, say }, send } = context;
  const pages = h('div', { class: 'pages' }, h('p', { class: 'drawing' }, words.preview.drawing));
  const viewer = h('div', { class: 'viewer', role: 'region', 'aria-label': words.preview.viewer, tabindex: '0' }, pages);
  const count = h('span', { class: 'count' });
  const zoomText = h('output', { class: 'zoom', 'aria-live': 'polite' });
  let drawn = null;
  let scale = 'fit';

  const setScale = (next) => {
    scale = next;
    const shown = drawn?.zoom(scale);
    if (shown) zoomText.textContent = say(words.preview.zoom, { percent: Math.round(shown * 100) });
  };
  const step = (by) => {
    const now = drawn?.scale() ?? 1;
    const wider = ZOOMS.find((z) => z > now + 0.01) ?? ZOOMS.at(-1);
    const narrower = ZOOMS.findLast((z) => z < now - 0.01) ?? ZOOMS[0];
    setScale(by > 0 ? wider : narrower);
  };
  const tool = (text, sign, event) => h('button', {
    type: 'button', class: 'tool', 'aria-label': text, title: text, 'data-always': true, onclick: event,
  }, sign);
  const bar = h('div', { class: 'bar' }, count, h('div', { class: 'tools' },
    tool(words.preview.zoomOut, '−', () => step(-1)), zoomText, tool(words.preview.zoomIn, '+', () => step(1)),
    tool(words.preview.fit, '↔', () => setScale('fit'))));
  const hash = h('p', { class: 'hash' }, h('span', {}, words.preview.hash), h('code', {}));
  const row = buttons(
    { text: words.preview.confirm, isMain: true, id: 'confirm', event: () => send({ type: 'confirm' }) },
    { text: words.preview.back, event: () => send({ type: 'back' }) });
  main.replaceChildren(h('h2', { tabindex: '-1' }, words.preview.heading),
    h('p', { class: 'about' }, words.preview.about), bar, viewer, hash, row);

  let handle = null;
  async function draw(doc) {
    const own = doc.handle;
    drawn?.close();
    drawn = null;
    const bytes = context.copyOf(own);
    try {
      if (!bytes) throw new Error('the document is gone');
      const next = await drawDocument(bytes, pages, {
        viewer, pageLabel: (n, of) => say(words.preview.page, { n, of }), noText: words.preview.noText,
        onFailed: () => send({ type: 'undrawable', handle: own }),
      });
      if (own !== handle) {
        next.close();
        return;
      }
      drawn = next;
      count.textContent = say(words.preview.pages, { n: next.pages });
      setScale(scale);
      send({ type: 'drawn', handle: own, pages: next.pages });
    } catch {
      if (own === handle) send({ type: 'undrawable', handle: own });
    }
  }

  const onResize = () => {
    if (scale === 'fit') setScale('fit');
  };
  globalThis.addEventListener('resize', onResize);

  return {
    update(next) {
      if (next.doc?.handle && next.doc.handle !== handle) {
        handle = next.doc.handle;
        hash.querySelector('code').textContent = next.doc.sha256;
        draw(next.doc);
      }
      setBusy(main, next.busy !== null);
      const confirm = main.querySelector('#confirm');
      // What is not drawn is not seen, and what must be renewed is not confirmed.
      confirm.disabled = next.busy !== null || !(next.doc?.pages > 0) || Boolean(next.failure);
    },
    leave() {
      globalThis.removeEventListener('resize', onResize);
      handle = null;
      drawn?.close();
    },
  };
}
