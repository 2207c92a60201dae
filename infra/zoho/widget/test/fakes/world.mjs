// The whole surroundings of the widget on four loopback origins: the CRM with the page that holds the frame, the
// widget's own server with its strict policy, and the two doors.

import { createServer } from 'node:http';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build, policy } from '../../pack.mjs';
import { readSettings } from '../../pack/settings.mjs';
import { FakeCrm } from './crm.mjs';
import { FakeDoors } from './doors.mjs';
import { corsOf, decorate, preflight } from './cors.mjs';
import { pdf } from './pdf.mjs';
import { putBehind } from './real.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TYPES = {
  '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css', '.json': 'application/json', '.txt': 'text/plain',
  '.ttf': 'font/ttf',
};
const PDF_NAME = 'Contract Springfield.pdf';

function listen(handler, port = 0) {
  const server = createServer((request, response) => {
    handler(request, response).catch((error) => {
      console.error(error);
      response.writeHead(500).end();
    });
  });
  return new Promise((resolve) => server.listen(port, '127.0.0.1', () => resolve(server)));
}

const bodyOf = async (request) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  return Buffer.concat(parts);
};

/** Starts everything. `ports` fixes the four ports; `real` puts the real doors behind it (real.mjs). */
export async function startWorld({ ports = [0, 0, 0, 0], real = null } = {}) {
  const world = { offset: 0, faults: [], seen: [] };
  world.now = () => Date.now() + world.offset;
  const servers = [];
  const start = async (handler, i) => {
    const server = await listen(handler, ports[i]);
    servers.push(server);
    return `http://127.0.0.1:${server.address().port}`;
  };
  world.crmUrl = await start((q, s) => serveCrm(world, q, s), 0);
  // Another host name, so that the frame is another site and not just another port.
  world.widgetUrl = (await start((q, s) => serveWidget(world, q, s), 1)).replace('127.0.0.1', 'localhost');
  world.intakeUrl = await start((q, s) => serveDoor(world, 'intake', q, s), 2);
  world.sideEffectUrl = await start((q, s) => serveDoor(world, 'side_effect', q, s), 3);

  const folder = mkdtempSync(join(tmpdir(), 'sendtrail-widget-'));
  cpSync(join(ROOT, 'example'), join(folder, 'settings'), { recursive: true });
  const path = join(folder, 'settings/settings.json');
  const settings = JSON.parse(readFileSync(path, 'utf8'));
  writeFileSync(path, JSON.stringify({
    ...settings, stage: 'local', file_fields: real ? [{ api_name: 'Contract_PDF' }] : [], intake_url: world.intakeUrl, side_effect_url: world.sideEffectUrl,
    sdk_url: `${world.crmUrl}/sdk.js`,
  }));
  world.app = join(build(join(folder, 'settings'), join(folder, 'out')), 'app');
  const { settings: read, forms } = readSettings(join(folder, 'settings'));
  world.settings = read;
  world.policy = policy(read);
  world.cors = {
    intake: corsOf('Intake', world.widgetUrl), side_effect: corsOf('SideEffect', world.widgetUrl),
  };
  const keys = {
    intake: 'a test key for intake, 32 characters+', side_effect: 'a test key for side-effect, 32 chars+',
    token: 'a test key for tokens, 32 characters or more',
  };
  world.keys = keys;
  world.crm = new FakeCrm({ settings: read, forms, keys: { ...keys }, now: world.now });
  world.doors = new FakeDoors({ crm: world.crm, settings: read, keys, now: world.now, drivers: forms.map((f) => f.driver) });
  world.deal = world.crm.add('Deals', {
    Deal_Name: 'Springfield library', Contact_Name: { name: 'Ada Lovelace', id: '57' }, Mailing_Street: '1 Main Street',
    Mailing_City: 'Springfield', Mailing_State: 'IL', Mailing_Zip: '62701',
  });
  world.file = world.crm.attach('Deals', world.deal.id, PDF_NAME, pdf([
    ['Contract', '', 'between Example Ltd and the Springfield library', '', 'Signed in two copies.'], ['Page two'], ['Page three'],
  ]));
  world.crm.attach('Deals', world.deal.id, 'notes.txt', Buffer.from('notes'));
  if (real) await putBehind(world, real);
  world.stop = async () => {
    await Promise.all(servers.map((server) => new Promise((done) => {
      server.closeAllConnections();
      server.close(done);
    })));
    rmSync(folder, { recursive: true, force: true });
  };
  world.page = (how = '') => `${world.crmUrl}/deal/${world.deal.id}${how}`;
  world.histories = () => world.crm.all(read.history_module);
  return world;
}

