// The signature lab: what is signed, and how the server answers.

import { acting, reach, site } from './console_api.js';
import { duration } from './console_claims.js';
import { curlOf } from './console_code.js';
import { onClick, onCopy, onSubmit } from './console_page.js';
import { byID, element, empty, facts, fill, visible } from './console_render.js';
import { sign } from './console_signature.js';

const skew = 10 * 60_000; // milliseconds, beyond any usual tolerance

/** @type {Sent | null} */
let sent = null; // the latest request, to be sent again as it was

// prepare signs the request in the form, with a timestamp.
/** @type {(form: FormData, timestamp: number) => Promise<Sent>} */
async function prepare(form, timestamp) {
  const { header: prefix } = await site.brand();
  const mount = `/${acting.org}/v2`;
  const path = form.get('path').trim();
  const url = new URL(`${mount}/${path.replace(/^\//, '')}`, location.origin);
  const method = form.get('method');
  const body = method === 'GET' ? '' : form.get('body').trim();
  const [clientKey, secret] = [form.get('key').trim(), form.get('secret').trim()];
  const signed = await sign(form.get('version'), { prefix, mount, clientKey, secret, method, url, body, timestamp });
  const headers = { ...signed.headers, ...(body && { 'Content-Type': 'application/json' }) };
  return { ...signed, clientKey, timestamp, method, url, headers, body, serverTime: `${prefix}Server-Time` };
}

// timeOf returns the timestamp in the form, or the present time.
/** @param {FormData} form */
const timeOf = (form) => Number(form.get('timestamp').trim()) || Date.now();

/** @param {FormData} form @param {Button} button */
async function send(form, button) {
  switch (button?.value) {
    case 'sign':
      await shown(form, timeOf(form));
      return empty('lab-reply');
    case 'skewed': return deliver(await shown(form, Date.now() - skew));
  }
  return deliver(await shown(form, timeOf(form)));
}

/** @type {typeof prepare} */
async function shown(form, timestamp) {
  const request = await prepare(form, timestamp);
  show(request);
  return request;
}

/** @param {Sent} request */
function show(request) {
  fill(byID('lab-parts'), [
    ['Message', element('code', { className: 'wraps' }, request.message)],
    ['Key', element('code', {}, keyShown(request))],
    ['HMAC-SHA256', element('code', { id: 'lab-signature' }, request.signature)],
  ]);
  byID('lab-headers').textContent = Object.entries(request.headers).map(([name, value]) => `${name}: ${value}`).join('\n');
  byID('lab-curl').textContent = curlOf(request);
  byID('lab-made').hidden = false;
}

// keyShown returns the key for the page. It has the secret only if the secret may
// be shown.
/** @param {Sent} request */
const keyShown = ({ clientKey, key }) => (byID('lab-see').checked ? key : `${clientKey}${'•'.repeat(8)}`);

/** @param {Sent} request */
async function deliver(request) {
  empty('lab-reply');
  const again = request === sent;
  sent = request;
  byID('lab-again').hidden = false;
  const reply = await reach(request.url, {
    method: request.method,
    headers: request.headers,
    body: request.body || undefined,
    credentials: 'omit',
    cache: 'no-store',
    redirect: 'error',
  });
  const text = await reply.text();
  if (request !== sent) {
    return; // the user has gone on, or has left
  }
  const serverTime = reply.headers.get(request.serverTime);
  const challenge = reply.headers.get('WWW-Authenticate') ?? '';
  showReply(request, { status: reply.status, text, serverTime, challenge, again });
}

/** @param {Sent} request @param {Answer} reply */
function showReply(request, { status, text, serverTime, challenge, again }) {
  const value = JSON.parse(text);
  const accepted = value.object !== 'fault';
  byID('lab-reply').replaceChildren(
    element('p', { className: accepted ? 'verdict' : 'verdict no' },
      element('strong', {}, accepted ? 'Accepted.' : 'Refused.'), ' ', ...visible(sentence(value, request.timestamp - Number(serverTime), challenge, again))),
    facts(
      ['Status', String(status)],
      ['Your time', timeShown(request.timestamp)],
      [request.serverTime, serverTime ? timeShown(serverTime) : 'not sent']),
    element('pre', { className: 'wraps', tabIndex: 0, role: 'region', ariaLabel: 'The reply' }, ...visible(JSON.stringify(value, null, 2))));
}

/** @param {number | string} milliseconds */
const timeShown = (milliseconds) => `${milliseconds} (${new Date(Number(milliseconds)).toLocaleTimeString()})`;

// sentence says in one sentence what has happened.
/** @param {any} value @param {number} ahead @param {string} challenge @param {boolean} again */
function sentence(value, ahead, challenge, again) {
  if (value.object !== 'fault') {
    return 'The server computed the same signature, and had not seen the nonce before.';
  }
  if (challenge.includes('error="version"')) {
    return 'This client key, or this server, takes another version of signatures.';
  }
  switch (value.errCode.split('.').at(-1)) {
    case 'replayedRequest':
      return again ? 'It is the same request once more. Whoever captures one cannot use it again.' : 'The server has seen this signature or nonce before.';
    case 'staleRequestSignature':
      return `The timestamp is ${duration(Math.abs(ahead) / 1000)} ${ahead < 0 ? 'behind' : 'ahead of'} the server's clock. ` +
        'A client reads that clock from the reply, and signs anew.';
    case 'invalidRequestSignature':
      // Firefox hides the challenge, because the reply has several.
      return `The server does not compute this signature: the key, the secret${challenge ? '' : ', the version'} or something in the ` +
        'message differs. It does not say which.';
    case 'malformedRequestSignature':
      return `A header is not as it must be${value.reason ? `: ${value.reason}` : '.'}`;
  }
  return value.message;
}

function seeSecret() {
  byID('lab-secret').type = byID('lab-see').checked ? 'text' : 'password';
}

// tryWith opens the lab with a key to sign with.
/** @param {string} key @param {string} secret @param {string} version */
export function tryWith(key, secret, version) {
  [byID('lab-key').value, byID('lab-secret').value, byID('lab-version').value] = [key, secret, version];
  location.hash = `#${acting.org}/lab`;
}

// forgetLab removes from the page what was signed.
export function forgetLab() {
  sent = null;
  seeSecret();
  byID('lab-made').hidden = true;
  byID('lab-again').hidden = true;
  empty('lab-parts', 'lab-headers', 'lab-curl', 'lab-reply');
}

onSubmit('lab-form', send);
onClick(byID('lab-again'), () => sent && deliver(sent));
onCopy('lab-copy', 'lab-curl');
byID('lab-see').addEventListener('change', seeSecret);
