// Proves in a browser that pages elsewhere and markup in data cannot abuse the console.

import assert from 'node:assert/strict';
import http from 'node:http';
import { asMia, cookiesOf, facts, inside, open, ownSession, patience } from './kit.mjs';
import { shoot } from './look.mjs';

export const checks = {
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
    const markup = '\u200B<img src=x onerror="document.title=1"><script>document.title=1</script>';
    await page.route('**/accounts/me/sessions?*', async (route) => {
      const reply = await route.fetch();
      const list = await reply.json();
      await route.fulfill({ response: reply, json: { ...list, data: list.data.map((one) => ({ ...one, agent: markup, address: markup })) } });
    });
    await asMia(page);
    await inside(page, 'Mia Member');
    await ownSession(page).getByText('onerror').first().waitFor();
    assert.equal(await page.locator('main img, main script').count(), 0);

    // A name that turns the direction of what follows is named so wherever it stands.
    await page.route('**/accounts/status', async (route) => {
      const reply = await route.fetch();
      const status = await reply.json();
      await route.fulfill({ response: reply, json: { ...status, account: { ...status.account, name: `\u202E${markup}` } } });
    });
    await page.reload();
    await page.locator('#account-title mark').first().waitFor();
    await ownSession(page).locator('mark').first().waitFor();
    for (const place of ['#who', '#account-title']) {
      assert.deepEqual(await page.locator(`${place} mark`).allTextContents(), ['U+202E', 'U+200B'], place);
    }
    assert.equal(await page.evaluate(() => /[\u202E\u200B]/.test(document.documentElement.outerHTML + document.title)), false);
    assert.equal(await page.locator('body img, body script').count(), 0);
    await shoot(page, 'deceiving');
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
