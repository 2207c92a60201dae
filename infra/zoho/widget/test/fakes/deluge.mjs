// Runs the CRM functions' own sources: as much of Deluge as they use, and an error for anything more.
//
// It is our reading of Deluge, not Zoho's: what it means in their CRM is on the list of functions/README.md. But the text
// that is pasted there is the text that is tested here.

import { createHmac } from 'node:crypto';

const TOKEN = /\s+|\/\/[^\n]*|("(?:[^"\\]|\\.)*")|(\d+)|([A-Za-z_][A-Za-z0-9_]*)|(\|\||&&|==|!=|<=|>=|[-+*/<>!=(){}[\],;:.])/y;

function tokens(text) {
  const list = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.length) {
    const at = TOKEN.lastIndex;
    const found = TOKEN.exec(text);
    if (!found) throw new Error(`Deluge: cannot read ${JSON.stringify(text.slice(at, at + 30))}`);
    const [, string, number, name, sign] = found;
    if (string !== undefined) list.push({ kind: 'value', value: JSON.parse(string) });
    else if (number !== undefined) list.push({ kind: 'value', value: Number(number) });
    else if (name !== undefined) list.push({ kind: 'name', text: name });
    else if (sign !== undefined) list.push({ kind: 'sign', text: sign });
  }
  return list;
}

const BINDING = { '||': 1, '&&': 2, '==': 3, '!=': 3, '<': 4, '>': 4, '<=': 4, '>=': 4, '+': 5, '-': 5, '*': 6 };

class Parser {
  constructor(text) {
    this.list = tokens(text);
    this.at = 0;
  }

  is(text) {
    const token = this.list[this.at];
    return token !== undefined && token.kind !== 'value' && token.text === text;
  }

  eat(text) {
    if (!this.is(text)) return false;
    this.at += 1;
    return true;
  }

  need(text) {
    if (!this.eat(text)) throw new Error(`Deluge: ${text} is due near ${JSON.stringify(this.list.slice(Math.max(0, this.at - 3), this.at + 3))}`);
  }

  name() {
    const token = this.list[this.at];
    if (token?.kind !== 'name') throw new Error('Deluge: a name is due');
    this.at += 1;
    return token.text;
  }

  /** `string standalone.name(string a, string b) { … }` */
  program() {
    this.need('string');
    this.need('standalone');
    this.need('.');
    const name = this.name();
    this.need('(');
    const args = [];
    while (!this.eat(')')) {
      this.need('string');
      args.push(this.name());
      this.eat(',');
    }
    const body = this.block();
    if (this.at !== this.list.length) throw new Error('Deluge: there is more behind the function');
    return { name, args, body };
  }

  block() {
    this.need('{');
    const statements = [];
    while (!this.eat('}')) statements.push(this.statement());
    return statements;
  }

  statement() {
    if (this.eat('if')) return this.conditional();
    if (this.eat('for')) return this.loop();
    if (this.eat('try')) {
      const body = this.block();
      this.need('catch');
      this.need('(');
      this.name();
      this.need(')');
      return { do: 'try', body, rescue: this.block() };
    }
    if (this.eat('return')) {
      const value = this.expression();
      this.need(';');
      return { do: 'return', value };
    }
    const next = this.list[this.at + 1];
    if (this.list[this.at]?.kind === 'name' && next?.kind === 'sign' && next.text === '=') {
      const target = this.name();
      this.need('=');
      const value = this.is('invokeurl') ? this.invoke() : this.expression();
      this.need(';');
      return { do: 'set', target, value };
    }
    const value = this.expression();
    this.need(';');
    return { do: 'run', value };
  }

  conditional() {
    this.need('(');
    const test = this.expression();
    this.need(')');
    const then = this.block();
    let otherwise = [];
    if (this.eat('else')) otherwise = this.eat('if') ? [this.conditional()] : this.block();
    return { do: 'if', test, then, otherwise };
  }

  loop() {
    this.need('each');
    const target = this.name();
    this.need('in');
    const list = this.expression();
    return { do: 'for', target, list, body: this.block() };
  }

