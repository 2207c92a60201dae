// What is kept over a reload, so that pressing again, reloading or losing the network never makes a second send.
//
// Two copies: `shared` (localStorage) has keys and ids alone, so that another tab or a later day finds the same
// keys; `tab` (sessionStorage) has the form's text too, which nobody wants to type twice and which must not
// stay on the machine. Plain functions: the storage itself is the shell's.

const VERSION = 1;
const PHASES = ['form', 'saving', 'saved', 'confirming', 'confirmed', 'pressing', 'requested'];
const KEY = /^[A-Za-z0-9_-]{8,64}$/;
const ID = /^[A-Za-z0-9_-]{1,64}$/;
const SHA256 = /^[0-9a-f]{64}$/;
/** After this long nobody means the same send any more. The history record stays in the CRM. */
export const KEEP_MS = 7 * 24 * 60 * 60 * 1000;

/** The name under which the intent of a record is stored. Of one user: another user is another actor. */
export function storageName(stage, userId, module, recordId) {
  return ['sendtrail', VERSION, stage, userId, module, recordId].join(':');
}

/** Both copies for this state; null where there is nothing to keep. */
export function intentOf(state) {
  if (!state.phase) return { shared: null, tab: null };
  const keys = {
    v: VERSION,
    phase: state.phase,
    save_key: state.save?.key ?? null,
    method: state.save?.method ?? null,
    history_id: state.save?.historyId ?? null,
    document_sha256: state.doc?.sha256 ?? null,
    press_key: state.press?.key ?? null,
    again_of: state.press?.againOf ?? null,
    at: state.save?.at ?? state.now,
  };
  const tab = { ...keys, choice: state.choice, values: state.values, saved_text: state.save?.of ?? null };
  // A form that was only typed into is this tab's alone; what is done is found in the CRM.
  const isShared = state.phase !== 'form' && state.phase !== 'requested';
  return { shared: isShared ? keys : null, tab };
}

/** Reads a stored text; null for anything but what `intentOf` gave. Users and programs can edit storage. */
export function readIntent(text, now) {
  let raw;
  try {
    raw = JSON.parse(text ?? 'null');
  } catch {
    return null;
  }
  if (raw === null || typeof raw !== 'object' || raw.v !== VERSION || !PHASES.includes(raw.phase)) return null;
  if (!Number.isFinite(raw.at) || raw.at > now + KEEP_MS || now - raw.at > KEEP_MS) return null;
  const fits = (value, pattern) => (typeof value === 'string' && pattern.test(value) ? value : null);
  return {
    phase: raw.phase,
    saveKey: fits(raw.save_key, KEY),
    method: raw.method === 'PUT' ? 'PUT' : 'POST',
    historyId: fits(raw.history_id, ID),
    sha256: fits(raw.document_sha256, SHA256),
    pressKey: fits(raw.press_key, KEY),
    againOf: fits(raw.again_of, ID),
    at: raw.at,
    choice: raw.choice ?? null,
    values: raw.values ?? null,
    savedText: typeof raw.saved_text === 'string' ? raw.saved_text : null,
  };
}
