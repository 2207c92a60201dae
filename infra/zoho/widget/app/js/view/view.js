// The page: a thin picture of the state. A screen is mounted when the step changes, and told of every new state.

import { h, hidden, icon, ICONS } from './dom.js';
import { languageOf, wordsOf } from '../words/words.js';
import { failurePanel } from './failure.js';
import { startScreen } from './start.js';
import { formScreen } from './form.js';
import { previewScreen } from './preview.js';
import { sendScreen, doneScreen } from './send.js';

const SCREENS = { start: startScreen, form: formScreen, preview: previewScreen, send: sendScreen, done: doneScreen };
const SHOWN_STEPS = ['start', 'form', 'preview', 'send'];

/** Gives `render(state)`. `send` passes what the user does to the core; `copyOf` gives a document's bytes to draw. */
export function viewOf(root, send, copyOf) {
  const parts = {
    header: h('header', { class: 'head' }),
    notice: h('div', { class: 'notices' }),
    failure: h('div', { class: 'failures' }),
    main: h('main', { class: 'screen', tabindex: '-1' }),
    status: h('p', { class: 'status', role: 'status' }),
  };
  root.replaceChildren(parts.header, parts.failure, parts.notice, parts.main, parts.status);
  let language = null;
  let words = null;
  let screen = null;
  let last = {};

  function render(state) {
    const wanted = languageOf(state.user?.language, navigator.language);
    if (wanted !== language) {
      language = wanted;
      words = wordsOf(language);
      document.documentElement.lang = language;
      document.title = words.words.title;
      screen = null;
      last = {};
    }
    const context = { words, send, copyOf };
    if (state.step !== last.step || state.record !== last.record) head(parts.header, state, context);
    if (state.notice !== last.notice) notice(parts.notice, state, context);
    show(state, context);
    const showsFailure = state.failure !== last.failure || state.busy !== last.busy;
    if (showsFailure) {
      const hadFocus = parts.failure.contains(document.activeElement);
      parts.failure.replaceChildren(...(state.failure ? [failurePanel(state, context)] : []));
      if (state.failure && state.failure !== last.failure) parts.failure.firstChild.focus();
      else if (hadFocus) parts.main.focus({ preventScroll: true });
    }
    status(parts.status, state, words);
    last = state;
  }

  function show(state, context) {
    const isNew = screen?.step !== state.step;
    if (isNew) {
      screen?.leave?.();
      const make = SCREENS[state.step];
      screen = make
        ? { step: state.step, ...make(parts.main, state, context) }
        : { step: state.step, update: () => {} };
      if (!make) parts.main.replaceChildren(h('p', { class: 'loading' }, words.words.loading));
    }
    screen.update?.(state);
    parts.main.setAttribute('aria-busy', String(state.busy !== null));
    // A new screen is read from its heading. Not the first one: the CRM's own focus is left alone.
    if (isNew && last.step && last.step !== 'opening') {
      globalThis.scrollTo(0, 0);
      parts.main.querySelector('h2')?.focus({ preventScroll: true });
    }
  }

  return { render };
}

function head(header, state, { words: { words, say } }) {
  const current = SHOWN_STEPS.indexOf(state.step === 'done' ? 'send' : state.step);
  const items = SHOWN_STEPS.map((step, i) => h('li', {
    class: i < current || state.step === 'done' ? 'past' : i === current ? 'now' : 'later',
    'aria-current': i === current && state.step !== 'done' ? 'step' : null,
  }, h('span', { class: 'dot', 'aria-hidden': 'true' },
    i < current || state.step === 'done' ? icon(...ICONS.check) : String(i + 1)),
  h('span', { class: 'name' }, words.steps[step])));
  header.replaceChildren(
    h('div', { class: 'titles' },
      h('h1', {}, words.title),
      state.record ? h('p', { class: 'record' }, say(words.record, { name: state.record.name })) : null),
    current >= 0 ? h('ol', { class: 'steps' }, items) : null,
  );
}

function notice(box, state, { words: { words } }) {
  box.replaceChildren(...(state.notice
    ? [h('p', { class: 'notice', role: 'status' }, icon(...ICONS.info), h('span', {}, words.notices[state.notice]))]
    : []));
}

function status(line, state, { words }) {
  const text = state.busy ? words.busy[state.busy.task] : '';
  if (line.dataset.text === text) return;
  line.dataset.text = text;
  line.replaceChildren(...(text ? [h('span', { class: 'spinner', 'aria-hidden': 'true' }), text] : []));
  line.classList.toggle('on', text !== '');
}

/** The buttons of a screen; `isMain` is the one that goes on. One without an `event` submits its form. */
export function buttons(...list) {
  return h('div', { class: 'buttons' }, list.filter(Boolean).map(({ text, event, isMain, id, about }) =>
    h('button', { type: event ? 'button' : 'submit', id, class: isMain ? 'main' : 'plain', onclick: event },
      text, about ? hidden(` ${about}`) : null)));
}

/** Disables what starts work while work is under way. */
export function setBusy(box, isBusy) {
  for (const element of box.querySelectorAll('button:not([data-always]), input, select, textarea')) {
    element.disabled = isBusy || element.dataset.off === 'true';
  }
}
