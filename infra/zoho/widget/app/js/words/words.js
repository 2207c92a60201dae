// The words of one language, and a few things each language writes its own way.

import en from './en.js';
import ja from './ja.js';

const LANGUAGES = { en, ja };

/** The language of a CRM user (`ja_JP`) or a browser (`ja-JP`); English where there is none of ours. */
export function languageOf(...candidates) {
  for (const candidate of candidates) {
    const code = String(candidate ?? '').slice(0, 2).toLowerCase();
    if (Object.hasOwn(LANGUAGES, code)) return code;
  }
  return 'en';
}

export function wordsOf(language) {
  const words = LANGUAGES[language] ?? en;
  return {
    language,
    words,
    /** A word, or a sentence with its parts. */
    say: (entry, parts = {}) => (typeof entry === 'function' ? entry(parts) : entry),
    /** A label of the configuration: `{ en, ja }` or one text for all. */
    label: (label, fallback = '') =>
      (typeof label === 'string' ? label : label?.[language] ?? label?.en ?? Object.values(label ?? {})[0] ?? fallback),
    date: (text) => {
      const date = new Date(text);
      return Number.isNaN(date.getTime()) ? ''
        : new Intl.DateTimeFormat(language, { dateStyle: 'medium', timeStyle: 'short' }).format(date);
    },
    size: (bytes) => {
      const [value, unit] = bytes >= 1e6 ? [bytes / 1e6, 'MB'] : [Math.max(1, bytes / 1e3), 'kB'];
      const digits = { maximumFractionDigits: unit === 'MB' ? 1 : 0 };
      return `${new Intl.NumberFormat(language, digits).format(value)} ${unit}`;
    },
  };
}
