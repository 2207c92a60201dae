// The form of a document, made from its schema. It is built anew when its shape or its mistakes change, never for a
// letter that is typed: a text under an input method must not lose its place.

import { h, hidden } from './dom.js';
import { buttons, setBusy } from './view.js';
import { formOf } from '../core/machine.js';

const INPUT_TYPES = { text: 'text', email: 'email', date: 'date', number: 'text', integer: 'text' };

export function formScreen(main, state, context) {
  const { words: { words }, send } = context;
  let shown = null;
  return {
    update(next) {
      if (shown !== next.formRev) {
        const mistakes = Object.keys(next.errors);
        main.replaceChildren(
          h('h2', { tabindex: '-1' }, words.form.heading),
          chosen(next, context),
          formElement(next, context, buttons(
            { text: words.form.submit, isMain: true, id: 'to-preview' },
            { text: words.form.back, event: () => send({ type: 'back' }) })));
        if (shown !== null && mistakes.length > 0) main.querySelector('.mistakes')?.focus();
        shown = next.formRev;
      }
      clearMended(main, next.errors);
      setBusy(main, next.busy !== null);
    },
  };
}

/** A mistake that was mended is no longer told. */
function clearMended(main, errors) {
  for (const told of main.querySelectorAll('[data-mistake]')) {
    if (errors[told.dataset.mistake]) continue;
    const input = main.querySelector(`#${CSS.escape(idOf(told.dataset.mistake))}`);
    input?.removeAttribute('aria-invalid');
    told.remove();
  }
  const summary = main.querySelector('.mistakes');
  if (summary && !summary.querySelector('li')) summary.remove();
}

function chosen(state, { words: { words, label } }) {
  const form = formOf(state);
  const name = label(form.name, form.id);
  const text = state.choice.file ? `${state.choice.file.name} · ${name}` : name;
  return h('p', { class: 'chosen' }, hidden(`${words.form.document}: `), text);
}

function formElement(state, context, buttonRow) {
  const { words: { words, say }, send } = context;
  const form = formOf(state);
  const own = { ...context, form, errors: state.errors };
  const mistakes = Object.entries(state.errors);
  const submit = (event) => {
    event.preventDefault();
    send({ type: 'submitForm' });
  };
  const summary = mistakes.length === 0 ? null : h('div', { class: 'mistakes', role: 'alert', tabindex: '-1' },
    h('p', {}, words.form.mistakes),
    h('ul', {}, mistakes.map(([pointer, mistake]) => h('li', { 'data-mistake': pointer }, h('a', {
      href: `#${idOf(pointer)}`,
      onclick: (event) => {
        event.preventDefault();
        document.getElementById(idOf(pointer))?.focus();
      },
    }, `${titleAt(form, pointer, context)}: ${say(words.mistake[mistake.code], mistake)}`)))));
  return h('form', { novalidate: true, onsubmit: submit }, summary,
    form.fields.map((f) => fieldOf(f, '', state.values, own)), buttonRow);
}

const idOf = (pointer) => `f${pointer.replaceAll('/', '-').replaceAll('~', '_')}`;
// A row's fields share their label: that of `/fields/lines/3/price` has `*` for the 3.
const labelKey = (pointer) => pointer.split('/').map((part) => (/^\d+$/.test(part) ? '*' : part)).join('/');

function titleAt(form, pointer, { words: { label } }) {
  return label(form.labels?.[labelKey(pointer)], pointer.split('/').at(-1));
}

function fieldOf(f, at, values, own) {
  const pointer = `${at}/${f.key}`;
  const value = values?.[f.key];
  if (f.kind === 'group') {
    return h('fieldset', {}, h('legend', {}, titleOf(f, pointer, own)),
      f.fields.map((child) => fieldOf(child, pointer, value, own)));
  }
  if (f.kind === 'rows') return rowsOf(f, pointer, value, own);
  return inputOf(f, pointer, value, own);
}

