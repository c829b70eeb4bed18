// Proves that a program with only Node's fetch and its own cookie jar can use sessions and second factors.
//
//   node session-client.mjs FACTS [FAULT_NAMESPACE [SESSION_COOKIE TICKET_COOKIE DEVICE_COOKIE]]
//
// FACTS is the file that the server's -demo-json flag writes. Other flags of the
// server set the names of the cookies.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { Authenticator } from './totp.mjs';
import { runAll } from './checks.mjs';

const [
  factsFile, faults = 'service',
  sessionFlag = '__Host-session-{org}', ticketFlag = '__Host-ticket-{org}', deviceFlag = '__Host-device-{org}',
] = process.argv.slice(2);
const facts = JSON.parse(readFileSync(factsFile, 'utf8'));

// Over http on a loopback address, cookies have no prefix.
const cookieOf = (flag, org) => flag.replace('__Host-', '').replace('{org}', org);
const sessionCookie = cookieOf(sessionFlag, facts.org);
const ticketCookie = cookieOf(ticketFlag, facts.org);
const deviceCookie = cookieOf(deviceFlag, facts.org);

// Jar keeps the cookies of one server. All have the path /.
class Jar {
  cookies = new Map();
  lines = []; // each Set-Cookie line as received

  keep(reply) {
    for (const line of reply.headers.getSetCookie()) {
      this.lines.push(line);
      const [pair, ...attributes] = line.split(/;\s*/);
      const at = pair.indexOf('=');
      if (attributes.some((attribute) => /^max-age=(0|-\d+)$/i.test(attribute))) {
        this.cookies.delete(pair.slice(0, at));
      } else {
        this.cookies.set(pair.slice(0, at), pair.slice(at + 1));
      }
    }
  }

  header() {
    return [...this.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  }
}

// Person is a user with a cookie jar and no other credential.
class Person {
  jar = new Jar();

  constructor(org = facts.org) {
    this.home = `${facts.base_url}/${org}/v2`;
  }

