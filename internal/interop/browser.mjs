// Proves in a browser that people can use the console of the reference server, and that pages elsewhere cannot abuse it.
//
//   node browser.mjs CHROMIUM FACTS STRICT_FACTS TRIED_FACTS [WORDS [SHOTS]]
//
// The -demo-json flag of three servers writes the facts; the second server requires a second factor. Only flows whose
// names contain WORDS run. With SHOTS, screenshots go into that folder.

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { readFileSync } from 'node:fs';
import http from 'node:http';
import axe from 'axe-core';
import { chromium } from 'playwright-core';
import { named, report, run } from './checks.mjs';
import { Authenticator } from './totp.mjs';

const [executablePath, factsFile, strictFile, triedFile, words = '', shots] = process.argv.slice(2);
const read = (file) => JSON.parse(readFileSync(file, 'utf8'));
const facts = read(factsFile);
const strict = read(strictFile);
const tried = read(triedFile);
const theo = new Authenticator(facts.totp_secret);

// Every wait of a check is at least this long, so that no check fails because the machine is slow.
const patience = 60_000; // milliseconds

const browser = await chromium.launch({ executablePath, timeout: 2 * patience, args: ['--no-sandbox'] }); // Chromium has no sandbox for root

// Pages, and what goes wrong on them.

const phone = { width: 375, height: 812 };
const desktop = { width: 1280, height: 900 };

// open opens the console in its own browser profile. problems collects the errors of its scripts
// and of its policy. Chromium also logs each refusal of the server as an error; those are in
// refusals.
async function open({ base = facts.base_url, path = '/', ...options } = {}) {
  const context = await browser.newContext({ viewport: desktop, locale: 'en-GB', ...options });
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  const problems = [];
  const refusals = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => {
    const refused = message.text().startsWith('Failed to load resource') && /\/v2\/|\/console\/scope$/.test(message.location().url);
    if (['error', 'warning'].includes(message.type()) && !refused) {
      problems.push(message.text());
    }
  });
  page.on('response', (reply) => {
    if (reply.status() >= 400) {
      refusals.push(`${reply.status()} ${new URL(reply.url()).pathname}`);
    }
  });
  await page.goto(base + path);
  return { page, context, problems, refusals, base, close: () => context.close() };
}

const heading = (page, name) => page.getByRole('heading', { name, exact: true });

async function signIn(page, email, password) {
  const form = page.getByRole('region', { name: 'Sign in' });
  await form.getByLabel('E-mail').fill(email);
  await form.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

async function enter(page, code) {
  await page.getByLabel('Code', { exact: true }).fill(code);
  await page.getByRole('button', { name: 'Continue' }).click();
}

const asMia = (page) => signIn(page, facts.account_email, facts.account_password);
const asTheo = (page) => signIn(page, facts.totp_account_email, facts.totp_account_password);
const ownSession = (page) => page.getByRole('listitem').filter({ hasText: 'this one' });

// inside waits until somebody is signed in and sees the sessions and the numbers. Their requests may
// still be running. A step that ends the session would make the server refuse it.
async function inside(page, name) {
  await heading(page, name).waitFor();
  await ownSession(page).waitFor();
  await settled(page);
}

// cookiesOf returns the cookies of a browser profile, by name.
async function cookiesOf(context) {
  const cookies = await context.cookies();
  return cookies.sort((one, other) => (one.name < other.name ? -1 : 1));
}

const namesOf = async (context) => (await cookiesOf(context)).map(({ name }) => name);

async function signOut(page) {
  await page.getByRole('button', { name: 'Sign out' }).click();
  await heading(page, 'Sign in').waitFor();
}

// focus waits until an element has the focus, which often comes after the element is visible.
const focus = (page, id) => page.locator(`#${id}:focus`).waitFor();

// settled waits until no step is running: a busy control ignores clicks.
const settled = (page) => page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });

// faces are the widths and colour schemes of screenshots. Colours do not change the layout, so
// without screenshots the light scheme is enough.
const faces = [
  ['desktop-light', desktop, 'light'],
  ['desktop-dark', desktop, 'dark'],
  ['phone-light', phone, 'light'],
  ['phone-dark', phone, 'dark'],
].filter(([, , scheme]) => shots || scheme === 'light');

// accessible checks the page by the rules of WCAG 2.2 AA that a program can check.
async function accessible(page, name) {
  await page.evaluate(`${axe.source}; 0`); // the policy holds for scripts of the page, and not for a debugger
  const { violations } = await page.evaluate((tags) => globalThis.axe.run({ runOnly: tags }), ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa']);
  assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]), [], name);
}

