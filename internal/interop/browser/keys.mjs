// Proves in a browser that people make, list, replace and revoke API keys. One more key is of the demo.

import assert from 'node:assert/strict';
import { call, focus, go, openAs, openAsMia, settled, sure, tried, unfold } from './kit.mjs';
import { shoot } from './look.mjs';

export const checks = {
  'an API key is made, shown once, used, replaced and revoked': async () => {
    const { page, problems, close } = await openAs(tried.admin_email, tried.admin_password, 'Ada Admin');
    await go(page, 'API keys');
    await settled(page);
    await unfold(page, 'New key');
    await page.getByLabel('Name of the key').fill('Partner Ltd');
    await page.getByLabel('App that the key acts through', { exact: true }).selectOption(tried.client_key);
    await page.getByLabel('Account that the key acts as', { exact: true }).selectOption(tried.account_id);
    await page.getByRole('textbox', { name: 'Scope chains of the key' }).fill('object.red');
    await create(page);
    await page.locator('#keys-scope[aria-invalid=true]').waitFor();
    await page.getByRole('textbox', { name: 'Scope chains of the key' }).fill('object.read.c_message');
    await create(page);
    const key = await shownOnce(page);
    const row = page.getByRole('row').filter({ hasText: 'Partner Ltd' });
    await row.getByText('never', { exact: true }).waitFor();
    assert.equal((await page.content()).includes(key), false, 'the page still has the key');
    assert.equal(await reads(key), 200);
    assert.equal((await call('/apps', { Authorization: `Bearer ${key}` })).status, 403);
    await page.reload();
    await row.getByText(/^\d+ min\. ago|^just now/).waitFor();
    await shoot(page, 'keys');

    await row.getByRole('button', { name: 'Replace' }).click();
    await page.getByLabel('The old key still works for').selectOption('1 hour');
    await sure(page, 'Replace it');
    const next = await shownOnce(page);
    await page.getByText('3 keys.').waitFor();
    assert.deepEqual([await reads(key), await reads(next)], [200, 200]);
    await page.getByLabel('Keys to show').selectOption('those that expire within 7 days');
    await page.getByText('2 keys.').waitFor();
    await page.getByLabel('Keys to show').selectOption('all keys');
    await row.filter({ hasText: next.split('_')[2].slice(0, 13) }).filter({ hasNotText: 'replaced' }).getByRole('button', { name: 'Revoke' }).click();
    await sure(page, 'Revoke it');
    await page.getByText('The key is revoked.').waitFor();
    await focus(page, 'keys-list-title');
    assert.deepEqual([await reads(key), await reads(next)], [200, 401]);
    assert.deepEqual(problems, []);
    await close();
  },

  'whoever is no administrator makes API keys of their own account alone': async () => {
    const { page, close } = await openAsMia();
    await go(page, 'API keys');
    await settled(page);
    await unfold(page, 'New key');
    await page.getByLabel('App that the key acts through', { exact: true }).selectOption('Another, by its id …');
    await page.getByLabel('App that the key acts through, by id', { exact: true }).fill(tried.client_key);
    await page.getByLabel('Name of the key').fill('mine');
    await page.getByLabel('Account that the key acts as', { exact: true }).selectOption(tried.account_id);
    await create(page);
    assert.equal(await reads(await shownOnce(page)), 200);
    const row = page.getByRole('row').filter({ hasText: 'mine' });
    await row.getByRole('button', { name: 'Revoke' }).click();
    await sure(page, 'Revoke it');
    await page.getByText('The key is revoked.').waitFor();

    await unfold(page, 'New key');
    await page.getByLabel('Name of the key').fill('theirs');
    await page.getByLabel('App that the key acts through', { exact: true }).selectOption('Another, by its id …');
    await page.getByLabel('App that the key acts through, by id', { exact: true }).fill(tried.client_key);
    await page.getByLabel('Account that the key acts as', { exact: true }).selectOption('Another, by its id …');
    await page.getByLabel('Account that the key acts as, by id', { exact: true }).fill(tried.admin_account_id);
    await create(page);
    await page.locator('#keys-form').getByRole('alert').waitFor();
    await close();
  },
};

const create = (page) => page.locator('#keys-form').getByRole('button', { name: 'Create' }).click();
const reads = async (key) => (await call('/c_messages?limit=1', { Authorization: `Bearer ${key}` })).status;

// shownOnce returns the key in the dialog, and closes it.
async function shownOnce(page) {
  const dialog = page.getByRole('dialog', { name: 'The key, shown this once' });
  const key = (await dialog.locator('code').filter({ hasText: 'service_live_' }).innerText()).trim();
  await dialog.locator('#keep-done').click();
  return key;
}
