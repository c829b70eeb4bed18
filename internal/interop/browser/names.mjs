// Proves in a browser that names and values which others have stored can neither run, nor hide, nor break the page.

import assert from 'node:assert/strict';
import { call, cookieOf, focus, go, inside, open, openAs, settled, signIn, tried, unfold } from './kit.mjs';
import { fits } from './look.mjs';

const probes = [
  '<img src=x onerror="document.title=1"><script>document.title=1</script>',
  '"><svg onload=document.title=1> \' onfocus=document.title=1 autofocus x=\'',
  'javascript:document.title=1 {{7*7}} ${7*7}',
  'n'.repeat(100),
  '\u05D0\u05D3\u05D0 \u05DE\u05E0\u05D4\u05DC (nimda)',
];

// Each turns or hides other letters. No name may have one; those without a width may be in a text.
const turning = ['\u202E', '\u202D', '\u2066', '\u2067', '\u2068', '\u2028', '\u0000', '\u001B', '\n'];
const empty = ['\u200B', '\u2060\u00AD', '\uFEFF'];

const bearer = { Authorization: `Bearer ${tried.admin_token}` };
const post = (path, body) => call(path, bearer, 'POST', body);

async function made(path, body) {
  const reply = await post(path, body);
  assert.equal(reply.status, 200, `${path} ${JSON.stringify(body)}`);
  return reply.json();
}

const password = 'a password of its own';

let accounts;

// makeAccounts makes an account of each name, once.
const makeAccounts = () => {
  accounts ??= Promise.all(probes.map((name, i) => made('/accounts', { email: `probe${i}@acme.example`, password, name })));
  return accounts;
};

// unharmed checks that the open section shows probes as text, and fits a narrow page with them.
async function unharmed(page, section) {
  assert.equal(await page.locator('main :is(img, svg, script, iframe), dialog :is(img, svg, script)').count(), 0, section);
  assert.notEqual(await page.title(), '1', section);
  for (const width of [390, 1440]) { // the narrow one folds the sections away
    await page.setViewportSize({ width, height: 844 });
    await fits(page, `${section}, ${width} pixels`);
  }
}

export const checks = {
  'no name turns or hides what stands around it': async () => {
    for (const letter of [...turning, ...empty]) {
      const whole = letter.length > 1 || empty.includes(letter) ? letter : `Ada${letter} Admin`;
      const code = letter.codePointAt(0).toString(16);
      for (const [path, body] of [
        ['/accounts', { email: `turned${code}@acme.example`, password, name: whole }],
        ['/accounts', { email: `tur${letter}ned${code}@acme.example`, password }],
        ['/admin/roles', { name: `role${letter}`, scope: [] }],
        ...(empty.includes(letter) ? [] : [['/apps', { name: whole }]]),
      ]) {
        assert.equal((await post(path, body)).status, 400, `${path} ${JSON.stringify(body)}`);
      }
    }
  },

  'names of others stay text in every section': async () => {
    const { page, problems, close } = await openAs(tried.admin_email, tried.admin_password, 'Ada Admin');
    const apps = [];
    await makeAccounts();
    for (const name of probes) {
      apps.push(await made('/apps', { name }));
    }
    const cookie = await cookieOf('probe0@acme.example', password);
    await made('/c_messages', { c_text: probes.join(' ') });
    for (const section of ['Live', 'Data', 'People', 'Apps', 'Tokens', 'API keys', 'Audit', 'Account']) {
      await go(page, section);
      await settled(page);
      if (section === 'Live') {
        await page.getByText('Watching.').waitFor();
        await call('/accounts/me', { Cookie: cookie });
        await page.getByRole('table').getByText('onerror').first().waitFor();
      }
      await unharmed(page, section);
    }
    await go(page, 'Apps');
    for (const { _id: key } of apps) {
      await page.locator(`#apps tr[data-key="${key}"]`).getByRole('link').click();
      await focus(page, 'app-one-title');
      await unfold(page, 'More');
      await unharmed(page, 'the page of an app');
      await page.getByRole('button', { name: /^Delete/ }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Delete the app' }).waitFor();
      await unharmed(page, 'the question before an app is deleted');
      await page.getByRole('dialog').getByRole('button', { name: 'Delete the app' }).click();
      await page.getByText(/^The app .* is deleted\.$/s).waitFor();
      await settled(page);
    }
    assert.deepEqual(problems, []);
    await close();
  },

  'an own name stays text in every section': async () => {
    await makeAccounts();
    for (const [i, name] of probes.entries()) {
      const { page, problems, close } = await open({ base: tried.base_url, userAgent: i < 3 ? name : undefined });
      await signIn(page, `probe${i}@acme.example`, password);
      await inside(page, name);
      for (const section of ['Account', 'Live', 'Data', 'Apps', 'Tokens', 'Scope tester', 'Signature lab']) {
        await go(page, section);
        await settled(page);
        await unharmed(page, `${section} of probe ${i}`);
      }
      assert.deepEqual(problems, []);
      await close();
    }
  },

  'what is typed stays text, and what the server says of it': async () => {
    const { page, problems, close } = await openAs(tried.admin_email, tried.admin_password, 'Ada Admin');
    const [markup] = probes;
    for (const [section, button, skipped] of [
      ['Tokens', 'Mint', []], ['Scope tester', 'Decide', []],
      ['Signature lab', 'Sign and send', ['timestamp']], ['Data', 'Show', []],
    ]) {
      await go(page, section, section === 'Scope tester'); // it follows Tokens, whose form is filled
      await settled(page);
      await (section === 'Tokens' && unfold(page, 'New token'));
      const form = page.locator('.tool:visible form').filter({ has: page.getByRole('button', { name: button, exact: true }) });
      for (const picker of await form.locator('select[data-pick]').all()) {
        await (await picker.isVisible() && picker.selectOption({ label: 'Another, by its id …' }));
      }
      for (const field of await form.locator('input:not([type=checkbox], [type=radio], [pattern]), textarea').all()) {
        const name = await field.getAttribute('name');
        await (skipped.includes(name) || !await field.isVisible() || field.fill(name === 'path' ? `/${markup}` : markup));
      }
      await form.getByRole('button', { name: button, exact: true }).click();
      await settled(page);
      await unharmed(page, `${section}, ${button}`);
    }
    assert.deepEqual(problems, []);
    await close();
  },
};