// shoot takes screenshots of a page in its present state, and checks that it fits each width and is
// accessible.
async function shoot(page, name) {
  const before = page.viewportSize();
  for (const [face, viewport, colorScheme] of faces) {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
    const [wide, seen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(wide <= seen, `${name} is ${wide} wide on a ${face} of ${seen}`);
    await accessible(page, `${name}, ${face}`);
    if (shots) {
      await page.screenshot({ path: `${shots}/${name}-${face}.png`, fullPage: true });
    }
  }
  await page.setViewportSize(before);
}

// Another origin of the same site, because the port is no part of a site. Its requests carry the
// cookie although it is SameSite=Lax.

const elsewhere = http.createServer((request, reply) => {
  reply.setHeader('Content-Type', 'text/html');
  reply.end('<!doctype html><title>elsewhere</title><link rel="icon" href="data:,">');
});
await new Promise((resolve) => { elsewhere.listen(0, '127.0.0.1', resolve); });
const elsewhereURL = `http://127.0.0.1:${elsewhere.address().port}/`;

const posted = (page) => page.waitForResponse((reply) => reply.request().method() === 'POST');

// postForm submits a form from the other origin. Its one field reads as JSON.
async function postForm(page, action, body) {
  await page.goto(elsewhereURL);
  const send = () => page.evaluate(([to, json]) => {
    const form = document.createElement('form');
    Object.assign(form, { action: to, method: 'post', enctype: 'text/plain' });
    const field = document.createElement('input');
    Object.assign(field, { type: 'hidden', name: `${json.slice(0, -1)},"x":"`, value: '"}' });
    form.append(field);
    document.body.append(form);
    form.submit();
  }, [action, JSON.stringify(body)]);
  // The page navigates to the reply, and must be there before it navigates again.
  const [reply] = await Promise.all([posted(page), page.waitForURL(action), send()]);
  return { status: reply.status(), sent: await reply.request().allHeaders(), fault: await reply.json() };
}

// fetchFrom lets a page of the other origin post with cookies and without a preflight request. It
// returns the status, which that page cannot see.
async function fetchFrom(page, action, body) {
  await page.goto(elsewhereURL);
  const status = await statusOf(page, action);
  const read = await page.evaluate(([to, json]) => {
    const request = fetch(to, { method: 'POST', mode: 'no-cors', credentials: 'include', body: json });
    return request.then(() => 'read', () => 'refused');
  }, [action, JSON.stringify(body)]);
  assert.equal(read, 'refused', 'the page elsewhere gets the reply');
  return status();
}

// statusOf listens for the reply to an address. The browser hides the reply from pages of another
// origin, and so from page.waitForResponse, too.
async function statusOf(page, address) {
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Network.enable');
  // DevTools says in no fixed order that a request leaves and what came back for it.
  const asked = new Set();
  const statuses = new Map();
  const status = new Promise((resolve, reject) => {
    const settle = (id) => asked.has(id) && statuses.has(id) && resolve(statuses.get(id));
    devtools.on('Network.requestWillBeSent', ({ requestId, request }) => {
      if (request.url === address) asked.add(requestId);
      settle(requestId);
    });
    devtools.on('Network.responseReceivedExtraInfo', ({ requestId, statusCode }) => {
      statuses.set(requestId, statusCode);
      settle(requestId);
    });
    setTimeout(() => reject(new Error(`no reply from ${address}`)), patience).unref();
  });
  status.catch(() => {}); // no unhandled rejection if nobody waits for it
  return () => status;
}

// The checks.

const checks = {
  'somebody signs in, sees the session, and signs out': async () => {
    const { page, context, problems, refusals, close } = await open();
    await heading(page, 'Sign in').waitFor();
    await focus(page, 'email');
    assert.equal(await page.getByLabel('Org').inputValue(), 'acme');
    await shoot(page, 'sign-in');
    await asMia(page);
    await inside(page, 'Mia Member');
    await focus(page, 'account-title');
    await page.getByText(facts.account_email).waitFor();
    await page.getByText(facts.account_id).waitFor();
    assert.match(await ownSession(page).innerText(), /Chrome on Linux[^]*127\.0\.0\.1/);
    assert.equal(await page.locator('#password').inputValue(), '', 'the password stays on the page');

    await page.reload();
    await inside(page, 'Mia Member');
    const [known] = await cookiesOf(context);
    await signOut(page);
    assert.equal(known.name, 'device-acme');
    assert.deepEqual(await cookiesOf(context), [known], 'the device stays known, and nothing else is kept');
    await page.reload();
    await heading(page, 'Sign in').waitFor();
    assert.deepEqual(refusals, []);
    assert.deepEqual(problems, []);
    await close();
  },

  'the keyboard is enough': async () => {
    const { page, problems, close } = await open();
    await focus(page, 'email');
    await page.keyboard.type(facts.account_email);
    await page.keyboard.press('Tab');
    await page.keyboard.type(facts.account_password);
    await page.keyboard.press('Enter');
    await inside(page, 'Mia Member');
    await page.keyboard.press('Tab');
    await focus(page, 'sign-out');
    await page.keyboard.press('Enter');
    await heading(page, 'Sign in').waitFor();
    assert.deepEqual(problems, []);
    await close();
  },

  'a wrong password is refused in words, with its code': async () => {
    const { page, problems, refusals, close } = await open();
    await signIn(page, facts.account_email, 'not the password');
    await page.getByRole('alert').getByText('service.accessDenied.invalidCredentials').waitFor();
    await focus(page, 'password');
    await shoot(page, 'refused');
    assert.deepEqual(refusals, ['401 /acme/v2/accounts/login']);
    assert.deepEqual(problems, []);
    await close();
  },

  'an org that is not there is refused in words': async () => {
    const { page, problems, close } = await open({ path: '/#nowhere' });
    await page.getByRole('alert').getByText('service.notFound.env').waitFor();
    assert.equal(await page.getByLabel('Org').inputValue(), 'nowhere');
    assert.deepEqual(problems, []);
    await close();
  },

  'the cookies have their flags, and no script reads them': async () => {
    const { page, context, close } = await open();
    await asMia(page);
    await inside(page, 'Mia Member');
    const [known, session, ...more] = await cookiesOf(context);
    assert.deepEqual(more, []);
    assert.match(session.value, /^[A-Za-z0-9_-]{43}$/);
    assert.match(known.value, /^[A-Za-z0-9_-]{96}$/);
    const flags = { domain: '127.0.0.1', path: '/', httpOnly: true, secure: false, sameSite: 'Lax' };
    // A session ends with the browser.
    assert.deepEqual({ ...session, value: '' }, { name: 'session-acme', value: '', expires: -1, ...flags });
    assert.deepEqual({ ...known, value: '', expires: 0 }, { name: 'device-acme', value: '', expires: 0, ...flags });
    const days = (known.expires - Date.now() / 1000) / (24 * 60 * 60);
    assert.ok(days > 179.9 && days <= 180, `it is kept for ${days} days`);
    assert.equal(await page.evaluate(() => document.cookie), '');
    assert.deepEqual(await page.evaluate(() => [localStorage.length, sessionStorage.length]), [0, 0]);
    await close();
  },

  'the second factor is asked for, and a code serves once': async () => {
    const first = await open();
    await asTheo(first.page);
    await heading(first.page, 'Second factor').waitFor();
    await focus(first.page, 'code-input');
    assert.deepEqual(await namesOf(first.context), ['ticket-acme']);
    await shoot(first.page, 'code');
    await enter(first.page, await theo.code());
    await inside(first.page, 'Theo Second');
    assert.deepEqual(await namesOf(first.context), ['device-acme', 'session-acme']);

    const second = await open();
    await asTheo(second.page);
    await enter(second.page, theo.latest());
    await second.page.getByRole('alert').getByText('service.invalidArgument.locationToken').waitFor();
    await focus(second.page, 'code-input');
    await enter(second.page, await theo.code());
    await inside(second.page, 'Theo Second');
    assert.deepEqual([...first.problems, ...second.problems], []);
    await Promise.all([first.close(), second.close()]);
  },

  'a session that is revoked elsewhere is over': async () => {
    const here = await open();
    const there = await open({ userAgent: 'Mozilla/5.0 (iPhone; CPU iPhone OS 26_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Mobile/15E148 Safari/604.1' });
    await asMia(there.page);
    await inside(there.page, 'Mia Member');
    await asMia(here.page);
    await inside(here.page, 'Mia Member');
    await shoot(here.page, 'account');
    await here.page.getByRole('button', { name: 'Revoke Safari on iPhone' }).click();
    await here.page.getByRole('status').getByText('The session is revoked.').waitFor();
    await here.page.getByText('Safari on iPhone').waitFor({ state: 'detached' });
    await focus(here.page, 'sessions-title');

    await there.page.getByRole('button', { name: 'Revoke all others' }).click();
    await there.page.getByRole('alert').getByText('service.accessDenied.sessionExpired').waitFor();
    await heading(there.page, 'Sign in').waitFor();
    assert.deepEqual(await namesOf(there.context), ['device-acme']);
    assert.deepEqual([...here.problems, ...there.problems], []);
    await Promise.all([here.close(), there.close()]);
  },

  'all others are revoked at once': async () => {
    const here = await open();
    const there = await open();
    await asMia(there.page);
    await inside(there.page, 'Mia Member');
    await asMia(here.page);
    await here.page.getByRole('button', { name: 'Revoke all others' }).click();
    await here.page.getByRole('status').getByText(/revoked/).waitFor();
    const listed = here.page.getByRole('list', { name: 'Sessions' }).getByRole('listitem');
    await listed.nth(1).waitFor({ state: 'detached' });
    assert.equal(await listed.count(), 1);
    await focus(here.page, 'sessions-title');
    await there.page.getByRole('button', { name: 'Set up' }).click();
    await there.page.getByRole('alert').getByText('service.accessDenied.sessionExpired').waitFor();
    await heading(there.page, 'Sign in').waitFor();
    await Promise.all([here.close(), there.close()]);
  },

  'somebody proves itself again in a dialog': async () => {
    const { page, context, problems, close } = await open();
    await asMia(page);
    await inside(page, 'Mia Member');
    const [knownBefore, { value: before }] = await cookiesOf(context);
    await page.getByRole('button', { name: 'Re-authenticate' }).click();
    const dialog = page.getByRole('dialog', { name: 'Is it you?' });
    await focus(page, 'again-password');
    await page.keyboard.type('not the password');
    await page.keyboard.press('Enter');
    await dialog.getByRole('alert').getByText('service.accessDenied.invalidCredentials').waitFor();
    await shoot(page, 'dialog');
    await dialog.getByLabel('Password').fill(facts.account_password);
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('status').getByText('You have proved who you are.').waitFor();
    await focus(page, 'reauthenticate');
    const [knownAfter, { value: after }] = await cookiesOf(context);
    assert.notEqual(after, before, 'the token is the old one');
    assert.notEqual(knownAfter.value, knownBefore.value, 'the device is known by the old proof');

    await page.keyboard.press('Enter');
    await dialog.waitFor();
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    assert.deepEqual(problems, []);
    await close();
  },

  'a route that wants a fresh proof gets one, and is tried again': async () => {
    const { page, problems, close } = await open();
    await asMia(page);
    await inside(page, 'Mia Member');
    // Ten minutes are too long to wait: the test gives the server's first reply to such a session.
    await page.route('**/second-factor', (route) => route.fulfill({
      status: 403,
      json: { object: 'fault', status: 403, errCode: 'service.accessDenied.reauthenticationRequired', message: 'Again.', faults: [] },
    }), { times: 1 });
    await page.getByRole('button', { name: 'Set up' }).click();
    const dialog = page.getByRole('dialog', { name: 'Is it you?' });
    await dialog.getByLabel('Password').fill(facts.account_password);
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await heading(page, 'Set up a second factor').waitFor();
    await page.getByRole('button', { name: 'Cancel' }).click();
    await inside(page, 'Mia Member');
    assert.equal(await page.locator('#enrol-secret').textContent(), '', 'the secret stays on the page');
    assert.deepEqual(problems, []);
    await close();
  },

  'a second factor is set up, used with a recovery code, and removed': async () => {
    const { page, problems, close } = await open();
    await asMia(page);
    await inside(page, 'Mia Member');
    const codes = await setUp(page);
    assert.equal(codes.length, 10);
    await page.getByRole('button', { name: 'I have kept them' }).click();
    await inside(page, 'Mia Member');
    assert.equal(await page.locator('#recovery-codes li').count(), 0, 'the codes stay on the page');
    await signOut(page);
    await asMia(page);
    await heading(page, 'Second factor').waitFor();
    await enter(page, codes[0]);
    await inside(page, 'Mia Member');
    await page.getByLabel('Remove it with a code').fill(codes[1]);
    await page.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('status').getByText('The second factor is removed').waitFor();
    await signOut(page);
    await asMia(page);
    await inside(page, 'Mia Member');
    assert.deepEqual(problems, []);
    await close();
  },

  'an org that requires a second factor has it set up at sign-in': async () => {
    const { page, context, problems, refusals, close } = await open({ base: strict.base_url });
    await signIn(page, strict.account_email, strict.account_password);
    await heading(page, 'Set up a second factor').waitFor();
    await page.getByText('This org requires a second factor').waitFor();
    await page.getByLabel('The code it shows').fill('000000');
    await page.getByRole('button', { name: 'Confirm' }).click();
    await page.getByRole('alert').getByText('service.invalidArgument.locationToken').waitFor();
    await focus(page, 'enrol-code');
    await confirmed(page);
    assert.deepEqual(await namesOf(context), ['device-acme', 'session-acme']);
    await page.getByRole('button', { name: 'I have kept them' }).click();
    await inside(page, 'Mia Member');
    assert.deepEqual(refusals, ['403 /acme/v2/accounts/login', '401 /acme/v2/accounts/me/second-factor/confirm']);
    assert.deepEqual(problems, []);
    await close();
  },

  'another origin can neither sign anybody out nor in': async () => {
    const { page, context, close } = await open();
    await asMia(page);
    await inside(page, 'Mia Member');
    const before = await cookiesOf(context);
    const home = `${facts.base_url}/acme/v2/accounts`;
    const other = await context.newPage();
    const theirs = { email: facts.totp_account_email, password: facts.totp_account_password };

    const logout = await postForm(other, `${home}/me/logout`, { a: 1 });
    assert.ok(logout.sent.cookie?.includes('session-acme='), 'the browser has sent the cookie');
    assert.equal(logout.sent['sec-fetch-site'], 'same-site');
    assert.equal(logout.status, 403);
    assert.equal(logout.fault.errCode, 'service.accessDenied.csrfTokenMismatch');

    // Without the cookie the status would be 401.
    assert.equal(await fetchFrom(other, `${home}/me/logout`, {}), 403);

    const login = await postForm(other, `${home}/login`, theirs);
    assert.equal(login.status, 403);
    assert.equal(login.fault.errCode, 'service.accessDenied.csrfTokenMismatch');
    assert.equal(await fetchFrom(other, `${home}/login`, theirs), 403);

    assert.deepEqual(await cookiesOf(context), before);
    await page.reload();
    await inside(page, 'Mia Member');
    await close();
  },

  'a page elsewhere can neither read a reply nor frame the console': async () => {
    const { page, close } = await open();
    await asMia(page);
    await inside(page, 'Mia Member');
    await page.goto(elsewhereURL);
    const read = await page.evaluate((url) => fetch(url, { credentials: 'include' }).then(() => 'read', () => 'refused'),
      `${facts.base_url}/acme/v2/accounts/status`);
    assert.equal(read, 'refused');
    await page.evaluate((url) => new Promise((resolve) => {
      const frame = Object.assign(document.createElement('iframe'), { src: url, onload: resolve });
      document.body.append(frame);
    }), `${facts.base_url}/`);
    const framed = page.frames().at(-1);
    assert.equal(await framed.evaluate(() => document.querySelector('#sign-in') !== null).catch(() => false), false);
    await close();
  },

  'markup in data stays text, and the policy would keep it from running': async () => {
    const { page, problems, close } = await open();
    const markup = '<img src=x onerror="document.title=1"><script>document.title=1</script>';
    await page.route('**/accounts/me/sessions?*', async (route) => {
      const reply = await route.fetch();
      const list = await reply.json();
      await route.fulfill({ response: reply, json: { ...list, data: list.data.map((one) => ({ ...one, agent: markup, address: markup })) } });
    });
    await asMia(page);
    await inside(page, 'Mia Member');
    await ownSession(page).getByText('onerror').first().waitFor();
    assert.equal(await page.locator('main img, main script').count(), 0);
    assert.deepEqual(problems, []);

    // Otherwise the image's own handler would run before the one added here, and the script would run
    // at once.
    const insert = () => page.evaluate((html) => {
      document.body.insertAdjacentHTML('beforeend', html);
      document.body.append(Object.assign(document.createElement('script'), { text: 'document.title = 1' }));
      return new Promise((resolve) => { document.querySelector('body > img').addEventListener('error', () => resolve()); });
    }, markup);
    // Without a policy the browser would not report it.
    const told = page.waitForEvent('console', (message) => message.text().includes('Content Security Policy'));
    await Promise.all([told, insert()]);
    assert.notEqual(await page.title(), '1');
    await close();
  },
};

// setUp enrols a second factor on the account's page and returns the recovery codes.
async function setUp(page) {
  await page.getByRole('button', { name: 'Set up' }).click();
  await heading(page, 'Set up a second factor').waitFor();
  await shoot(page, 'enrol');
  const codes = await confirmed(page);
  await shoot(page, 'recovery');
  return codes;
}

async function confirmed(page) {
  const secret = await page.locator('#enrol-secret').textContent();
  const uri = await page.locator('#enrol-uri').textContent();
  assert.equal(await page.locator('#enrol-link').getAttribute('href'), uri);
  assert.equal(new URL(uri).searchParams.get('secret'), secret.replaceAll(' ', ''));
  await page.getByLabel('The code it shows').fill(await new Authenticator(secret).code());
  await page.getByRole('button', { name: 'Confirm' }).click();
  await heading(page, 'Recovery codes').waitFor();
  return page.locator('#recovery-codes li').allTextContents();
}

// The sections other than the account, on their own server.

const sections = {
  'apps are shown to an administrator alone, whose token makes none that outlives it': async () => {
    const { page, problems, close } = await openAsMia();
    await go(page, 'Apps and keys');
    await focus(page, 'apps-title');
    await page.getByRole('alert').getByText('service.accessDenied.unspecified').waitFor();
    await useToken(page, tried.narrow_token);
    await page.getByRole('alert').getByText('(admin.read)').waitFor();
    await shoot(page, 'apps-refused');
    await useToken(page, tried.admin_token);
    await createLabApp(page); // with a key that would outlive the token
    await page.getByRole('alert').getByText('service.accessDenied.delegation').waitFor();
    await page.getByRole('alert').getByText('credential.notAfter', { exact: true }).waitFor();
    await close();
  },

  'an administrator who is signed in makes an app, changes it and deletes it': async () => {
    const { page, problems, close } = await openAs(tried.admin_email, tried.admin_password, 'Ada Admin');
    await go(page, 'Apps and keys');
    await createLabApp(page);
    await heading(page, 'Its secret, shown this once').waitFor();
    await focus(page, 'secret-title');
    const first = await page.locator('#secret-text').textContent();
    assert.match(first, /^[0-9A-Za-z]{64}$/);
    const card = page.getByRole('listitem').filter({ hasText: 'Lab app' });
    const press = async (name) => {
      await settled(page);
      await card.getByRole('button', { name }).click();
    };
    await card.waitFor();
    await shoot(page, 'apps');
    await page.getByRole('button', { name: 'I have kept it' }).click();
    await focus(page, 'apps-list-title');
    assert.equal(await page.locator('#secret-text').textContent(), '', 'the secret stays on the page');

    await press('Rotate secret');
    await heading(page, 'Its secret, shown this once').waitFor();
    assert.notEqual(await page.locator('#secret-text').textContent(), first);
    await press('Generate key pair');
    await page.getByText('The app has a new key pair.').waitFor();
    await focus(page, 'apps-list-title');
    await press('Expose key');
    await card.getByRole('button', { name: 'Hide key' }).waitFor();
    await press('Disable');
    await card.getByText('disabled').waitFor();
    await press('Delete');
    await page.getByRole('dialog').getByRole('button', { name: 'No' }).click();
    await settled(page);
    assert.equal(await card.count(), 1);
    await press('Delete');
    await shoot(page, 'sure');
    await page.getByRole('dialog').getByRole('button', { name: 'Yes' }).click();
    await page.getByText('The app is deleted.').waitFor();
    assert.equal(await card.count(), 0);
    assert.deepEqual(problems, []);
    await close();
  },

  'a token is minted, read, listed and revoked, and none beyond its minter': async () => {
    const { page, problems, close } = await openAsMia();
    await go(page, 'Tokens');
    assert.equal(await page.getByLabel('Subject, by account id').inputValue(), tried.account_id);
    await page.getByLabel('App, by client key').fill(tried.client_key);
    await page.getByLabel('Subject, by account id').fill(tried.admin_account_id);
    await mint(page);
    await page.getByRole('alert').getByText('service.accessDenied.delegation').waitFor();
    await page.getByRole('alert').getByText('sub', { exact: true }).waitFor();
    await shoot(page, 'mint-refused');

    await page.getByLabel('Subject, by account id').fill(tried.account_id);
    await page.getByLabel('Scope chains, one per line').fill('object.read.c_message\nobject.read.connection');
    await page.getByLabel('Number of uses').fill('5');
    await page.getByLabel('Expires in, seconds').fill('600');
    await mint(page);
    const readIt = page.getByRole('button', { name: 'Read it' });
    await readIt.waitFor(); // because minting asks the server
    const asked = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await readIt.click();
    await page.getByText('Limited to 5 uses').waitFor();
    await page.getByText(/It expires in (10 min|[89] min( \d+ s)?)\./).waitFor();
    assert.match(await page.getByRole('table', { name: 'Claims' }).innerText(), /service\/scp[^]*object\.read\.connection[^]*The scope/);
    assert.deepEqual(asked.filter((path) => path !== '/console/brand'), [], 'reading a token asks the server');
    await shoot(page, 'tokens');

    const held = page.getByRole('region', { name: 'List and revoke' });
    await held.getByRole('button', { name: 'List', exact: true }).click();
    const card = held.getByRole('listitem').filter({ hasText: '0 of 5 times' });
    await card.waitFor();
    await card.getByRole('button', { name: 'Revoke' }).click();
    await held.getByText('The token is revoked.').waitFor();
    assert.equal(await card.count(), 0);

    await page.getByLabel('Token to read').fill('one.two');
    await page.getByRole('button', { name: 'Read', exact: true }).click();
    await page.getByRole('alert').getByText('this has 2').waitFor();
    assert.deepEqual(problems, []);
    await close();
  },

  'a pasted token is used, and forgotten': async () => {
    const { page, problems, close } = await open({ base: tried.base_url, path: '/#acme/paging' });
    await heading(page, 'Paging explorer').waitFor();
    await focus(page, 'paging-title');
    await page.getByText('nobody: sign in, or paste a token').waitFor();
    await useToken(page, `Bearer ${tried.ephemeral_token}`);
    await page.getByText('a pasted bearer token').waitFor();
    await page.getByRole('button', { name: 'Fetch a page' }).click();
    await page.getByRole('table', { name: 'The page' }).waitFor();
    assert.deepEqual(await page.evaluate(() => [localStorage.length, sessionStorage.length, document.cookie]), [0, 0, '']);
    await page.getByRole('button', { name: 'Forget the token' }).click();
    await page.getByText('nobody: sign in, or paste a token').waitFor();
    await useToken(page, tried.ephemeral_token);
    await page.reload();
    await page.getByText('nobody: sign in, or paste a token').waitFor();
    assert.deepEqual(problems, []);
    await close();
  },

  'the scope tester allows, denies and says why': async () => {
    const { page, problems, close } = await open({ base: tried.base_url, path: '/#acme/scope' });
    await heading(page, 'Scope tester').waitFor();
    await focus(page, 'scope-title'); // otherwise the title would take the focus from the keyboard
    const verdict = page.getByRole('status').filter({ has: page.locator('.verdict') });
    const decide = () => page.getByRole('button', { name: 'Decide' }).click();
    await decide();
    await verdict.getByText('Denied').waitFor();
    assert.match(await verdict.innerText(), /ends before "c_text"[^]*grant 1[^]*segment 5[^]*narrowed/);
    assert.equal(await verdict.locator('mark').textContent(), 'c_text');
    await shoot(page, 'scope-denied');
    await page.getByLabel('Need').fill('object.read.c_message.*.c_text');
    await page.keyboard.press('Enter');
    await verdict.getByText('Allowed').waitFor();
    assert.match(await verdict.innerText(), /Allowing chain[^]*object\.read\.c_message\.\*\.c_text[^]*grant 1/);
    await shoot(page, 'scope-allowed');
    await page.getByLabel('Need').fill('Object.read');
    await decide();
    await page.getByRole('alert').getByText('service.invalidArgument.authScope').waitFor();
    await page.getByRole('alert').getByText('need: segment 1').waitFor();
    assert.deepEqual(problems, []);
    await close();
  },

  'the signature lab signs, replays and is late': async () => {
    const { page, problems, close } = await open({ base: tried.base_url, path: '/#acme/lab' });
    await page.getByLabel('Client key to sign with').fill(tried.client_key);
    await page.getByLabel('Client secret').fill(tried.client_secret);
    const verdict = page.locator('#lab-reply .verdict');
    await page.getByRole('button', { name: 'Sign and send' }).click();
    await verdict.getByText('Accepted').waitFor();
    assert.match(await page.locator('#lab-parts').innerText(), /\/c_messages;GET;\d{13}/);
    const shown = await page.locator('#section-lab').innerText();
    assert.ok(!shown.includes(tried.client_secret), 'the secret is shown');
    assert.match(await page.locator('#lab-reply').innerText(), /200[^]*Service-Server-Time[^]*\d{13}/);
    await shoot(page, 'lab-accepted');

    await page.getByRole('button', { name: 'Send the same again' }).click();
    await verdict.getByText('It is the same request once more.').waitFor();
    await page.getByText('"service.accessDenied.replayedRequest"').waitFor();
    await page.getByRole('button', { name: 'Send, ten minutes late' }).click();
    await verdict.getByText(/10 min( \d+ s)? behind the server's clock/).waitFor();
    await shoot(page, 'lab-late');

    // Compare with another implementation and with curl's line.
    await page.getByLabel('Timestamp').fill('1700000000000');
    await page.getByRole('button', { name: 'Sign only' }).click();
    const expected = createHmac('sha256', tried.client_key + tried.client_secret).update('/c_messages;GET;1700000000000').digest('hex');
    await page.locator('#lab-signature').getByText(expected).waitFor();
    assert.ok((await page.locator('#lab-curl').textContent()).includes(`-H 'Service-Client-Signature: ${expected}'`));

    await page.getByLabel('Timestamp').fill('');
    await page.getByLabel('Client secret').fill('another');
    await page.getByRole('button', { name: 'Sign and send' }).click();
    await verdict.getByText('does not compute this signature').waitFor();
    await page.getByLabel('Path, with its query').fill('../../healthz');
    await page.getByRole('button', { name: 'Sign and send' }).click();
    await page.getByRole('alert').getByText('leads out of').waitFor();
    assert.deepEqual(problems, []);
    await close();
  },

  'the signature lab signs by version 2': async () => {
    const { page, problems, close } = await open({ base: tried.base_url, path: '/#acme/lab' });
    await page.getByLabel('Client key to sign with').fill(tried.v2_client_key);
    await page.getByLabel('Client secret').fill(tried.v2_client_secret);
    const verdict = page.locator('#lab-reply .verdict');
    const send = page.getByRole('button', { name: 'Sign and send' });
    await send.click();
    await verdict.getByText('takes another version').waitFor();
    await page.getByLabel('Version of the signature').selectOption('2');
    await send.click();
    await verdict.getByText('Accepted').waitFor();
    await page.getByRole('button', { name: 'Send the same again' }).click();
    await verdict.getByText('It is the same request once more.').waitFor();

    await page.getByLabel('Method').selectOption('POST');
    await page.getByLabel('Path, with its query').fill("/c_messages?x=a'b&y=é");
    await page.getByText('A body', { exact: true }).click();
    await page.getByLabel('JSON, which version 2 covers').fill('{"c_text":"é"}');
    await send.click();
    await verdict.getByText('Accepted').waitFor();
    await shoot(page, 'lab-second');

    // Compare with another implementation.
    const message = await page.locator('#lab-parts code').first().textContent();
    assert.match(message, /^"@method": POST\n"@authority": 127\.0\.0\.1:\d+\n"@path": \/acme\/v2\/c_messages\n"@query": \?x=a%27b&y=%C3%A9\n"content-digest": sha-256=:/);
    const expected = createHmac('sha256', tried.v2_client_key + tried.v2_client_secret).update(message).digest('base64');
    await page.locator('#lab-signature').getByText(expected).waitFor();
    assert.ok((await page.locator('#lab-curl').textContent()).includes(`-H 'Signature: sig=:${expected}:'`));
    assert.deepEqual(problems, []);
    await close();
  },

  'the paging explorer fetches a page, and walks both ways': async () => {
    const { page, problems, close } = await openAsMia();
    await go(page, 'Paging');
    await page.getByLabel('List', { exact: true }).selectOption('c_messages');
    await page.getByLabel('where').fill('{"c_likes":{"$gte":40}}');
    await page.getByLabel('sort').fill('{"c_likes":-1}');
    await page.getByRole('checkbox', { name: 'c_likes' }).check();
    const query = await page.locator('#paging-query').textContent();
    assert.ok(query.startsWith('GET /acme/v2/c_messages?paths[]=') && query.includes('where=%7B%22c_likes%22'), query);
    await page.getByRole('button', { name: 'Fetch a page' }).click();
    const rows = page.getByRole('table', { name: 'The page' }).getByRole('row');
    await rows.first().waitFor();
    assert.equal(await rows.count(), 6);
    await page.getByLabel('Pages to walk').fill('2');
    await page.getByRole('button', { name: 'Walk both ways' }).click();
    const times = page.getByRole('table', { name: 'Times' });
    await times.waitFor();
    assert.match(await times.innerText(), /1\t5\t[\d.]+ ms\t[\d.]+ ms\tyes\n2\t5\t[\d.]+ ms\t[\d.]+ ms\tyes\nall\t10/);
    await shoot(page, 'paging');
    await page.getByLabel('where').fill('{"c_secret":1}');
    await page.getByRole('button', { name: 'Fetch a page' }).click();
    await page.getByRole('alert').getByText('service.invalidArgument.query').waitFor();
    assert.deepEqual(problems, []);
    await close();
  },

  'data is shown as tables, filtered, sorted and walked, and a list within an object is one, too': async () => {
    const bearer = { Authorization: `Bearer ${tried.ephemeral_token}` };
    const hidden = `zz <img src=x onerror="document.title=1"> \u202E\u200B\u05D0 ${'long'.repeat(25)}`;
    for (const [path, body] of [['/c_messages', { c_text: hidden }], ['/c_conversations', { c_title: hidden }]]) {
      const made = await call(path, bearer, 'POST', body);
      assert.equal(made.status, 200, await made.text());
    }
    const { page, problems, close } = await openAsMia();
    await go(page, 'Data');
    await focus(page, 'data-title');
    const shown = (name) => page.getByRole('table', { name, exact: true });
    const show = () => page.getByRole('button', { name: 'Show', exact: true }).click();
    const sort = (name) => page.getByLabel('Order', { exact: true }).selectOption({ label: name });
    const limit = (text) => page.getByLabel('Items on a page').fill(text);
    const filter = (n) => page.getByRole('group', { name: `Filter ${n}`, exact: true });
    const requested = async () => decodeURIComponent(await page.locator('#data-request').textContent());
    const ids = (name) => shown(name).locator('tbody td:first-child').allTextContents();

    // A filter for data that would deceive, with the keyboard alone.
    await shown('c_conversations, page 1').waitFor();
    assert.equal((await ids('c_conversations, page 1')).length, 25);
    await page.getByLabel('Table', { exact: true }).selectOption('c_messages');
    await page.getByRole('button', { name: 'Add a filter' }).press('Enter');
    await page.locator('#data-property-1:focus').waitFor();
    await filter(1).getByLabel('Operator').selectOption('$prefix');
    await filter(1).getByLabel('Value').fill('zz <img');
    await filter(1).getByLabel('Value').press('Enter');
    const odd = shown('c_messages, page 1').getByRole('row').filter({ hasText: 'onerror' });
    await odd.waitFor();
    assert.equal((await ids('c_messages, page 1')).length, 1);
    assert.deepEqual(await odd.locator('mark').allTextContents(), ['U+202E', 'U+200B']);
    assert.ok((await odd.innerText()).includes('long'.repeat(25)));
    assert.ok(!(await odd.innerText()).includes('\u202E'));
    assert.equal(await page.locator('main img, main script').count(), 0);
    assert.match(await requested(), /^GET \/acme\/v2\/c_messages\?paths\[\]=c_text&.*&where={"\$and":\[{"c_text":{"\$prefix":"zz <img"}}\]}&sort={"_id":1}&limit=25$/);
    await shoot(page, 'data');

    // The server refuses what it is asked, and each reason is at its control.
    await filter(1).getByLabel('Property').selectOption('c_likes');
    assert.deepEqual(await filter(1).getByLabel('Operator').locator('option').allTextContents(), ['$eq', '$gt', '$lt', '$in']);
    await filter(1).getByLabel('Value').fill('many');
    await limit('none');
    await show();
    await filter(1).getByText(/^must be of type integer service/).waitFor();
    await page.locator('#data-value-1:focus').waitFor();
    const described = (id) => page.locator(id).evaluate((control) => document.getElementById(control.getAttribute('aria-describedby')).textContent);
    assert.match(await described('#data-limit'), /service\.invalidArgument\.query/);
    assert.equal(await page.locator('#data-table table').count(), 0, 'the page before stays beside the fault');
    await shoot(page, 'data-refused');
    await filter(1).getByLabel('Operator').selectOption('$in');
    await filter(1).getByLabel('Value').fill('7, 20');
    await limit('1000');
    await show();
    await shown('c_messages, page 1').waitFor();
    assert.equal(await page.locator('[aria-invalid]').count(), 0);
    assert.ok((await requested()).includes('{"c_likes":{"$in":[7,20]}}'));
    await filter(1).getByRole('button', { name: 'Remove filter 1' }).click();
    await focus(page, 'data-add');

    // walk presses Next until there is no more, and returns the ids of all items.
    const walk = async (list, pages) => {
      await show();
      const seen = [];
      for (let n = 1; n <= pages; n++) {
        await shown(`${list}, page ${n}`).waitFor();
        await settled(page);
        seen.push(...await ids(`${list}, page ${n}`));
        await (n < pages && page.getByRole('button', { name: 'Next' }).click());
      }
      await page.locator('#data-next').waitFor({ state: 'hidden' });
      assert.equal(new Set(seen).size, seen.length, `${list}: an item is on two pages`);
      return seen;
    };
    const total = async (path) => (await (await call(`${path}?count=true&limit=1`, bearer)).json()).total;
    for (const order of ['c_likes, ascending', 'c_meta.lang, descending', '_id, descending']) {
      await sort(order);
      assert.equal((await walk('c_messages', 3)).length, await total('/c_messages'), order);
    }

    // A list within an object. Its names and values come from a user, too.
    await page.getByLabel('Table', { exact: true }).selectOption('c_conversations');
    assert.equal(await page.locator('#data-table table').count(), 0);
    await show();
    await shown('c_conversations, page 1').getByRole('row').filter({ hasText: 'onerror' }).waitFor();
    const one = shown('c_conversations, page 1').getByRole('row').filter({ has: page.getByText('Conversation 1', { exact: true }) });
    await shoot(page, 'data-lists');
    const inner = `c_conversations/${await one.locator('td').first().textContent()}/c_messages`;
    await one.getByRole('button', { name: /^Open c_messages of [0-9a-f]{24}$/ }).click();
    await shown(`${inner}, page 1`).waitFor();
    await focus(page, 'data-list');
    await limit('30'); // pages end within the items whose c_likes is null, too
    for (const order of ['c_likes, descending', 'c_likes, ascending']) {
      await sort(order);
      assert.equal((await walk(inner, 9)).length, 250, order);
    }
    await shoot(page, 'data-inner');

    await useToken(page, tried.narrow_token);
    await page.getByRole('alert').getByText('service.accessDenied.scope').waitFor();
    await page.getByLabel('Table', { exact: true }).selectOption('connections');
    await show();
    await page.getByRole('alert').getByText('(object.read.connection)').waitFor();
    assert.equal(await page.locator('#data-table table').count(), 0);
    assert.deepEqual(problems, []);
    await close();
  },

  'a first visit says what this is, and leads to three tries': async () => {
    const { page, problems, close } = await open({ base: tried.base_url });
    await heading(page, 'What this is').waitFor();
    assert.match(await page.title(), /^Account · acme/);
    await shoot(page, 'visitor');
    await page.getByRole('link', { name: 'Ask the scope tester' }).click();
    await page.locator('#scope-verdict').getByText('Denied').waitFor();
    assert.match(await page.title(), /^Scope tester · acme/);
    await page.goBack();
    await page.getByRole('link', { name: 'Open the tokens' }).click();
    await page.getByText('nobody: sign in, or paste a token').waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'Open the signature lab' }).click();
    await focus(page, 'lab-title');
    await page.goBack();
    await signIn(page, tried.admin_email, tried.admin_password);
    await inside(page, 'Ada Admin');
    assert.equal(await heading(page, 'What this is').count(), 0);
    assert.match(await page.locator('#numbers').innerText(), /c_messages[^]*2,5\d\d[^]*connections[^]*60[^]*Accounts[^]*\d[^]*Apps[^]*\d[^]*Roles[^]*3/);
    assert.equal(await page.locator('#who').innerText(), 'Ada Admin of acme');
    await shoot(page, 'numbers');
    assert.deepEqual(problems, []);
    await close();
  },

  'an administrator watches requests as they happen, asks why, and stops with the session': async () => {
    await deceive();
    const { page, problems, close } = await openAs(tried.admin_email, tried.admin_password, 'Ada Admin');
    await go(page, 'Live');
    await page.getByText('Watching.').waitFor();
    const rows = page.getByRole('table', { name: 'Decisions' }).getByRole('row');
    const denied = rows.filter({ hasText: 'GET /connections' }).filter({ hasText: 'service.accessDenied.scope' });
    const deny = () => call('/connections', { Authorization: `Bearer ${tried.narrow_token}` });
    await deny();
    await denied.waitFor();
    assert.match(await denied.innerText(), /Mia Member by Integration, bearer[^]*ms/);
    await rows.filter({ hasText: deceiver.slice(0, 20) }).first().waitFor();
    assert.equal(await page.locator('main img, main script').count(), 0);
    await shoot(page, 'live');

    await page.getByLabel('Only with these words').fill('connections NARROW');
    await page.getByText('Nothing matches.').waitFor();
    await page.getByLabel('Only with these words').fill('connections mia');
    await page.getByLabel('Only', { exact: true }).selectOption('refused');
    assert.equal(await rows.count(), 2); // with the header
    await page.getByRole('button', { name: 'Pause' }).click();
    await deny();
    await page.waitForTimeout(1000); // nothing may come, so there is nothing to wait for
    assert.equal(await rows.count(), 2);
    await page.getByRole('button', { name: 'Go on' }).click();
    await rows.nth(2).waitFor();

    await denied.first().getByRole('button', { name: /^Why/ }).click();
    await heading(page, 'Scope tester').waitFor();
    await page.locator('#scope-verdict').getByText('Denied').waitFor();
    assert.equal(await page.getByLabel('Need').inputValue(), 'object.read.connection');
    await page.goBack();
    await page.getByText('Watching.').waitFor();
    const elsewhere = await cookieOf(tried.admin_email, tried.admin_password);
    await call('/accounts/me/sessions', { Cookie: elsewhere }, 'DELETE');
    await page.getByRole('alert').getByText('service.accessDenied.sessionExpired').waitFor();
    await heading(page, 'Sign in').waitFor();
    assert.equal(await page.locator('#live-decisions table').count(), 0, 'the decisions stay on the page');
    assert.deepEqual(problems, []);
    await close();
  },

  'live requests come back when the connection does, and are for administrators': async () => {
    const { page, context, problems, close } = await openAsMia();
    await go(page, 'Live');
    await page.getByRole('alert').getByText('service.accessDenied.unspecified').waitFor();
    await page.getByText('Not watching.').waitFor();
    await shoot(page, 'live-refused');
    await context.route('**/events', (route) => route.abort());
    await useToken(page, tried.admin_token);
    await page.getByText('The connection is lost. Trying again').waitFor();
    await context.unroute('**/events');
    await page.getByText('Watching.').waitFor();
    assert.deepEqual(problems.filter((text) => !text.includes('ERR_FAILED')), []);
    await close();
  },

  'all tabs share one session': async () => {
    const { page: one, context, problems, close } = await openAsMia();
    const two = await context.newPage();
    await two.goto(`${tried.base_url}/#acme/tokens`);
    await two.getByText('the session of Mia Member').waitFor();
    await two.getByLabel('Token to read').fill('typed');
    await signOut(one);
    await heading(two, 'Sign in').waitFor();
    await two.getByText('You were signed out in another tab.').waitFor();
    assert.equal(await two.locator('#decode-token').inputValue(), '', 'what was typed stays on the page');

    await signIn(two, tried.account_email, tried.account_password);
    await inside(two, 'Mia Member');
    await inside(one, 'Mia Member');
    await go(one, 'Paging');
    await go(two, 'Apps and keys');
    await settled(two);
    const elsewhere = await cookieOf(tried.account_email, tried.account_password);
    await call('/accounts/me/sessions', { Cookie: elsewhere }, 'DELETE');
    await two.getByRole('button', { name: 'List again' }).click();
    for (const page of [two, one]) {
      await heading(page, 'Sign in').waitFor();
      await page.locator('#who:empty').waitFor({ state: 'attached' });
    }
    await two.getByRole('alert').getByText('service.accessDenied.sessionExpired').waitFor();
    assert.deepEqual(problems, []);
    await close();
  },

  'signing out forgets what was done in the sections': async () => {
    const { page, problems, close } = await openAsMia();
    await go(page, 'Signature lab');
    await page.getByLabel('Client secret').fill(tried.client_secret);
    await go(page, 'Apps and keys');
    await useToken(page, tried.admin_token);
    await page.getByRole('listitem').filter({ hasText: tried.client_key }).waitFor();
    await page.goBack();
    await heading(page, 'Signature lab').waitFor();
    await go(page, 'Account');
    await focus(page, 'account-title');
    await signOut(page);
    assert.equal(await page.locator('#lab-secret').inputValue(), '');
    assert.equal(await page.locator('#apps li').count(), 0);
    await go(page, 'Apps and keys');
    await page.getByText('nobody: sign in, or paste a token').waitFor();
    assert.deepEqual(problems, []);
    await close();
  },
};

