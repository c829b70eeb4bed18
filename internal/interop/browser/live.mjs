// Proves in a browser that administrators watch requests as they happen.

import assert from 'node:assert/strict';
import { call, cookieOf, go, heading, openAs, openAsMia, tried, useToken } from './kit.mjs';
import { shoot } from './look.mjs';

export const checks = {
  'an administrator watches requests as they happen, asks why, and stops with the session': async () => {
    await deceive();
    const { page, problems, close } = await openAs(tried.admin_email, tried.admin_password, 'Ada Admin');
    await go(page, 'Live');
    await page.getByText('Watching.').waitFor();
    const rows = page.getByRole('table', { name: 'Decisions' }).getByRole('row');
    await rows.nth(1).waitFor(); // what was kept of before has come
    await page.getByRole('button', { name: 'Clear', exact: true }).click();
    const denied = rows.filter({ hasText: /GET \/c_conversations(?!\/)/ }).filter({ hasText: 'accessDenied.scope' });
    const deny = () => call('/c_conversations', { Authorization: `Bearer ${tried.narrow_token}` });
    await deny();
    await denied.waitFor();
    assert.match(await denied.innerText(), /403 accessDenied\.scope\s+scope needs object\.read\.c_conversation, held object\.read\.c_message\.\*\.c_text\s+Mia Member by Integration, bearer\s+127\.0\.0\.1/);
    await rows.filter({ hasText: deceiver.slice(0, 20) }).first().waitFor();
    assert.equal(await page.locator('main img, main script').count(), 0);
    await shoot(page, 'live');

    await page.getByLabel('Only decisions with these words').fill('c_conversations NARROW');
    await page.getByText('Nothing matches.').waitFor();
    await shoot(page, 'live-nothing');
    await page.getByLabel('Only decisions with these words').fill('c_conversations mia');
    await page.getByLabel('Only', { exact: true }).selectOption('refused');
    assert.equal(await rows.count(), 2); // with the header
    await page.getByRole('button', { name: 'Pause' }).click();
    await deny();
    await page.waitForTimeout(1000); // nothing may come, so there is nothing to wait for
    assert.equal(await rows.count(), 2);
    await page.getByRole('button', { name: 'Go on' }).click();
    await rows.nth(2).waitFor();

    // A refusal of before is still there for whoever comes later, with its reason and all that is known of it.
    const secret = await call('/accounts/me', {
      'Service-Client-Key': tried.client_key, 'Service-Client-Timestamp': String(Date.now()), 'Service-Client-Nonce': 'a'.repeat(16), 'Service-Client-Signature': '0'.repeat(64),
    });
    const id = secret.headers.get('Request-Id');
    await page.reload();
    await page.getByText('Watching.').waitFor();
    assert.equal(await page.getByLabel('Only decisions with these words').inputValue(), 'c_conversations mia');
    await page.getByLabel('Only decisions with these words').fill(id.slice(0, 8));
    const wrong = rows.filter({ hasText: id.slice(0, 8) });
    await wrong.waitFor();
    assert.match(await wrong.innerText(), /401 accessDenied\.invalidRequestSignature\s+signature\s+claims Integration\s+127\.0\.0\.1/);
    assert.equal(await wrong.getByRole('button', { name: /^Why/ }).count(), 0, 'no scope was asked');
    await wrong.getByRole('button', { name: `Details of ${id}` }).click();
    await heading(page, `Request ${id}`).waitFor();
    assert.match(await page.locator('#live-one').innerText(), /claimed\s+Integration[^]*agent\s+node/);
    await shoot(page, 'live-row');
    await page.reload();
    await heading(page, `Request ${id}`).waitFor();
    await page.getByRole('button', { name: 'Close the details' }).click();
    await page.getByLabel('Only decisions with these words').fill('c_conversations mia');
    await denied.first().getByRole('button', { name: /^Why/ }).click();
    await heading(page, 'Scope tester').waitFor();
    await page.locator('#scope-verdict').getByText('Denied').waitFor();
    assert.equal(await page.getByLabel('Need', { exact: true }).inputValue(), 'object.read.c_conversation');
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
    await context.route('**/events?*', (route) => route.abort());
    await useToken(page, tried.admin_token);
    await page.getByText('The connection is lost. Trying again').waitFor();
    await shoot(page, 'live-lost');
    await context.unroute('**/events?*');
    await page.getByText('Watching.').waitFor();
    assert.deepEqual(problems.filter((text) => !text.includes('ERR_FAILED')), []);
    await close();
  },
};

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
