// Opening the widget: what is on the record, and what was under way when it was closed.

import * as schema from './schema.js';
import { readIntent } from './intent.js';
import { failure } from './failures.js';
import { begin, done, isRequested } from './task.js';
import { save, readyToSend, lookedWhileSaving, textOf } from './saving.js';
import { lookedAfterPress } from './pressing.js';

export function open(state) {
  return begin(state, 'open', { kind: 'open' });
}

export function opened(state, event) {
  // Config and language are told with a failure too, where they are known.
  const known = { ...state, config: event.config ?? state.config, user: event.user ?? state.user };
  if (event.failure) return [{ ...known, failure: event.failure }];
  const { record, files, sends, stored, now } = event;
  const next = { ...known, record, files, sends, step: 'start', failure: null };
  const tab = readIntent(stored.tab, now);
  const shared = readIntent(stored.shared, now);
  const intent = tab ?? shared;
  // Nothing kept, perhaps because the browser keeps nothing for a frame: a young draft in the list is worth a word.
  if (!intent) return [{ ...next, notice: hasYoungDraft(sends, now) ? 'unfinished' : null }];
  const kept = withIntent(next, intent);
  if (tab && kept.values) return resumeTab(kept, tab);
  return resumeShared(kept, intent);
}

const DAY_MS = 24 * 60 * 60 * 1000;

function hasYoungDraft(sends, now) {
  return (sends ?? []).some(({ state, at }) => ['saved', 'confirmed'].includes(state) && now - Date.parse(at) < DAY_MS);
}

/** The state as it was: keys, and the form where this tab has it and the configuration still knows it. */
function withIntent(state, intent) {
  const save = {
    key: intent.saveKey, method: intent.method, historyId: intent.historyId, at: intent.at, state: null,
    previewToken: null, confirmTicket: null,
  };
  const press = intent.pressKey
    ? { key: intent.pressKey, againOf: intent.againOf, sha256: intent.sha256, isSpent: false } : null;
  const doc = intent.sha256 ? { sha256: intent.sha256, handle: null, pages: null } : null;
  return { ...state, save: { ...save, of: intent.savedText }, press, doc, phase: intent.phase, ...formOfIntent(state, intent) };
}

function formOfIntent(state, { choice, values }) {
  const none = { choice: null, values: null };
  const form = state.config.forms.find((f) => f.id === choice?.form);
  if (!form || values === null || typeof values !== 'object') return none;
  const file = form.kind === 'file'
    ? state.files.find((f) => f.key === choice.file?.key && f.isUsable) : undefined;
  if (form.kind === 'file' && !file) return none;
  // Read like saved input: storage can be edited, and a new version may have another schema.
  const read = schema.valuesOf(form.fields, values);
  return { choice: file ? { form: form.id, file } : { form: form.id }, values: read };
}

/** A reload in the tab that has the form. */
function resumeTab(state, { phase }) {
  const onForm = { ...state, step: 'form', formRev: state.formRev + 1, notice: 'resumed' };
  switch (phase) {
    case 'form':
      return [{ ...onForm, save: state.save.key || state.save.historyId ? state.save : null }];
    case 'saving':
    case 'saved':
    case 'confirming':
      // The same save again: new tokens for what is there, and nothing is made twice. A form that was changed since
      // is another text, which waits for its user.
      return state.save.key && state.save.of === textOf(state) ? save(onForm, state.save) : [onForm];
    default:
      return state.save.historyId ? lookBy(state, 'resume', onForm) : [onForm];
  }
}

/** Another tab, or another day: the keys alone. */
function resumeShared(state) {
  const atStart = { ...state, step: 'start' };
  if (!state.save.historyId && !state.save.key) return [forgotten(atStart, null)];
  return lookBy(state, 'resume', atStart);
}

function lookBy(state, purpose, from) {
  const by = state.save.historyId ? { id: state.save.historyId } : { key: state.save.key };
  return begin(from, 'look', { kind: 'look', purpose, ...by });
}

function forgotten(state, notice) {
  return {
    ...state, step: 'start', phase: null, save: null, doc: null, press: null, choice: null, values: null, notice,
  };
}

/** A history record was read, for the purpose that the task names. */
export function looked(state, event, { effect }) {
  switch (effect.purpose) {
    case 'resume': return resumed(state, event);
    case 'continue': return continued(state, event);
    case 'press': return lookedAfterPress(state, event, effect.failed);
    default: return lookedWhileSaving(state, event, effect.purpose);
  }
}

export function lookFailed(state, event, { effect }) {
  // What the press came to matters more than that the CRM could not be asked.
  if (effect.purpose === 'press') return [{ ...state, failure: effect.failed }];
  return [{ ...state, failure: { ...event.failure, task: 'look', look: effect } }];
}

function resumed(state, { history, fresh }) {
  if (!history) return [forgotten(state, state.save.historyId ? 'draft_gone' : null)];
  const next = { ...state, save: { ...state.save, historyId: history.id } };
  // The tab that asked for it shows how it stands; another one shows it in the list.
  if (isRequested(history.state)) return next.values ? done(next, history) : [forgotten(next, null)];
  const isOurs = history.state === 'confirmed' && history.sha256 && history.sha256 === state.doc?.sha256;
  if (isOurs && ['confirmed', 'pressing'].includes(state.phase)) {
    // Another tab has no form: the record's own input tells the recipient.
    const known = next.values ? next : { ...next, ...draftOf(next, history) };
    const [ready] = readyToSend(known, {}, fresh);
    return [{ ...ready, notice: state.phase === 'pressing' ? 'press_again' : 'resumed' }];
  }
  if (next.values && next.phase !== 'requested') return [{ ...next, phase: 'form', doc: null, press: null }];
  return [forgotten(next, 'unfinished')];
}

/** Goes on with a draft of the list: its form, and then a preview. Nobody sends what he has not seen. */
export function continueDraft(state, id) {
  return begin(state, 'look', { kind: 'look', purpose: 'continue', id });
}

function continued(state, { history }) {
  if (!history) return [{ ...state, failure: failure('gone', 'look') }];
  if (isRequested(history.state)) return done({ ...state, save: { historyId: history.id } }, history);
  const draft = draftOf(state, history);
  if (!draft) return [{ ...state, notice: 'draft_unreadable' }];
  return [{
    ...state, ...draft, step: 'form', phase: 'form', errors: {}, formRev: state.formRev + 1, notice: null,
    save: { key: null, method: 'PUT', historyId: history.id, state: history.state, at: state.now },
    doc: null, press: null,
  }];
}

function draftOf(state, { input }) {
  const source = input?.source;
  if (source === null || typeof source !== 'object') return null;
  const fileKey = source.attachment_id ? `attachment:${source.attachment_id}` : `field:${source.field}`;
  const isTemplate = source.kind === 'template';
  const form = state.config.forms.find((f) =>
    (isTemplate ? f.id === source.template : f.kind === 'file' && f.driver === input.driver));
  if (!form) return null;
  const file = isTemplate ? undefined : state.files.find((f) => f.key === fileKey && f.isUsable);
  if (!isTemplate && !file) return null;
  const values = schema.valuesOf(form.fields, { to: input.to, fields: input.fields });
  return { choice: file ? { form: form.id, file } : { form: form.id }, values };
}