// call sends a request outside of the browser, and returns the reply.
const call = (path, headers = {}, method = 'GET', body = undefined) => fetch(`${tried.base_url}/acme/v2${path}`, {
  method,
  headers: { ...headers, ...(body && { 'Content-Type': 'application/json' }) },
  body: body && JSON.stringify(body),
});

// cookieOf signs somebody in outside of the browser.
async function cookieOf(email, password) {
  const reply = await call('/accounts/login', {}, 'POST', { email, password });
  return reply.headers.getSetCookie().map((cookie) => cookie.split(';')[0]).join('; ');
}

// deceiver is a name with markup, with letters that are written from right to left, and longer
// than a line. The server refuses letters that turn the direction of others.
const deceiver = `<img src=x onerror="document.title=1"> \u05D0\u05D3\u05D0 ${'long'.repeat(12)}`;

// deceive makes an account of that name send requests, from now on.
async function deceive() {
  const [email, password] = ['deceiver@acme.example', 'a password of its own'];
  const turned = await call('/accounts', {}, 'POST', { email, password, name: 'Ada \u202E\u200B' });
  assert.equal(turned.status, 400);
  const made = await call('/accounts', {}, 'POST', { email, password, name: deceiver });
  assert.equal(made.status, 200, await made.text());
  const cookie = await cookieOf(email, password);
  setInterval(() => call('/accounts/me', { Cookie: cookie }), 1000).unref();
}

