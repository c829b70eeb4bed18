// Signs a request (section 5.3 of the interface) with what a browser has.

const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

// newNonce returns 16 letters and digits. It drops a byte that would make the first
// letters more frequent.
export function newNonce() {
  let nonce = '';
  while (nonce.length < 16) {
    const [byte] = crypto.getRandomValues(new Uint8Array(1));
    nonce += byte < 4 * letters.length ? letters[byte % letters.length] : '';
  }
  return nonce;
}

// commandOf returns the signed part of a path. It has no mount, no query and no
// slash at the end, and is escaped as the browser will send it.
export function commandOf(url, mount) {
  if (url.origin !== location.origin || !`${url.pathname}/`.startsWith(`${mount}/`)) {
    throw new Error(`The path leads out of ${mount}.`);
  }
  return url.pathname.slice(mount.length).replace(/\/$/, '') || '/';
}

// sign returns the message, its key and the signature.
export async function sign({ clientKey, secret, method, command, timestamp }) {
  if (!crypto.subtle) {
    throw new Error('A browser computes signatures on https and on this machine only.');
  }
  const bytes = (text) => new TextEncoder().encode(text);
  const message = `${command};${method};${timestamp}`;
  const key = clientKey + secret;
  const hmac = await crypto.subtle.importKey('raw', bytes(key), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const mac = new Uint8Array(await crypto.subtle.sign('HMAC', hmac, bytes(message)));
  return { message, key, signature: [...mac].map((byte) => byte.toString(16).padStart(2, '0')).join('') };
}

// curlOf returns a command line for the same request, without a secret.
export function curlOf({ method, url, headers, body }) {
  const quoted = (text) => `'${text.replaceAll("'", `'\\''`)}'`;
  return [
    `curl -g -X ${method}`, // -g: paths[] is no pattern
    ...Object.entries(headers).map(([name, value]) => `-H ${quoted(`${name}: ${value}`)}`),
    ...(body ? [`-d ${quoted(body)}`] : []),
    quoted(url.href),
  ].join(' \\\n  ');
}