  invoke() {
    this.need('invokeurl');
    this.need('[');
    const parts = {};
    while (!this.eat(']')) {
      const key = this.name();
      this.need(':');
      parts[key] = key === 'type' ? { value: this.name() } : this.expression();
    }
    return { invoke: parts };
  }

  expression(least = 0) {
    let left = this.unary();
    for (;;) {
      const operator = this.list[this.at]?.kind === 'sign' ? this.list[this.at].text : null;
      const binding = BINDING[operator];
      if (binding === undefined || binding <= least) return left;
      this.at += 1;
      left = { operator, left, right: this.expression(binding) };
    }
  }

  unary() {
    if (this.eat('!')) return { not: this.unary() };
    let value = this.primary();
    while (this.eat('.')) {
      const method = this.name();
      // `zoho.currenttime` and `zoho.encryption` are names, not calls.
      value = this.is('(') ? { of: value, method, args: this.args() } : { of: value, member: method };
    }
    return value;
  }

  args() {
    this.need('(');
    const list = [];
    while (!this.eat(')')) {
      list.push(this.expression());
      this.eat(',');
    }
    return list;
  }

  primary() {
    const token = this.list[this.at];
    if (token?.kind === 'value') {
      this.at += 1;
      return { value: token.value };
    }
    if (this.eat('(')) {
      const value = this.expression();
      this.need(')');
      return value;
    }
    if (this.eat('{')) {
      const items = [];
      while (!this.eat('}')) {
        items.push(this.expression());
        this.eat(',');
      }
      return { items };
    }
    const name = this.name();
    if (['true', 'false', 'null'].includes(name)) return { value: { true: true, false: false, null: null }[name] };
    return this.is('(') ? { call: name, args: this.args() } : { variable: name };
  }
}

/** What a JSON text becomes: maps that keep their order, and lists. */
const fromJson = (value) => {
  if (Array.isArray(value)) return value.map(fromJson);
  return value !== null && typeof value === 'object'
    ? new Map(Object.entries(value).map(([key, inner]) => [key, fromJson(inner)])) : value;
};
const toJson = (value) => {
  if (Array.isArray(value)) return value.map(toJson);
  return value instanceof Map ? Object.fromEntries([...value].map(([key, inner]) => [key, toJson(inner)])) : value;
};
const textOf = (value) => (typeof value === 'object' && value !== null ? JSON.stringify(toJson(value)) : String(value));

const parsed = (value, isDue) => {
  const read = typeof value === 'string' ? fromJson(JSON.parse(value)) : value;
  if (!isDue(read)) throw new Error('Deluge: not of that type');
  return read;
};

const only = (isDue, act) => (value, ...args) => {
  if (!isDue(value)) throw new Error('Deluge: no such method of this value');
  return act(value, ...args);
};
const isText = (value) => typeof value === 'string';
const isMap = (value) => value instanceof Map;
const isList = Array.isArray;

const METHODS = {
  get: (value, key) => {
    const found = isMap(value) ? value.get(key) : only(isList, (list) => list[key])(value);
    return found === undefined ? null : found;
  },
  put: only(isMap, (map, key, value) => {
    map.set(key, value);
    return null;
  }),
  containKey: only(isMap, (map, key) => map.has(key)),
  add: only(isList, (list, value) => {
    list.push(value);
    return null;
  }),
  size: only((value) => isMap(value) || isList(value), (value) => value.size ?? value.length),
  contains: only(isList, (list, value) => list.includes(value)),
  length: only(isText, (text) => text.length),
  trim: only(isText, (text) => text.trim()),
  startsWith: only(isText, (text, start) => text.startsWith(start)),
  matches: only(isText, (text, pattern) => new RegExp(`^(?:${pattern})$`).test(text)),
  subString: only(isText, (text, from, to) => text.slice(from, to)),
  toMap: (value) => parsed(value, isMap),
  toJSONList: (value) => parsed(value, isList),
  toLong: (value) => {
    const number = Number(value);
    if (!Number.isInteger(number)) throw new Error('Deluge: no whole number');
    return number;
  },
  toString: (value) => textOf(value),
};

class Returned {
  constructor(value) {
    this.value = value;
  }
}

const cache = new Map();

