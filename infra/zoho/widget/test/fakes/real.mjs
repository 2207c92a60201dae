// The real doors, CRM simulator and send API in place of the fakes: `sendtrail local`, as it is built.

import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const START_MS = 30_000;

/** Starts the binary; its functions are next to it. */
export async function startReal(binary) {
  const folder = mkdtempSync(join(tmpdir(), 'sendtrail-real-'));
  const path = join(folder, 'endpoints.json');
  const child = spawn(binary, ['local', '--quick', '--endpoints', path, '--data', join(folder, 'data')], { stdio: 'ignore' });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  const until = Date.now() + START_MS;
  while (!existsSync(path)) {
    if (child.exitCode !== null || Date.now() > until) throw new Error(`${binary} local did not start`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const endpoints = JSON.parse(readFileSync(path, 'utf8'));
  const json = async (url) => (await fetch(url)).json();
  const base = { intake: endpoints.intake_url, side_effect: endpoints.side_effect_url };
  return {
    stage: endpoints.stage,
    source: endpoints.source,
    keys: Object.fromEntries(['intake', 'side_effect'].map((door) =>
      [door, Buffer.from(endpoints.signing[door].secret.replace('whsec_', ''), 'base64').toString()])),
    records: async (module) => (await json(`${endpoints.crm_url}/_sim/records/${module}`)).records,
    posts: () => json(`${endpoints.send_api_url}/_sim/posts`),
    /** Passes a request of the widget on, and the answer back. */
    async serve(door, { method, path: at, headers, body }) {
      const kept = ['authorization', 'content-type', 'sendtrail-receipt', 'webhook-id', 'webhook-timestamp', 'webhook-signature'];
      const sent = Object.fromEntries(kept.filter((name) => headers[name]).map((name) => [name, headers[name]]));
      const answer = await fetch(base[door] + at, { method, headers: sent, body: body.length > 0 ? body : undefined });
      const told = Object.fromEntries([...answer.headers].filter(([name]) => !/^(access-control|vary|date|content-length|connection|transfer)/.test(name)));
      return { status: answer.status, headers: told, body: Buffer.from(await answer.arrayBuffer()) };
    },
    async stop() {
      child.kill('SIGTERM');
      await ended;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** Puts the real thing behind a world of fakes: its doors, its keys, and its records behind the SDK's stand-in. */
export async function putBehind(world, real) {
  const { crm, settings } = world;
  Object.assign(crm.keys, real.keys);
  const requests = [];
  world.doors = {
    requests, submits: [],
    serve: (door, asked) => {
      requests.push({ door, method: asked.method, path: asked.path, id: asked.headers['webhook-id'] });
      return real.serve(door, asked);
    },
  };
  world.refresh = async () => {
    for (const { id, fields } of await real.records(settings.history_module)) {
      crm.records.set(`${settings.history_module}/${id}`, { ...fields, id });
    }
  };
  const { module, record_id: id, attachment_id: attachment } = real.source;
  const [deal] = (await real.records(module)).filter((record) => record.id === id);
  world.deal = { ...world.deal, ...deal.fields, id };
  crm.records.set(`${module}/${id}`, world.deal);
  crm.attachments.set(`${module}/${id}`, [{ id: attachment, File_Name: 'contract.pdf', Size: '618', bytes: Buffer.alloc(0) }]);
}
