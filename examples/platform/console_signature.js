// Signs a request (section 5.3 of the interface) with what a browser has.

import { Told } from './console_api.js';

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

/** @param {string} text */
const bytes = (text) => new TextEncoder().encode(text);
/** @param {ArrayBuffer} buffer */
const base64 = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer)));
/** @param {ArrayBuffer} buffer */
const hex = (buffer) => [...new Uint8Array(buffer)].map((byte) => byte.toString(16).padStart(2, '0')).join('');

/** @type {(key: string, message: string) => Promise<ArrayBuffer>} */
async function hmac(key, message) {
  const imported = await crypto.subtle.importKey('raw', bytes(key), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  return crypto.subtle.sign('HMAC', imported, bytes(message));
}

// sign signs a request by one of the versions. It returns the message, its key, the
// signature and the headers.
/** @param {string} version @param {Unsigned} request */
export async function sign(version, request) {
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
