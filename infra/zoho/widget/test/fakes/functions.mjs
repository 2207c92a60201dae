// The CRM functions: their own sources, filled in as pack.mjs does, on the fake CRM with the caller's rights.

import { fileURLToPath } from 'node:url';
import { FUNCTIONS, functionSource } from '../../pack/functions.mjs';
import { run } from './deluge.mjs';

const FOLDER = fileURLToPath(new URL('../../../functions', import.meta.url));
const KEY_OF = { sendtrail_save: 'intake', sendtrail_press: 'side_effect', sendtrail_review: 'intake' };

/** `crm.keys` has the keys as they are at the moment, so that a test can take a wrong one. */
export function functionsOf({ crm, settings, forms, now }) {
  const sources = Object.fromEntries(FUNCTIONS.map((name) => [name, functionSource(FOLDER, name, { settings, forms })]));

  function answerTo(name, args) {
    const key = crm.keys[KEY_OF[name]];
    let source = sources[name];
    if (key) source = source.replace('"PASTE-THE-KEY-HERE"', JSON.stringify(key));
    if (crm.operators) source = source.replace('profiles = List();', `profiles = ${JSON.stringify(crm.operators).replace('[', '{').replace(']', '}')};`);
    return JSON.parse(run(source, args, { now, invoke: (url, connection) => crm.invoke(url, connection), onCaught: crm.onCaught }));
  }

  return Object.fromEntries(FUNCTIONS.map((name) => [settings.functions[name.replace('sendtrail_', '')] ?? name, (args) => answerTo(name, args)]));
}
