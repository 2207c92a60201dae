// The press: one key for one wish to send. The door claims the record once, whatever is pressed again.

import { doorFailure, failure } from './failures.js';
import { begin, done, isRequested } from './task.js';

/** Asks the CRM function to sign the press. The same wish has the same key, over reloads and lost answers. */
export function press(state, { fresh, againOf = state.press?.againOf ?? null }) {
  const last = state.press;
  // A key is spent when it is known that nothing was sent under it, and it is no key for another text.
  const isSame = last && !last.isSpent && last.againOf === againOf && last.sha256 === state.doc.sha256;
  const key = isSame ? last.key : fresh;
  const next = { ...state, phase: 'pressing', press: { key, againOf, sha256: state.doc.sha256, isSpent: false } };
  return begin(next, 'sign_press', {
    kind: 'sign', what: 'press', args: {
      module: state.record.module,
      record_id: state.record.id,
      request_key: key,
      history_id: state.save.historyId,
      document_sha256: state.doc.sha256,
      again_of: againOf ?? '',
    },
  });
}

export function signedPress(state, { signed }) {
  if (signed.id !== state.press.key) return [{ ...state, failure: failure('function_failed', 'sign_press') }];
  return begin(state, 'press', { kind: 'post', door: 'side_effect', method: 'POST', path: '/v1/sends', signed });
}

export function pressed(state, { answer }) {
  const told = answer.json ?? {};
  if (answer.status === 200 && typeof told.state === 'string') return served(state, told);
  const failed = doorFailure(answer, 'press');
  switch (failed.code) {
    case 'not_sendable':
    case 'changed_elsewhere':
    case 'press_no_answer':
      return lookAfter(state, failed);
    case 'already_sent':
      // Refused before any claim: what is pressed next is another text.
      return [{ ...state, failure: failed, press: { ...state.press, isSpent: true } }];
    default:
      return [{ ...state, failure: failed }];
  }
}

function served(state, told) {
  if (told.outcome === 'not_sent' && !isRequested(told.state)) {
    const reason = typeof told.reason === 'string' ? told.reason.slice(0, 200) : null;
    const retryAfter = Number.isFinite(told.retry_after) ? told.retry_after : null;
    return [{
      ...state, phase: 'confirmed', press: { ...state.press, isSpent: true },
      failure: failure('not_sent', 'press', { reason, retryAfter }),
    }];
  }
  const outcome = typeof told.outcome === 'string' ? told.outcome : null;
  return done(state, { id: state.save.historyId, state: told.state, outcome });
}

/** The record knows better than a lost or a refusing answer. */
function lookAfter(state, failed) {
  return begin(state, 'look', { kind: 'look', purpose: 'press', id: state.save.historyId, failed });
}

/** `failed` is what the press came to; shown when the record does not tell more. */
export function lookedAfterPress(state, { history }, failed) {
  if (history && isRequested(history.state)) return done(state, history);
  if (!history) return [{ ...state, failure: failed }];
  if (history.state === 'saved' || (history.sha256 && history.sha256 !== state.doc.sha256)) {
    return [{ ...state, failure: failure('record_changed', 'press') }];
  }
  return [{ ...state, failure: failed }];
}
