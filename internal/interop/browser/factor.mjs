// Proves in a browser that people set up, use and remove a second factor.

import assert from 'node:assert/strict';
import { Authenticator } from '../totp.mjs';
import { asMia, enter, facts, focus, heading, inside, namesOf, open, signIn, signOut, strict } from './kit.mjs';
import { shoot } from './look.mjs';

const theo = new Authenticator(facts.totp_secret);
const asTheo = (page) => signIn(page, facts.totp_account_email, facts.totp_account_password);

export const checks = {
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
    await shoot(second.page, 'code-refused');
    await enter(second.page, await theo.code());
    await inside(second.page, 'Theo Second');
    assert.deepEqual([...first.problems, ...second.problems], []);
    await Promise.all([first.close(), second.close()]);
  },

  'a second factor is set up, used with a recovery code, and removed': async () => {
    const { page, problems, close } = await open();
    await asMia(page);
    await inside(page, 'Mia Member');
    const codes = await setUp(page);
    assert.equal(codes.length, 10);
    await page.getByRole('button', { name: 'I have kept it' }).click();
    await inside(page, 'Mia Member');
    assert.equal(await page.locator('#keep-facts li').count(), 0, 'the codes stay on the page');
    await signOut(page);
    await asMia(page);
    await heading(page, 'Second factor').waitFor();
    await enter(page, codes[0]);
    await inside(page, 'Mia Member');
    await page.getByLabel('Remove it with a code').fill(codes[1]);
    await page.getByRole('button', { name: 'Remove' }).click();
    await page.getByRole('status').getByText('The second factor is removed').waitFor();
    await shoot(page, 'factor-removed');
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
    await shoot(page, 'enrol-refused');
    await confirmed(page);
    assert.deepEqual(await namesOf(context), ['device-acme', 'session-acme']);
    await page.getByRole('button', { name: 'I have kept it' }).click();
    await inside(page, 'Mia Member');
    assert.deepEqual(refusals, ['403 /acme/v2/accounts/login', '401 /acme/v2/accounts/me/second-factor/confirm']);
    assert.deepEqual(problems, []);
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
  return page.locator('#keep-facts li').allTextContents();
}
