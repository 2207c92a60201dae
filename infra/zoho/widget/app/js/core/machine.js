// The widget as a state and what may happen to it. Plain functions: no DOM, no clock, no randomness, no network.
//
// `update(state, event)` gives the next state and the effects the shell has to run. The shell adds `fresh` (a new
// random key) and `now` to every event. Whatever keys an effect uses are stored before the effect runs: the first
// effect is then `store`. While a task is under way (`busy`) nothing that a user does starts another one.

import * as schema from './schema.js';
import { intentOf } from './intent.js';
import { opened, looked, lookFailed, open, continueDraft } from './opening.js';
import { signedSave, saved, previewed, confirmed, confirm, submitForm, renew } from './saving.js';
import { press, signedPress, pressed } from './pressing.js';
import { failure } from './failures.js';
import { begin } from './task.js';

/** The state before anything is known. */
export function initial() {
  return {
    step: 'opening', busy: null, n: 0, failure: null, notice: null, now: 0, formRev: 0,
    config: null, record: null, user: null, files: [], sends: null,
    choice: null, values: null, errors: {}, phase: null,
    save: null, doc: null, press: null, history: null,
  };
}

/** The form of the choice: from the configuration. */
export function formOf(state) {
  return state.config?.forms.find((form) => form.id === state.choice?.form) ?? null;
}

export function update(state, event) {
  const now = Number.isFinite(event.now) ? event.now : state.now;
  const before = { ...state, now };
  const [after, effects = []] = handle(before, event) ?? [before];
  const was = JSON.stringify(intentOf(state));
  const is = intentOf(after);
  // On opening always: what was found there and is of no use goes.
  const isNew = after.record !== null && (state.record === null || was !== JSON.stringify(is));
  const store = isNew ? [{ kind: 'store', ...is }] : [];
  return { state: after, effects: [...store, ...effects] };
}

function handle(state, event) {
  if (event.type === 'result') return result(state, event);
  if (event.type === 'edit') return edit(state, event);
  // One thing at a time: what a second click asks for was asked for by the first.
  if (state.busy) return null;
  return USER[event.type]?.(state, event) ?? null;
}

/** What a user may ask for, and where. Anything else is ignored. */
const USER = {
  begin: (s) => (s.step === 'opening' ? open(s) : null),
  choose: (s, e) => (s.step === 'start' ? choose(s, e.choice) : null),
  addRow: (s, e) => (s.step === 'form' ? rows(s, schema.withRow(s.values, formOf(s).fields, e.pointer)) : null),
  removeRow: (s, e) =>
    (s.step === 'form' ? rows(s, schema.withoutRow(s.values, formOf(s).fields, e.pointer, e.index)) : null),
  submitForm: (s, e) => (s.step === 'form' ? submitForm(s, e) : null),
  drawn: (s, e) => (s.doc?.handle === e.handle ? [{ ...s, doc: { ...s.doc, pages: e.pages } }] : null),
  undrawable: (s, e) =>
    (s.doc?.handle === e.handle
      ? [{ ...s, doc: { ...s.doc, pages: 0 }, failure: failure('cannot_draw', 'preview') }] : null),
  confirm: (s) => (s.step === 'preview' && s.doc?.pages > 0 ? confirm(s) : null),
  press: (s, e) => (s.step === 'send' ? press(s, e) : null),
  back: (s) => back(s),
  restart: (s) => restart(s),
  continueDraft: (s, e) => (s.step === 'start' ? continueDraft(s, e.id) : null),
  renew: (s, e) => (s.failure?.actions.includes('renew') ? renew(s, e) : null),
  retry: (s, e) => (s.failure?.actions.includes('retry') ? retry(s, e) : null),
  again: (s, e) =>
    (s.failure?.code === 'already_sent' && s.failure.twin
      ? press(s, { ...e, againOf: s.failure.twin }) : null),
  openTwin: (s) => (s.failure?.twin ? [s, [{ kind: 'openHistory', id: s.failure.twin }]] : null),
  open: (s, e) => {
    const id = e.id ?? s.history?.id ?? s.save?.historyId;
    return id ? [s, [{ kind: 'openHistory', id }]] : null;
  },
  refresh: (s) => (s.step === 'start' ? begin(s, 'sends', { kind: 'sends' }) : null),
};

