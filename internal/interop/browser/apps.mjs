// Proves in a browser that administrators manage apps and their keys.

import assert from 'node:assert/strict';
import { focus, go, heading, openAs, openAsMia, settled, tried, useToken } from './kit.mjs';
import { shoot } from './look.mjs';

export const checks = {
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
    await shoot(page, 'app-refused');
    await close();
  },

  'an administrator who is signed in makes an app, changes it and deletes it': async () => {
    const { page, problems, close } = await openAs(tried.admin_email, tried.admin_password, 'Ada Admin');
    await go(page, 'Apps and keys');
    await createLabApp(page);
    await heading(page, 'The secret, shown this once').waitFor();
    await focus(page, 'keep-title');
    const first = await shownSecret(page);
    assert.match(first, /^[0-9A-Za-z]{64}$/);
    await shoot(page, 'secret');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'I have kept it' }).click();
    await focus(page, 'apps-list-title');
    assert.equal(await page.locator('#keep-facts code').count(), 0, 'the secret stays on the page');
    const card = page.getByRole('listitem').filter({ hasText: 'Lab app' });
    const press = async (name) => {
      await settled(page);
      await card.getByRole('button', { name }).click();
    };
    await card.waitFor();
    await shoot(page, 'apps');

    await press('Rotate secret');
    await heading(page, 'The secret, shown this once').waitFor();
    assert.notEqual(await shownSecret(page), first);
    await page.getByRole('button', { name: 'I have kept it' }).click();
    await press('Generate key pair');
    await page.getByText('The app has a new key pair.').waitFor();
    await focus(page, 'apps-list-title');
    await press('Expose key');
    await card.getByRole('button', { name: 'Hide key' }).waitFor();
    await press('Disable');
    await card.getByText('disabled').waitFor();
    await shoot(page, 'app-disabled');
    await press('Delete');
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await settled(page);
    assert.equal(await card.count(), 1);
    await press('Delete');
    await shoot(page, 'sure');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete the app' }).click();
    await page.getByText('The app is deleted.').waitFor();
    assert.equal(await card.count(), 0);
    assert.deepEqual(problems, []);
    await close();
  },
};

const shownSecret = (page) => page.locator('#keep-facts code').last().textContent();

async function createLabApp(page) {
  await page.getByRole('listitem').filter({ hasText: tried.client_key }).waitFor();
  await page.getByLabel('Name').fill('Lab app');
  await page.getByLabel('Its requests act as').fill(tried.account_id);
  await page.getByRole('button', { name: 'Create' }).click();
}