const openAsMia = () => openAs(tried.account_email, tried.account_password, 'Mia Member');

async function openAs(email, password, name) {
  const opened = await open({ base: tried.base_url });
  await signIn(opened.page, email, password);
  await inside(opened.page, name);
  return opened;
}

async function createLabApp(page) {
  await page.getByRole('listitem').filter({ hasText: tried.client_key }).waitFor();
  await page.getByLabel('Name').fill('Lab app');
  await page.getByLabel('Its requests act as').fill(tried.account_id);
  await page.getByRole('button', { name: 'Create' }).click();
}

async function go(page, section) {
  const link = page.getByRole('navigation').getByRole('link', { name: section, exact: true });
  await link.click();
  await link.and(page.locator('[aria-current=page]')).waitFor(); // the page changes after its address
}

// useToken makes the sections use a bearer token, and waits for their requests with it.
async function useToken(page, token) {
  await page.getByText('Use a bearer token').click();
  await page.getByLabel('Bearer token').fill(token);
  await page.getByRole('button', { name: 'Use it', exact: true }).click();
  await page.getByText('a pasted bearer token').waitFor();
  await settled(page);
}

const mint = (page) => page.getByRole('button', { name: 'Mint', exact: true }).click();

// Run them concurrently: the checks of second factors mostly wait for the next code.
const wanted = [named(checks, words), named(sections, words)];
const failures = await Promise.all(wanted.map(run));
report(wanted.flatMap(Object.keys).length, failures[0] + failures[1]);
await browser.close();
elsewhere.close();
process.exit(); // browsers keep connections open
