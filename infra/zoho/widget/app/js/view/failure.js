// What went wrong, in words, with the way on.

import { h, icon, ICONS } from './dom.js';

export function failurePanel(state, { words: { words, say }, send }) {
  const { code, actions, requestId, retryAfter, reason } = state.failure;
  const [title, text] = words.failures[code];
  const details = [
    retryAfter ? h('p', { class: 'detail' }, say(words.again, { seconds: retryAfter })) : null,
    reason ? h('p', { class: 'detail' }, `${words.reason}: ${reason}`) : null,
    requestId ? h('p', { class: 'detail' }, `${words.requestId}: `, h('code', { class: 'request-id' }, requestId)) : null,
  ];
  return h('section', { class: 'failure', role: 'alert', tabindex: '-1', 'data-code': code },
    icon(...ICONS.warning),
    h('div', { class: 'words' },
      h('h2', { class: 'failure-title' }, title),
      h('p', {}, text), details,
      actions.length > 0 ? h('div', { class: 'buttons' }, actions.map((action, i) =>
        h('button', {
          type: 'button', class: i === 0 ? 'main' : 'plain', 'data-action': action,
          disabled: state.busy !== null, onclick: () => send({ type: action }),
        }, words.actions[action]))) : null));
}
