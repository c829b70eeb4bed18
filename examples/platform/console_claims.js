// Reads a bearer token in the browser. It sends nothing and checks no signature, so
// the claims are not proven.

import { Told } from './console_api.js';
import { dateOf } from './console_render.js';

// Section 2.3 of the interface, in plain words.
/** @type {Record<string, string>} */
const meanings = {
  iss: 'The app that issued it, by client key.',
  sub: 'The account it acts as.',
  aud: 'The one address it is good at.',
  iat: 'When it was issued.',
  nbf: 'Not good before.',
  exp: 'Not good after.',
  jti: 'Its id: the server counts and revokes it by that.',
  scp: 'The scope: what it may do at most. An empty list leaves what the roles permit.',
  rls: 'Roles beside those of the account.',
  skp: 'Skips the access rules of objects.',
  skc: 'Skips the access rules of creating.',
  gnt: 'The access it has on objects that it can reach: 1 is public, 8 is script.',
  cnt: 'How often it can be used.',
};

const times = new Set(['iat', 'nbf', 'exp']);

// decode splits a token. If the text is no token, it throws an Error with the
// reason.
/** @type {(token: string) => { header: Claims, claims: Claims }} */
export function decode(token) {
  const parts = token.split('.');
  if (parts.length !== 3) {
    throw new Told(`A token has three parts with dots between them; this has ${parts.length}.`);
  }
  return { header: read(parts[0], 'header'), claims: read(parts[1], 'claims') };
}

/** @type {(part: string, name: string) => Claims} */
function read(part, name) {
  try {
    const bytes = Uint8Array.from(atob(part.replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.charCodeAt(0));
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new Told(`Its ${name} cannot be read as JSON in base64url.`);
  }
}

// rows returns name, value and meaning of each claim. The namespace is the prefix
// of the server's own claims.
/** @type {(claims: Claims, namespace: string) => string[][]} */
export function rows(claims, namespace) {
  return Object.entries(claims).map(([name, value]) => {
    const own = name.startsWith(namespace) ? name.slice(namespace.length) : name;
    return [name, readable(own, value), meanings[own] ?? 'A claim of the application.'];
  });
}

const timeOf = (/** @type {unknown} */ seconds) => dateOf(new Date(Number(seconds) * 1000).toISOString());

/** @type {(name: string, value: unknown) => string} */
function readable(name, value) {
  if (times.has(name) && Number.isFinite(value)) {
    return timeOf(value);
  }
  if (name === 'scp' && Array.isArray(value)) {
    return value.map((chain) => chain || 'everything (the empty chain)').join('\n') || 'empty';
  }
  return typeof value === 'string' ? value : JSON.stringify(value);
}

// duration returns a number of seconds in words.
export function duration(/** @type {number} */ seconds) {
  /** @type {[string, number][]} */
  const units = [['d', 86_400], ['h', 3_600], ['min', 60], ['s', 1]];
  let left = Math.round(seconds);
  const words = units.map(([unit, size]) => {
    const count = Math.floor(left / size);
    left -= count * size;
    return count && `${count} ${unit}`;
  });
  return words.filter(Boolean).slice(0, 2).join(' ') || '0 s';
}
