// The signature lab: what is signed, and how the server answers.

import { acting, reach, site, Told } from './console_api.js';
import { duration } from './console_claims.js';
import { onClick, onCopy, onSubmit } from './console_page.js';
import { byID, element, empty, facts, fill, visible } from './console_render.js';
import { curlOf } from './console_show.js';

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

/** @param {FormData} form @param {Button} button */
async function send(form, button) {
  const now = Number(form.get('timestamp').trim()) || Date.now();
  const request = await prepare(form, button?.value === 'skewed' ? Date.now() - skew : now);
  show(request);
  return button?.value === 'sign' ? empty('lab-reply') : deliver(request);
}

function show(/** @type {Sent} */ request) {
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
const keyShown = (/** @type {Sent} */ { clientKey, key }) => (byID('lab-see').checked ? key : `${clientKey}${'•'.repeat(8)}`);

async function deliver(/** @type {Sent} */ request) {
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
  if (request === sent) { // the user has neither gone on nor left
    showReply(request, reply, JSON.parse(text), again);
  }
}

/** @param {Sent} request @param {Response} reply @param {any} value @param {boolean} again */
function showReply(request, { status, headers }, value, again) {
  const [serverTime, challenge] = [headers.get(request.serverTime), headers.get('WWW-Authenticate') ?? ''];
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

const timeShown = (/** @type {number | string} */ milliseconds) => `${milliseconds} (${new Date(Number(milliseconds)).toLocaleTimeString()})`;

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

// Signatures, with what a browser has (section 5.3 of the interface).

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

// newNonce returns 16 letters and digits. It drops a byte that would make the first
// letters more frequent.
function newNonce() {
  let nonce = '';
  while (nonce.length < 16) {
    const [byte] = crypto.getRandomValues(new Uint8Array(1));
    nonce += byte < 4 * letters.length ? letters[byte % letters.length] : '';
  }
  return nonce;
}

// commandOf returns the signed part of a path. It has no mount, no query and no
// slash at the end, and is escaped as the browser will send it.
/** @type {(url: URL, mount: string) => string} */
function commandOf(url, mount) {
  if (url.origin !== location.origin || !`${url.pathname}/`.startsWith(`${mount}/`)) {
    throw new Told(`The path leads out of ${mount}.`);
  }
  return url.pathname.slice(mount.length).replace(/\/$/, '') || '/';
}

const bytes = (/** @type {string} */ text) => new TextEncoder().encode(text);
const base64 = (/** @type {ArrayBuffer} */ buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)));
const hex = (/** @type {ArrayBuffer} */ buffer) => [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** @type {(key: string, message: string) => Promise<ArrayBuffer>} */
async function hmac(key, message) {
  const imported = await crypto.subtle.importKey('raw', bytes(key), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return crypto.subtle.sign('HMAC', imported, bytes(message));
}

// sign signs a request by one of the versions. It returns the message, its key, the
// signature and the headers.
/** @param {string} version @param {Unsigned} request */
async function sign(version, request) {
  if (!crypto.subtle) {
    throw new Told('A browser computes signatures on https and on this machine only.');
  }
  return version === '2' ? signSecond(request) : signFirst(request);
}

/** @type {Sign} */
async function signFirst({ prefix, mount, clientKey, secret, method, url, timestamp }) {
  const message = `${commandOf(url, mount)};${method};${timestamp}`;
  const key = clientKey + secret;
  const signature = hex(await hmac(key, message));
  return {
    message, key, signature,
    headers: {
      [`${prefix}Client-Key`]: clientKey,
      [`${prefix}Client-Timestamp`]: String(timestamp),
      [`${prefix}Client-Nonce`]: newNonce(),
      [`${prefix}Client-Signature`]: signature,
    },
  };
}

// signSecond makes an HTTP Message Signature (RFC 9421) with a Content-Digest (RFC
// 9530) if there is a body.
/** @type {Sign} */
async function signSecond({ prefix, mount, clientKey, secret, method, url, body, timestamp }) {
  commandOf(url, mount); // it throws if the path leads out
  const digest = body && `sha-256=:${base64(await crypto.subtle.digest('SHA-256', bytes(body)))}:`;
  const components = [
    ['@method', method], ['@authority', url.host], ['@path', url.pathname], ['@query', url.search || '?'],
    ...(body ? [['content-digest', digest]] : []),
  ];
  const input = `(${components.map(([name]) => `"${name}"`).join(' ')});created=${Math.floor(timestamp / 1000)}` +
    `;nonce="${newNonce()}";keyid="${clientKey}";alg="hmac-sha256";tag="${prefix.toLowerCase()}v2"`;
  const message = [...components, ['@signature-params', input]].map(([name, value]) => `"${name}": ${value}`).join('\n');
  const key = clientKey + secret;
  const signature = base64(await hmac(key, message));
  return {
    message, key, signature,
    headers: {
      ...(body && { 'Content-Digest': digest }),
      'Signature-Input': `sig=${input}`,
      Signature: `sig=:${signature}:`,
    },
  };
}
