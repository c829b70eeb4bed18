// Proves in a browser that people mint, try, read, list, revoke and use tokens.

import assert from 'node:assert/strict';
import { createHmac, randomBytes } from 'node:crypto';
import { call, cookieOf, focus, go, heading, open, openAs, openAsMia, settled, signOut, tried, unfold, useToken } from './kit.mjs';
import { shoot } from './look.mjs';

export const checks = {
  'a token is minted, read, listed and revoked, and none beyond its minter': async () => {
    const { page, problems, close } = await openAsMia();
    await go(page, 'Tokens');
    await picked(page, 'mint-sub', tried.account_id);
    await settled(page);
    await unfold(page, 'New token');
    await pickByHand(page, 'App that issues it', tried.client_key); // whoever may not list apps
    await pickByHand(page, 'Account it acts as', tried.admin_account_id);
    await page.getByLabel('Roles beside those of the account').fill('administrator');
    await mint(page);
    await page.getByText('Less of what is named above').waitFor();
    for (const [label, words] of [['Account it acts as', /Nobody|pass on|delegation/], ['Roles beside those of the account', /administrator/]]) {
      assert.match(await described(page.getByLabel(label, { exact: true })), words, label);
    }
    await focus(page, 'mint-sub');
    await shoot(page, 'mint-refused');

    await page.getByLabel('Roles beside those of the account').fill('');
    await page.getByLabel('Account it acts as', { exact: true }).selectOption(tried.account_id);
    await page.getByRole('textbox', { name: 'Scope chains, one per line' }).fill('object.read.c_message\nobject.read.connection');
    await page.getByLabel('Limited-use').check();
    await page.getByLabel('Number of uses').fill('5');
    await end(page, 'in a number of seconds …');
    await page.getByLabel('Seconds until it ends').fill('600');
    await mint(page);
    await kept(page);
    const asked = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await page.getByRole('button', { name: 'Read it' }).click();
    const claims = page.getByRole('table', { name: 'Claims' });
    await claims.waitFor();
    assert.match(await claims.innerText(), /service\/scp[^]*object\.read\.connection[^]*The scope/);
    assert.match(await claims.innerText(), /service\/cnt\s+5\s/);
    assert.deepEqual(asked.filter((path) => path !== '/console/brand'), [], 'reading a token asks the server');
    await shoot(page, 'tokens');

    const held = page.getByRole('region', { name: 'List and revoke' });
    await picked(page, 'held-sub', tried.account_id);
    const row = rowOf(page, 'Tokens for Mia Member', '0 of 5 times');
    await row.getByRole('button', { name: 'Revoke' }).click();
    await sure(page, 'Revoke it');
    await held.getByText('The token is revoked.').waitFor();
    assert.equal(await row.count(), 0);
    await focus(page, 'held-title');
    await held.getByLabel('Account', { exact: true }).selectOption('');
    await held.getByRole('alert').getByText('The role administrator.').waitFor();
    assert.equal(await page.locator('#held table').count(), 0);
    assert.deepEqual(problems, []);
    await close();
  },

  'each kind of token is minted by fields of its own, shown once, and works': async () => {
    const { page, problems, close } = await openAs(tried.admin_email, tried.admin_password, 'Ada Admin');
    await go(page, 'Tokens');
    await picked(page, 'mint-sub', tried.admin_account_id);
    await settled(page);
    await unfold(page, 'New token');
    await page.getByLabel('App that issues it', { exact: true }).focus();
    await page.keyboard.type('Integration'); // as options are chosen by the keyboard
    assert.equal(await page.getByLabel('App that issues it', { exact: true }).inputValue(), tried.client_key);

    // An ephemeral token has an end, and no number of uses.
    assert.equal(await page.getByLabel('Number of uses').isVisible(), false);
    await page.getByLabel('Account it acts as', { exact: true }).selectOption({ label: `Mia Member · ${tried.account_email}` });
    await page.getByLabel('It ends', { exact: true }).selectOption({ label: 'in 1 hour' });
    assert.match(await page.locator('#mint-until').textContent(), /^If it is minted now: .*\d\d:\d\d/);
    assert.deepEqual(await page.locator('#mint-expiresIn option:disabled').allTextContents(), ['in 30 days', 'never']);
    await mint(page);
    await focus(page, 'minted-title');
    const brief = await page.locator('#minted-token').textContent();
    assert.equal((await claimsOf(brief)).exp - (await claimsOf(brief)).iat, 3600);
    await page.getByRole('button', { name: 'Try it' }).click();
    const tries = page.getByRole('table', { name: 'What it may read' });
    await tries.waitFor();
    assert.match(await tries.innerText(), /c_messages\s+yes/);
    assert.match(await tries.innerText(), /connections\s+no: accessDenied\.scope object\.read\.connection/);
    await shoot(page, 'minted');

    // A limited-use token, which neither Escape nor a reload takes away.
    await page.getByLabel('Limited-use').check();
    await page.getByLabel('Number of uses').fill('2');
    await page.getByLabel('Roles beside those of the account').fill('reader');
    await mint(page);
    await heading(page, 'The token, shown this once').waitFor();
    await page.keyboard.press('Escape');
    assert.equal(await page.evaluate(() => dispatchEvent(new Event('beforeunload', { cancelable: true }))), false, 'a reload takes the token away');
    await shoot(page, 'token-kept');
    const limited = await kept(page);
    assert.deepEqual((await claimsOf(limited))['service/rls'], ['reader']);
    assert.equal(await page.locator('#minted-token').textContent(), '');
    await page.getByRole('button', { name: 'Try it' }).click();
    await page.getByText('That was one of its uses.').waitFor();
    assert.equal(await statusBy(limited), 200);
    assert.equal(await statusBy(limited), 401);
    await page.getByLabel('Roles beside those of the account').fill('');

    await page.getByLabel('Permanent').check();
    await end(page, 'never');
    assert.equal(await page.locator('#mint-until').textContent(), '');
    await mint(page);
    const lasting = await kept(page);
    assert.equal(await statusBy(lasting), 200);
    await settled(page);
    await page.getByRole('button', { name: 'Use it here' }).click();
    await page.getByText('a pasted bearer token').waitFor();
    await settled(page);

    // It passes on no more than it holds.
    await unfold(page, 'New token');
    await page.getByLabel('Account it acts as', { exact: true }).waitFor();
    await page.getByRole('textbox', { name: 'Scope chains, one per line' }).fill('object.read.connection\nobject.update');
    await end(page, 'in 30 days');
    await mint(page);
    await page.getByText('Less of what is named above').waitFor();
    assert.match(await described(page.getByRole('textbox', { name: 'Scope chains, one per line' })), /object\.read\.connection.*object\.update/);
    await shoot(page, 'mint-refused-by-scope');
    await page.getByRole('button', { name: 'Forget the token' }).click();
    await settled(page);
    assert.deepEqual(problems, []);
    await close();
    await call(subjectTokens(tried.account_id), { Authorization: `Bearer ${tried.admin_token}` }, 'DELETE');
  },

  'who made a token is shown, and what was made with it ends with it': async () => {
    const cookie = await cookieOf(tried.admin_email, tried.admin_password);
    const body = { sub: tried.admin_account_id, scope: ['*'], permanent: true };
    const parent = await minted({ Cookie: cookie }, body);
    const child = await minted({ Authorization: `Bearer ${parent.token}` }, { ...body, expiresIn: 3600 });
    const grandchild = await minted({ Authorization: `Bearer ${child.token}` }, { ...body, permanent: undefined, maxUses: 3, expiresIn: 600 });
    const other = await minted({ Cookie: cookie }, { ...body, sub: tried.account_id });
    const signed = await minted(signature(`/apps/${tried.client_key}/tokens`, 'POST'), { ...body, sub: tried.account_id });

    const { page, problems, close } = await openAs(tried.admin_email, tried.admin_password, 'Ada Admin');
    await go(page, 'Tokens');
    const held = page.getByRole('region', { name: 'List and revoke' });
    const list = page.getByRole('table', { name: 'Tokens for all accounts' });
    await list.waitFor();
    const ids = await list.locator('tbody td:first-child code').allTextContents();
    const at = ids.indexOf(parent.jti);
    assert.deepEqual(ids.slice(at, at + 3), [parent.jti, child.jti, grandchild.jti]);
    const row = (jti) => list.locator(`tr[data-key="${jti}"]`);
    assert.deepEqual(await Promise.all([parent, child, grandchild].map(({ jti }) => row(jti).locator('[aria-hidden]').allTextContents())), [[], ['└ '], ['\u2003└ ']]);
    assert.match(await row(grandchild.jti).innerText(), new RegExp(`Ada Admin\\s+\\*\\s+Integration\\s+Ada Admin by the token ${child.jti}.*0 of 3 times`, 's'));
    assert.match(await row(other.jti).innerText(), /Mia Member\s+\*\s+Integration\s+Ada Admin\s+just now\s+never\s+not counted/);
    assert.match(await row(signed.jti).innerText(), /Mia Member\s+\*\s+Integration\s+Ada Admin with the app Integration\s/);
    await shoot(page, 'held');

    // By their end, of what is loaded.
    const shown = () => list.locator('tbody td:first-child code').allTextContents();
    const show = (label) => held.getByLabel('Of the loaded tokens').selectOption(label);
    await show('those that end within 1 day');
    assert.deepEqual((await shown()).slice(-2), [child.jti, grandchild.jti]);
    await show('those that never end');
    const endless = await shown();
    assert.ok(endless.includes(parent.jti) && endless.includes(other.jti) && !endless.includes(child.jti));
    await show('all');

    await row(parent.jti).getByRole('button', { name: 'Revoke' }).click();
    await page.getByRole('dialog').getByText('These were made with it').waitFor();
    assert.deepEqual(await page.getByRole('dialog').locator('li code').allTextContents(), [child.jti, grandchild.jti]);
    await shoot(page, 'held-sure');
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await settled(page);
    assert.equal(await statusBy(child.token), 200);
    await row(parent.jti).getByRole('button', { name: 'Revoke' }).click();
    await sure(page, 'Revoke it');
    await held.getByText('The token is revoked, and 2 made with it have ended.').waitFor();
    assert.deepEqual(await Promise.all([parent, child, grandchild].map(({ token }) => statusBy(token))), [401, 401, 401]);
    assert.equal(await statusBy(other.token), 200);
    assert.equal(await row(child.jti).count(), 0);
    assert.ok((await answer(`/apps/${tried.client_key}/tokens?limit=1000`, tried.admin_token)).data.every(({ _id }) => _id !== grandchild.jti));

    // All of one account.
    await held.getByLabel('App', { exact: true }).selectOption(tried.client_key);
    await settled(page);
    await held.getByLabel('Account', { exact: true }).selectOption(tried.account_id);
    await settled(page);
    await page.reload(); // the address has both
    await settled(page);
    await page.getByRole('button', { name: 'Revoke all of the account' }).click();
    await sure(page, 'Revoke them');
    await held.getByText(/^\d+ revoked\.$/).waitFor();
    assert.equal(await statusBy(other.token), 401);
    await go(page, 'Account');
    await signOut(page);
    assert.equal(await page.locator('#held').textContent(), '');
    assert.deepEqual(problems, []);
    await close();
  },

  'the tokens of an app are loaded page by page': async () => {
    const cookie = await cookieOf(tried.admin_email, tried.admin_password);
    const made = [];
    for (const number of [1, 2, 3, 4, 5, 6]) { // each has ten at most
      const email = `holder-${number}@example.test`;
      const account = await (await call('/admin/accounts', { Cookie: cookie }, 'POST', { email, password: 'correct horse battery', name: `Holder ${number}` })).json();
      for (let i = 0; i < 10; i++) {
        made.push((await minted({ Cookie: cookie }, { sub: account._id, scope: [], permanent: true })).jti);
      }
    }
    const { page, problems, close } = await openAs(tried.admin_email, tried.admin_password, 'Ada Admin');
    await go(page, 'Tokens');
    const held = page.getByRole('region', { name: 'List and revoke' });
    await held.getByText('50 tokens, and there are more.').waitFor();
    const next = page.locator('#held-more');
    while (await next.isVisible()) {
      await next.click();
      await settled(page);
    }
    const ids = await page.getByRole('table', { name: 'Tokens for all accounts' }).locator('tbody td:first-child code').allTextContents();
    const all = (await answer(`/apps/${tried.client_key}/tokens?limit=1000`, tried.admin_token)).data.map(({ _id }) => _id);
    assert.deepEqual(ids.toSorted(), all.toSorted());
    assert.ok(made.every((jti) => ids.includes(jti)));
    assert.deepEqual(problems, []);
    await close();
  },

  'a pasted token is used, and forgotten': async () => {
    const { page, problems, close } = await open({ base: tried.base_url, path: '/#acme/data' });
    await heading(page, 'Data').waitFor();
    await focus(page, 'data-title');
    assert.equal(await page.locator('#by-token').isVisible(), false);
    await useToken(page, `Bearer ${tried.ephemeral_token}`);
    await page.getByText('a pasted bearer token').waitFor();
    await shoot(page, 'credential');
    await page.locator('#data-table table').waitFor();
    assert.deepEqual(await page.evaluate(() => [localStorage.length, sessionStorage.length, document.cookie]), [0, 0, '']);
    await page.getByRole('button', { name: 'Forget the token' }).click();
    await page.locator('#by-token').waitFor({ state: 'hidden' });
    await useToken(page, tried.ephemeral_token);
    await page.reload();
    await page.locator('#by-token').waitFor({ state: 'hidden' });
    assert.deepEqual(problems, []);
    await close();
  },
};

