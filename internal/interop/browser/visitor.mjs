// Proves in a browser that a first visit shows a way.

import assert from 'node:assert/strict';
import { focus, go, heading, inside, open, openAs, settled, signIn, signOut, tried } from './kit.mjs';
import { shoot } from './look.mjs';

const closed = [
  ['Live', 'watch the decisions of this org'],
  ['Data', 'read the objects of this org'],
  ['Apps', 'manage apps and keys'],
  ['Tokens', 'mint, list and revoke tokens'],
];

export const checks = {
  'every section is in order when nobody is signed in': async () => {
    const { page, problems, refusals, close } = await open({ base: tried.base_url });
    for (const section of ['Live', 'Data', 'Apps', 'Tokens', 'Signature lab']) {
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
    assert.match(await page.title(), /^Sign in · acme/);
    await shoot(page, 'visitor');
    await page.getByRole('link', { name: 'See a refusal' }).click();
    await page.locator('#scope-verdict').getByText('Denied').waitFor();
    assert.match(await page.title(), /^Scope tester · acme/);
    await page.goBack();
    await page.getByRole('link', { name: 'Narrow a token' }).click();
    await page.getByText('Use a bearer token').waitFor();
    await page.goBack();
    await page.getByRole('link', { name: 'Sign a request' }).click();
    await focus(page, 'lab-title');
    await page.goBack();
    await signIn(page, tried.admin_email, tried.admin_password);
    await inside(page, 'Ada Admin');
    assert.equal(await heading(page, 'What this is').count(), 0);
    assert.equal(await page.locator('#who').innerText(), 'Ada Admin of acme');
    assert.deepEqual(problems, []);
    await close();
  },

  'a section that needs a credential says so, and is come back to': async () => {
    const { page, problems, refusals, close } = await open({ base: tried.base_url, path: '/#acme/live' });
    const gate = page.getByText(', or paste a bearer token. After signing in, you come back here.');
    for (const [section, words] of closed) {
      await go(page, section);
      await gate.waitFor();
      assert.ok((await gate.innerText()).startsWith(`Sign in to ${words}, or`), section);
      assert.equal(await page.getByRole('main').getByRole('button').count(), 0, section);
    }
    assert.deepEqual(refusals, [], 'the page asks for what nobody may have');
    await go(page, 'Tokens');
    await shoot(page, 'gate');

    // While its list is on the way, a section says so.
    await page.goto(`${tried.base_url}/#acme/apps`);
    let release;
    const held = new Promise((resolve) => { release = resolve; });
    await page.route('**/v2/apps?*', async (route) => {
      await held;
      await route.continue();
    });
    await page.getByRole('main').getByRole('link', { name: 'Sign in' }).click();
    await page.reload(); // the address knows the way back
    await signIn(page, tried.admin_email, tried.admin_password);
    await focus(page, 'apps-title');
    assert.match(page.url(), /#acme\/apps$/);
    await page.locator('#section-apps[aria-busy=true]').waitFor();
    assert.match(await page.locator('#apps').evaluate((list) => getComputedStyle(list, '::after').content), /Loading/);
    await shoot(page, 'loading');
    release();
    await page.locator('#apps tr').filter({ hasText: tried.client_key }).waitFor();
    assert.equal(await page.locator('[aria-busy=true]').count(), 0);
    assert.equal(await gate.isVisible(), false);

    // Everybody can sign out from everywhere.
    for (const section of ['Scope tester', 'Data']) {
      await go(page, section);
      assert.match(await page.title(), new RegExp(`^${section} · acme`));
      await page.getByRole('button', { name: 'Sign out' }).waitFor();
    }
    await signOut(page);
    await focus(page, 'password');
    await go(page, 'Data');
    await gate.waitFor();
    assert.equal(await page.locator('#data-table > *').count(), 0);
    assert.deepEqual(problems, []);
    await close();
  },

  'a session that ends in a section is signed in to again there': async () => {
    const { page, context, close } = await openAs(tried.admin_email, tried.admin_password, 'Ada Admin');
    await go(page, 'Apps');
    await page.locator('#apps tr').filter({ hasText: tried.client_key }).waitFor();
    await settled(page);
    await context.clearCookies();
    await page.locator('#apps tr').filter({ hasText: tried.client_key }).getByRole('link').click();
    await heading(page, 'Sign in').waitFor();
    await page.getByRole('alert').getByText('service.accessDenied.noCredentialsSupplied').waitFor();
    await signIn(page, tried.admin_email, tried.admin_password);
    await focus(page, 'app-one-title'); // the page of the app, whose link was pressed
    await close();
  },
};
