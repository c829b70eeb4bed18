// Proves that oauth4webapi and openid-client, which know only the RFCs, find the endpoints of an org and get, use, inspect and revoke tokens.
//
//   node oauth.mjs FACTS [HEADER_PREFIX [CLAIM_NAMESPACE]]
//
// FACTS is the file that the server's -demo-json flag writes.

import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { runAll } from './checks.mjs';

const [factsFile, prefix = 'Service-', namespace = 'service/'] = process.argv.slice(2);
const facts = JSON.parse(readFileSync(factsFile, 'utf8'));
const issuer = `${facts.base_url}/${facts.org}/v2`;
const http = { [oauth.allowInsecureRequests]: true }; // the server is on a loopback address
const secret = (of = facts.client_secret) => oauth.ClientSecretBasic(of);
const client = { client_id: facts.client_key };
const narrow = { client_id: facts.narrow_client_key };

const discover = async (of = issuer) => {
  const options = { algorithm: 'oauth2', ...http };
  return oauth.processDiscoveryResponse(new URL(of), await oauth.discoveryRequest(new URL(of), options));
};
const server = await discover();

const grant = async (parameters = {}, as = client, auth = secret()) => {
  const response = await oauth.clientCredentialsGrantRequest(server, as, auth, new URLSearchParams(parameters), http);
  assert.equal(response.headers.get('cache-control'), 'no-store');
  return oauth.processClientCredentialsResponse(server, as, response);
};
const introspect = async (token, as = client, auth = secret()) =>
  oauth.processIntrospectionResponse(server, as, await oauth.introspectionRequest(server, as, auth, token, http));
const revoke = async (token, as = client, auth = secret()) =>
  oauth.processRevocationResponse(await oauth.revocationRequest(server, as, auth, token, http));
const use = (token, path, method = 'GET') => oauth.protectedResourceRequest(token, method, new URL(issuer + path), undefined, undefined, http);

const refused = (code) => (error) => error instanceof oauth.ResponseBodyError && error.error === code && error.status === 400;
const challenged = (error) =>
  error instanceof oauth.WWWAuthenticateChallengeError && error.status === 401 && error.cause[0].scheme === 'basic';
const challengedWith = (code) => (error) =>
  error instanceof oauth.WWWAuthenticateChallengeError && error.cause.some((one) => one.scheme === 'bearer' && one.parameters.error === code);

// admin sends a signed request of the demo's administrator, for what OAuth does not have.
async function admin(command, body) {
  const at = String(Date.now());
  const mac = createHmac('sha256', facts.client_key + facts.client_secret).update(`${command};POST;${at}`);
  const reply = await fetch(issuer + command, {
    method: 'POST',
    headers: {
      'Content-Type': 'application/json',
      [`${prefix}Client-Key`]: facts.client_key,
      [`${prefix}Client-Signature`]: mac.digest('hex'),
      [`${prefix}Client-Timestamp`]: at,
      [`${prefix}Client-Nonce`]: randomBytes(8).toString('hex'),
    },
    body: body && JSON.stringify(body),
  });
  const text = await reply.text();
  assert.equal(reply.status, 200, text);
  return JSON.parse(text);
}

// permanent mints a token with a jti.
async function permanent(options) {
  const body = { sub: facts.admin_account_id, scope: [''], ...options };
  return (await admin(`/apps/${facts.client_key}/tokens`, body)).data.token;
}

// newSigner makes an app with a public key and without a secret.
async function newSigner() {
  const pair = await oauth.generateKeyPair('Ed25519', { extractable: true });
  const publicKey = Buffer.from(await crypto.subtle.exportKey('raw', pair.publicKey)).toString('base64url');
  const app = await admin('/apps', { name: 'signer', credential: { account: facts.account_id, publicKey, scope: ['object.read.c_message'] } });
  await admin(`/apps/${app._id}/keypair`);
  return { client_id: app._id, key: pair.privateKey };
}

