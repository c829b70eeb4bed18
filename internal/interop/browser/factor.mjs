// Proves in a browser that people set up, use and remove a second factor.

import assert from 'node:assert/strict';
import readQR from 'jsqr';
import { Authenticator } from '../totp.mjs';
import { asMia, enter, facts, focus, heading, inside, namesOf, open, signIn, signOut, strict, sure } from './kit.mjs';
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
    await page.getByText('Not set up.').waitFor();
    assert.equal(await page.getByRole('button', { name: 'New recovery codes' }).isVisible(), false);
    const codes = await setUp(page);
    assert.equal(codes.length, 10);
    await page.getByRole('button', { name: 'I have kept it' }).click();
    await inside(page, 'Mia Member');
    assert.equal(await page.locator('#keep-facts li').count(), 0, 'the codes stay on the page');
    assert.equal(await page.locator('#enrol-qr > *').count(), 0, 'the secret stays on the page');
    await page.getByText('Active, 10 recovery codes left.').waitFor();
    assert.deepEqual(await stateOf(page), { active: true, pending: false, recoveryCodesLeft: 10 });
    await shoot(page, 'factor-active');
    await signOut(page);
    await asMia(page);
    await heading(page, 'Second factor').waitFor();
    await enter(page, codes[0]);
    await inside(page, 'Mia Member');
    await page.getByText('Active, 9 recovery codes left.').waitFor();

    // New codes: the former ones end, and neither Escape nor a reload takes the new ones away.
    await page.getByLabel('With a code of it').fill(codes[1]);
    await page.getByRole('button', { name: 'New recovery codes' }).click();
    await sure(page, 'Make new ones');
    await heading(page, 'Recovery codes').waitFor();
    const fresh = await page.locator('#keep-facts li').allTextContents();
    assert.equal(new Set([...codes, ...fresh]).size, 20);
    await page.keyboard.press('Escape');
    const asked = page.waitForEvent('dialog').then((dialog) => [dialog.type(), dialog.dismiss()][0]);
    page.reload().catch(() => {}); // the reload is given up
    assert.equal(await asked, 'beforeunload');
    await page.getByRole('button', { name: 'I have kept it' }).click();
    await page.getByText('The former recovery codes have ended.').waitFor();
    await focus(page, 'factor-title');
    assert.equal((await stateOf(page)).recoveryCodesLeft, 10);
    await page.getByLabel('With a code of it').fill(codes[2]);
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    await sure(page, 'Remove it');
    await page.getByRole('alert').getByText('service.invalidArgument.locationToken').waitFor();
    await page.getByLabel('With a code of it').fill(fresh[0]);
    await page.getByRole('button', { name: 'Remove', exact: true }).click();
    await sure(page, 'Remove it');
    await page.getByRole('status').getByText('The second factor is removed').waitFor();
    await page.getByText('Not set up.').waitFor();
    assert.deepEqual(await stateOf(page), { active: false, pending: false, recoveryCodesLeft: 0 });
    await shoot(page, 'factor-removed');
    await signOut(page);
    await asMia(page);
    await inside(page, 'Mia Member');
    assert.deepEqual(problems, []);
    await close();
  },

  'without the picture of the secret, the rest of an enrolment works': async () => {
    const { page, close } = await open();
    await asMia(page);
    await inside(page, 'Mia Member');
    await page.route('**/console/qr', (route) => route.fulfill({ status: 503, body: 'no' }));
    const failed = page.waitForResponse('**/console/qr');
    await page.getByRole('button', { name: 'Set up' }).click();
    await heading(page, 'Set up a second factor').waitFor();
    await failed;
    assert.match(await page.locator('#enrol-secret').textContent(), /^([A-Z2-7]{4} ?)+$/);
    assert.equal(await page.getByRole('img').count(), 0);
    await page.getByRole('alert').and(page.locator(':empty')).first().waitFor({ state: 'attached' });
    await page.getByRole('button', { name: 'Cancel' }).click();
    await inside(page, 'Mia Member');
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

// stateOf asks the server, with the session of the page.
const stateOf = (page) => page.evaluate(async () => (await (await fetch('/acme/v2/accounts/me/second-factor')).json()).data);

// photographed reads the QR code as a phone does: from what is seen on the page, in the dark scheme.
async function photographed(page) {
  await page.emulateMedia({ colorScheme: 'dark' });
  const shot = (await page.getByRole('img', { name: 'A QR code' }).screenshot()).toString('base64');
  await page.emulateMedia({ colorScheme: 'light' });
  const blank = await page.context().newPage(); // the policy of the page lets it load no picture
  const { pixels, width, height } = await blank.evaluate(async (png) => {
    const picture = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
    const canvas = new OffscreenCanvas(picture.width, picture.height).getContext('2d');
    canvas.drawImage(picture, 0, 0);
    return { pixels: [...canvas.getImageData(0, 0, picture.width, picture.height).data], width: picture.width, height: picture.height };
  }, shot);
  await blank.close();
  return readQR(Uint8ClampedArray.from(pixels), width, height)?.data;
}

async function confirmed(page) {
  const secret = await page.locator('#enrol-secret').textContent();
  const uri = await page.locator('#enrol-uri').textContent();
  assert.equal(await page.locator('#enrol-link').getAttribute('href'), uri);
  assert.equal(new URL(uri).searchParams.get('secret'), secret.replaceAll(' ', ''));
  const seen = await photographed(page);
  assert.equal(seen, uri, 'the picture is of another text');
  await page.getByLabel('The code it shows').fill(await new Authenticator(new URL(seen).searchParams.get('secret')).code());
  await page.getByRole('button', { name: 'Confirm' }).click();
  await heading(page, 'Recovery codes').waitFor();
  return page.locator('#keep-facts li').allTextContents();
}
