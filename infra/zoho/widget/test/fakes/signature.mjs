// Signatures and tokens as the doors check them (crates/signature): a second writing of the rules, not a kinder one.

import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

export const sha256 = (data) => createHash('sha256').update(data).digest('hex');

const mac = (secret, ...parts) => {
  const hmac = createHmac('sha256', secret);
  for (const part of parts) hmac.update(part);
  return hmac.digest();
};

/** `v1,<base64>` over id, time and body. */
export function sign(secret, id, timestamp, body) {
  return `v1,${mac(secret, `${id}.${timestamp}.`, body).toString('base64')}`;
}

/** The reason a signed request is refused, or null. */
export function refusal(secret, headers, body, nowMs) {
  const [id, timestamp, signature] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((n) => headers[n]);
  if (!id || !timestamp || !signature) return 'missing';
  const due = Buffer.from(sign(secret, id, timestamp, body));
  const got = Buffer.from(signature);
  if (due.length !== got.length || !timingSafeEqual(due, got)) return 'mismatch';
  if (!/^[A-Za-z0-9_:-]{1,200}$/.test(id)) return 'id_characters';
  if (!/^[1-9]\d{0,11}$/.test(timestamp)) return 'timestamp_format';
  return Math.abs(Math.floor(nowMs / 1000) - Number(timestamp)) > 300 ? 'window' : null;
}

/** A token: base64url(json).base64url(mac). */
export function issue(secret, claims) {
  const text = Buffer.from(JSON.stringify(claims)).toString('base64url');
  return `${text}.${mac(secret, 'token', text).toString('base64url')}`;
}

/** Its claims, or null for a token that is not good for this. */
export function read(secret, token, { purpose, history_id: historyId }, nowMs) {
  const [text, tag] = String(token ?? '').split('.');
  if (!text || !tag || mac(secret, 'token', text).toString('base64url') !== tag) return null;
  const claims = JSON.parse(Buffer.from(text, 'base64url'));
  const isFor = claims.purpose === purpose && claims.history_id === historyId;
  return isFor && nowMs / 1000 < claims.expires_at ? claims : null;
}
