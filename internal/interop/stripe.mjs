// Proves that stripe-node, which knows nothing of this server, repeats a POST whose response was lost, and that its effect happens once.
//
//   node stripe.mjs FACTS
//
// FACTS is the file that the server's -demo-json flag writes. The client is not changed. Only its host is another: a
// proxy that adds the org to the path, and can lose responses.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import Stripe from 'stripe';
import { runAll } from './checks.mjs';

const facts = JSON.parse(readFileSync(process.argv[2]));
const target = new URL(facts.base_url);
const seen = []; // the requests that the server got
let lose = 0; // how many responses to lose

const proxy = http.createServer((request, response) => {
  const entry = { key: request.headers['idempotency-key'], method: request.method };
  seen.push(entry);
  const path = `/${facts.org}${request.url}`;
  const on = http.request({ host: target.hostname, port: target.port, path, method: request.method, headers: request.headers }, (answer) => {
    const chunks = [];
    answer.on('data', (chunk) => chunks.push(chunk));
    answer.on('end', () => {
      Object.assign(entry, { status: answer.statusCode, replayed: answer.headers['idempotent-replayed'] });
      if (lose > 0) {
        lose--;
        request.socket.destroy(); // executed, and nobody is told
        return;
      }
      response.writeHead(answer.statusCode, answer.headers);
      response.end(Buffer.concat(chunks));
    });
  });
  request.pipe(on);
});
await new Promise((listening) => proxy.listen(0, '127.0.0.1', listening));

const stripe = new Stripe(facts.ephemeral_token, {
  host: '127.0.0.1', port: proxy.address().port, protocol: 'http', maxNetworkRetries: 2, telemetry: false,
});

async function create(text, options) {
  seen.length = 0;
  return stripe.rawRequest('POST', '/v2/c_messages', { c_text: text }, options);
}

// messages counts those with a text, straight at the server.
async function messages(text) {
  const where = encodeURIComponent(JSON.stringify({ c_text: text }));
  const reply = await fetch(`${facts.base_url}/${facts.org}/v2/c_messages?where=${where}`, { headers: { Authorization: `Bearer ${facts.ephemeral_token}` } });
  assert.equal(reply.status, 200);
  return (await reply.json()).data.length;
}

await runAll({
  async 'a request whose response comes is sent once'() {
    await create('stripe 0');
    assert.equal(seen.length, 1);
    assert.equal(await messages('stripe 0'), 1);
  },
  async 'one lost response: two requests with one key, one message'() {
    lose = 1;
    const created = await create('stripe 1');
    assert.equal(seen.length, 2);
    assert.ok(seen[0].key && seen[0].key === seen[1].key, 'the client sends one key');
    assert.deepEqual(seen.map((s) => [s.status, s.replayed]), [[200, undefined], [200, 'true']]);
    assert.equal(created.c_text, 'stripe 1');
    assert.equal(await messages('stripe 1'), 1);
  },
  async 'two lost responses: three requests, one message'() {
    lose = 2;
    await create('stripe 2');
    assert.equal(seen.length, 3);
    assert.equal(await messages('stripe 2'), 1);
  },
  async 'the key of another request is refused'() {
    await create('stripe 3', { idempotencyKey: 'chosen' });
    await create('stripe 4', { idempotencyKey: 'chosen' }); // the client knows no errors but those of its own service
    assert.deepEqual(seen.map((s) => s.status), [422]);
    assert.equal(await messages('stripe 4'), 0);
  },
});
proxy.closeAllConnections();
proxy.close();
