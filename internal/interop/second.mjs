// Proves that two stock libraries for RFC 9421 sign requests of version 2 that the server accepts, that it refuses each
// changed one, and that these libraries verify what our own client sends.
//
//   node second.mjs FACTS CLIENT [HEADER_PREFIX [FAULT_NAMESPACE]]
//
// FACTS is the file that the server's -demo-json flag writes. CLIENT is the program examples/client.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash, createHmac, generateKeyPairSync, randomBytes, sign as signBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { promisify } from 'node:util';
import * as sig from 'http-message-sig';
import { createSigner, createVerifier, httpbis } from 'http-message-signatures';
import { parseDictionary, serializeDictionary } from 'structured-headers';
import { runAll } from './checks.mjs';

const [factsFile, client, prefix = 'Service-', faults = 'service'] = process.argv.slice(2);
const facts = JSON.parse(readFileSync(factsFile, 'utf8'));
const tag = `${prefix.toLowerCase()}v2`;
const accountHeader = `${prefix}Client-Account`;
const home = `${facts.base_url}/${facts.org}/v2`;

// The keys of a client, for both libraries.

const hmacKey = (id, secret) => ({
  id, alg: 'hmac-sha256', secret: id + secret,
  sign: (data) => createHmac('sha256', id + secret).update(data).digest(),
});
const ed25519Key = (id, privateKey) => ({ id, alg: 'ed25519', privateKey, sign: (data) => signBytes(null, data, privateKey) });

const app = hmacKey(facts.client_key, facts.client_secret);
const strictApp = hmacKey(facts.v2_client_key, facts.v2_client_secret);

// Two libraries that sign. Each gets a request and returns it with the two headers.

const now = () => Math.floor(Date.now() / 1000);
const defaults = (key) => ({ created: now(), nonce: randomBytes(12).toString('base64url'), keyid: key.id, alg: key.alg, tag });

const libraries = {
  'http-message-signatures': async (request, key, fields, changes) => {
    const values = { ...defaults(key), ...changes };
    const dates = Object.fromEntries(['created', 'expires'].filter((name) => values[name]).map((name) => [name, new Date(values[name] * 1000)]));
    const signer = key.privateKey ? createSigner(key.privateKey, 'ed25519', key.id) : createSigner(key.secret, 'hmac-sha256', key.id);
    return httpbis.signMessage({ key: signer, name: 'sig', fields, params: Object.keys(values), paramValues: { ...values, ...dates } }, request);
  },
  'http-message-sig': async (request, key, components, changes) => {
    const parameters = { ...defaults(key), ...changes };
    const { signature, signatureInput } = await sig.createSignature(descriptor(request), {
      label: 'sig1', components, parameters, signer: { algorithm: parameters.alg, sign: key.sign },
    });
    return { ...request, headers: { ...request.headers, Signature: signature, 'Signature-Input': signatureInput } };
  },
};

const descriptor = ({ method, url, headers }) => ({
  kind: 'request', method, targetUri: url, fields: Object.entries(headers).map(([name, value]) => ({ name, value })),
});

const digest = (body, algorithm = 'sha256') =>
  `${algorithm.replace('sha', 'sha-')}=:${createHash(algorithm).update(body).digest('base64')}:`;

const required = ['@method', '@authority', '@path', '@query'];

// sign returns a signed request. fields and params change what the profile asks for.
async function sign(library, path, { method = 'GET', body, account, key = app, algorithm, fields = (all) => all, params, headers = {} } = {}) {
  const request = {
    method, url: home + path, body,
    headers: {
      ...(body !== undefined && { 'Content-Type': 'application/json', 'Content-Digest': digest(body, algorithm) }),
      ...(account && { [accountHeader]: account }),
      ...headers,
    },
  };
  const covered = [...required, ...(body !== undefined ? ['content-digest'] : []), ...(account ? [accountHeader.toLowerCase()] : [])];
  return libraries[library](request, key, fields(covered), params);
}

