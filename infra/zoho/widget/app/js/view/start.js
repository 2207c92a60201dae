// The first screen: what can be sent, and what was sent.

import { h, hidden, icon, ICONS } from './dom.js';
import { setBusy } from './view.js';

const KNOWN = ['saved', 'confirmed', 'sending', 'accepted', 'succeeded', 'failed', 'needs_review'];
const DRAFT = ['saved', 'confirmed'];

export function startScreen(main, state, context) {
  const { words: { words } } = context;
  const choices = h('div', { class: 'choices' }, files(state, context), templates(state, context));
  const sends = h('section', { class: 'sends', 'aria-labelledby': 'sends-heading' });
  main.replaceChildren(h('h2', { tabindex: '-1' }, words.start.heading), choices, sends);
  let shown;
  return {
    update(next) {
      if (shown !== next.sends) {
        shown = next.sends;
        sends.replaceChildren(...sendsOf(next, context));
      }
      setBusy(main, next.busy !== null);
    },
  };
}

function files(state, context) {
  const { words: { words } } = context;
  const forms = state.config.forms.filter((form) => form.kind === 'file');
  if (forms.length === 0) return null;
  const usable = state.files.filter((file) => file.isUsable);
  const others = state.files.filter((file) => !file.isUsable);
  return h('section', { 'aria-labelledby': 'files-heading' },
    h('h3', { id: 'files-heading' }, words.start.files),
    usable.length === 0 ? h('p', { class: 'empty' }, words.start.noFiles) : null,
    state.files.length > 0 ? h('ul', { class: 'cards' },
      usable.map((file) => fileCard(file, forms, context)), others.map((file) => offCard(file, state, context))) : null);
}

function fileCard(file, forms, { words: { words, label, size }, send }) {
  return h('li', { class: 'card' }, icon(...ICONS.file),
    h('div', { class: 'what' }, h('strong', {}, file.name),
      file.size === null ? null : h('span', { class: 'small' }, size(file.size))),
    h('div', { class: 'ways' }, forms.map((form) => h('button', {
      type: 'button', class: 'plain', 'data-form': form.id, 'data-file': file.key,
      onclick: () => send({ type: 'choose', choice: { form: form.id, file } }),
    }, forms.length === 1 ? words.start.choose : label(form.name, form.id), hidden(` ${file.name}`)))));
}

function offCard(file, state, { words: { words, say, size } }) {
  const why = file.why === 'not_pdf' ? words.start.notPdf
    : say(words.start.tooLarge, { limit: size(state.config.max_document_bytes) });
  return h('li', { class: 'card off' }, icon(...ICONS.file),
    h('div', { class: 'what' }, h('strong', {}, file.name), h('span', { class: 'small' }, why)));
}

function templates(state, { words: { words, label }, send }) {
  const forms = state.config.forms.filter((form) => form.kind === 'template');
  if (state.config.forms.length === 0) return h('p', { class: 'empty' }, words.start.noForms);
  if (forms.length === 0) return null;
  return h('section', { 'aria-labelledby': 'templates-heading' },
    h('h3', { id: 'templates-heading' }, words.start.templates),
    h('ul', { class: 'cards' }, forms.map((form) => h('li', { class: 'card' }, icon(...ICONS.template),
      h('div', { class: 'what' }, h('strong', {}, label(form.name, form.id)),
        form.about ? h('span', { class: 'small' }, label(form.about)) : null),
      h('div', { class: 'ways' }, h('button', {
        type: 'button', class: 'plain', 'data-form': form.id,
        onclick: () => send({ type: 'choose', choice: { form: form.id } }),
      }, words.start.choose, hidden(` ${label(form.name, form.id)}`)))))));
}

function sendsOf(state, context) {
  const { words: { words }, send } = context;
  const list = state.sends;
  return [
    h('div', { class: 'line' }, h('h3', { id: 'sends-heading' }, words.sends.heading),
      h('button', { type: 'button', class: 'link', onclick: () => send({ type: 'refresh' }) }, words.sends.refresh)),
    list === null ? h('p', { class: 'empty' }, words.sends.failed)
      : list.length === 0 ? h('p', { class: 'empty' }, words.sends.none)
        : h('ul', { class: 'cards' }, list.map((row) => sendCard(row, context))),
  ];
}

function sendCard(row, { words: { words, say, date }, send }) {
  const state = KNOWN.includes(row.state) ? row.state : 'other';
  const when = row.at ? say(words.sends.ofDate, { date: date(row.at) }) : row.id;
  return h('li', { class: 'card send', 'data-history': row.id },
    h('span', { class: `pill ${state}` }, words.states[state]),
    h('span', { class: 'what small' }, when),
    h('div', { class: 'ways' },
      DRAFT.includes(row.state) ? h('button', {
        type: 'button', class: 'plain', 'data-continue': row.id,
        onclick: () => send({ type: 'continueDraft', id: row.id }),
      }, words.sends.continue, hidden(` ${when}`)) : null,
      h('button', { type: 'button', class: 'link', onclick: () => send({ type: 'open', id: row.id }) },
        words.sends.open, hidden(` ${when}`))));
}
