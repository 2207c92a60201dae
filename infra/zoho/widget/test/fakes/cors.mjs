// CORS exactly as infra/aws/template.yaml configures it for each Function URL, read from that file.

import { readFileSync } from 'node:fs';

const TEMPLATE = new URL('../../../../aws/template.yaml', import.meta.url);

/** The rules of a door: `Intake` or `SideEffect`. */
export function corsOf(door, widgetOrigin, text = readFileSync(TEMPLATE, 'utf8')) {
  const start = text.search(new RegExp(`^  ${door}:$`, 'm'));
  const block = text.slice(start).match(/^ {8}Cors:\n((?: {10}.*\n)+)/m)?.[1];
  if (start < 0 || !block) throw new Error(`no Cors for ${door} in the template`);
  const value = (key) => block.match(new RegExp(`^ {10}${key}: (.*)$`, 'm'))?.[1].trim();
  const list = (key) => (value(key)?.match(/^\[(.*)\]$/)?.[1] ?? '').split(',').map((item) => item.trim()).filter(Boolean);
  if (value('AllowOrigins') !== '[!Ref WidgetOrigin]') throw new Error(`${door}: other origins than the widget's`);
  return {
    origin: widgetOrigin, methods: list('AllowMethods'), headers: list('AllowHeaders'), expose: list('ExposeHeaders'),
    credentials: value('AllowCredentials') === 'true', maxAge: value('MaxAge'),
  };
}

/** Answers a preflight as the gateway does; false for any other request. */
export function preflight(cors, request, response) {
  if (request.method !== 'OPTIONS' || !request.headers['access-control-request-method']) return false;
  const isAllowed = request.headers.origin === cors.origin
    && cors.methods.includes(request.headers['access-control-request-method']);
  const headers = isAllowed ? {
    'access-control-allow-origin': cors.origin, 'access-control-allow-methods': cors.methods.join(','),
    'access-control-allow-headers': cors.headers.join(','), 'access-control-max-age': cors.maxAge,
  } : {};
  response.writeHead(200, { vary: 'Origin', ...headers }).end();
  return true;
}

/** What the gateway adds to an answer of the function. */
export function decorate(cors, request) {
  if (request.headers.origin !== cors.origin) return {};
  return {
    'access-control-allow-origin': cors.origin, vary: 'Origin', 'access-control-expose-headers': cors.expose.join(','),
  };
}
