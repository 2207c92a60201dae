// The two doors over fetch. No retry is here: what may be repeated, and under which key, the core decides.

const TIMEOUT_MS = { intake: 35_000, side_effect: 70_000 };

const OPTIONS = {
  mode: 'cors', credentials: 'omit', cache: 'no-store', redirect: 'error', referrerPolicy: 'no-referrer',
};

async function ask(url, options, ms) {
  try {
    const response = await fetch(url, { ...OPTIONS, ...options, signal: AbortSignal.timeout(ms) });
    const bytes = new Uint8Array(await response.arrayBuffer());
    return { response, bytes };
  } catch {
    // Refused, cut, timed out, or an answer that CORS withholds: a page cannot tell them apart.
    return null;
  }
}

function answerOf(got) {
  if (!got) return { lost: true };
  const { response, bytes } = got;
  const seconds = Number(response.headers.get('retry-after'));
  let json = null;
  try {
    json = JSON.parse(new TextDecoder().decode(bytes));
  } catch {
    // No JSON: a PDF, or a gateway's page.
  }
  return { status: response.status, json, retryAfter: Number.isInteger(seconds) && seconds > 0 ? seconds : null };
}

/** Lower-case hex of the SHA-256 of these bytes. */
export async function sha256(bytes) {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
}

export function doorsOf(config) {
  const base = { intake: config.intake_url, side_effect: config.side_effect_url };

  /** Posts a signed text unchanged. */
  async function post({ door, method, path, signed }) {
    const headers = {
      'content-type': 'application/json', 'webhook-id': signed.id,
      'webhook-timestamp': signed.timestamp, 'webhook-signature': signed.signature,
    };
    return answerOf(await ask(base[door] + path, { method, headers, body: signed.body }, TIMEOUT_MS[door]));
  }

  /** The document and the receipt for having received it. */
  async function preview({ historyId, token }) {
    const url = `${base.intake}/v1/histories/${historyId}/preview`;
    const got = await ask(url, { headers: { authorization: `Bearer ${token}` } }, TIMEOUT_MS.intake);
    if (got?.response.status !== 200) return { answer: answerOf(got) };
    const { headers } = got.response;
    return {
      bytes: got.bytes,
      answer: {
        status: 200, sha256: await sha256(got.bytes), bytes: got.bytes.length,
        toldSha256: headers.get('sendtrail-document-sha256') ?? '', receipt: headers.get('sendtrail-receipt') ?? '',
      },
    };
  }

  async function confirm({ historyId, ticket, receipt }, bytes) {
    const url = `${base.intake}/v1/histories/${historyId}/document`;
    const headers = {
      authorization: `Bearer ${ticket}`, 'sendtrail-receipt': receipt, 'content-type': 'application/pdf',
    };
    return answerOf(await ask(url, { method: 'PUT', headers, body: bytes }, TIMEOUT_MS.side_effect));
  }

  return { post, preview, confirm };
}
