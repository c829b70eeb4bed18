// Proves in a browser that a first visit shows a way.

import assert from 'node:assert/strict';
import { focus, go, heading, inside, open, settled, signIn, tried } from './kit.mjs';
import { shoot } from './look.mjs';

export const checks = {
  'every section is in order when nobody is signed in': async () => {
    const { page, problems, refusals, close } = await open({ base: tried.base_url });
    for (const section of ['Live', 'Data', 'Apps and keys', 'Tokens', 'Signature lab', 'Paging']) {
      await go(page, section);
      await page.locator('h1:visible').waitFor();
      await settled(page);
      await shoot(page, `visitor-${section.split(' ')[0].toLowerCase()}`);
    }
    assert.deepEqual(problems, []);
    await close();
  },

  'a first visit says what this is, and leads to three tries': async () => {
    const { page, problems, close } = await open({ base: tried.base_url });
    await heading(page, 'What this is').waitFor();
    assert.match(await page.title(), /^Account · acme/);
    await shoot(page, 'visitor');
    await page.getByRole('link', { name: 'Ask the scope tester' }).click();
    await page.locator('#scope-verdict').getByText('Denied').waitFor();
    assert.match(await page.title(), /^Scope tester · acme/);
    await page.goBack();
    await page.getByRole('link', { name: 'Open the tokens' }).click();
    await page.getByText('nobody: sign in, or paste a token').waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'Open the signature lab' }).click();
    await focus(page, 'lab-title');
    await page.goBack();
    await signIn(page, tried.admin_email, tried.admin_password);
    await inside(page, 'Ada Admin');
    assert.equal(await heading(page, 'What this is').count(), 0);
    assert.match(await page.locator('#numbers').innerText(), /c_messages[^]*2,5\d\d[^]*connections[^]*60[^]*Accounts[^]*\d[^]*Apps[^]*\d[^]*Roles[^]*3/);
    assert.equal(await page.locator('#who').innerText(), 'Ada Admin of acme');
    await shoot(page, 'numbers');
    assert.deepEqual(problems, []);
    await close();
  },
};
