// Proves in a browser that the scope tester decides and explains.

import assert from 'node:assert/strict';
import { focus, heading, open, tried } from './kit.mjs';
import { shoot } from './look.mjs';

export const checks = {
  'the scope tester allows, denies and says why': async () => {
    const { page, problems, close } = await open({ base: tried.base_url, path: '/#acme/scope' });
    await heading(page, 'Scope tester').waitFor();
    await focus(page, 'scope-title'); // otherwise the title would take the focus from the keyboard
    const verdict = page.getByRole('status').filter({ has: page.locator('.verdict') });
    const decide = () => page.getByRole('button', { name: 'Decide' }).click();
    await decide();
    await verdict.getByText('Denied').waitFor();
    assert.match(await verdict.innerText(), /ends before "c_text"[^]*grant 1[^]*segment 5[^]*narrowed/);
    assert.equal(await verdict.locator('mark').textContent(), 'c_text');
    await shoot(page, 'scope-denied');
    await page.getByLabel('Need', { exact: true }).fill('object.read.c_message.*.c_text');
    await page.keyboard.press('Enter');
    await verdict.getByText('Allowed').waitFor();
    assert.match(await verdict.innerText(), /Allowing chain[^]*object\.read\.c_message\.\*\.c_text[^]*grant 1/);
    await shoot(page, 'scope-allowed');
    await page.getByLabel('Need', { exact: true }).fill('Object.read');
    await decide();
    await page.locator('#scope-need-fault').getByText(/segment 1.*service\.invalidArgument\.authScope/).waitFor();
    await focus(page, 'scope-need');
    await shoot(page, 'scope-refused');
    assert.deepEqual(problems, []);
    await close();
  },
};
