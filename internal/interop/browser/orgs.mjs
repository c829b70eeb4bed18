// Proves in a browser that people walk between their orgs, are invited, are remembered, and act for others.

import assert from 'node:assert/strict';
import { Authenticator } from '../totp.mjs';
import { enter, go, heading, inside, namesOf, open, openAs, openAsMia, settled, signIn, signOut, sure, tried, unfold } from './kit.mjs';
import { shoot } from './look.mjs';
import { Server } from './server.mjs';

const asAda = () => openAs(tried.admin_email, tried.admin_password, 'Ada Admin');

export const checks = {
  'somebody switches to another org and back': async () => {
    const { page, context, problems, close } = await openAs(tried.person_email, tried.person_password, 'Pat Person');
    await page.getByRole('button', { name: 'Go to globex' }).click();
    await page.getByText('Pat Person of globex').waitFor();
    await inside(page, 'Pat Person');
    assert.match(page.url(), /#globex$/);
    assert.match(await page.locator('#account-facts').innerText(), /globex[^]*pat@people\.example[^]*member/);
    assert.deepEqual((await namesOf(context)).filter((name) => name.startsWith('session-')), ['session-acme', 'session-globex']);
    await shoot(page, 'other-org');
    const two = await context.newPage(); // each tab has its org
    await two.goto(`${tried.base_url}/#acme`);
    await two.getByText('Pat Person of acme').waitFor();
    await page.getByRole('button', { name: 'Go to acme' }).click();
    await page.getByText('Pat Person of acme').waitFor();
    await inside(page, 'Pat Person');
    await page.goBack();
    await page.getByText('Pat Person of globex').waitFor();
    assert.deepEqual(problems, []);
    await close();
    const mia = await openAsMia();
    assert.equal(await mia.page.getByRole('button', { name: /^Go to/ }).count(), 0);
    await mia.close();
  },

  'an invited person joins by the link, once': async () => {
    const server = new Server();
    await server.start();
    const { base_url: base, admin_email: email, admin_password: password } = server.facts;
    const { page, problems, close } = await openAs(email, password, 'Ada Admin', { base });
    await go(page, 'People');
    await settled(page);
    await page.getByRole('link', { name: 'Invitations' }).click();
    await settled(page);
    const part = page.getByRole('region', { name: 'Invitations' });
    const invite = async (email) => {
      await unfold(page, 'New invitation');
      await part.getByLabel('E-mail to invite').fill(email);
      await part.getByRole('checkbox', { name: 'reader' }).check();
      await part.getByRole('button', { name: 'Invite', exact: true }).click();
      await part.getByText(`The invitation is sent to ${email}.`).waitFor();
      await part.getByRole('row').filter({ hasText: email }).waitFor();
      return await server.link(email);
    };
    const [former, other] = [await invite('ivy@acme.example'), await invite('una@acme.example')];
    await shoot(page, 'invitations');
    await part.getByRole('button', { name: 'Send again: ivy@acme.example' }).click();
    await part.getByText('The invitation is sent to ivy@acme.example again.').waitFor();
    const link = await server.link('ivy@acme.example', 2);
    await part.getByRole('button', { name: 'Take back: una@acme.example' }).click();
    await sure(page, 'Take it back');
    await part.getByText('The invitation of una@acme.example is taken back.').waitFor();
    assert.equal(await part.getByRole('row').count(), 2); // with the header

    const join = async (at) => {
      const opened = await open({ base, path: `/${new URL(at).hash}` });
      const form = opened.page.getByRole('region', { name: 'Join the org' });
      await form.getByLabel('Name').fill('Ivy Invited');
      await form.getByLabel('New password').fill('correct horse battery');
      return opened;
    };
    const ivy = await join(link);
    await heading(ivy.page, 'Join the org').waitFor();
    await shoot(ivy.page, 'join');
    await ivy.page.getByRole('button', { name: 'Join', exact: true }).click();
    await inside(ivy.page, 'Ivy Invited');
    assert.equal(new URL(ivy.page.url()).hash, '#acme', 'the ticket stays in the address');
    assert.match(await ivy.page.locator('#account-facts').innerText(), /ivy@acme\.example[^]*reader/);
    for (const used of [former, link, other]) {
      const again = await join(used);
      await again.page.getByRole('button', { name: 'Join', exact: true }).click();
      await again.page.getByRole('alert').getByText('service.invalidArgument.locationToken').waitFor();
      await again.close();
    }
    await signOut(ivy.page);
    await ivy.page.getByRole('region', { name: 'Sign in' }).getByLabel('E-mail').fill('ivy@acme.example');
    await ivy.page.getByRole('button', { name: 'Forgot the password' }).click();
    await ivy.page.getByText('If there is such an account, a link is mailed to it.').waitFor();
    const mailed = await open({ base, path: `/${new URL(await server.link('ivy@acme.example', 3)).hash}` });
    await heading(mailed.page, 'Choose another password').waitFor();
    await mailed.page.getByRole('region', { name: 'Choose another password' }).getByLabel('New password').fill('battery staple horse');
    await mailed.page.getByRole('button', { name: 'Change the password' }).click();
    await mailed.page.getByText('The password has changed.').waitFor();
    await signIn(mailed.page, 'ivy@acme.example', 'battery staple horse');
    await inside(mailed.page, 'Ivy Invited');
    assert.deepEqual([...problems, ...ivy.problems, ...mailed.problems], []);
    await Promise.all([close(), ivy.close(), mailed.close()]);
    await server.remove();
  },

  'a remembered device needs no code until it is forgotten': async () => {
    const theo = new Authenticator(tried.totp_secret);
    const asTheo = () => signIn(page, tried.totp_account_email, tried.totp_account_password);
    const { page, problems, close } = await open({ base: tried.base_url });
    await asTheo();
    await page.getByLabel('Ask for no code on this device').check();
    await enter(page, await theo.code());
    await inside(page, 'Theo Second');
    const devices = page.getByRole('table', { name: 'Remembered devices' });
    await devices.getByRole('row').nth(1).waitFor();
    await shoot(page, 'device');
    await signOut(page);
    await asTheo();
    await inside(page, 'Theo Second'); // without a code
    await devices.getByRole('button', { name: /^Forget: / }).click();
    await page.getByText('The device needs a code again').waitFor();
    assert.equal(await devices.count(), 0);
    await signOut(page);
    await asTheo();
    await heading(page, 'Second factor').waitFor();
    assert.deepEqual(problems, []);
    await close();
  },

  'an administrator acts for an account, and the page says so': async () => {
    const { page, problems, close } = await asAda();
    await go(page, 'People');
    await page.getByRole('table', { name: 'Accounts' }).getByRole('link', { name: 'Mia Member' }).click();
    await settled(page);
    await unfold(page, 'More');
    await page.getByRole('button', { name: 'Act for it: Mia Member' }).click();
    await page.getByRole('dialog').getByLabel('Reason').fill('ticket 4711');
    await shoot(page, 'act');
    await sure(page, 'Act for it');
    await inside(page, 'Mia Member');
    await page.getByText('Acting for Mia Member of acme').waitFor();
    await shoot(page, 'acting');
    const mia = await openAsMia();
    await mia.page.getByText('ticket 4711').waitFor();
    await mia.close();
    await page.reload();
    await page.getByText('Acting for Mia Member of acme').waitFor();
    await inside(page, 'Mia Member');
    await page.getByRole('button', { name: 'Stop acting' }).click();
    await heading(page, 'Sign in').waitFor();
    await page.reload();
    await heading(page, 'Sign in').waitFor();
    assert.deepEqual(problems, []);
    await close();
  },
};
