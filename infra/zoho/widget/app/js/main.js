// Starts the widget: events go to the core, its effects to the shell, its state to the page.

import { initial, update } from './core/machine.js';
import { effectsOf } from './shell/effects.js';
import { viewOf } from './view/view.js';

let state = initial();
const view = viewOf(document.getElementById('app'), (event) => dispatch(event), (handle) => effects.copyOf(handle));
const effects = effectsOf(() => globalThis.ZOHO, (event) => dispatch(event));

function dispatch(event) {
  const next = update(state, { ...event, fresh: crypto.randomUUID(), now: Date.now() });
  state = next.state;
  // Keys are stored before anything is asked of anybody: `store` is the first effect.
  for (const effect of next.effects) effects.perform(effect);
  view.render(state);
}

view.render(state);
dispatch({ type: 'begin' });