function titleOf(f, pointer, { form, words: { label } }) {
  return label(form.labels?.[labelKey(pointer)], f.title);
}

function rowsOf(f, pointer, rows, own) {
  const { words: { words, say }, send } = own;
  const isFull = rows.length >= f.max;
  return h('fieldset', { class: 'rows', id: idOf(pointer), tabindex: '-1' },
    h('legend', {}, titleOf(f, pointer, own)), mistakeOf(pointer, own),
    rows.map((row, i) => h('div', { class: 'row', role: 'group', 'aria-label': say(words.form.row, { n: i + 1 }) },
      f.fields.map((child) => fieldOf(child, `${pointer}/${i}`, row, own)),
      rows.length > f.min ? h('button', {
        type: 'button', class: 'link remove', onclick: () => send({ type: 'removeRow', pointer, index: i }),
      }, say(words.form.removeRow, { n: i + 1 })) : null)),
    isFull ? null : h('button', {
      type: 'button', class: 'plain add', onclick: () => send({ type: 'addRow', pointer }),
    }, words.form.addRow));
}

function mistakeOf(pointer, { errors, words: { words, say } }) {
  const mistake = errors[pointer];
  if (!mistake) return null;
  const about = { class: 'mistake', id: `${idOf(pointer)}-mistake`, 'data-mistake': pointer };
  return h('p', about, say(words.mistake[mistake.code], mistake));
}

function inputOf(f, pointer, value, own) {
  const { form, words: { words, say }, send } = own;
  const id = idOf(pointer);
  const isFixed = form.fixed?.includes(pointer);
  const mistake = mistakeOf(pointer, own);
  const hints = [];
  if (isFixed) hints.push(h('p', { class: 'hint', id: `${id}-hint` }, words.form.fromRecord));
  else if (f.kind === 'multiline') hints.push(h('p', { class: 'hint', id: `${id}-hint` }, say(words.form.upTo, f)));
  const describedBy = [hints.length ? `${id}-hint` : null, mistake ? `${id}-mistake` : null].filter(Boolean).join(' ');
  const edit = (next) => send({ type: 'edit', pointer, value: next });
  const common = {
    id, name: id, 'aria-describedby': describedBy || null, 'aria-invalid': mistake ? 'true' : null,
    'aria-required': f.required && f.kind !== 'boolean' ? 'true' : null, autocomplete: 'off',
  };
  if (f.kind === 'boolean') {
    const box = h('input', { ...common, type: 'checkbox', onchange: (e) => edit(e.target.checked) });
    box.checked = value === true;
    return h('div', { class: 'field check' }, box, h('label', { for: id }, titleOf(f, pointer, own)), mistake);
  }
  const input = control(f, value, { ...common, readonly: isFixed }, edit, own);
  const mark = f.required
    ? h('span', { class: 'required' }, ` (${words.form.required})`)
    : h('span', { class: 'optional' }, ` (${words.form.optional})`);
  return h('div', { class: `field ${f.kind}` }, h('label', { for: id }, titleOf(f, pointer, own), mark),
    input, hints, mistake);
}

function control(f, value, common, edit, { form, words: { words, label } }) {
  if (f.kind === 'choice') {
    const select = h('select', { ...common, onchange: (e) => edit(e.target.value) },
      h('option', { value: '' }, words.form.pick),
      f.options.map((option) => h('option', { value: option }, label(form.options?.[option], option))));
    select.value = value;
    return select;
  }
  const isNumber = f.kind === 'number' || f.kind === 'integer';
  const listen = { ...common, oninput: (e) => edit(e.target.value) };
  const input = f.kind === 'multiline'
    ? h('textarea', { ...listen, rows: '5' })
    : h('input', { ...listen, type: INPUT_TYPES[f.kind], inputmode: isNumber ? 'decimal' : null });
  input.value = value;
  return input;
}
