// Proves in a browser that administrators see who has changed what.

import assert from 'node:assert/strict';
import { call, go, heading, openAs, openAsMia, settled, tried } from './kit.mjs';
import { shoot } from './look.mjs';

const name = '<img src=x onerror="document.title=1"> \u05D0'; // of whoever has changed something

export const checks = {
  'who changed an app is found from the app, and unfolds with its request': async () => {
    const { page, problems, close } = await openAs(tried.admin_email, tried.admin_password, 'Ada Admin');
    const admin = { Authorization: `Bearer ${tried.admin_token}` };
    const { _id: key } = await (await call('/apps', admin, 'POST', { name })).json();
    const rotated = await call(`/apps/${key}/secret`, admin, 'POST', { grace: 0 });
    const id = rotated.headers.get('Request-Id');
    await page.goto(`${tried.base_url}/#acme/apps?key=${key}`);
    await page.getByRole('link', { name: 'its history' }).click();
    await heading(page, 'Audit').waitFor();
    const rows = page.getByRole('table', { name: 'Audit log' }).locator('tbody tr');
    const row = rows.filter({ hasText: 'credential.replaced' });
    await row.waitFor();
    assert.match(await row.innerText(), /just now\s+\w{8}\s+credential\.replaced[^]*Ada Admin[^]*onerror[^]*127\.0\.0\.1/);
    assert.equal(await page.locator('main img, main script').count(), 0);
    await shoot(page, 'audit');
    await row.getByRole('button').click();
    await page.locator('#audit-one').getByText(id).waitFor();
    await shoot(page, 'audit-entry');
    await page.reload(); // the address has the filter and the entry
    await page.locator('#audit-one').getByText(id).waitFor();

    // A rename, which changes nothing of the credential.
    await call(`/apps/${key}`, admin, 'PATCH', { name: 'another name' });
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await rows.filter({ hasText: 'app.changed' }).waitFor();

    // By a kind of verb, and page by page.
    await page.getByLabel('History of').selectOption('verb');
    await page.getByLabel('Which one, or all').fill('credential');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await settled(page);
    assert.ok((await rows.locator('td:nth-child(3)').allInnerTexts()).every((text) => text.startsWith('credential.')));
    await page.getByLabel('Which one, or all').fill('no.such');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.getByText('No entry.').waitFor();
    assert.deepEqual(problems, []);
    await close();
  },

  'the audit log is for administrators': async () => {
    const { page, problems, close } = await openAsMia();
    await go(page, 'Audit');
    await page.getByRole('alert').getByText('service.accessDenied.unspecified').waitFor();
    assert.equal(await page.locator('#audit table').count(), 0);
    assert.deepEqual(problems, []);
    await close();
  },
};
