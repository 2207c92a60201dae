// The CRM page's side of sdk.js: passes the calls of a widget in a frame to the CRM behind this page.

/**
 * Serves the widget in `frame`. `place` is what PageLoad tells: `{ Entity, EntityId }`, the id a text on a record's
 * page and a list from a button. Calls go to `POST {backend}` as `{ name, args }`, which answers `{ answer }` or
 * `{ error }`. `open({ Entity, RecordID })` shows a record.
 */
export function hostWidget(frame, { place, backend, open }) {
  const origin = new URL(frame.src).origin;
  const tell = (message) => frame.contentWindow?.postMessage({ sdk: 1, ...message }, origin);

  async function answer({ id, name, args }) {
    if (name === 'init') {
      tell({ id, answer: {} });
      setTimeout(() => tell({ event: 'PageLoad', data: place }), 20);
      return;
    }
    if (name === 'UI.Record.open') {
      open(args[0]);
      tell({ id, answer: {} });
      return;
    }
    if (name === 'UI.Resize') {
      tell({ id, answer: {} });
      return;
    }
    try {
      const response = await fetch(backend, {
        method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ name, args }),
      });
      tell({ id, ...await response.json() });
    } catch {
      // The real SDK's promise then never settles either.
    }
  }

  window.addEventListener('message', (event) => {
    if (event.origin !== origin || event.source !== frame.contentWindow || event.data?.sdk !== 1) return;
    answer(event.data);
  });
}