function result(state, event) {
  // An answer to a task that is no longer waited for changes nothing.
  if (state.busy?.n !== event.n || state.busy.task !== event.task) return null;
  const free = { ...state, busy: null };
  return RESULT[event.task](free, event, state.busy);
}

const RESULT = {
  open: (s, e) => opened(s, e),
  look: (s, e, busy) => (e.failure ? lookFailed(s, e, busy) : looked(s, e, busy)),
  sends: (s, e) => [{ ...s, sends: e.sends ?? s.sends, failure: e.failure ?? null }],
  sign_save: (s, e) => (e.failure ? functionFailed(s, e) : signedSave(s, e)),
  save: (s, e) => saved(s, e),
  preview: (s, e) => previewed(s, e),
  confirm: (s, e) => confirmed(s, e),
  sign_press: (s, e) => (e.failure ? [{ ...s, failure: e.failure }] : signedPress(s, e)),
  press: (s, e) => pressed(s, e),
};

function functionFailed(state, event) {
  const isField = event.failure.code === 'bad_field';
  const errors = isField ? Object.fromEntries(event.failure.errors.map((p) => [p, { code: 'refused' }])) : {};
  return [{ ...state, failure: event.failure, errors, step: isField ? 'form' : state.step }];
}

function choose(state, choice) {
  const form = state.config.forms.find((f) => f.id === choice.form);
  const isFile = form?.kind === 'file';
  if (!form || isFile !== Boolean(choice.file)) return null;
  if (isFile && !state.files.some((f) => f.key === choice.file.key && f.isUsable)) return null;
  const values = schema.startValues(form.fields, form.prefill, state.record.values);
  return [{
    ...state, step: 'form', phase: 'form', choice, values, errors: {}, formRev: state.formRev + 1,
    save: null, doc: null, press: null, history: null, failure: null, notice: null,
  }];
}

function edit(state, event) {
  if (state.step !== 'form' || state.busy) return null;
  const errors = { ...state.errors };
  delete errors[event.pointer];
  return [{ ...state, values: schema.withValue(state.values, event.pointer, event.value), errors }];
}

function rows(state, values) {
  return values === state.values ? null : [{ ...state, values, errors: {}, formRev: state.formRev + 1 }];
}

/** Back to the form, or from there to the choice. The record that was saved is saved again, not made anew. */
function back(state) {
  if (state.step === 'form') {
    return [{ ...state, step: 'start', phase: null, save: null, doc: null, press: null, failure: null }];
  }
  if (state.step !== 'preview' && state.step !== 'send') {
    return state.failure ? [{ ...state, failure: null }] : null;
  }
  if (!state.values || !formOf(state)) return restart(state);
  const drop = state.doc?.handle ? [{ kind: 'forget', handle: state.doc.handle }] : [];
  return [{ ...state, step: 'form', doc: null, failure: null, formRev: state.formRev + 1 }, drop];
}

/** Another document. The draft stays in the CRM as what it is: saved or confirmed, and never sent by itself. */
function restart(state) {
  if (state.record === null || state.step === 'opening') return null;
  const drop = state.doc?.handle ? [{ kind: 'forget', handle: state.doc.handle }] : [];
  const empty = { choice: null, values: null, errors: {}, phase: null };
  const next = { ...state, ...empty, save: null, doc: null, press: null, history: null, notice: null, step: 'start' };
  const [begun, effects] = begin(next, 'sends', { kind: 'sends' });
  return [begun, [...drop, ...effects]];
}

/** The same again, under the same key: every one of these may be repeated. */
function retry(state, event) {
  switch (state.failure.task) {
    case 'open': return open(state);
    case 'sends': return begin(state, 'sends', { kind: 'sends' });
    case 'look': return begin(state, 'look', state.failure.look);
    case 'sign_save':
    case 'save': return submitForm(state, event);
    case 'preview': return begin(state, 'preview', previewEffect(state));
    case 'confirm': return confirm(state);
    case 'sign_press':
    case 'press': return press(state, event);
    default: return null;
  }
}

function previewEffect(state) {
  return { kind: 'preview', historyId: state.save.historyId, token: state.save.previewToken };
}
