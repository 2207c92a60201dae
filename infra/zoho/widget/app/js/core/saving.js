// From the form to the confirmed document: sign, save, preview, confirm.

import * as schema from './schema.js';
import { doorFailure, failure } from './failures.js';
import { begin, done, isRequested } from './task.js';

const formOf = (state) => state.config.forms.find((form) => form.id === state.choice?.form);
/** What a save is the save of. One key is for one of these. */
export const textOf = (state) => JSON.stringify([state.choice, state.values]);

/** The form is filled in. Decides under which key and where it is saved. */
export function submitForm(state, event) {
  const form = formOf(state);
  if (!form || !state.values) return null;
  const errors = schema.mistakes(form.fields, state.values);
  if (Object.keys(errors).length > 0) {
    return [{ ...state, step: 'form', errors, failure: null, formRev: state.formRev + 1 }];
  }
  return save({ ...state, errors: {}, notice: null }, orderFor(state, event));
}

/** One key is one text: the same text again has the same key, another one never. */
function orderFor(state, { fresh, now }) {
  const last = state.save;
  const same = last?.key && last.of === textOf(state);
  if (same && last.state !== 'confirmed') return last;
  const order = { key: fresh, of: textOf(state), at: now, state: null };
  // The record there is gets the new text. Without an answer nobody knows of one: then it is a new record, and
  // should the lost save have made one too, it stays a draft that nothing ever sends.
  return last?.historyId
    ? { ...order, method: 'PUT', historyId: last.historyId }
    : { ...order, method: 'POST', historyId: null };
}

/** Asks the CRM function to sign this save. */
export function save(state, order) {
  const form = formOf(state);
  const drop = state.doc?.handle ? [{ kind: 'forget', handle: state.doc.handle }] : [];
  const next = {
    ...state, save: { ...order, of: textOf(state), previewToken: null, confirmTicket: null },
    phase: 'saving', doc: null, press: null,
  };
  const [begun, effects] = begin(next, 'sign_save', {
    kind: 'sign', what: 'save', args: {
      module: state.record.module,
      record_id: state.record.id,
      request_key: order.key,
      history_id: order.method === 'PUT' ? order.historyId : '',
      form: form.id,
      file_kind: state.choice.file?.kind ?? '',
      file_id: state.choice.file?.id ?? '',
      input: JSON.stringify(schema.collect(form.fields, state.values)),
    },
  });
  return [begun, [...drop, ...effects]];
}

/** The signed text is posted as it is. */
export function signedSave(state, { signed }) {
  if (signed.id !== state.save.key) return [{ ...state, failure: failure('function_failed', 'sign_save') }];
  const { method, historyId } = state.save;
  const path = method === 'PUT' ? `/v1/histories/${historyId}` : '/v1/histories';
  return begin(state, 'save', { kind: 'post', door: 'intake', method, path, signed });
}

export function saved(state, event) {
  const { answer, fresh, now } = event;
  const told = answer.json ?? {};
  const isSaved = (answer.status === 200 || answer.status === 201) && typeof told.history_id === 'string'
    && typeof told.preview_token === 'string' && typeof told.confirm_ticket === 'string';
  if (!isSaved) return notSaved(state, answer, fresh, now);
  const next = {
    ...state, phase: 'saved', save: {
      ...state.save, historyId: told.history_id, state: told.state,
      previewToken: told.preview_token, confirmTicket: told.confirm_ticket,
    },
  };
  if (isRequested(told.state)) return done(next, { id: told.history_id, state: told.state });
  // Confirmed before a reload, or before an answer was lost: which bytes, the record says.
  if (told.state === 'confirmed') return look(next, 'confirmed');
  return begin(next, 'preview', { kind: 'preview', historyId: told.history_id, token: told.preview_token });
}

function notSaved(state, answer, fresh, now) {
  const failed = doorFailure(answer, 'save');
  switch (failed.code) {
    case 'invalid':
      return [{
        ...state, step: 'form', failure: failed, formRev: state.formRev + 1,
        errors: Object.fromEntries(failed.errors.map((pointer) => [pointer, { code: 'refused' }])),
      }];
    case 'id_reused':
      // The text of the first try was another one: an actor renamed, a CRM that orders keys anew. The record it made
      // is found by the key, and gets the text under a key of its own.
      return state.save.method === 'PUT'
        ? save(state, { ...state.save, key: fresh, at: now, state: null })
        : look(state, 'id_reused');
    case 'not_sendable':
      return look(state, 'not_savable');
    default:
      return [{ ...state, failure: failed }];
  }
}

