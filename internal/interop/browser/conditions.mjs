// Proves in a browser that the console can be used where a browser, a server or a person is not as usual.

import assert from 'node:assert/strict';
import { asMia, facts, focus, go, heading, inside, open, openAs, settled, signIn, signOut, tried, unfold, useToken } from './kit.mjs';
import { accessible, fits, shoot } from './look.mjs';
import { Server } from './server.mjs';

const sections = ['Live', 'Data', 'Apps', 'Tokens', 'Scope tester', 'Signature lab', 'Account'];

// visit opens each section as an administrator, who sees the most of it.
async function visit(page, step) {
  for (const section of sections) {
    await go(page, section);
    await page.locator('h1:visible').waitFor();
    await settled(page);
    await step(section);
  }
}

const asAda = (options) => openAs(tried.admin_email, tried.admin_password, 'Ada Admin', options);

export const checks = {
  'forced colours leave the focus and each state visible': async () => {
    const { page, problems, close } = await asAda({ forcedColors: 'active' });
    await visit(page, async (section) => {
      const current = await page.locator('nav a[aria-current]').evaluate((link) => getComputedStyle(link).textDecorationLine);
      assert.equal(current, 'underline', 'only a colour tells which section is open');
      await accessible(page, `${section} in forced colours`);
    });
    await page.keyboard.press('Tab');
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
    assert.equal(outline, 'solid');
    await go(page, 'Scope tester');
    await page.getByRole('button', { name: 'Decide' }).click();
    await page.locator('.verdict').waitFor();
    assert.equal(await page.locator('.verdict').evaluate((box) => getComputedStyle(box).borderStyle), 'solid');
    assert.deepEqual(problems, []);
    await close();
  },

  'nothing moves for those who want less motion': async () => {
    const { page, problems, close } = await asAda({ reducedMotion: 'reduce' });
    await visit(page, async (section) => {
      const moving = await page.evaluate(() => [...document.querySelectorAll('*')].filter((one) => {
        const { transitionDuration, animationName, scrollBehavior } = getComputedStyle(one);
        return transitionDuration !== '0s' || animationName !== 'none' || scrollBehavior === 'smooth';
      }).map(({ outerHTML }) => outerHTML));
      assert.deepEqual(moving, [], section);
    });
    assert.deepEqual(problems, []);
    await close();
  },

  'large text and narrow pages lose nothing': async () => {
    const { page, problems, close } = await asAda();
    await visit(page, async (section) => {
      // 1280 pixels at 200 % and at 400 %, and text of 200 %, which does not change the width in pixels.
      for (const [width, size] of [[640, '100%'], [320, '100%'], [1280, '200%'], [390, '200%']]) {
        await page.setViewportSize({ width, height: 512 });
        await page.evaluate((to) => { document.documentElement.style.fontSize = to; }, size);
        await fits(page, `${section}, ${width} pixels with text of ${size}`);
      }
      await page.setViewportSize({ width: 1280, height: 900 });
      await page.evaluate(() => { document.documentElement.style.fontSize = ''; });
    });
    assert.deepEqual(problems, []);
    await close();
  },

  'the keyboard reaches every control, and shows where it is': async () => {
    const { page, problems, close } = await asAda();
    await visit(page, async (section) => {
      await (section === 'Live' && page.getByRole('button', { name: 'Pause' }).click()); // its rows come and go
      const all = await page.evaluate(() => [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')]
        .filter((one) => one.tabIndex >= 0 && one.checkVisibility({ visibilityProperty: true }))
        .filter((one) => one.type !== 'radio' || one.checked).length); // arrow keys reach the others of a group
      const reached = new Set();
      await page.evaluate(() => { document.activeElement.blur(); getSelection().collapse(document.body, 0); });
      for (let step = 0; step < all + 5; step++) {
        await page.keyboard.press('Tab');
        const at = await page.evaluate(() => {
          const one = document.activeElement;
          if (one === document.body) return null;
          const { outlineStyle, outlineWidth } = getComputedStyle(one);
          const { top, bottom, width } = one.getBoundingClientRect();
          one.dataset.stop ??= String(document.querySelectorAll('[data-stop]').length);
          return { id: one.dataset.stop, html: one.outerHTML.slice(0, 120), shown: outlineStyle === 'solid' && outlineWidth === '3px', inView: width > 0 && bottom > 0 && top < innerHeight };
        });
        if (at) {
          assert.ok(at.shown && at.inView, `${section}: ${at.html}`);
          reached.add(at.id);
        }
      }
      assert.equal(reached.size, all, section);
      await page.evaluate(() => document.querySelectorAll('[data-stop]').forEach((one) => delete one.dataset.stop));
    });
    assert.deepEqual(problems, []);
    await close();
  },

  'a browser that keeps no cookie is told so': async () => {
    const { page, problems, close } = await open();
    await page.route('**/accounts/login', async (route) => {
      const reply = await route.fetch();
      const { 'set-cookie': cookie, ...headers } = reply.headers();
      assert.ok(cookie);
      await page.context().clearCookies(); // Playwright keeps those of its own requests
      await route.fulfill({ response: reply, headers });
    });
    await asMia(page);
    await page.getByRole('alert').getByText('This browser has not kept the cookie of the session').waitFor();
    await heading(page, 'Sign in').waitFor();
    await shoot(page, 'no-cookie');
    assert.deepEqual(problems, []);
    await close();
  },

  'without any storage people sign in as usual': async () => {
    const { page, context, problems, close } = await open();
    await context.addInitScript(() => {
      const refuse = () => { throw new DOMException('The operation is insecure.', 'SecurityError'); };
      globalThis.BroadcastChannel = class { constructor() { refuse(); } };
      for (const name of ['localStorage', 'sessionStorage', 'indexedDB']) {
        Object.defineProperty(globalThis, name, { get: refuse });
      }
    });
    await page.reload();
    await focus(page, 'email');
    await asMia(page);
    await inside(page, 'Mia Member');
    await signOut(page);
    assert.deepEqual(problems, []);
    await close();
  },

  'a server that is gone is named, and found when it is back': async () => {
    const server = new Server();
    await server.start();
    const { admin_email: email, admin_password: password } = server.facts;
    const { page, problems, close } = await openAs(email, password, 'Ada Admin', { base: server.facts.base_url });
    await go(page, 'Live');
    await page.getByText('Watching.').waitFor();
    await server.kill();
    await page.getByText('The connection is lost. Trying again').waitFor();
    await page.waitForTimeout(10_500); // a silent stream is given up after ten seconds, and a broken one must not be
    const unreachable = page.getByRole('alert').getByText('The server cannot be reached.');
    for (const section of ['Data', 'Apps', 'Tokens']) {
      await go(page, section);
      await unreachable.waitFor();
    }
    await shoot(page, 'unreachable');
    await go(page, 'Scope tester');
    await page.getByRole('button', { name: 'Decide' }).click();
    await unreachable.waitFor();
    await go(page, 'Account');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await unreachable.waitFor();
    await heading(page, 'Ada Admin').waitFor(); // nobody is signed out by a step that failed
    await go(page, 'Live');
    await page.getByText('The connection is lost. Trying again').waitFor();

    await server.start();
    await page.getByText('Watching.').waitFor();
    await go(page, 'Data');
    await page.locator('#data-table table').waitFor();
    assert.equal(await unreachable.count(), 0);
    await go(page, 'Account');
    await signOut(page);
    assert.deepEqual(problems.filter((text) => !text.includes('net::ERR_')), []);
    await close();
    await server.remove();
  },

  'a server that answers no more than that it is well is not asked all the time': async () => {
    const { page, problems, close } = await openAs(tried.admin_email, tried.admin_password, 'Ada Admin');
    await page.route('**/v2/apps?*', (route) => route.abort());
    let tries = 0;
    page.on('request', (request) => { tries += request.url().endsWith('/healthz') ? 1 : 0; });
    await go(page, 'Apps');
    await page.getByText('The next try is in 4 s.').waitFor();
    assert.equal(tries, 2);
    await page.unroute('**/v2/apps?*');
    await page.getByText('The server is back.').waitFor();
    await page.locator('#apps tbody tr').first().waitFor();
    assert.deepEqual(problems.filter((text) => !text.includes('net::ERR_')), []);
    await close();
  },

  'a token that no header can have is named, and the server is not called lost': async () => {
    const { page, problems, close } = await openAs(tried.admin_email, tried.admin_password, 'Ada Admin');
    await go(page, 'Apps');
    await useToken(page, 'eyJhbGciOi\u2026');
    await page.locator('#section-apps').getByText('The browser cannot send this').first().waitFor();
    assert.equal(await page.locator('#offline').textContent(), '');
    assert.deepEqual(problems, []);
    await close();
  },

  'what was entered is still there when the server is back': async () => {
    const server = new Server();
    await server.start();
    const { admin_email: email, admin_password: password } = server.facts;
    const { page, problems, close } = await openAs(email, password, 'Ada Admin', { base: server.facts.base_url });
    await go(page, 'People');
    await page.getByRole('table', { name: 'Accounts' }).getByRole('link', { name: 'Mia Member' }).click();
    await focus(page, 'people-one-title');
    await settled(page);
    const name = page.locator('#people-name');
    await name.fill('Mia Renamed');
    const asked = page.waitForEvent('dialog'); // what is not saved is not lost without a question
    await page.evaluate(() => { setTimeout(() => location.reload()); });
    const dialog = await asked;
    assert.equal(dialog.type(), 'beforeunload');
    await dialog.dismiss();
    await server.kill();
    await page.locator('#people-form').getByRole('button', { name: 'Save' }).click();
    await page.getByRole('alert').getByText('The server cannot be reached.').waitFor();
    await server.start();
    await page.getByText('The server is back.').waitFor();
    assert.equal(await name.inputValue(), 'Mia Renamed');
    await page.locator('#people-form').getByRole('button', { name: 'Save' }).click();
    await page.getByText('Mia Renamed is changed.').waitFor();
    assert.deepEqual(problems.filter((text) => !text.includes('net::ERR_')), []);
    await close();
    await server.remove();
  },

  'a form that is filled is not lost by a link, by Back or by signing out without a question': async () => {
    const { page, problems, close } = await openAs(tried.admin_email, tried.admin_password, 'Ada Admin');
    await go(page, 'API keys');
    await settled(page);
    await unfold(page, 'New key');
    const name = page.getByLabel('Name of the key');
    const dialog = page.getByRole('dialog', { name: 'Leave without sending the form?' });
    const nav = page.getByRole('navigation');
    for (const leave of [() => nav.getByRole('link', { name: 'Audit', exact: true }).click(), () => page.goBack(), () => page.getByRole('button', { name: 'Sign out' }).click()]) {
      await name.fill('Partner Ltd');
      await leave();
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      await dialog.waitFor({ state: 'hidden' });
      assert.match(page.url(), /#acme\/keys$/);
      assert.equal(await name.inputValue(), 'Partner Ltd');
    }
    await shoot(page, 'filled');
    await nav.getByRole('link', { name: 'Audit', exact: true }).click();
    await dialog.getByRole('button', { name: 'Leave', exact: true }).click();
    await heading(page, 'Audit').waitFor();
    await go(page, 'API keys');
    await settled(page);
    assert.equal(await name.inputValue(), '');
    await go(page, 'Data'); // an empty form is no reason to ask
    await page.locator('#data-table table').waitFor();
    assert.deepEqual(problems, []);
    await close();
  },

  'what ends within 7 days is said in each section, and leads there': async () => {
    const { page, problems, close } = await openAs(facts.admin_email, facts.admin_password, 'Ada Admin', { base: facts.base_url });
    const status = await page.evaluate(async (path) => (await fetch(path, {
      method: 'POST', headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify({ name: 'soon', scope: [], expires: new Date(Date.now() + 3 * 86_400_000).toISOString() }),
    })).status, `/acme/v2/apps/${facts.client_key}/keys`);
    assert.equal(status, 200);
    await page.reload();
    for (const section of ['Live', 'Apps', 'People', 'Audit']) {
      await go(page, section);
      await page.locator('#ending').getByText(/^Within 7 days end .*\d+ API keys?/).waitFor();
    }
    await page.locator('#ending').getByRole('link', { name: /API key/ }).click();
    await page.getByRole('table', { name: 'API keys' }).getByRole('row').filter({ hasText: 'soon' }).waitFor();
    assert.equal(await page.getByLabel('Keys to show').inputValue(), '7');
    await go(page, 'Account');
    await signOut(page);
    await page.locator('#ending').waitFor({ state: 'hidden' });
    assert.deepEqual(problems, []);
    await close();
  },

  'a session that nobody uses ends, and the page says so': async () => {
    const server = new Server();
    await server.start('-idle', '5s');
    const { account_email: email, account_password: password, base_url: base } = server.facts;
    const { page, problems, close } = await openAs(email, password, 'Mia Member', { base });
    await go(page, 'Scope tester'); // it sends nothing of the session
    await page.waitForTimeout(6000); // nothing may be sent, so there is nothing to wait for
    await page.getByRole('link', { name: 'Data', exact: true }).click();
    await page.getByRole('alert').getByText('service.accessDenied.sessionExpired').waitFor();
    await heading(page, 'Sign in').waitFor();
    await signIn(page, email, password);
    await page.locator('#who').getByText('Mia Member').waitFor();
    await page.locator('#data-table table').waitFor(); // where the session has ended
    assert.deepEqual(problems, []);
    await close();
    await server.remove();
  },
};
