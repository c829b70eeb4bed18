// Proves in a browser that people sign in and out, and prove themselves again.

import assert from 'node:assert/strict';
import { asMia, cookiesOf, facts, focus, heading, inFirefox, inside, open, ownSession, settled, signIn, signOut } from './kit.mjs';
import { shoot } from './look.mjs';

export const checks = {
  'somebody signs in, sees the session, and signs out': async () => {
    const { page, context, problems, refusals, close } = await open();
    await heading(page, 'Sign in').waitFor();
    await focus(page, 'email');
    assert.equal(await page.getByLabel('Org', { exact: true }).inputValue(), 'acme');
    await shoot(page, 'sign-in');
    await asMia(page);
    await inside(page, 'Mia Member');
    await focus(page, 'account-title');
    await page.getByText(facts.account_email).waitFor();
    await page.getByText(facts.account_id).waitFor();
    assert.match(await ownSession(page).innerText(), inFirefox ? /Firefox on Linux[^]*127\.0\.0\.1/ : /Chrome on Linux[^]*127\.0\.0\.1/);
    assert.equal(await page.locator('#password').inputValue(), '', 'the password stays on the page');

    await page.reload();
    await inside(page, 'Mia Member');
    const [known] = await cookiesOf(context);
    await signOut(page);
    await shoot(page, 'signed-out');
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
    for (let presses = 0; presses < 20 && await page.locator('#sign-out:focus').count() === 0; presses++) {
      await page.keyboard.press('Shift+Tab');
    }
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
    assert.equal(await page.getByLabel('Org', { exact: true }).inputValue(), 'nowhere');
    await shoot(page, 'nowhere');
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
    assert.ok(days > 179.9 && days < 180.001, `it is kept for ${days} days`);
    assert.equal(await page.evaluate(() => document.cookie), '');
    assert.deepEqual(await page.evaluate(() => [localStorage.length, sessionStorage.length]), [0, 0]);
    await close();
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
    await shoot(page, 'proved');
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

  'what the account page cannot load is said where it belongs, and the rest is there': async () => {
    const { page, close } = await open();
    const down = { object: 'fault', status: 503, errCode: 'service.error.storeUnavailable', message: 'The store is down.', faults: [] };
    for (const path of ['**/me/sessions?*', '**/me/second-factor', '**/me/devices?*', '**/me/orgs?*']) {
      await page.route(path, (route) => route.fulfill({ status: 503, json: down }));
    }
    await asMia(page);
    for (const name of ['Sessions', 'Second factor', 'Remembered devices']) {
      await page.getByRole('region', { name, exact: true }).getByRole('alert').getByText('service.error.storeUnavailable').waitFor();
    }
    await settled(page);
    for (const name of ['Set up', 'Revoke all others', 'New recovery codes']) {
      assert.equal(await page.getByRole('button', { name }).count(), 0, name);
    }
    await shoot(page, 'account-down');
    await page.unrouteAll();
    await page.reload();
    await inside(page, 'Mia Member');
    await page.getByRole('button', { name: 'Set up' }).waitFor();
    await close();
  },

  'a changed password ends the other sessions, and this one goes on': async () => {
    const here = await open();
    const there = await open();
    await asMia(there.page);
    await inside(there.page, 'Mia Member');
    await asMia(here.page);
    await inside(here.page, 'Mia Member');
    const form = here.page.getByRole('region', { name: 'Password' });
    const change = async (from, to) => {
      await form.getByLabel('Present password').fill(from);
      await form.getByLabel('New password').fill(to);
      await form.getByLabel('New password').press('Enter');
      await settled(here.page);
    };
    await change('not the password', 'another password');
    const wrong = (label) => form.getByLabel(label).locator('xpath=ancestor::div[1]').locator('.wrong');
    await wrong('Present password').getByText('That is not the present password. service.accessDenied.invalidCredentials').waitFor();
    await focus(here.page, 'password-now');
    for (const [next, words] of [['short', 'must have at least 8 characters'], ['sunshine1', 'tried first']]) {
      await change(facts.account_password, next);
      await wrong('New password').getByText(words).waitFor();
    }
    await shoot(here.page, 'password-refused');
    const sessionOf = async (context) => (await cookiesOf(context)).find(({ name }) => name === 'session-acme').value;
    const before = await sessionOf(here.context);
    await change(facts.account_password, 'another password');
    await form.getByText('The password is changed, and the other sessions are over.').waitFor();
    assert.equal(await here.page.locator('#password-now').inputValue() + await here.page.locator('#password-next').inputValue(), '');
    assert.notEqual(await sessionOf(here.context), before);
    assert.equal(await there.page.evaluate(async () => (await fetch('/acme/v2/accounts/me')).status), 401);
    assert.equal(await here.page.evaluate(async () => (await fetch('/acme/v2/accounts/me')).status), 200);
    const login = (password) => fetch(`${facts.base_url}/acme/v2/accounts/login`, {
      method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify({ email: facts.account_email, password }),
    });
    assert.equal((await login(facts.account_password)).status, 401);
    assert.equal((await login('another password')).status, 200);
    await change('another password', facts.account_password); // for the other flows
    assert.equal((await login(facts.account_password)).status, 200);
    assert.deepEqual([...here.problems, ...there.problems], []);
    await Promise.all([here.close(), there.close()]);
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
};
