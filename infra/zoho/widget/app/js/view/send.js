// The last two screens: the press, and what became of it.

import { h, icon, ICONS } from './dom.js';
import { buttons, setBusy } from './view.js';
import { formOf } from '../core/machine.js';

export function sendScreen(main, state, context) {
  const { words: { words }, send } = context;
  main.replaceChildren(
    h('h2', { tabindex: '-1' }, words.send.heading),
    h('p', { class: 'about' }, words.send.about),
    summary(state, context),
    h('p', { class: 'once' }, words.send.once),
    buttons(
      { text: words.send.submit, isMain: true, id: 'press', event: () => send({ type: 'press' }) },
      { text: words.send.back, event: () => send({ type: 'back' }) }));
  return {
    update(next) {
      setBusy(main, next.busy !== null);
      // With a failure on the page its buttons are the way on.
      main.querySelector('#press').disabled = next.busy !== null || Boolean(next.failure);
    },
  };
}

function summary(state, { words: { words, label } }) {
  const form = formOf(state);
  const rows = [];
  if (form) {
    const name = label(form.name, form.id);
    rows.push([words.send.document, state.choice.file ? `${state.choice.file.name} · ${name}` : name]);
  }
  const to = Object.values(state.values?.to ?? {}).filter((v) => typeof v === 'string' && v.trim() !== '');
  if (to.length > 0) rows.push([words.send.recipient, to.join('\n')]);
  if (state.doc?.sha256) rows.push([words.send.hash, h('code', {}, state.doc.sha256)]);
  return h('dl', { class: 'summary' }, rows.map(([term, text]) => h('div', {}, h('dt', {}, term), h('dd', {}, text))));
}

const LOOKS = { succeeded: 'check', failed: 'warning', needs_review: 'warning' };

export function doneScreen(main, state, context) {
  const { words: { words }, send } = context;
  return {
    update(next) {
      const { state: delivery } = next.history;
      const look = Object.hasOwn(LOOKS, delivery) ? LOOKS[delivery] : 'clock';
      const known = Object.hasOwn(words.done.texts, delivery) ? delivery : 'accepted';
      main.replaceChildren(h('div', { class: `done ${known}` },
        h('div', { class: 'badge' }, icon(...ICONS[look])),
        h('h2', { tabindex: '-1' }, words.done.headings[known]),
        h('p', {}, words.done.texts[known]),
        buttons(
          { text: words.done.open, isMain: true, id: 'open-history', event: () => send({ type: 'open' }) },
          { text: words.done.another, event: () => send({ type: 'restart' }) })));
      setBusy(main, next.busy !== null);
    },
  };
}
