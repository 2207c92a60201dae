// Runs the effects the core asks for, and brings their results back as events.

import { failure } from '../core/failures.js';
import { storageName } from '../core/intent.js';
import { crmOf } from './crm.js';
import { doorsOf, sha256 } from './doors.js';
import { loadConfig } from './config.js';
import { readStored, writeStored } from './store.js';

export function effectsOf(sdkOf, dispatch) {
  /** Documents by handle: the core and the page see the handle alone. */
  const documents = new Map();
  let handles = 0;
  let config = null;
  let crm = null;
  let doors = null;
  let name = null;
  let place = null;

  const run = {
    async open() {
      config ??= await loadConfig();
      if (!config) return { failure: failure('no_config', 'open') };
      const sdk = sdkOf();
      if (!sdk) return { config, failure: failure('no_crm', 'open') };
      crm ??= crmOf(sdk, config);
      doors ??= doorsOf(config);
      const opened = await crm.open();
      if (opened.failure) return { config, ...opened };
      place = opened.record;
      name = storageName(config.stage, opened.user.id, opened.record.module, opened.record.id);
      return { config, ...opened, stored: readStored(name) };
    },
    async sends() {
      return { sends: await crm.sendsOf(place) };
    },
    async look({ id, key }) {
      return { history: await crm.look({ id, key }) };
    },
    sign: ({ what, args, task }) => crm.sign(what, args, task),
    async post(effect) {
      return { answer: await doors.post(effect) };
    },
    async preview(effect) {
      const { answer, bytes } = await doors.preview(effect);
      if (!bytes) return { answer };
      handles += 1;
      const handle = `document-${handles}`;
      documents.clear();
      documents.set(handle, bytes);
      return { answer: { ...answer, handle } };
    },
    async confirm(effect) {
      const bytes = documents.get(effect.handle);
      // What was drawn, and nothing else: the door checks it against the receipt once more.
      if (!bytes || await sha256(bytes) !== effect.sha256) return { failure: failure('bytes_changed', 'confirm') };
      return { answer: await doors.confirm(effect, bytes) };
    },
  };

  async function task(effect) {
    let result;
    try {
      result = await run[effect.kind](effect);
    } catch {
      result = { failure: failure('crm_no_answer', effect.task) };
    }
    dispatch({ type: 'result', task: effect.task, n: effect.n, ...result });
  }

  function perform(effect) {
    switch (effect.kind) {
      case 'store':
        writeStored(name, { shared: effect.shared, tab: effect.tab });
        break;
      case 'forget':
        documents.delete(effect.handle);
        break;
      case 'openHistory':
        Promise.resolve(crm?.openHistory(effect.id)).catch(() => {});
        break;
      default:
        task(effect);
    }
  }

  /** A copy for drawing: pdf.js hands it to its worker, and what is confirmed stays here. */
  const copyOf = (handle) => documents.get(handle)?.slice() ?? null;

  return { perform, copyOf };
}
