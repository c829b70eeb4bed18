// Proves that jose, a JavaScript library, verifies our tokens with the keys that the server publishes, and refuses altered tokens.
//
//   node jose.mjs FACTS [CLAIM_NAMESPACE]
//
// FACTS is the file that the server's -demo-json flag writes.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRemoteJWKSet, decodeProtectedHeader, jwtVerify } from 'jose';
import { runAll } from './checks.mjs';

const [factsFile, namespace = 'service/'] = process.argv.slice(2);
const facts = JSON.parse(readFileSync(factsFile, 'utf8'));
const environment = `${facts.base_url}/${facts.org}/v2`;
const keys = createRemoteJWKSet(new URL(`${environment}/auth/certs/jwk`), { timeoutDuration: 60_000 });
const expected = { issuer: facts.client_key, audience: environment, algorithms: ['RS256'], typ: 'JWT' };
const verify = (token, options = {}) => jwtVerify(token, keys, { ...expected, ...options });

// altered changes one part of a token: the payload by a function, or a character in the middle of
// another part.
function altered(token, part, change) {
  const parts = token.split('.');
  if (change) {
    const claims = JSON.parse(Buffer.from(parts[part], 'base64url').toString());
    change(claims);
    parts[part] = Buffer.from(JSON.stringify(claims)).toString('base64url');
  } else {
    const at = parts[part].length >> 1;
    const other = parts[part][at] === 'A' ? 'B' : 'A';
    parts[part] = parts[part].slice(0, at) + other + parts[part].slice(at + 1);
  }
  return parts.join('.');
}

const badSignature = { code: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED' };

const checks = {
  'the ephemeral token says what it was minted for': async () => {
    const { payload, protectedHeader } = await verify(facts.ephemeral_token);
    assert.deepEqual(Object.keys(protectedHeader).sort(), ['alg', 'kid', 'typ']);
    const { iat, exp, ...rest } = payload;
    assert.deepEqual(rest, {
      iss: facts.client_key,
      sub: facts.account_id,
      aud: environment,
      [`${namespace}scp`]: [''],
    });
    assert.ok(Number.isInteger(iat) && Number.isInteger(exp));
    assert.ok(Math.abs(exp - iat - 3600) <= 1, `lives ${exp - iat} s`);
  },

  'the limited token has an id and a use count': async () => {
    const { payload } = await verify(facts.limited_token);
    assert.equal(payload[`${namespace}cnt`], 3);
    assert.match(payload.jti, /^[\w-]{22}$/);
  },

  'the administrator and the narrow token differ in subject and scope': async () => {
    const [admin, narrow] = await Promise.all([verify(facts.admin_token), verify(facts.narrow_token)]);
    assert.equal(admin.payload.sub, facts.admin_account_id);
    assert.deepEqual(narrow.payload[`${namespace}scp`], ['object.read.c_message.*.c_text']);
  },

  'a token with another subject fails': async () => {
    const forged = altered(facts.ephemeral_token, 1, (claims) => (claims.sub = facts.admin_account_id));
    await assert.rejects(verify(forged), badSignature);
  },

  'a token with another signature fails': async () => {
    await assert.rejects(verify(altered(facts.ephemeral_token, 2)), badSignature);
  },

  'a token for another org fails': async () => {
    const audience = `${facts.base_url}/${facts.other_org}/v2`;
    await assert.rejects(verify(facts.ephemeral_token, { audience }), { code: 'ERR_JWT_CLAIM_VALIDATION_FAILED' });
  },

  'the set holds public members only, and the org its own keys only': async () => {
    const set = await (await fetch(`${environment}/auth/certs/jwk`)).json();
    assert.deepEqual(set.keys.map((key) => key.kid), [decodeProtectedHeader(facts.ephemeral_token).kid]);
    for (const key of set.keys) {
      assert.deepEqual(Object.keys(key).sort(), ['alg', 'e', 'kid', 'kty', 'n', 'use']);
    }
    const other = await (await fetch(`${facts.base_url}/${facts.other_org}/v2/auth/certs/jwk`)).json();
    assert.deepEqual(other.keys, []);
  },
};

await runAll(checks);
