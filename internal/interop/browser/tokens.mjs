// Proves in a browser that people mint, read, revoke and use tokens.

import assert from 'node:assert/strict';
import { focus, go, heading, open, openAsMia, tried, useToken } from './kit.mjs';
import { shoot } from './look.mjs';

export const checks = {
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
    await shoot(page, 'tokens-listed');
    await card.getByRole('button', { name: 'Revoke' }).click();
    await held.getByText('The token is revoked.').waitFor();
    assert.equal(await card.count(), 0);

    await page.getByLabel('Token to read').fill('one.two');
    await page.getByRole('button', { name: 'Read', exact: true }).click();
    await page.getByRole('alert').getByText('this has 2').waitFor();
    await shoot(page, 'token-unreadable');
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
    await shoot(page, 'credential');
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
};

const mint = (page) => page.getByRole('button', { name: 'Mint', exact: true }).click();