// send sends a request as it is: fetch would change the path.
function send({ method, url, headers, body }) {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const length = body === undefined ? {} : { 'Content-Length': Buffer.byteLength(body) };
    const path = url.slice(url.indexOf('/', 'http://'.length));
    const request = http.request({ hostname, port, path, method, headers: { ...headers, ...length }, timeout: 60_000 }, (reply) => {
      const chunks = [];
      reply.on('data', (chunk) => chunks.push(chunk));
      reply.on('error', reject);
      reply.on('end', () => resolve({ status: reply.statusCode, headers: reply.headers, text: Buffer.concat(chunks).toString() }));
    });
    request.on('timeout', () => request.destroy(new Error('no reply in 60 s')));
    request.on('error', reject);
    request.end(body);
  });
}

function succeeded(reply) {
  assert.equal(reply.status, 200, reply.text);
  return JSON.parse(reply.text);
}

function refused(reply, status, detail, what) {
  assert.equal(reply.status, status, `${what}: ${reply.text}`);
  assert.equal(JSON.parse(reply.text).errCode, `${faults}.${detail}`, what);
}

const invalid = 'accessDenied.invalidRequestSignature';
const malformed = 'invalidArgument.malformedRequestSignature';
const note = JSON.stringify({ c_text: 'written by a client in another language: é, 語' });

// What both libraries sign, the server accepts.

const accepted = (library) => ({
  [`${library}: a page`]: async () => {
    const list = succeeded(await send(await sign(library, '/c_messages?limit=2&paths[]=c_text')));
    assert.equal(list.data.length, 2);
  },

  [`${library}: without a query, as two accounts`]: async () => {
    assert.equal(succeeded(await send(await sign(library, '/accounts/me')))._id, facts.admin_account_id);
    const me = succeeded(await send(await sign(library, '/accounts/me', { account: facts.account_id })));
    assert.equal(me._id, facts.account_id);
  },

  [`${library}: a body, with each digest`]: async () => {
    for (const algorithm of ['sha256', 'sha512']) {
      const made = succeeded(await send(await sign(library, '/c_messages', { method: 'POST', body: note, algorithm })));
      assert.equal(made.c_text, JSON.parse(note).c_text);
    }
  },

  [`${library}: escapes and a trailing slash`]: async () => {
    refused(await send(await sign(library, '/c_messages/a%2Fb?x=%2f+%2F&x')), 404, 'notFound.unspecified', 'the path');
    succeeded(await send(await sign(library, '/accounts/me/')));
  },

  [`${library}: a credential that refuses version 1`]: async () => {
    assert.equal(succeeded(await send(await sign(library, '/accounts/me', { key: strictApp })))._id, facts.account_id);
  },

  [`${library}: Ed25519`]: async () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519');
    const body = JSON.stringify({ name: 'Keeps its key', credential: { account: facts.account_id, publicKey: publicKey.export({ format: 'jwk' }).x } });
    const made = succeeded(await send(await sign(library, '/apps', { method: 'POST', body })));
    assert.equal(made.secret, undefined);
    assert.equal(made.credential.secrets, 0);
    const key = ed25519Key(made._id, privateKey);
    assert.equal(succeeded(await send(await sign(library, '/accounts/me?x=1', { key })))._id, facts.account_id);
    succeeded(await send(await sign(library, '/c_messages', { method: 'POST', body: note, key })));
    const stranger = ed25519Key(made._id, generateKeyPairSync('ed25519').privateKey);
    refused(await send(await sign(library, '/accounts/me', { key: stranger })), 401, invalid, 'another key');
    // The public key is no secret: nobody may use it as one.
    const forger = hmacKey(made._id, publicKey.export({ format: 'jwk' }).x);
    refused(await send(await sign(library, '/accounts/me', { key: forger })), 401, invalid, 'a MAC under the public key');
    refused(await send(await sign(library, '/accounts/me', { key: ed25519Key(app.id, privateKey) })), 401, invalid, 'a key with a secret');
  },
});

// What is changed after the signature, or signed with other components or parameters, the server refuses.

