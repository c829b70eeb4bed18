// A receiver of webhooks in Node.js, with the package http-message-sig 0.3 and nothing of the platform's.
//
//   node receiver.mjs BASE_URL PUBLIC_KEY
//
// BASE_URL is the URL that this server is known by. PUBLIC_KEY is the platform's Ed25519 key in base64url.

import { createHash, timingSafeEqual, webcrypto } from 'node:crypto';
import http from 'node:http';
import { isSignatureError, verifySignature, webcrypto as provider } from 'http-message-sig';

const [baseURL, publicKey] = process.argv.slice(2);
const platform = provider.verifier(await webcrypto.subtle.importKey(
  'jwk', { kty: 'OKP', crv: 'Ed25519', x: publicKey }, { name: 'Ed25519' }, false, ['verify']));

const maxBody = 1 << 20;
const maxAge = 300; // seconds
const started = Math.ceil(Date.now() / 1000); // an earlier process may have seen what was signed before
const nonces = new Map(); // when each was signed; several processes share a store instead
const events = new Set(); // ids; a database records them in the transaction of the effect

// The components that a signature must cover. The library refuses one that is there twice.
const covered = ['@authority', '@method', '@path', '@query', 'content-digest'];
const policy = {
  algorithms: ['ed25519'],
  requiredComponents: covered,
  requiredParameters: ['created', 'nonce', 'keyid', 'alg', 'tag'],
  maxAge,
  clockSkew: 60,
  validate: ({ components, parameters }) => components.length === covered.length && parameters.tag === 'service-v2' &&
    /^[\x21\x23-\x5b\x5d-\x7e]{16,128}$/.test(parameters.nonce),
};

// verify returns the parameters of the signature, or throws.
async function verify(request) {
  const fields = [];
  for (let i = 0; i < request.rawHeaders.length; i += 2) {
    fields.push({ name: request.rawHeaders[i], value: request.rawHeaders[i + 1] });
  }
  // The host is that of the configuration, and never that of the request.
  const targetUri = new URL(baseURL).origin + request.url;
  // The library covers what URL makes of it, such as /b of /a/../b. Only one spelling may pass.
  if (new URL(targetUri).href !== targetUri) throw new Error('not the spelling of a URL');
  const message = { kind: 'request', method: request.method, targetUri, fields };
  const { parameters } = await verifySignature(message, {
    policy,
    resolveVerifier({ parameters: { keyid } }) {
      if (keyid !== 'platform-2026') throw new Error('unknown key');
      return platform;
    },
  });
  return parameters;
}

// isDigest reports whether the one Content-Digest that our sender sends is that of the body.
function isDigest(field, body) {
  const want = Buffer.from(`sha-256=:${createHash('sha256').update(body).digest('base64')}:`);
  const got = Buffer.from(field ?? '');
  return got.length === want.length && timingSafeEqual(got, want);
}

// isReplay records a nonce. It forgets those that are too old for another use. A body may come so slowly that the
// nonce of its request is forgotten by now: such a request counts as a replay.
function isReplay({ nonce, created }) {
  const forgotten = Date.now() / 1000 - maxAge - 90;
  for (const [old, signed] of nonces) {
    if (signed > forgotten) break;
    nonces.delete(old);
  }
  return created <= forgotten || nonces.has(nonce) || !nonces.set(nonce, created);
}

async function readBody(request) {
  const chunks = [];
  let length = 0;
  for await (const chunk of request) {
    length += chunk.length;
    if (length > maxBody) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

// receive returns the status of the reply.
async function receive(request) {
  const parameters = await verify(request);
  const body = await readBody(request);
  if (body === null) return 413;
  if (!isDigest(request.headers['content-digest'], body)) return 400;
  if (parameters.created < started || isReplay(parameters)) return 401;
  const event = JSON.parse(body);
  if (!events.has(event.id)) {
    console.log(`${event.type} ${event.id}`);
    events.add(event.id);
  }
  return 200;
}

http.createServer(async (request, reply) => {
  const status = await receive(request).catch((error) => (isSignatureError(error) ? 401 : 400));
  reply.writeHead(status, { 'Content-Length': 0, ...(status === 413 && { Connection: 'close' }) }).end();
}).listen(Number(new URL(baseURL).port) || 8080, () => console.log('ready'));
