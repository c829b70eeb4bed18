// Proves that the types of openapi-typescript and a signing fetch make a client of the reference server, by signature and by token.
//
//   node typescript-client.mjs FACTS
//
// The file schema.d.mts is generated from the server's /openapi.json. tsc fails if a line below @ts-expect-error is no error.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import createClient, { type Client } from 'openapi-fetch';
import { runAll } from './checks.mjs';
import type { components, paths } from './schema.mjs';
import { signingFetch } from './signing-fetch.mjs';

type Message = components['schemas']['c_message'];
type NewMessage = paths['/c_messages']['post']['requestBody']['content']['application/json'];
type Where = components['schemas']['c_messageWhere'];

const facts = JSON.parse(readFileSync(process.argv[2]!, 'utf8'));
const baseUrl: string = `${facts.base_url}/${facts.org}/v2`;
const app = { key: facts.client_key, secret: facts.client_secret };

/** Returns all messages of a filter: section 4.2 of INTERFACE.md. */
async function* walk(client: Client<paths>, filter: Where = {}): AsyncGenerator<Message> {
  for (let where = filter; ; ) {
    const query = { where: JSON.stringify(where), limit: 1000, 'paths[]': ['c_likes'] };
    const { data, error } = await client.GET('/c_messages', { params: { query } });
    if (!data) {
      throw new Error(error.errCode);
    }
    yield* data.data;
    if (!data.hasMore) {
      return;
    }
    where = { $and: [filter, { _id: { $gt: data.data.at(-1)!._id } }] };
  }
}

const ids = async (messages: AsyncGenerator<Message>, keep: (m: Message) => boolean = () => true) => {
  const all: string[] = [];
  for await (const message of messages) {
    if (keep(message)) {
      all.push(message._id);
    }
  }
  return all;
};

function checksOf(by: string, client: Client<paths>): Record<string, () => Promise<void>> {
  return {
    [`${by}: a page`]: async () => {
      const { data } = await client.GET('/c_messages', { params: { query: { limit: 3, sort: '{"c_likes":-1}', 'paths[]': ['c_text', 'c_likes'] } } });
      assert.equal(data?.data.length, 3);
      assert.equal(data?.hasMore, true);
      const [first] = data!.data;
      assert.equal(typeof first!.c_text, 'string');
      assert.ok(first!.c_likes! >= data!.data[2]!.c_likes!);
      // @ts-expect-error: no such property
      assert.equal(first!.c_txt, undefined);
    },

    [`${by}: a walk has each of 2,500 messages once`]: async () => {
      assert.equal(new Set(await ids(walk(client))).size, 2500);
    },

    [`${by}: a filter has what the same filter in the client has`]: async () => {
      const likes = { $gte: 10, $lt: 20 };
      const kept = await ids(walk(client), (m) => m.c_likes! >= likes.$gte && m.c_likes! < likes.$lt);
      assert.notEqual(kept.length, 0);
      assert.deepEqual(await ids(walk(client, { c_likes: likes })), kept);
      // @ts-expect-error: no such property
      await assert.rejects(ids(walk(client, { c_like: likes })), /invalidArgument/);
      // @ts-expect-error: a number is no text
      await assert.rejects(ids(walk(client, { c_likes: { $gte: 'many' } })), /invalidArgument/);
    },

    [`${by}: a message is posted, read and deleted`]: async () => {
      // openapi-fetch infers the type of a body, and does not see a wrong name in it.
      const body: NewMessage = { c_text: 'by a generated client', c_sent: new Date().toISOString(), c_meta: { lang: 'en' } };
      const { data: made } = await client.POST('/c_messages', { body });
      assert.equal(made?.c_text, body.c_text);
      const params = { path: { id: made!._id } };
      const { data: read } = await client.GET('/c_messages/{id}', { params });
      assert.deepEqual(read, made);
      const { data: deleted } = await client.DELETE('/c_messages/{id}', { params });
      assert.equal(deleted?.data, true);
      const { error, response } = await client.GET('/c_messages/{id}', { params });
      assert.equal(response.status, 404);
      assert.match(error!.errCode, /notFound/);
      // @ts-expect-error: no such property
      const wrong: NewMessage = { c_txt: 'misspelt' };
      assert.equal((await client.POST('/c_messages', { body: wrong })).response.status, 400);
    },
  };
}

const byToken = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${facts.admin_token}` } });
const bySignature = createClient<paths>({ baseUrl, fetch: signingFetch(baseUrl, app) });

await runAll({
  ...checksOf('signature', bySignature),
  ...checksOf('token', byToken),

  'a request to another place is not signed': async () => {
    await assert.rejects(signingFetch(`${baseUrl}x`, app)(new Request(`${baseUrl}/c_messages`)), /is not below/);
  },

  'without a credential there is a fault': async () => {
    const { error } = await createClient<paths>({ baseUrl }).GET('/accounts/me');
    assert.match(error!.errCode, /noCredentialsSupplied/);
  },
});
