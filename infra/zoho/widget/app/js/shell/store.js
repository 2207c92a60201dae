// What is kept over a reload. A browser may refuse storage to a frame of another site: then the keys live as long as
// the page, and after a reload the CRM's records and the doors' own checks are what is left.

import { readIntent } from '../core/intent.js';

function tryOr(fallback, act) {
  try {
    return act();
  } catch {
    return fallback;
  }
}

const areas = () => ({
  tab: tryOr(null, () => globalThis.sessionStorage),
  shared: tryOr(null, () => globalThis.localStorage),
});

/** Drops what is too old to be read, of whatever record it is. */
function sweep(store, now) {
  const old = Object.keys(store).filter((name) => name.startsWith('sendtrail:') && !readIntent(store.getItem(name), now));
  for (const name of old) store.removeItem(name);
}

export function readStored(name) {
  const { tab, shared } = areas();
  tryOr(null, () => sweep(shared, Date.now()));
  return {
    tab: tryOr(null, () => tab.getItem(name)),
    shared: tryOr(null, () => shared.getItem(name)),
  };
}

export function writeStored(name, copies) {
  const all = areas();
  for (const [area, value] of Object.entries(copies)) {
    const store = all[area];
    tryOr(null, () => (value === null ? store.removeItem(name) : store.setItem(name, JSON.stringify(value))));
  }
}
