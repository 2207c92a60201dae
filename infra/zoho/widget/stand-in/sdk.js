// Stands in for Zoho's embedded-app SDK in tests and on a local machine: the same calls, the same shapes, as
// asynchronous as the real one. It knows nothing itself: it asks the page that holds the frame (host.js).
// What is not here is not in the widget either.
(function () {
  'use strict';

  // Only the origin this script came from is talked to.
  const host = new URL(document.currentScript.src).origin;
  const waiting = new Map();
  const listeners = new Map();
  let next = 1;

  function call(name, args) {
    return new Promise(function (resolve, reject) {
      const id = next++;
      waiting.set(id, { resolve, reject });
      window.parent.postMessage({ sdk: 1, id, name, args }, host);
    });
  }

  window.addEventListener('message', function (event) {
    if (event.origin !== host || event.source !== window.parent || event.data?.sdk !== 1) return;
    const { id, event: name, data, answer, error } = event.data;
    if (name) {
      // As with the real one: who registers after the event has missed it.
      for (const listener of listeners.get(name) ?? []) listener(data);
      return;
    }
    const promise = waiting.get(id);
    waiting.delete(id);
    if (error !== undefined) promise?.reject(error);
    else promise?.resolve(answer);
  });

  const api = (name) => (args) => call(name, [args]);

  window.ZOHO = {
    embeddedApp: {
      on(name, listener) {
        listeners.set(name, [...(listeners.get(name) ?? []), listener]);
      },
      init: () => call('init', []),
    },
    CRM: {
      API: {
        getRecord: api('API.getRecord'),
        getRelatedRecords: api('API.getRelatedRecords'),
        coql: api('API.coql'),
        searchRecord: api('API.searchRecord'),
      },
      CONFIG: { getCurrentUser: () => call('CONFIG.getCurrentUser', []) },
      FUNCTIONS: { execute: (name, args) => call('FUNCTIONS.execute', [name, args]) },
      UI: { Record: { open: api('UI.Record.open') }, Resize: api('UI.Resize') },
    },
  };
})();