  async send(method, path, body, headers = {}) {
    const cookie = this.jar.header();
    const reply = await fetch(this.home + path, {
      method,
      redirect: 'error',
      signal: AbortSignal.timeout(60_000),
      headers: {
        'User-Agent': 'session-client',
        ...(cookie && { Cookie: cookie }),
        ...(body && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body && { body: JSON.stringify(body) }),
    });
    this.jar.keep(reply);
    const text = await reply.text();
    return { status: reply.status, headers: reply.headers, text, value: JSON.parse(text) };
  }

  get(path) { return this.send('GET', path); }
  post(path, body, headers) { return this.send('POST', path, body, headers); }
  delete(path, body) { return this.send('DELETE', path, body); }

  // login tries again, at most twice, if the server had no time to check the password. The server
  // gives a request ten seconds, and does not count such a try.
  async login(email, password, location) {
    for (let left = 2; ; left--) {
      const reply = await this.post('/accounts/login', { email, password, ...(location && { location }) });
      if (reply.status !== 503 || left === 0) {
        return reply;
      }
    }
  }

  verify(code) {
    return this.post('/accounts/login', { location: { verificationToken: code } });
  }

  async sessions() {
    return succeeded(await this.get('/accounts/me/sessions')).data;
  }
}

async function signedIn(email = facts.account_email, password = facts.account_password) {
  const person = new Person();
  succeeded(await person.login(email, password));
  return person;
}

// Checks of replies.

function succeeded(reply) {
  assert.equal(reply.status, 200, reply.text);
  assert.match(reply.headers.get('content-type'), /^application\/json/);
  return reply.value;
}

function refused(reply, status, detail) {
  assert.equal(reply.status, status, reply.text);
  assert.equal(reply.value.object, 'fault');
  assert.equal(reply.value.status, status);
  assert.equal(reply.value.errCode, `${faults}.${detail}`);
  assert.equal(reply.headers.get('cache-control'), 'no-store');
  assert.equal(reply.headers.get('www-authenticate') !== null, status === 401, 'a challenge comes with 401 and only then');
  return reply.value;
}

// guesses tries a dozen passwords for a name, three at the same time. With more at the same time,
// some would find the queue full. The first delay is a second.
async function guesses(email) {
  const replies = [];
  while (replies.length < 12) {
    const tries = Array.from({ length: 3 }, (_, n) => new Person().login(email, `guess ${replies.length + n}`));
    replies.push(...(await Promise.all(tries)));
  }
  return replies;
}

const wrongPassword = (reply) => refused(reply, 401, 'accessDenied.invalidCredentials');
const wrongCode = (reply) => refused(reply, 401, 'invalidArgument.locationToken');
const over = (reply) => refused(reply, 401, 'accessDenied.sessionExpired');

const secondFactor = new Authenticator(facts.totp_secret); // of the account that came with one

// The checks. Later ones use the results of earlier ones.

const nina = { email: 'nina@acme.example', password: 'a password of Nina', name: 'Nina New' };
let registered; // Nina, signed in
let device; // Nina's second factor
let recovery; // its recovery codes

const checks = {
  'whoever comes with nothing is not signed in': async () => {
    const status = succeeded(await new Person().get('/accounts/status'));
    assert.deepEqual(status, { loggedin: false });
    refused(await new Person().get('/accounts/me'), 401, 'accessDenied.noCredentialsSupplied');
  },

  'registration makes an account and signs it in': async () => {
    registered = new Person();
    const account = succeeded(await registered.post('/accounts', nina));
    assert.equal(account.object, 'account');
    assert.equal(account.email, nina.email);
    assert.equal(account.password, undefined);
    assert.equal(succeeded(await registered.get('/accounts/me'))._id, account._id);
  },

  'the cookies have their names and their attributes': async () => {
    const [session, known, ...more] = registered.jar.lines.map((line) => line.split(/;\s*/));
    assert.deepEqual(more, []);
    assert.match(session.shift(), new RegExp(`^${sessionCookie}=[A-Za-z0-9_-]{43}$`));
    assert.deepEqual(session.sort(), ['HttpOnly', 'Path=/', 'SameSite=Lax']);
    assert.match(known.shift(), new RegExp(`^${deviceCookie}=[A-Za-z0-9_-]{96}$`));
    assert.deepEqual(known.sort(), ['HttpOnly', `Max-Age=${180 * 24 * 60 * 60}`, 'Path=/', 'SameSite=Lax']);
  },

  'an e-mail address is taken once, whatever its case': async () => {
    const late = new Person();
    refused(await late.post('/accounts', { ...nina, email: nina.email.toUpperCase() }), 409, 'conflict.unspecified');
    assert.equal(late.jar.cookies.size, 0);
  },

  'a wrong password and an unknown account get one answer, and no cookie': async () => {
    const stranger = new Person();
    const wrong = await stranger.login(facts.account_email, 'not the password');
    const unknown = await stranger.login('nobody@acme.example', 'not the password');
    wrongPassword(wrong);
    assert.equal(unknown.text, wrong.text);
    assert.equal(stranger.jar.cookies.size, 0);
  },

  'the right password signs in, and the status tells who': async () => {
    const person = await signedIn();
    const status = succeeded(await person.get('/accounts/status'));
    assert.equal(status.loggedin, true);
    assert.equal(status.account._id, facts.account_id);
    assert.equal(status.account.email, facts.account_email);
  },

  'a login inside a session begins another one, and ends the old one': async () => {
    const person = await signedIn();
    const old = new Person();
    old.jar.cookies = new Map(person.jar.cookies);
    succeeded(await person.login(facts.account_email, facts.account_password));
    assert.notDeepEqual(person.jar.cookies, old.jar.cookies);
    over(await old.get('/accounts/me'));
    succeeded(await person.get('/accounts/me'));
  },

  'a session is good for its own org only': async () => {
    const person = await signedIn();
    const abroad = new Person(facts.other_org);
    abroad.jar.cookies.set(cookieOf(sessionFlag, facts.other_org), person.jar.cookies.get(sessionCookie));
    over(await abroad.get('/accounts/me'));
  },

  'the sessions are listed, and one is the current one': async () => {
    const person = await signedIn();
    const sessions = await person.sessions();
    assert.equal(sessions.filter((session) => session.current).length, 1);
    for (const session of sessions) {
      assert.deepEqual(Object.keys(session).sort(), ['_id', 'address', 'agent', 'created', 'current', 'object', 'seen']);
      assert.equal(session.object, 'session');
      assert.equal(session.address, '127.0.0.1');
      assert.equal(session.agent, 'session-client');
    }
    assert.ok(!JSON.stringify(sessions).includes(person.jar.cookies.get(sessionCookie)), 'the list holds the token');
  },

  'one session is revoked by another, once': async () => {
    const here = await signedIn();
    const there = await signedIn();
    const { _id } = (await there.sessions()).find((session) => session.current);
    succeeded(await here.delete(`/accounts/me/sessions/${_id}`));
    over(await there.get('/accounts/me'));
    assert.equal(there.jar.cookies.has(sessionCookie), false, 'the cookie of a session that is over is cleared');
    refused(await here.delete(`/accounts/me/sessions/${_id}`), 404, 'notFound.unspecified');
    succeeded(await here.get('/accounts/me'));
  },

  'nobody revokes a session of somebody else': async () => {
    const other = await signedIn();
    const { _id } = (await other.sessions()).find((session) => session.current);
    refused(await registered.delete(`/accounts/me/sessions/${_id}`), 404, 'notFound.unspecified');
    succeeded(await other.get('/accounts/me'));
  },

  'all other sessions are revoked, and counted': async () => {
    const here = await signedIn();
    const there = await signedIn();
    const others = (await here.sessions()).length - 1;
    assert.equal(succeeded(await here.delete('/accounts/me/sessions')).data, others);
    over(await there.get('/accounts/me'));
    assert.equal((await here.sessions()).length, 1);
  },

  'whoever proves itself again gets another token, and the old one is over': async () => {
    const person = await signedIn();
    const old = new Person();
    old.jar.cookies = new Map(person.jar.cookies);
    const current = async () => (await person.sessions()).find((session) => session.current)._id;
    const before = await current();
    wrongPassword(await person.post('/accounts/me/reauthenticate', { password: 'not the password' }));
    succeeded(await person.get('/accounts/me'));
    succeeded(await person.post('/accounts/me/reauthenticate', { password: facts.account_password }));
    over(await old.get('/accounts/me'));
    assert.equal(await current(), before, 'it is the same session');
  },

  'a second factor is active after its first code, and not before': async () => {
    const { data } = succeeded(await registered.post('/accounts/me/second-factor'));
    assert.match(data.secret, /^[A-Z2-7]{32}$/);
    const uri = new URL(data.otpauth);
    assert.equal(uri.protocol, 'otpauth:');
    assert.equal(uri.searchParams.get('secret'), data.secret);
    assert.equal(uri.searchParams.get('issuer'), facts.org);
    wrongCode(await registered.post('/accounts/me/second-factor/confirm', { code: '12345' }));
    succeeded(await new Person().login(nina.email, nina.password));

    device = new Authenticator(data.secret);
    const confirmed = succeeded(await registered.post('/accounts/me/second-factor/confirm', { code: await device.code() }));
    recovery = confirmed.data.recoveryCodes;
    assert.equal(new Set(recovery).size, 10);
    succeeded(await registered.get('/accounts/me'));
  },

  'the password alone then opens nothing but the second step': async () => {
    const person = new Person();
    const fault = refused(await person.login(nina.email, nina.password), 403, 'accessDenied.unverifiedLocation');
    assert.equal(fault.reason, 'code');
    assert.deepEqual([...person.jar.cookies.keys()], [ticketCookie]);
    refused(await person.get('/accounts/me'), 401, 'accessDenied.noCredentialsSupplied');
    refused(await person.post('/accounts/me/second-factor'), 401, 'accessDenied.noCredentialsSupplied');

    const posing = new Person();
    posing.jar.cookies.set(sessionCookie, person.jar.cookies.get(ticketCookie));
    over(await posing.get('/accounts/me'));
  },

  'a code completes the login by its ticket, once': async () => {
    const person = new Person();
    refused(await person.login(nina.email, nina.password), 403, 'accessDenied.unverifiedLocation');
    const ticket = new Map(person.jar.cookies);
    wrongCode(await person.verify(device.latest())); // this code has confirmed the enrolment
    succeeded(await person.verify(await device.code()));
    assert.deepEqual([...person.jar.cookies.keys()], [sessionCookie, deviceCookie]);
    assert.equal(succeeded(await person.get('/accounts/me')).email, nina.email);

    const again = new Person();
    again.jar.cookies = ticket;
    wrongCode(await again.verify(recovery[9]));
  },

  'a recovery code completes the login, once': async () => {
    const person = new Person();
    refused(await person.login(nina.email, nina.password), 403, 'accessDenied.unverifiedLocation');
    succeeded(await person.verify(recovery[0].toLowerCase().replaceAll('-', ' ')));
    const again = new Person();
    refused(await again.login(nina.email, nina.password), 403, 'accessDenied.unverifiedLocation');
    wrongCode(await again.verify(recovery[0]));
  },

  'password and code may come together': async () => {
    const person = new Person();
    const location = { verificationToken: recovery[1], locationName: 'here', singleUse: true };
    assert.equal(succeeded(await person.login(nina.email, nina.password, location)).email, nina.email);
  },

  'the account that came with a second factor signs in by it': async () => {
    const person = new Person();
    refused(await person.login(facts.totp_account_email, facts.totp_account_password), 403, 'accessDenied.unverifiedLocation');
    const account = succeeded(await person.verify(await secondFactor.code()));
    assert.equal(account._id, facts.totp_account_id);
  },

  'a device is remembered if its owner asks, and then needs no code': async () => {
    const person = new Person();
    const location = { verificationToken: await secondFactor.code(), locationName: 'here', singleUse: false };
    const password = [facts.totp_account_email, facts.totp_account_password];
    refused(await person.login(...password), 403, 'accessDenied.unverifiedLocation');
    assert.equal(succeeded(await person.post('/accounts/login', { location })).remembered, true);
    succeeded(await person.post('/accounts/me/logout'));
    assert.equal(succeeded(await person.login(...password)).email, facts.totp_account_email);
    refused(await new Person().login(...password), 403, 'accessDenied.unverifiedLocation');
  },

  'a second factor is removed by a code, and ends the other sessions': async () => {
    wrongCode(await registered.delete('/accounts/me/second-factor', { code: recovery[0] }));
    succeeded(await registered.delete('/accounts/me/second-factor', { code: recovery[2] }));
    assert.equal((await registered.sessions()).length, 1);
    succeeded(await new Person().login(nina.email, nina.password));
  },

  'another password takes the present one, and ends the other sessions': async () => {
    const [here, there] = [new Person(), new Person()];
    for (const person of [here, there]) succeeded(await person.login(nina.email, nina.password));
    const old = new Person();
    old.jar.cookies = new Map(here.jar.cookies);
    const newPassword = 'another password of Nina';
    wrongPassword(await here.post('/accounts/me/password', { password: 'not the password', newPassword }));
    succeeded(await here.post('/accounts/me/password', { password: nina.password, newPassword }));
    succeeded(await here.get('/accounts/me'));
    for (const person of [old, there]) over(await person.get('/accounts/me'));
    wrongPassword(await new Person().login(nina.email, nina.password));
    nina.password = newPassword;
    succeeded(await new Person().login(nina.email, nina.password));
  },

  'an account that has a role for its scope alone signs in': async () => {
    const person = new Person();
    const account = succeeded(await person.login(facts.reader_email, facts.reader_password));
    assert.equal(account._id, facts.reader_account_id);
    assert.deepEqual(account.roles, ['reader']);
  },

  'what a browser sends from another origin is refused, and ends nothing': async () => {
    const person = await signedIn();
    for (const headers of [{ 'Sec-Fetch-Site': 'cross-site' }, { 'Sec-Fetch-Site': 'same-site' }, { Origin: 'http://elsewhere.example' }]) {
      refused(await person.post('/accounts/me/logout', undefined, headers), 403, 'accessDenied.csrfTokenMismatch');
      const body = { email: nina.email, password: nina.password };
      refused(await person.post('/accounts/login', body, headers), 403, 'accessDenied.csrfTokenMismatch');
    }
    assert.equal(succeeded(await person.get('/accounts/me'))._id, facts.account_id);
  },

  'tries at a password are spaced out': async () => {
    const began = performance.now();
    const replies = await guesses('guessed@acme.example');
    const seconds = (performance.now() - began) / 1000;

    const wrong = replies.filter(({ status }) => status !== 429);
    wrong.forEach(wrongPassword);
    // Five tries are free. Later tries are delayed by 1, 2, 4, … seconds.
    const most = 5 + Math.floor(Math.log2(1 + seconds));
    assert.ok(wrong.length >= 5 && wrong.length <= most, `${wrong.length} tries in ${seconds} s`);

    const locked = replies.filter(({ status }) => status === 429);
    assert.notEqual(locked.length, 0);
    for (const reply of locked) {
      refused(reply, 429, 'accessDenied.accountLocked');
      assert.match(reply.headers.get('retry-after'), /^[1-9]\d*$/);
    }
  },

  'a name has five passwords hashed at once, and more have to wait': async () => {
    const tries = Array.from({ length: 12 }, (_, n) => new Person().login('crowded@acme.example', `guess ${n}`));
    const replies = await Promise.all(tries);
    const crowd = replies.filter(({ status }) => status === 429);
    assert.notEqual(crowd.length, 0);
    crowd.forEach((reply) => refused(reply, 429, 'accessDenied.accountLocked'));
    replies.filter(({ status }) => status !== 429).forEach(wrongPassword);
  },

  'guesses elsewhere keep nobody waiting on a device that is known': async () => {
    const owner = await signedIn(nina.email, nina.password);
    succeeded(await owner.post('/accounts/me/logout'));
    const locked = (await guesses(nina.email)).filter(({ status }) => status === 429);
    assert.notEqual(locked.length, 0);
    locked.forEach((reply) => refused(reply, 429, 'accessDenied.accountLocked'));
    succeeded(await owner.login(nina.email, nina.password));

    const posing = new Person();
    posing.jar.cookies.set(sessionCookie, owner.jar.cookies.get(deviceCookie));
    over(await posing.get('/accounts/me'));
  },

  'after signing out the session is over, and signed out again is no session': async () => {
    const person = await signedIn();
    const kept = new Person();
    kept.jar.cookies = new Map(person.jar.cookies);
    assert.deepEqual(succeeded(await person.post('/accounts/me/logout')), { object: 'result', data: true });
    assert.deepEqual([...person.jar.cookies], [[deviceCookie, kept.jar.cookies.get(deviceCookie)]]);
    over(await kept.post('/accounts/me/logout'));
    refused(await person.get('/accounts/me'), 401, 'accessDenied.noCredentialsSupplied');
    const stale = new Person();
    stale.jar.cookies.set(sessionCookie, 'A'.repeat(43));
    const status = succeeded(await stale.get('/accounts/status'));
    assert.equal(status.loggedin, false);
    assert.equal(status.fault.errCode, `${faults}.accessDenied.sessionExpired`);
  },
};

await runAll(checks);