async function serveCrm(world, request, response) {
  const url = new URL(request.url, world.crmUrl);
  const script = (name) => response.writeHead(200, { 'content-type': 'text/javascript' })
    .end(readFileSync(join(ROOT, 'stand-in', name)));
  if (url.pathname === '/sdk.js' && world.withoutSdk) return response.writeHead(404).end();
  if (url.pathname === '/sdk.js') return script('sdk.js');
  if (url.pathname === '/host.js') return script('host.js');
  if (url.pathname === '/favicon.ico') return response.writeHead(204).end();
  if (url.pathname === '/call' && request.method === 'POST') {
    const { name, args } = JSON.parse(await bodyOf(request));
    await world.refresh?.();
    const told = world.crm.call(name, args);
    return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(told));
  }
  const [, kind, id] = url.pathname.split('/');
  if (kind === 'deal') {
    const place = { Entity: 'Deals', EntityId: url.searchParams.has('button') ? [id] : id };
    return response.writeHead(200, { 'content-type': TYPES['.html'] }).end(dealPage(world, place));
  }
  return response.writeHead(404).end();
}

function dealPage(world, place) {
  const options = JSON.stringify({ place }).replaceAll('<', '\\u003c');
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Deal</title><style>body{margin:0}iframe{border:0;width:100%;height:100vh;display:block}</style>
<iframe title="Send a document" src="${world.widgetUrl}/widget.html"></iframe>
<script type="module">
import { hostWidget } from '/host.js';
window.opened = [];
hostWidget(document.querySelector('iframe'), { ...${options}, backend: '/call', open: (what) => window.opened.push(what) });
</script></html>`;
}

async function serveWidget(world, request, response) {
  const path = normalize(new URL(request.url, world.widgetUrl).pathname);
  const headers = { 'content-security-policy': `${world.policy}; frame-ancestors ${world.crmUrl}`, 'x-content-type-options': 'nosniff' };
  if (path === '/favicon.ico') return response.writeHead(204, headers).end();
  if (world.withoutConfig && path === '/config.json') return response.writeHead(404, headers).end();
  try {
    const body = readFileSync(join(world.app, path));
    return response.writeHead(200, { ...headers, 'content-type': TYPES[extname(path)] ?? 'application/octet-stream' }).end(body);
  } catch {
    return response.writeHead(404, headers).end();
  }
}

/** Faults: `{ door, method, path, do, times }`; `do` is `refuse` (before it), `drop` (after it), a function of the
 * request that gives an answer in its place, or one that waits first. */
async function serveDoor(world, door, request, response) {
  const cors = world.cors[door];
  if (preflight(cors, request, response)) return;
  const body = await bodyOf(request);
  world.seen.push(request.headers);
  const path = new URL(request.url, world.intakeUrl).pathname;
  const fault = world.faults.find((f) => f.times !== 0 && (f.door ?? door) === door && (f.method ?? request.method) === request.method
    && (f.path ?? /./).test(path));
  if (fault) fault.times = (fault.times ?? Infinity) - 1;
  if (fault?.do === 'refuse') {
    request.socket.destroy();
    return;
  }
  if (fault?.wait) await fault.wait();
  const asked = { method: request.method, path, headers: request.headers, body };
  const answer = typeof fault?.do === 'function' ? fault.do(asked) : await world.doors.serve(door, asked);
  if (fault?.do === 'drop') {
    request.socket.destroy();
    return;
  }
  const gateway = fault?.withoutCors ? {} : decorate(cors, request);
  response.writeHead(answer.status, { 'cache-control': 'no-store', ...answer.headers, ...gateway }).end(answer.body);
}