/** Reads the history record, by its id or by the key of its save, for this purpose. */
export function look(state, purpose) {
  const by = state.save.historyId ? { id: state.save.historyId } : { key: state.save.key };
  return begin(state, 'look', { kind: 'look', purpose, ...by });
}

export function previewed(state, event) {
  if (event.failure) return [{ ...state, failure: event.failure }];
  const { answer } = event;
  if (answer.status !== 200) {
    const failed = doorFailure(answer, 'preview');
    // Tokens that were made a moment ago cannot have expired.
    const isFresh = failed.code === 'expired' && state.save.renewed;
    return [{ ...state, failure: isFresh ? { ...failed, ...failure('unauthorized', 'save') } : failed }];
  }
  if (answer.sha256 !== answer.toldSha256) return [{ ...state, failure: failure('damaged', 'preview') }];
  if (!answer.receipt) return [{ ...state, failure: failure('no_receipt', 'preview') }];
  const doc = {
    handle: answer.handle, sha256: answer.sha256, bytes: answer.bytes, receipt: answer.receipt, pages: null,
  };
  return [{ ...state, step: 'preview', doc, save: { ...state.save, renewed: false } }];
}

/** The bytes that were drawn are stored, with ticket and receipt. */
export function confirm(state) {
  return begin({ ...state, phase: 'confirming' }, 'confirm', {
    kind: 'confirm', historyId: state.save.historyId, ticket: state.save.confirmTicket,
    receipt: state.doc.receipt, handle: state.doc.handle, sha256: state.doc.sha256,
  });
}

export function confirmed(state, event) {
  if (event.failure) return [{ ...state, failure: event.failure }];
  const { answer } = event;
  if (answer.status === 200 && answer.json?.document_sha256 === state.doc.sha256) return readyToSend(state, {}, event.fresh);
  if (answer.status === 200) return [{ ...state, failure: failure('document_changed', 'confirm') }];
  const failed = doorFailure(answer, 'confirm');
  // Perhaps it is our own confirm, whose answer was lost, that made the ticket stale.
  if (failed.code === 'stale' || failed.code === 'changed_elsewhere') return look(state, 'confirm_stale');
  return [{ ...state, failure: failed }];
}

/** The document is confirmed: the next press sends it. Its key is made now, so that every tab and reload has the same. */
export function readyToSend(state, doc, fresh) {
  const kept = { sha256: null, bytes: null, pages: null, ...state.doc, ...doc };
  const last = state.press;
  const press = last && !last.isSpent && last.sha256 === kept.sha256
    ? last : { key: fresh, againOf: null, sha256: kept.sha256, isSpent: false };
  return [{
    ...state, step: 'send', phase: 'confirmed', doc: kept, press, failure: null,
    save: { ...state.save, state: 'confirmed' },
  }];
}

/**
 * One click makes the preview good again. Expired tokens: the same save again gives new ones and writes nothing.
 * A record that was changed meanwhile gets the text anew, under a new key.
 */
export function renew(state, { fresh, now }) {
  const stale = ['stale', 'record_changed'].includes(state.failure.code) || state.save.state === 'confirmed';
  if (!state.values || !formOf(state)) return null;
  // Beside the form the text may have been changed since: another text, and another key.
  if (state.save.of !== textOf(state)) return submitForm(state, { fresh, now });
  const order = stale
    ? { ...state.save, key: fresh, at: now, method: 'PUT', state: null }
    : state.save;
  return save({ ...state, notice: null }, { ...order, renewed: true });
}

/** What a look at the history record says about a save or a confirm. */
export function lookedWhileSaving(state, { history, fresh, now }, purpose) {
  const next = history ? { ...state, save: { ...state.save, historyId: history.id } } : state;
  if (history && isRequested(history.state)) return done(next, history);
  switch (purpose) {
    case 'confirmed':
      return history?.sha256
        ? readyToSend(next, { sha256: history.sha256 }, fresh)
        : [{ ...next, failure: failure('gone', 'save') }];
    case 'confirm_stale':
      return history?.state === 'confirmed' && history.sha256 === state.doc?.sha256
        ? readyToSend(next, {}, fresh)
        : [{ ...next, failure: failure('stale', 'confirm') }];
    case 'id_reused':
      return history
        ? save(next, { ...next.save, key: fresh, at: now, method: 'PUT', historyId: history.id, state: null })
        : [{ ...next, save: null, failure: failure('id_reused', 'save') }];
    default:
      return [{ ...next, failure: failure('not_sendable', 'save') }];
  }
}
