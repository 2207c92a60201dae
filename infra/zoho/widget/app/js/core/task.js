// A task under way: one at a time, numbered, so that a late answer is told from the one that is waited for.

/** Starts a task: its effect carries task and number, and its result brings them back. */
export function begin(state, task, effect) {
  const n = state.n + 1;
  return [{ ...state, n, busy: { task, n, effect }, failure: null }, [{ ...effect, task, n }]];
}

/** States in which a send is out of the user's hands. */
const REQUESTED = ['sending', 'accepted', 'succeeded', 'failed', 'needs_review'];

export function isRequested(deliveryState) {
  return REQUESTED.includes(deliveryState);
}

/** The last page: what the history record says now. Nothing here says more than the record does. */
export function done(state, history) {
  const drop = state.doc?.handle ? [{ kind: 'forget', handle: state.doc.handle }] : [];
  return [{
    ...state, step: 'done', phase: 'requested', history, failure: null, notice: null,
    doc: state.doc ? { ...state.doc, handle: null } : null,
  }, drop];
}
