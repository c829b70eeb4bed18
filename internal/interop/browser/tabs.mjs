// Proves in a browser that the tabs and the sections share one session, and forget it together.

import assert from 'node:assert/strict';
import { call, cookieOf, cookiesOf, focus, go, heading, inside, openAs, openAsMia, settled, signIn, signOut, tried, unfold, useToken } from './kit.mjs';
import { shoot } from './look.mjs';

export const checks = {
  'all tabs share one session': async () => {
    const { page: one, context, problems, close } = await openAsMia();
    const two = await context.newPage();
    await two.goto(`${tried.base_url}/#acme/tokens`);
    await two.locator('#who').getByText('Mia Member').waitFor();
    await settled(two);
    await unfold(two, 'Use a bearer token');
    await two.getByRole('textbox', { name: 'Bearer token' }).fill('typed');
    await signOut(one);
    await heading(two, 'Sign in').waitFor();
    await two.getByText('You were signed out in another tab.').waitFor();
    await shoot(two, 'signed-out-elsewhere');
    assert.equal(await two.locator('#credential-token').inputValue(), '', 'what was typed stays on the page');

    await signIn(two, tried.account_email, tried.account_password);
    await inside(two, 'Mia Member');
    await inside(one, 'Mia Member');
    await go(one, 'Data');
    await go(two, 'Apps');
    await settled(two);
    const elsewhere = await cookieOf(tried.account_email, tried.account_password);
    await call('/accounts/me/sessions', { Cookie: elsewhere }, 'DELETE');
    await two.getByRole('link', { name: 'Data', exact: true }).click();
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
    await go(page, 'Apps');
    await useToken(page, tried.admin_token);
    await page.locator('#apps tr').filter({ hasText: tried.client_key }).waitFor();
    await go(page, 'Signature lab');
    await heading(page, 'Signature lab').waitFor();
    await go(page, 'Account');
    await focus(page, 'account-title');
    await signOut(page);
    assert.equal(await page.locator('#lab-secret').inputValue(), '');
    assert.equal(await page.locator('#apps tr').count(), 0);
    await go(page, 'Apps');
    await page.locator('#by-token').waitFor({ state: 'hidden' });
    assert.deepEqual(problems, []);
    await close();
  },

  'a question is not left open for another account': async () => {
    const { page, context, problems, close } = await openAs(tried.admin_email, tried.admin_password, 'Ada Admin');
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
    await go(page, 'Apps');
    await page.locator('#apps tr').filter({ hasText: tried.client_key }).getByRole('button', { name: /^Rotate/ }).click();
    await page.getByRole('dialog', { name: 'Give Integration a new secret?' }).waitFor();
    const sent = [];
    page.on('request', (request) => request.method() === 'POST' && sent.push(request.url()));

    const two = await context.newPage();
    await two.goto(`${tried.base_url}/#acme`);
    await inside(two, 'Ada Admin');
    await signOut(two);
    await signIn(two, tried.account_email, tried.account_password);
    await inside(two, 'Mia Member');
    await page.locator('#who').getByText('Mia Member').waitFor();
    assert.equal(await page.locator('dialog[open]').count(), 0);
    assert.equal(await page.locator('#sure-title').textContent(), '');
    assert.deepEqual(sent, []);
    assert.deepEqual(problems, []);
    await close();
  },

  'what comes after somebody has left is shown to nobody': async () => {
    const { page, context, problems, close } = await openAs(tried.admin_email, tried.admin_password, 'Ada Admin');
    let answer;
    await page.route('**/apps/*/secret', async (route) => {
      await new Promise((resolve) => { answer = resolve; });
      await route.fulfill({ json: { data: { secret: 'for-Ada-alone' } } });
    });
    await go(page, 'Apps');
    await page.locator('#apps tr').filter({ hasText: tried.client_key }).getByRole('button', { name: /^Rotate/ }).click();
    const asked = page.waitForRequest('**/apps/*/secret');
    await page.getByRole('dialog', { name: 'Give Integration a new secret?' }).getByRole('button', { name: 'Rotate it' }).click();
    await asked;
    const two = await context.newPage();
    await two.goto(`${tried.base_url}/#acme`);
    await inside(two, 'Ada Admin');
    await signOut(two);
    await heading(page, 'Sign in').waitFor();
    const answered = page.waitForResponse('**/apps/*/secret');
    answer();
    await answered;
    await settled(page);
    assert.equal(await page.locator('dialog[open]').count(), 0);
    assert.equal((await page.content()).includes('for-Ada-alone'), false);
    assert.equal(await page.locator('#fault').textContent(), '');
    assert.deepEqual(problems, []);
    await close();
  },

  'a page that comes back from the cache of the browser forgets who has left': async () => {
    const { page, context, problems, close } = await openAsMia();
    await go(page, 'Signature lab');
    await page.getByLabel('Client secret').fill('typed');
    const cookie = (await cookiesOf(context)).map(({ name, value }) => `${name}=${value}`).join('; ');
    assert.equal((await call('/accounts/me/logout', { Cookie: cookie }, 'POST', {})).status, 200);
    await page.evaluate(() => dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true })));
    await page.locator('#who:empty').waitFor({ state: 'attached' });
    assert.equal(await page.locator('#lab-secret').inputValue(), '');
    assert.deepEqual(problems, []);
    await close();
  },
};