const checks = {
  'oauth4webapi finds the server of a resource, and its keys': async () => {
    const resource = await oauth.processResourceDiscoveryResponse(new URL(issuer), await oauth.resourceDiscoveryRequest(new URL(issuer), http));
    assert.deepEqual(resource.authorization_servers, [issuer]);
    assert.equal(server.issuer, issuer);
    assert.ok((await (await fetch(server.jwks_uri)).json()).keys.length > 0);
    await assert.rejects(discover(`${facts.base_url}/nowhere/v2`));
  },

  'oauth4webapi gets a token and uses it': async () => {
    const { access_token, token_type, expires_in, scope } = await grant();
    assert.deepEqual([token_type, scope], ['bearer', '*']);
    assert.ok(expires_in > 890 && expires_in <= 900);
    const me = await (await use(access_token, '/accounts/me')).json();
    assert.equal(me._id, facts.admin_account_id);
  },

  'oauth4webapi gets a narrower token, and the server limits it': async () => {
    const { access_token, scope } = await grant({ scope: 'object.read.c_message admin.read' });
    assert.equal(scope, 'object.read.c_message admin.read');
    assert.equal((await use(access_token, '/c_messages')).status, 200);
    await assert.rejects(use(access_token, '/connections'), challengedWith('insufficient_scope'));
    const claims = JSON.parse(Buffer.from(access_token.split('.')[1], 'base64url'));
    assert.deepEqual(claims[`${namespace}scp`], ['object.read.c_message', 'admin.read']);
  },

  'a narrow client gets no more than it has': async () => {
    const auth = secret(facts.narrow_client_secret);
    assert.equal((await grant({}, narrow, auth)).scope, 'object.read.c_message');
    await assert.rejects(grant({ scope: 'admin.read' }, narrow, auth), refused('invalid_scope'));
  },

  'errors are what oauth4webapi expects': async () => {
    await assert.rejects(grant({ scope: 'openid' }), refused('invalid_scope'));
    await assert.rejects(grant({ resource: 'https://elsewhere.example' }), refused('invalid_target'));
    await assert.rejects(grant({}, client, secret('wrong')), challenged);
    await assert.rejects(grant({}, { client_id: 'nobody' }, secret()), challenged);
    await assert.rejects(grant({}, client, oauth.ClientSecretPost('wrong')), (error) => error.error === 'invalid_client');
    assert.ok((await grant({}, client, oauth.ClientSecretPost(facts.client_secret))).access_token);
    const response = await oauth.genericTokenEndpointRequest(server, client, secret(), 'password', { username: 'x' }, http);
    await assert.rejects(oauth.processGenericTokenEndpointResponse(server, client, response), refused('unsupported_grant_type'));
  },

  'oauth4webapi inspects tokens and spends no use': async () => {
    const once = await permanent({ maxUses: 1 });
    for (let n = 0; n < 3; n++) {
      const reply = await introspect(once);
      assert.deepEqual([reply.active, reply.sub, reply.client_id, reply.aud], [true, facts.admin_account_id, facts.client_key, issuer]);
    }
    assert.equal((await use(once, '/accounts/me')).status, 200);
    assert.deepEqual(await introspect(once), { active: false });
    await assert.rejects(introspect(once, { client_id: facts.other_client_key }, secret(facts.other_client_secret)), challenged);
  },

  'oauth4webapi revokes its own tokens and no others': async () => {
    const token = await permanent({ permanent: true });
    await revoke(token, narrow, secret(facts.narrow_client_secret));
    assert.equal((await introspect(token)).active, true);
    await revoke(token);
    assert.equal((await introspect(token)).active, false);
    await assert.rejects(use(token, '/accounts/me'), challengedWith('invalid_token'));
    await revoke('no token');
    await assert.rejects(revoke((await grant()).access_token), refused('unsupported_token_type'));
  },

  'oauth4webapi and openid-client sign assertions': async () => {
    const { key, ...signer } = await newSigner();
    const { access_token, scope } = await grant({}, signer, oauth.PrivateKeyJwt({ key, kid: 'any' }));
    assert.equal(scope, 'object.read.c_message');
    assert.equal((await use(access_token, '/c_messages')).status, 200);
    assert.equal((await introspect(access_token, signer, oauth.PrivateKeyJwt(key))).active, true);
    const options = { algorithm: 'oauth2', execute: [openid.allowInsecureRequests] };
    const config = await openid.discovery(new URL(issuer), signer.client_id, undefined, openid.PrivateKeyJwt(key), options);
    assert.equal((await openid.clientCredentialsGrant(config)).scope, 'object.read.c_message');
    const old = { [oauth.modifyAssertion]: (_header, payload) => (payload.exp -= 600) };
    const refusal = (error) => error.error === 'invalid_client' && error.status === 401;
    await assert.rejects(grant({}, signer, oauth.PrivateKeyJwt(key, old)), refusal);
    const array = { [oauth.modifyAssertion]: (_header, payload) => (payload.aud = [payload.aud]) };
    await assert.rejects(grant({}, signer, oauth.PrivateKeyJwt(key, array)), refusal);
    await assert.rejects(grant({}, signer, secret()), refused('unauthorized_client'));
    const wrong = (await oauth.generateKeyPair('Ed25519')).privateKey;
    await assert.rejects(grant({}, signer, oauth.PrivateKeyJwt(wrong)), refusal);
  },

  'openid-client gets, uses, inspects and revokes tokens': async () => {
    const options = { algorithm: 'oauth2', execute: [openid.allowInsecureRequests] };
    const auth = openid.ClientSecretBasic(facts.client_secret);
    const config = await openid.discovery(new URL(issuer), facts.client_key, undefined, auth, options);
    const { access_token } = await openid.clientCredentialsGrant(config, { scope: 'object.read.c_message' });
    const reply = await openid.fetchProtectedResource(config, access_token, new URL(`${issuer}/c_messages`), 'GET');
    assert.equal((await reply.json()).object, 'list');
    assert.equal((await openid.tokenIntrospection(config, access_token)).scope, 'object.read.c_message');
    const token = await permanent({ permanent: true });
    await openid.tokenRevocation(config, token);
    assert.equal((await openid.tokenIntrospection(config, token)).active, false);
  },
};

await runAll(checks);
