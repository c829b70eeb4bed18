// Proves in a browser that the signature lab signs as the server verifies.

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { inFirefox, open, tried, unfold } from './kit.mjs';
import { shoot } from './look.mjs';

export const checks = {
  'the signature lab signs, replays and is late': async () => {
    const { page, problems, close } = await open({ base: tried.base_url, path: '/#acme/lab' });
    await page.getByLabel('Client key to sign with').fill(tried.client_key);
    await page.getByLabel('Client secret').fill(tried.client_secret);
    const verdict = page.locator('#lab-reply .verdict');
    await page.getByRole('button', { name: 'Sign and send' }).click();
    await verdict.getByText('Accepted').waitFor();
    assert.match(await page.locator('#lab-parts').innerText(), /\/c_messages;GET;\d{13}/);
    const shown = await page.locator('#section-lab').innerText();
    assert.ok(!shown.includes(tried.client_secret), 'the secret is shown');
    assert.match(await page.locator('#lab-reply').innerText(), /200[^]*Service-Server-Time[^]*\d{13}/);
    await shoot(page, 'lab-accepted');

    await page.getByRole('button', { name: 'Send the same again' }).click();
    await verdict.getByText('It is the same request once more.').waitFor();
    await page.getByText('"service.accessDenied.replayedRequest"').waitFor();
    await page.getByRole('button', { name: 'Send, ten minutes late' }).click();
    await verdict.getByText(/10 min( \d+ s)? behind the server's clock/).waitFor();
    await shoot(page, 'lab-late');

    // Compare with another implementation and with curl's line.
    await unfold(page, 'A body and a timestamp');
    await page.getByLabel('Timestamp').fill('1700000000000');
    await page.getByRole('button', { name: 'Sign only' }).click();
    const expected = createHmac('sha256', tried.client_key + tried.client_secret).update('/c_messages;GET;1700000000000').digest('hex');
    await page.locator('#lab-signature').getByText(expected).waitFor();
    assert.ok((await page.locator('#lab-curl').textContent()).includes(`-H 'Service-Client-Signature: ${expected}'`));

    await page.getByLabel('Timestamp').fill('');
    await page.getByLabel('Client secret').fill('another');
    await page.getByRole('button', { name: 'Sign and send' }).click();
    await verdict.getByText('does not compute this signature').waitFor();
    await page.getByLabel('Path, with its query').fill('../../healthz');
    await page.getByRole('button', { name: 'Sign and send' }).click();
    await page.getByRole('alert').getByText('leads out of').waitFor();
    await shoot(page, 'lab-refused');
    assert.deepEqual(problems, []);
    await close();
  },

  'the signature lab signs by version 2': async () => {
    const { page, problems, close } = await open({ base: tried.base_url, path: '/#acme/lab' });
    await page.getByLabel('Client key to sign with').fill(tried.v2_client_key);
    await page.getByLabel('Client secret').fill(tried.v2_client_secret);
    const verdict = page.locator('#lab-reply .verdict');
    const send = page.getByRole('button', { name: 'Sign and send' });
    await send.click();
    await verdict.getByText(inFirefox ? 'the secret, the version or something' : 'takes another version').waitFor();
    await page.getByLabel('Version of the signature').selectOption('2');
    await send.click();
    await verdict.getByText('Accepted').waitFor();
    await page.getByRole('button', { name: 'Send the same again' }).click();
    await verdict.getByText('It is the same request once more.').waitFor();

    await page.getByLabel('Method').selectOption('POST');
    await page.getByLabel('Path, with its query').fill("/c_messages?x=a'b&y=é");
    await unfold(page, 'A body and a timestamp');
    await page.getByLabel('JSON, which version 2 covers').fill('{"c_text":"é"}');
    await send.click();
    await verdict.getByText('Accepted').waitFor();
    await shoot(page, 'lab-second');

    // Compare with another implementation.
    const message = await page.locator('#lab-parts code').first().textContent();
    assert.match(message, /^"@method": POST\n"@authority": 127\.0\.0\.1:\d+\n"@path": \/acme\/v2\/c_messages\n"@query": \?x=a%27b&y=%C3%A9\n"content-digest": sha-256=:/);
    const expected = createHmac('sha256', tried.v2_client_key + tried.v2_client_secret).update(message).digest('base64');
    await page.locator('#lab-signature').getByText(expected).waitFor();
    assert.ok((await page.locator('#lab-curl').textContent()).includes(`-H 'Signature: sig=:${expected}:'`));
    assert.deepEqual(problems, []);
    await close();
  },
};
