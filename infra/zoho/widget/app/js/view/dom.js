// Elements without a framework. Text is always text: nothing here takes markup.

/**
 * An element: `h('button', { class: 'main', onclick: f }, 'Text', child)`. Properties that begin with `on` are
 * listeners; `true` sets an empty attribute; `false`, `null` and `undefined` leave it out.
 */
export function h(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === false || value === null || value === undefined) continue;
    if (name.startsWith('on')) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Text for screen readers alone. */
export const hidden = (text) => h('span', { class: 'visually-hidden' }, text);

/** A drawing of our own, hidden from screen readers: `paths` are SVG path data in a box of 24. */
export function icon(...paths) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const attributes = { viewBox: '0 0 24 24', class: 'icon', 'aria-hidden': 'true', focusable: 'false' };
  for (const [name, value] of Object.entries(attributes)) svg.setAttribute(name, value);
  for (const d of paths) {
    const path = document.createElementNS('http://www.w3.org/2000/svg', 'path');
    path.setAttribute('d', d);
    svg.append(path);
  }
  return svg;
}

export const ICONS = {
  file: ['M6 3h8l4 4v14H6z', 'M14 3v4h4'],
  template: ['M5 4h14v16H5z', 'M8 8h8M8 12h8M8 16h5'],
  check: ['M4 12.5l5 5L20 6.5'],
  clock: ['M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z', 'M12 7v5l3.5 2'],
  warning: ['M12 4L2.5 20h19z', 'M12 10v5M12 17.5v.5'],
  info: ['M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18z', 'M12 11v6M12 7.5v.5'],
};