const mint = (page) => page.getByRole('button', { name: 'Mint', exact: true }).click();
const end = (page, label) => page.getByLabel('It ends', { exact: true }).selectOption({ label });
const sure = (page, verb) => page.getByRole('dialog').getByRole('button', { name: verb }).click();
const rowOf = (page, table, text) => page.getByRole('table', { name: table }).getByRole('row').filter({ hasText: text });

// picked waits until a picker has a value, which comes with what can be picked.
const picked = (page, id, value) => page.waitForFunction(([name, want]) => document.getElementById(name).value === want, [id, value]);

async function pickByHand(page, label, id) {
  await page.getByLabel(label, { exact: true }).selectOption('Another, by its id …');
  await page.getByLabel(`${label}, by id`).fill(id);
}

// kept returns the token that is shown once, and closes its dialog.
async function kept(page) {
  await heading(page, 'The token, shown this once').waitFor();
  const token = await page.locator('#keep-facts code').last().textContent();
  await page.getByRole('button', { name: 'I have kept it' }).click();
  await focus(page, 'minted-title');
  return token;
}

const described = (control) => control.evaluate((element) => (element.getAttribute('aria-describedby') ?? '').split(' ')
  .map((id) => document.getElementById(id)?.textContent ?? '').join(' '));

const claimsOf = (token) => JSON.parse(Buffer.from(token.split('.')[1], 'base64url'));
const answer = async (path, token) => (await call(path, { Authorization: `Bearer ${token}` })).json();
const statusBy = async (token) => (await call('/schemas', { Authorization: `Bearer ${token}` })).status;
const subjectTokens = (sub) => `/apps/${tried.client_key}/subjects/${sub}/tokens`;

// signature returns the headers of a signed request (section 5.3 of the interface).
function signature(command, method) {
  const at = Date.now();
  return {
    'Service-Client-Key': tried.client_key,
    'Service-Client-Timestamp': String(at),
    'Service-Client-Nonce': randomBytes(8).toString('hex'),
    'Service-Client-Signature': createHmac('sha256', tried.client_key + tried.client_secret).update(`${command};${method};${at}`).digest('hex'),
  };
}

// minted returns a token of the interface. The server lets an account mint ten a second, after the first fifty.
async function minted(headers, body) {
  for (;;) {
    const reply = await call(`/apps/${tried.client_key}/tokens`, headers, 'POST', body);
    if (reply.status !== 429) {
      assert.equal(reply.status, 200, await reply.clone().text());
      return (await reply.json()).data;
    }
    await new Promise((resolve) => { setTimeout(resolve, 200); });
  }
}