const edits = {
  'another method': [(r) => ({ ...r, method: 'GET' }), 401, invalid],
  'another path': [(r) => ({ ...r, url: r.url.replace('/c_messages', '/connections') }), 401, invalid],
  'another org': [(r) => ({ ...r, url: r.url.replace(`/${facts.org}/`, `/${facts.other_org}/`) }), 401, invalid],
  'another query': [(r) => ({ ...r, url: r.url.replace('a=1', 'a=2') }), 401, invalid],
  'the query in another order': [(r) => ({ ...r, url: r.url.replace('a=1&b=2', 'b=2&a=1') }), 401, invalid],
  'no query': [(r) => ({ ...r, url: r.url.replace('?a=1&b=2', '') }), 401, invalid],
  'another body': [(r) => ({ ...r, body: r.body.replace('written', 'WRITTEN') }), 400, 'invalidArgument.contentDigest'],
  'another body with its digest': [
    (r) => ({ ...r, body: '{}', headers: { ...r.headers, 'Content-Digest': digest('{}') } }), 401, invalid,
  ],
  'another account': [(r) => ({ ...r, headers: { ...r.headers, [accountHeader]: facts.totp_account_id } }), 401, invalid],
  'no account': [(r) => ({ ...r, headers: { ...r.headers, [accountHeader]: undefined } }), 400, malformed],
};

const variants = {
  'without @method': [{ fields: (all) => all.filter((f) => f !== '@method') }, 400, malformed],
  'without @authority': [{ fields: (all) => all.filter((f) => f !== '@authority') }, 400, malformed],
  'without @path': [{ fields: (all) => all.filter((f) => f !== '@path') }, 400, malformed],
  'without @query': [{ fields: (all) => all.filter((f) => f !== '@query') }, 400, malformed],
  'without the digest': [{ fields: (all) => all.filter((f) => f !== 'content-digest') }, 400, malformed],
  'with another header': [{ fields: (all) => [...all, 'content-type'] }, 400, malformed],
  'with @target-uri': [{ fields: (all) => [...all, '@target-uri'] }, 400, malformed],
  'a digest of another body': [{ headers: { 'Content-Digest': digest('{}') } }, 400, 'invalidArgument.contentDigest'],
  'a digest of an unknown algorithm': [{ headers: { 'Content-Digest': 'md5=:1B2M2Y8AsgTpgAmY7PhCfg==:' } }, 400, 'invalidArgument.contentDigest'],
  'a short nonce': [{ params: { nonce: 'short' } }, 400, malformed],
  'too late': [{ params: { created: now() - 600 } }, 401, 'invalidArgument.staleRequestSignature'],
  'too early': [{ params: { created: now() + 600 } }, 401, 'invalidArgument.staleRequestSignature'],
  'expired by its own word': [{ params: { created: now() - 10, expires: now() - 5 } }, 401, 'invalidArgument.staleRequestSignature'],
  'an unknown key': [{ key: hmacKey('k'.repeat(22), facts.client_secret) }, 401, invalid],
  'a wrong secret': [{ key: hmacKey(facts.client_key, facts.other_client_secret) }, 401, invalid],
  'the app of another org': [{ key: hmacKey(facts.other_client_key, facts.other_client_secret) }, 401, invalid],
  'another tag': [{ params: { tag: 'other-v2' }, account: undefined }, 401, 'accessDenied.noCredentialsSupplied'],
  'the name of another algorithm': [{ params: { alg: 'ed25519' } }, 400, malformed],
};

