// Proves in a browser that the paging explorer fetches and walks pages.

import assert from 'node:assert/strict';
import { go, openAsMia } from './kit.mjs';
import { shoot } from './look.mjs';

export const checks = {
  'the paging explorer fetches a page, and walks both ways': async () => {
    const { page, problems, close } = await openAsMia();
    await go(page, 'Paging');
    await page.getByLabel('List', { exact: true }).selectOption('c_messages');
    await page.getByLabel('where').fill('{"c_likes":{"$gte":40}}');
    await page.getByLabel('sort', { exact: true }).fill('{"c_likes":-1}');
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
    await shoot(page, 'paging-refused');
    assert.deepEqual(problems, []);
    await close();
  },
};