/** `run(source, args, { invoke, now })`: the function's answer. `invoke` serves its `invokeurl`s. */
export function run(source, args, world) {
  const program = cache.get(source) ?? new Parser(source).program();
  cache.set(source, program);
  const scope = new Map(program.args.map((name) => [name, args[name] ?? null]));
  try {
    all(program.body, scope, world);
  } catch (thrown) {
    if (thrown instanceof Returned) return thrown.value;
    throw thrown;
  }
  throw new Error(`Deluge: ${program.name} ended without a return`);
}

function all(statements, scope, world) {
  for (const statement of statements) one(statement, scope, world);
}

function one(s, scope, world) {
  switch (s.do) {
    case 'return': throw new Returned(value(s.value, scope, world));
    case 'set': scope.set(s.target, value(s.value, scope, world)); break;
    case 'run': value(s.value, scope, world); break;
    case 'if': all(truth(value(s.test, scope, world)) ? s.then : s.otherwise, scope, world); break;
    case 'for':
      for (const item of only(isList, (list) => list)(value(s.list, scope, world))) {
        scope.set(s.target, item);
        all(s.body, scope, world);
      }
      break;
    default:
      try {
        all(s.body, scope, world);
      } catch (thrown) {
        if (thrown instanceof Returned) throw thrown;
        world.onCaught?.(thrown);
        all(s.rescue, scope, world);
      }
  }
}

function truth(condition) {
  if (typeof condition !== 'boolean') throw new Error('Deluge: a condition is no boolean');
  return condition;
}

function value(e, scope, world) {
  const of = (inner) => value(inner, scope, world);
  if ('value' in e) return e.value;
  if ('variable' in e) {
    if (!scope.has(e.variable)) throw new Error(`Deluge: ${e.variable} is not set`);
    return scope.get(e.variable);
  }
  if ('items' in e) return e.items.map(of);
  if ('not' in e) return !truth(of(e.not));
  if ('invoke' in e) return invoke(e.invoke, of, world);
  if ('operator' in e) return operate(e, of);
  if ('call' in e) return call(e.call, e.args.map(of));
  return method(e, of, world);
}

function operate({ operator, left, right }, of) {
  if (operator === '||') return truth(of(left)) || truth(of(right));
  if (operator === '&&') return truth(of(left)) && truth(of(right));
  const [a, b] = [of(left), of(right)];
  switch (operator) {
    case '==': return a === b;
    case '!=': return a !== b;
    case '+': return isText(a) || isText(b) ? textOf(a) + textOf(b) : a + b;
    case '*': return a * b;
    case '<': return a < b;
    case '>': return a > b;
    default: throw new Error(`Deluge: ${operator} is not used`);
  }
}

function call(name, args) {
  switch (name) {
    case 'Map': return new Map();
    case 'List': return [];
    case 'ifnull': return args[0] ?? args[1];
    default: throw new Error(`Deluge: ${name}() is not known`);
  }
}

function method(e, of, world) {
  const path = [];
  for (let node = e.of; node.member !== undefined || node.variable === 'zoho'; node = node.of) {
    path.unshift(node.member ?? node.variable);
    if (node.variable) break;
  }
  const args = e.args.map(of);
  if (path.join('.') === 'zoho.encryption' && e.method === 'hmacsha256') {
    const [key, data, output] = args;
    if (!isText(key) || !isText(data) || output !== 'base64') throw new Error('Deluge: hmacsha256(key, data, "base64")');
    return createHmac('sha256', key).update(data).digest('base64');
  }
  if (path.join('.') === 'zoho.currenttime' && e.method === 'toLong') return world.now();
  const act = METHODS[e.method];
  if (!act) throw new Error(`Deluge: .${e.method}() is not known`);
  const self = of(e.of);
  if (self === null) throw new Error(`Deluge: .${e.method}() of null`);
  return act(self, ...args);
}

function invoke(parts, of, world) {
  const { url, type, connection, detailed, ...rest } = parts;
  if (Object.keys(rest).length > 0 || type.value !== 'GET' || of(detailed) !== true) throw new Error('Deluge: another invokeurl');
  const { status, json } = world.invoke(of(url), of(connection));
  return new Map([['responseCode', status], ['responseText', json === undefined ? '' : JSON.stringify(json)]]);
}