const refusals = (library) => ({
  [`${library}: ${Object.keys(edits).length} changes after the signature`]: async () => {
    for (const [name, [edit, status, detail]] of Object.entries(edits)) {
      const request = edit(await sign(library, '/c_messages?a=1&b=2', { method: 'POST', body: note, account: facts.account_id }));
      const headers = Object.fromEntries(Object.entries(request.headers).filter(([, value]) => value !== undefined));
      refused(await send({ ...request, headers }), status, detail, name);
    }
  },

  [`${library}: ${Object.keys(variants).length} signatures outside the profile`]: async () => {
    for (const [name, [options, status, detail]] of Object.entries(variants)) {
      refused(await send(await sign(library, '/c_messages', { method: 'POST', body: note, ...options })), status, detail, name);
    }
  },

  [`${library}: the same again, and the same nonce again`]: async () => {
    const nonce = randomBytes(12).toString('base64url');
    const request = await sign(library, '/accounts/me', { params: { nonce } });
    succeeded(await send(request));
    for (const again of [request, await sign(library, '/schemas', { params: { nonce } })]) {
      const reply = await send(again);
      refused(reply, 401, 'accessDenied.replayedRequest', 'again');
      assert.match(reply.headers['www-authenticate'], /Signature error="replayed"/);
    }
  },

  [`${library}: two signatures`]: async () => {
    const one = await sign(library, '/accounts/me');
    const two = await libraries['http-message-signatures'](one, app, required, {});
    refused(await send(two), 400, 'invalidArgument.ambiguousCredentials', 'two of ours');
    const proxy = await libraries['http-message-signatures'](one, app, required, { tag: 'a-proxy' });
    succeeded(await send(proxy));
  },
});

// What our client sends, both libraries verify.

// captured returns the requests that our client sends, in its own program, with these arguments.
async function captured(...args) {
  const requests = [];
  const server = http.createServer(async (request, reply) => {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    requests.push({ method: request.method, url: `http://${request.headers.host}${request.url}`, headers: request.headers, body: Buffer.concat(chunks).toString() });
    reply.setHeader('Content-Type', 'application/json').end('{"object":"result","data":true}');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const flags = ['--signature', '2', '--url', `http://127.0.0.1:${server.address().port}/acme/v2`, '--key', app.id, '--secret', facts.client_secret, '--header-prefix', prefix];
  try {
    await promisify(execFile)(client, [args[0], ...flags, ...args.slice(1)]);
  } finally {
    server.close();
  }
  return requests;
}

const verifiers = {
  'http-message-signatures': async (request) => httpbis.verifyMessage({
    keyLookup: async ({ keyid }) => keyid === app.id && { id: app.id, algs: ['hmac-sha256'], verify: createVerifier(app.secret, 'hmac-sha256') },
    requiredParams: ['created', 'nonce', 'keyid', 'alg', 'tag'],
    requiredFields: required,
    maxAge: 60, tolerance: 5, all: true,
  }, request),
  'http-message-sig': async (request) => {
    await sig.verifySignature(descriptor(request), {
      policy: { algorithms: ['hmac-sha256'], requiredComponents: required, requiredParameters: ['created', 'nonce', 'keyid', 'alg', 'tag'], maxAge: 60, clockSkew: 5 },
      resolveVerifier: () => ({ algorithm: 'hmac-sha256', verify: (data, signature) => app.sign(data).equals(Buffer.from(signature)) }),
    });
    return true;
  },
};

const ours = {
  'our client: each header is a structured field, and both libraries verify it': async () => {
    const sent = [
      ...await captured('get', '/c_messages?limit=3&paths[]=c_text'),
      ...await captured('get', '/a%2Fb'),
      ...await captured('post', '--account', facts.account_id, '/c_messages?x=%2f', note),
    ];
    assert.equal(sent.length, 3);
    for (const request of sent) {
      for (const name of ['signature-input', 'signature', ...(request.body ? ['content-digest'] : [])]) {
        assert.equal(serializeDictionary(parseDictionary(request.headers[name])), request.headers[name]);
      }
      for (const [library, verify] of Object.entries(verifiers)) {
        assert.equal(await verify(request), true, library);
        const changed = { ...request, url: `${request.url}${request.url.includes('?') ? '&' : '?'}more=1` };
        assert.notEqual(await verify(changed).catch(() => false), true, `${library} verifies another query`);
      }
      if (request.body) assert.equal(request.headers['content-digest'], digest(request.body));
    }
  },
};

const checks = {
  'the server takes version 2': async () => {
    for (let i = 0; i < 100; i++) {
      if ((await send({ method: 'GET', url: `${facts.base_url}/readyz`, headers: {} })).status === 200) return;
    }
    assert.fail('it is not ready');
  },
};
for (const library of Object.keys(libraries)) {
  Object.assign(checks, accepted(library), refusals(library));
}
await runAll({ ...checks, ...ours });
