// Proves that a client with only Node's crypto and http can sign requests, and that the server refuses each bad request.
//
//   node node-client.mjs FACTS [HEADER_PREFIX [FAULT_NAMESPACE]]
//
// FACTS is the file that the server's -demo-json flag writes.

import assert from 'node:assert/strict';
import { createHmac, randomInt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import { runAll } from './checks.mjs';

const [factsFile, prefix = 'Service-', faults = 'service'] = process.argv.slice(2);
const facts = JSON.parse(readFileSync(factsFile, 'utf8'));
const app = { key: facts.client_key, secret: facts.client_secret };
const otherApp = { key: facts.other_client_key, secret: facts.other_client_secret };
const home = `/${facts.org}/v2`;
const abroad = `/${facts.other_org}/v2`;
const serverTime = `${prefix}Server-Time`.toLowerCase();

// Signing, by section 5.3 of the interface.

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';
const nonce = () => Array.from({ length: 16 }, () => alphabet[randomInt(62)]).join('');

let last = 0;
// Never use a millisecond twice: the same command, method and time would give the same signature.
const now = () => (last = Math.max(last + 1, Date.now()));

function sign(command, { method = 'GET', as = app, at = now(), account } = {}) {
  const mac = createHmac('sha256', as.key + as.secret).update(`${command};${method};${at}`);
  return {
    [`${prefix}Client-Key`]: as.key,
    [`${prefix}Client-Signature`]: mac.digest('hex'),
    [`${prefix}Client-Timestamp`]: String(at),
    [`${prefix}Client-Nonce`]: nonce(),
    ...(account && { [`${prefix}Client-Account`]: account }),
  };
}

function without(headers, name) {
  const { [prefix + name]: _, ...rest } = headers;
  return rest;
}

// Transport by http.request, because fetch would normalize the path.

const clocks = []; // replies whose server time is missing or wrong

function send(path, headers = {}, { method = 'GET', body } = {}) {
  const { hostname, port } = new URL(facts.base_url);
  const payload = body === undefined ? undefined : JSON.stringify(body);
  if (payload !== undefined) {
    headers = { ...headers, 'Content-Type': 'application/json', 'Content-Length': Buffer.byteLength(payload) };
  }
  return new Promise((resolve, reject) => {
    const began = Date.now();
    const request = http.request({ hostname, port, path, method, headers, timeout: 60_000 }, (reply) => {
      const chunks = [];
      reply.on('data', (chunk) => chunks.push(chunk));
      reply.on('error', reject);
      reply.on('end', () => {
        const time = reply.headers[serverTime] ?? '';
        // The server's time must be between the request and now, however long that took.
        const off = Math.max(began - Number(time), Number(time) - Date.now());
        if (!/^\d{13}$/.test(time) || off > 5_000) {
          clocks.push(`${method} ${path}: ${reply.statusCode} with server time ${JSON.stringify(time)}`);
        }
        resolve({ status: reply.statusCode, headers: reply.headers, text: Buffer.concat(chunks).toString() });
      });
    });
    request.on('timeout', () => request.destroy(new Error('no reply in 60 s')));
    request.on('error', reject);
    request.end(payload);
  });
}

const get = (path, headers) => send(path, headers);
const signedGet = (command, options) => send(home + command, sign(command, options));
const post = (path, headers, body) => send(path, headers, { method: 'POST', body });

// Checks of replies.

function succeeded(reply) {
  assert.equal(reply.status, 200, reply.text);
  assert.match(reply.headers['content-type'], /^application\/json/);
  return JSON.parse(reply.text);
}

function refused(reply, status, detail) {
  assert.equal(reply.status, status, reply.text);
  assert.equal(reply.headers['content-type'], 'application/json; charset=utf-8');
  assert.equal(reply.headers['cache-control'], 'no-store');
  assert.equal(reply.headers['x-content-type-options'], 'nosniff');
  assert.equal(reply.headers.location, undefined);
  assert.equal(reply.headers['www-authenticate'] !== undefined, status === 401, 'a challenge comes with 401 and only then');
  const fault = JSON.parse(reply.text);
  assert.equal(fault.object, 'fault');
  assert.equal(fault.status, status);
  assert.equal(fault.errCode, `${faults}.${detail}`);
}

const challenged = (reply, error) => assert.match(reply.headers['www-authenticate'], new RegExp(`Signature\\b.*error="${error}"`));

// The checks.

const page = '/c_messages';
const text = 'written by a client in another language: é, 語, "quoted"';
const checks = {
  'a page carries _id, object and the path asked for, and no more': async () => {
    const list = succeeded(await get(`${home}${page}?limit=3&paths[]=c_text`, sign(page)));
    assert.deepEqual(Object.keys(list).sort(), ['data', 'hasMore', 'object']);
    assert.equal(list.object, 'list');
    assert.equal(list.hasMore, true);
    assert.equal(list.data.length, 3);
    for (const item of list.data) {
      assert.deepEqual(Object.keys(item).sort(), ['_id', 'c_text', 'object']);
      assert.equal(item.object, 'c_message');
    }
  },

  'the credential acts as its own account': async () => {
    assert.equal(succeeded(await signedGet('/accounts/me'))._id, facts.admin_account_id);
  },

  'the account header chooses another account of the credential': async () => {
    const me = succeeded(await signedGet('/accounts/me', { account: facts.account_id }));
    assert.equal(me._id, facts.account_id);
  },

  'the account header cannot choose an account of another org': async () => {
    refused(await signedGet('/accounts/me', { account: facts.other_account_id }), 403, 'accessDenied.principal');
  },

  'what is posted is echoed, and read again': async () => {
    const created = succeeded(await post(home + page, sign(page, { method: 'POST' }), { c_text: text }));
    assert.equal(created.object, 'c_message');
    assert.equal(created.c_text, text);
    const read = succeeded(await signedGet(`${page}/${created._id}`));
    assert.equal(read._id, created._id);
    assert.equal(read.c_text, text);
  },

  'the other org answers its own app': async () => {
    const me = succeeded(await get(`${abroad}/accounts/me`, sign('/accounts/me', { as: otherApp })));
    assert.equal(me._id, facts.other_account_id);
  },

  'one trailing slash is not part of the command': async () => {
    succeeded(await get(`${home}/accounts/me/`, sign('/accounts/me')));
  },

  'a request sent again, byte for byte, is refused': async () => {
    const headers = sign('/accounts/me');
    succeeded(await get(`${home}/accounts/me`, headers));
    const again = await get(`${home}/accounts/me`, headers);
    refused(again, 401, 'accessDenied.replayedRequest');
    challenged(again, 'replayed');
  },

  'a captured POST is refused under a fresh nonce too': async () => {
    const headers = sign(page, { method: 'POST' });
    succeeded(await post(home + page, headers, { c_text: text }));
    const captured = { ...headers, [`${prefix}Client-Nonce`]: nonce() };
    refused(await post(home + page, captured, { c_text: text }), 401, 'accessDenied.replayedRequest');
  },

  'a clock ten minutes behind is told the time, and passes with it': async () => {
    const late = await signedGet('/accounts/me', { at: Date.now() - 600_000 });
    refused(late, 401, 'invalidArgument.staleRequestSignature');
    challenged(late, 'stale');
    succeeded(await signedGet('/accounts/me', { at: Math.max(Number(late.headers[serverTime]), now()) }));
  },

  'another org, an unknown key and a wrong MAC get one answer': async () => {
    const wrong = sign('/accounts/me');
    wrong[`${prefix}Client-Signature`] = 'f'.repeat(64);
    const replies = [
      await get(`${abroad}/accounts/me`, sign('/accounts/me')),
      await get(`${home}/accounts/me`, sign('/accounts/me', { as: { key: 'k'.repeat(22), secret: app.secret } })),
      await get(`${home}/accounts/me`, wrong),
    ];
    for (const reply of replies) {
      refused(reply, 401, 'accessDenied.invalidRequestSignature');
      assert.equal(reply.text, replies[0].text);
      assert.equal(reply.headers['www-authenticate'], replies[0].headers['www-authenticate']);
    }
  },

  'the signature holds for one method and one command': async () => {
    refused(await get(home + page, sign(page, { method: 'POST' })), 401, 'accessDenied.invalidRequestSignature');
    refused(await get(home + page, sign(`${page}?limit=3`)), 401, 'accessDenied.invalidRequestSignature');
    refused(await get(home + page, sign(home + page)), 401, 'accessDenied.invalidRequestSignature');
  },

  'a refused signature spends no nonce': async () => {
    const honest = sign('/accounts/me');
    refused(await get(`${home}/accounts/me`, { ...honest, [`${prefix}Client-Signature`]: '0'.repeat(64) }), 401, 'accessDenied.invalidRequestSignature');
    succeeded(await get(`${home}/accounts/me`, honest));
  },

  'an incomplete or misshapen credential is malformed': async () => {
    for (const name of ['Client-Key', 'Client-Signature', 'Client-Timestamp', 'Client-Nonce']) {
      refused(await get(`${home}/accounts/me`, without(sign('/accounts/me'), name)), 400, 'invalidArgument.malformedRequestSignature');
    }
    const upper = sign('/accounts/me');
    upper[`${prefix}Client-Signature`] = upper[`${prefix}Client-Signature`].toUpperCase().replace(/^[0-9]/, 'A');
    refused(await get(`${home}/accounts/me`, upper), 400, 'invalidArgument.malformedRequestSignature');
    const short = { ...sign('/accounts/me'), [`${prefix}Client-Nonce`]: 'tooShort' };
    refused(await get(`${home}/accounts/me`, short), 400, 'invalidArgument.malformedRequestSignature');
  },

  'no credential, or a client key alone, is no credential': async () => {
    refused(await get(`${home}/accounts/me`), 401, 'accessDenied.noCredentialsSupplied');
    const keyAlone = { [`${prefix}Client-Key`]: app.key };
    refused(await get(`${home}/accounts/me`, keyAlone), 401, 'accessDenied.noCredentialsSupplied');
  },

  'an unknown route and an unknown org are not found': async () => {
    refused(await signedGet('/no_such_things'), 404, 'notFound.unspecified');
    refused(await get('/no-such-org/v2/accounts/me', sign('/accounts/me')), 404, 'notFound.env');
  },

  'an unclean path is refused and never redirected': async () => {
    for (const path of ['//c_messages', '/x/../c_messages', '/./c_messages', '/%2e%2e/c_messages', '/%63_messages', '/c_messages//', '/c_messages/%00']) {
      refused(await get(home + path, sign(page)), 400, 'invalidArgument.path');
    }
  },

  // This is the last check because it inspects all replies.
  'every reply tells the server time': async () => assert.deepEqual(clocks, []),
};

await runAll(checks);
