// What went wrong, as one of a closed set of codes with the ways on from there. Words are in words/.

/** Ways on: the buttons under a failure. */
export const ACTIONS = {
  retry: 'retry', renew: 'renew', back: 'back', restart: 'restart', openTwin: 'openTwin', again: 'again', open: 'open',
};
const { retry, renew, back, restart, openTwin, again, open } = ACTIONS;

/** Every failure the widget can show, with its buttons; the first is the one to press. */
export const FAILURES = {
  // The widget itself and the CRM around it.
  no_crm: [retry], no_config: [], crm_no_answer: [retry], no_record: [],
  function_missing: [retry], function_failed: [retry], function_setup: [], connection: [retry],
  not_allowed: [restart], wrong_record: [restart], bad_field: [back],
  // The doors.
  no_answer: [retry], press_no_answer: [retry, open], unauthorized: [retry], busy: [retry], unavailable: [retry],
  broken: [retry], invalid: [back], too_large: [restart], unusable: [restart], source: [restart, retry],
  gone: [restart], id_reused: [restart], not_sendable: [restart, open], changed_elsewhere: [retry],
  // Preview and confirm.
  expired: [renew], stale: [renew], record_changed: [renew], document_changed: [renew],
  damaged: [renew], bytes_changed: [renew], cannot_draw: [renew, restart], no_receipt: [renew],
  // The press.
  already_sent: [openTwin, again, restart], not_sent: [retry, restart], driver_missing: [restart],
};

export function failure(code, task, more = {}) {
  return { code, task, actions: FAILURES[code], ...more };
}

const BY_CODE = {
  unauthorized: 'unauthorized', malformed_request: 'broken', not_found: 'gone', method_not_allowed: 'broken',
  invalid_request: 'invalid', too_large: 'too_large', unsupported_media_type: 'broken', not_sendable: 'not_sendable',
  changed_elsewhere: 'changed_elsewhere', record_changed: 'record_changed', already_sent: 'already_sent',
  id_reused: 'id_reused', stale_ticket: 'stale', document_changed: 'document_changed', document_unusable: 'unusable',
  source_unavailable: 'source', rate_limited: 'busy', crm_unavailable: 'unavailable', no_time: 'unavailable',
  draining: 'unavailable', internal: 'broken',
};
const BY_STATUS = { 401: 'unauthorized', 403: 'unauthorized', 404: 'gone', 413: 'too_large', 429: 'busy', 503: 'unavailable' };
/** Whose `detail` says more than our words do: the door's own text, in English. */
const DETAILED = ['unusable', 'source', 'too_large', 'not_sendable', 'driver_missing', 'record_changed'];
/** Answers after which nothing was sent for certain, though they are 5xx: the door says so. */
const NOTHING_WAS_SENT = ['rate_limited', 'crm_unavailable', 'no_time', 'draining'];

/** What a door's answer that is no success means for this task. `answer.lost` is no answer at all. */
export function doorFailure(answer, task) {
  if (answer.lost) return failure(task === 'press' ? 'press_no_answer' : 'no_answer', task);
  const problem = answer.json ?? {};
  const more = {
    requestId: typeof problem.request_id === 'string' ? problem.request_id.slice(0, 100) : null,
    retryAfter: answer.retryAfter,
    status: answer.status,
  };
  let code = BY_CODE[problem.code] ?? BY_STATUS[answer.status] ?? 'broken';
  if (task === 'press') {
    const known = NOTHING_WAS_SENT.includes(problem.code);
    // A gateway's own 5xx comes after who knows what. 429 is the gateway's too, but it ran nothing.
    if (answer.status >= 500 && !known) code = 'press_no_answer';
    if (code === 'invalid') code = 'driver_missing';
    if (code === 'already_sent' && typeof problem.twin === 'string') more.twin = problem.twin;
  }
  if (code === 'unauthorized' && (task === 'preview' || task === 'confirm')) code = 'expired';
  if (code === 'invalid') {
    more.errors = problemErrors(problem);
    // What no form has a field for is wrong with the settings, not with what was typed.
    if (!more.errors.some((pointer) => /^\/(to|fields)\//.test(pointer))) code = 'driver_missing';
  }
  if (DETAILED.includes(code)) more.reason = reasonOf(problem);
  return failure(code, task, more);
}

function reasonOf({ detail, errors }) {
  const first = Array.isArray(errors) ? errors[0] : null;
  const text = typeof detail === 'string' ? detail : first && `${first.pointer ?? ''} ${first.detail ?? ''}`.trim();
  return text ? text.slice(0, 200) : null;
}

function problemErrors(problem) {
  const errors = Array.isArray(problem.errors) ? problem.errors : [];
  return errors.filter((e) => typeof e?.pointer === 'string').slice(0, 50).map((e) => e.pointer);
}

/** What the CRM function answered instead of a signed text. */
export function functionFailure(answer, task) {
  if (answer.missing) return failure('function_missing', task);
  if (answer.lost) return failure('crm_no_answer', task);
  const known = ['not_allowed', 'wrong_record', 'bad_field', 'connection', 'function_setup'];
  const code = known.includes(answer.code) ? answer.code : 'function_failed';
  return failure(code, task, code === 'bad_field' ? { errors: [String(answer.field ?? '')] } : {});
}
