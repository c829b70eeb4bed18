// Proves in a browser that administrators manage apps and their keys.

import assert from 'node:assert/strict';
import { createHmac, generateKeyPairSync, randomBytes, sign as signBytes } from 'node:crypto';
import { call, cookieOf, focus, go, heading, inFirefox, inside, open, openAs, openAsMia, settled, signIn, signOut, tried, unfold, useToken } from './kit.mjs';
import { shoot } from './look.mjs';

export const checks = {
  'apps are shown to an administrator alone, whose token makes none that outlives it': async () => {
    const { page, close } = await openAsMia();
    await go(page, 'Apps');
    await focus(page, 'apps-title');
    const fault = page.locator('#apps-all').getByRole('alert');
    await fault.getByText('service.accessDenied.unspecified').waitFor();
    assert.match(await fault.innerText(), /Rule\s+This needs a right[^]*Held\s+The roles of the account: [^]*Enough\s+The role administrator/);
    await useToken(page, tried.narrow_token);
    await page.getByRole('alert').getByText('(admin.read)').waitFor();
    await shoot(page, 'apps-refused');
    await useToken(page, tried.admin_token);
    await rowOf(page, tried.client_key).waitFor();
    const form = await newApp(page);
    await form.getByLabel('Name').fill('Lab app'); // with a key that would outlive the token
    await form.getByText('Signing key').click();
    await form.getByLabel('Its requests act as', { exact: true }).selectOption(tried.account_id);
    await form.getByRole('button', { name: 'Create' }).click();
    await form.getByRole('alert').getByText('service.accessDenied.delegation').waitFor();
    await form.getByRole('alert').getByText('Nobody passes on more than they hold.').waitFor();
    const end = form.getByLabel('Not after');
    await end.and(page.locator('[aria-invalid=true]')).waitFor();
    await focused(page, end);
    await shoot(page, 'apps-excess');
    await useToken(page, await mint(tried.client_key, tried.admin_account_id, { scope: ['admin.read', 'admin.update'] }), true);
    await unfold(page, 'New app');
    await form.getByLabel('Name').fill('Lab app');
    await unfold(page, 'Signing key');
    await form.getByLabel('Its requests act as', { exact: true }).selectOption(tried.account_id);
    await form.getByRole('button', { name: 'Create' }).click();
    await wrong(form, 'Everything that its accounts may do').waitFor();
    await close();
  },

  'an app is made with every restriction, and each is changed': async () => {
    const { page, problems, close } = await openAsAda({ timezoneId: 'America/New_York' });
    const form = await newApp(page);
    await form.getByLabel('Name').fill('Bound app');
    await form.getByLabel('List its public key').check();
    await form.getByText('Signing key').click();
    await form.getByLabel('Its requests act as', { exact: true }).selectOption(tried.account_id);
    await form.getByLabel('Account 1', { exact: true }).selectOption(tried.admin_account_id);
    await form.getByLabel('Account 2', { exact: true }).selectOption({ label: 'Another, by its id …' });
    await form.getByLabel('Account 2, by id').fill('nobodyAtAll');
    await form.getByLabel('Not before').fill('2026-01-02T03:04:05');
    await form.getByLabel('Not after').fill('2036-01-02T03:04');
    await form.getByLabel('Networks').fill('127.0.0.1/8');
    await form.getByLabel('Everything that its accounts may do').uncheck();
    await form.getByLabel('Scope chains').fill('object.read.c_message\nobject.raed');
    await form.getByLabel('Lowest version').selectOption('2');

    // Each fault is at its field, and what was right stays.
    const create = form.getByRole('button', { name: 'Create' });
    await create.click();
    await wrong(form, 'Networks').getByText('must be networks such as').waitFor();
    await form.getByLabel('Networks').fill('127.0.0.0/8\n\n::1/128');
    await create.click();
    await wrong(form, 'Account 2, by id').getByText('no such account').waitFor();
    await shoot(page, 'apps-wrong');
    await form.getByLabel('Account 2, by id').fill(tried.reader_account_id);
    await create.click();
    await wrong(form, 'Scope chains').getByText('raed').waitFor();
    assert.equal(await form.getByLabel('Networks').getAttribute('aria-invalid'), null);
    await form.getByLabel('Scope chains').fill('object.read.c_message');
    await create.click();
    const { key } = await keep(page);
    assert.deepEqual(await stored(key), {
      name: 'Bound app', exposeKeys: true, disabled: false,
      credential: {
        account: tried.account_id, accounts: [tried.admin_account_id, tried.reader_account_id], scope: ['object.read.c_message'],
        notBefore: '2026-01-02T08:04:05.000Z', notAfter: '2036-01-02T08:04:00.000Z', networks: ['127.0.0.0/8', '::1/128'],
        minVersion: 2, publicKey: null, secrets: 1, secretEnds: [],
      },
    });
    assert.equal(await form.getByLabel('Account 2', { exact: true }).count(), 0, 'the form keeps what it has sent');

    // Its page shows them, and sends only what is changed.
    const card = openedApp(page);
    const save = async () => {
      await settled(page);
      const [sent] = await Promise.all([
        page.waitForRequest((request) => request.method() === 'PATCH'), card.getByRole('button', { name: 'Save' }).click()]);
      await settled(page);
      return sent.postDataJSON();
    };
    await card.getByLabel('Account 2', { exact: true }).waitFor();
    assert.equal(await card.getByLabel('Not before').inputValue(), '2026-01-02T03:04:05');
    await shoot(page, 'apps-signing-key');
    await card.getByRole('button', { name: 'Save' }).click();
    await card.getByText('Nothing has changed.').waitFor();
    for (const [change, expected] of [
      [() => card.getByLabel('Name').fill('Loose app'), { name: 'Loose app' }],
      [() => card.getByLabel('Networks').fill(''), { credential: { networks: null } }],
      [() => card.getByLabel('Scope chains').fill(''), { credential: { scope: [] } }],
      [() => card.getByLabel('Everything').check(), { credential: { scope: null } }],
      [() => card.getByLabel('Not before').fill(''), { credential: { notBefore: null } }],
      [() => card.getByLabel('Not after').fill('2037-01-02T03:04:05'), { credential: { notAfter: '2037-01-02T08:04:05.000Z' } }],
      [() => card.getByLabel('Account 1', { exact: true }).selectOption(''), { credential: { accounts: [tried.reader_account_id] } }],
      [() => card.getByLabel('Its requests act as', { exact: true }).selectOption(tried.admin_account_id), { credential: { account: tried.admin_account_id } }],
      [() => card.getByLabel('Lowest version').selectOption('1'), { credential: { minVersion: 1 } }],
    ]) {
      await change();
      const sent = await save();
      assert.deepEqual(inFirefox ? expected : sent, expected); // Firefox does not tell what is sent
      const now = await stored(key);
      assert.deepEqual({ ...now, ...expected, credential: { ...now.credential, ...expected.credential } }, now);
    }
    await focused(page, card.getByRole('heading', { name: 'Apps / Loose app' }));
    await card.getByLabel('Networks').fill('10.0.0.1/8');
    await card.getByRole('button', { name: 'Save' }).click();
    await wrong(card, 'Networks').waitFor();

    // A public key ends the secret.
    await card.getByLabel('Networks').fill('');
    const pair = generateKeyPairSync('ed25519');
    const { x } = pair.publicKey.export({ format: 'jwk' });
    await card.getByLabel('Public key instead').fill(x);
    await card.getByRole('button', { name: 'Save' }).click();
    await page.getByRole('dialog').getByText('It never has a secret again').waitFor();
    await page.getByRole('button', { name: 'Replace them' }).click();
    await card.getByText('The app is changed.').waitFor();
    assert.equal(await card.getByRole('button', { name: 'Try it in the lab' }).count(), 0, 'the secret has ended');
    const { credential } = await stored(key);
    assert.deepEqual([credential.publicKey, credential.secrets, credential.minVersion], [x, 0, 2]);
    assert.equal((await signedByKey(key, pair.privateKey)).status, 200);
    await settled(page);
    await card.getByRole('button', { name: 'Rotate secret' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Rotate it' }).click();
    await card.getByText('the app has a public key: change that').waitFor();
    assert.deepEqual(problems, []);
    await close();
  },

  'a secret is guarded, tried in the lab and rotated with and without a grace': async () => {
    const { page, problems, close } = await openAsAda();
    const form = await newApp(page);
    await form.getByLabel('Name').fill('Lab app');
    await form.getByText('Signing key').click();
    await form.getByLabel('Its requests act as', { exact: true }).selectOption(tried.account_id);
    await form.getByLabel('Lowest version').selectOption('2');
    await form.getByRole('button', { name: 'Create' }).click();
    await heading(page, 'The secret, shown this once').waitFor();
    await focus(page, 'keep-title');
    await shoot(page, 'secret');
    await page.keyboard.press('Escape');
    const asked = page.waitForEvent('dialog');
    await page.evaluate(() => { setTimeout(() => location.reload()); });
    const dialog = await asked;
    assert.equal(dialog.type(), 'beforeunload');
    await dialog.dismiss();
    await page.getByText('The server does not show it again.').waitFor();
    await (inFirefox || page.context().grantPermissions(['clipboard-read', 'clipboard-write']));
    await page.getByRole('button', { name: 'Copy as .env' }).click();
    await page.getByRole('dialog').getByText('Copied.').waitFor();
    const env = inFirefox ? '' : await page.evaluate(() => navigator.clipboard.readText());
    const { key, secret } = await keep(page);
    assert.match(secret, /^[0-9A-Za-z]{64}$/);
    assert.ok(inFirefox || env === `TENANTKIT_URL=${tried.base_url}/acme/v2\nTENANTKIT_KEY=${key}\nTENANTKIT_SECRET=${secret}\n`, env);
    assert.equal(await page.locator('#keep-facts code').count(), 0, 'the secret stays on the page');
    const card = openedApp(page);
    await card.getByText('The app is made.').waitFor();
    await focused(page, card.getByRole('heading'));
    await shoot(page, 'apps');

    await card.getByRole('button', { name: 'Try it in the lab' }).click();
    await focus(page, 'lab-title');
    await page.getByRole('button', { name: 'Sign and send' }).click();
    await page.locator('#lab-reply .verdict').getByText('Accepted').waitFor();
    assert.match(await page.locator('#lab-parts').innerText(), /"@signature-params"/);

    await page.goBack();
    await focus(page, 'app-one-title');
    await card.getByLabel('Lowest version').selectOption('1');
    await card.getByRole('button', { name: 'Save' }).click();
    await card.getByText('The app is changed.').waitFor();
    assert.equal((await signed(key, secret)).status, 200);
    const second = await rotate(page, card, '1 hour', /former secret stays valid until .*\d/);
    assert.notEqual(second.secret, secret);
    await page.reload(); // the end of the overlap is the server's, not the page's
    await card.getByText('2, old ends in 59 min.').waitFor();
    await settled(page);
    assert.equal((await signed(key, secret)).status, 200, 'the former secret signs for an hour');
    await settled(page);
    await card.getByRole('button', { name: 'Rotate secret' }).click();
    await page.getByLabel('The former secret').selectOption('Seconds …');
    await page.getByLabel('Seconds', { exact: true }).fill('99999999');
    await page.getByRole('button', { name: 'Rotate it' }).click();
    assert.equal(await page.getByRole('dialog').count(), 1, 'more than a year is asked for');
    await page.getByLabel('Seconds', { exact: true }).fill('60');
    await shoot(page, 'rotate');
    await page.getByRole('button', { name: 'Cancel' }).click();
    const third = await rotate(page, card, 'not at all', 'All former secrets end now');
    await card.locator('dd').filter({ hasText: /^1$/ }).waitFor();
    assert.deepEqual(await Promise.all([secret, second.secret, third.secret].map(async (one) => (await signed(key, one)).status)), [401, 401, 200]);

    await go(page, 'Account'); // whoever comes next finds no secret
    await settled(page);
    await signOut(page);
    assert.equal(await page.getByLabel('Client secret').inputValue(), '');
    assert.equal(await page.locator('#apps tr').count(), 0);
    assert.deepEqual(problems, []);
    await close();
  },

  'a key pair is generated, and replaced with and without an overlap': async () => {
    const { page, problems, close } = await openAsAda();
    const key = await make(page, 'Pair app');
    const card = openedApp(page);
    await card.getByRole('button', { name: 'Generate key pair' }).click();
    await card.getByText('The app has a new key pair.').waitFor();
    const first = await mint(key);
    assert.equal(await used(first), 200);
    await settled(page);
    await unfold(page, 'More');
    await card.getByRole('button', { name: 'Replace key pair' }).click();
    await page.getByRole('dialog').getByText(/Tokens of the former key stay valid until .*\d/).waitFor();
    await shoot(page, 'replace-pair');
    await page.getByRole('button', { name: 'Replace it' }).click();
    await card.getByText('Tokens signed by the former key stay valid until').waitFor();
    assert.equal(await used(first), 200, 'the token of the former key');
    await settled(page);
    await unfold(page, 'More');
    await card.getByRole('button', { name: 'Replace key pair' }).click();
    await page.getByLabel('Tokens of the former key').selectOption('not at all');
    await page.getByRole('dialog').getByText('All its tokens end now: the ephemeral ones, and 1 on record.').waitFor();
    await page.getByRole('button', { name: 'Replace it' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await card.getByText(/^The app has a new key pair\.$/).waitFor();
    assert.equal(await used(first), 401);
    await settled(page);
    const { kid } = await (await call(`/apps/${key}`, admin)).json();
    for (const [name, text] of [['the id of the key', kid], ['the client key', key]]) {
      await (inFirefox || page.context().grantPermissions(['clipboard-read', 'clipboard-write']));
      await card.getByRole('button', { name: `Copy: ${name} of Pair app` }).click();
      await card.getByText('Copied.').waitFor();
      assert.equal(inFirefox ? text : await page.evaluate(() => navigator.clipboard.readText()), text); // a page in Firefox may not read it
      await settled(page);
    }
    assert.deepEqual(problems, []);
    await close();
  },

  'an app is listed, found by words, disabled, enabled and deleted': async () => {
    const { page, problems, close } = await openAsAda();
    const form = await newApp(page);
    await form.getByLabel('Name').fill('Turned \u202Eapp');
    await form.getByRole('button', { name: 'Create' }).click();
    await wrong(form, 'Name').getByText('must be a line').waitFor();
    const key = await make(page, 'Parts \u200Fapp');
    const { secret } = await (await call(`/apps/${key}/secret`, { Cookie: await ada() }, 'POST', { grace: 0 })).json().then(({ data }) => data);
    const card = openedApp(page);
    await card.getByText('U+200F').first().waitFor();
    const press = async (name) => {
      await settled(page);
      await unfold(page, 'More');
      await card.getByRole('button', { name }).click();
    };
    await press('Generate key pair');
    await card.getByText('The app has a new key pair.').waitFor();
    const token = await mint(key);
    await press('Publish public key');
    await card.getByText('for others who verify').waitFor();
    await press('Unpublish public key');
    await card.getByText('not listed any more').waitFor();

    await press('Disable');
    await page.getByRole('dialog').getByText('Disable Parts [U+200F]app?').waitFor();
    await page.getByRole('dialog').getByText('refuses its secrets and signatures, all its tokens').waitFor();
    await page.getByRole('button', { name: 'Disable it' }).click();
    await card.getByText('The app is disabled.').waitFor();
    assert.deepEqual([(await signed(key, secret)).status, await used(token)], [401, 401]);
    await press('Enable');
    await card.getByText('count again').waitFor();
    assert.deepEqual([(await signed(key, secret)).status, await used(token)], [200, 200]);

    const long = 'N'.repeat(100);
    await make(page, long);
    const cookie = await ada();
    for (let i = 0; i < 8; i++) {
      await call('/apps', { Cookie: cookie }, 'POST', { name: `Many ${i}` });
    }
    await card.getByRole('link', { name: 'Apps' }).click();
    await page.getByLabel('Only apps with these words').fill('nnnn enabled');
    await page.locator('#apps-said').getByText(/^1 of \d+ apps/).waitFor();
    assert.equal(await page.locator('#apps tbody tr').count(), 1);
    await shoot(page, 'apps-filtered');
    await page.getByLabel('Only apps with these words').fill('');
    await rowOf(page, key).getByRole('link').click();
    await focus(page, 'app-one-title');
    assert.match(page.url(), new RegExp(`/apps\\?key=${key}$`));

    await press('Delete');
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await settled(page);
    assert.ok(await card.isVisible());
    await press('Delete');
    await page.getByRole('dialog').getByText('end for good').waitFor();
    await shoot(page, 'sure');
    await page.getByRole('button', { name: 'Delete the app' }).click();
    await page.locator('#apps-said').getByText('is deleted.').waitFor();
    await focus(page, 'apps-list-title');
    assert.equal(await rowOf(page, key).count(), 0);
    assert.deepEqual([(await signed(key, secret)).status, await used(token)], [401, 401]);
    assert.deepEqual(problems, []);
    await close();
  },
};

const admin = { Authorization: `Bearer ${tried.admin_token}` };
async function newApp(page) {
  if (await openedApp(page).isVisible()) {
    await openedApp(page).getByRole('link', { name: 'Apps', exact: true }).click();
    await settled(page);
  }
  await unfold(page, 'New app');
  return page.getByRole('region', { name: 'New app' });
}
const focused = async (page, locator) => page.waitForFunction((one) => document.activeElement === one, await locator.elementHandle(), { polling: 50 });
const rowOf = (page, key) => page.locator(`#apps tr[data-key="${key}"]`);
const openedApp = (page) => page.locator('#app-one');
const ada = () => cookieOf(tried.admin_email, tried.admin_password);

// wrong finds what is said at a field.
const wrong = (place, label) => place.getByLabel(label).locator('xpath=ancestor::div[1]').locator('.wrong');

async function openAsAda(options = {}) {
  const opened = await open({ base: tried.base_url, ...options });
  await signIn(opened.page, tried.admin_email, tried.admin_password);
  await inside(opened.page, 'Ada Admin');
  await go(opened.page, 'Apps');
  await rowOf(opened.page, tried.client_key).waitFor();
  await settled(opened.page);
  return opened;
}

// keep closes the dialog with a secret, and returns what it has shown.
async function keep(page) {
  await heading(page, 'The secret, shown this once').waitFor();
  const [key, secret] = await page.locator('#keep-facts code').allTextContents();
  await page.getByRole('button', { name: 'I have kept it' }).click();
  await settled(page);
  return { key, secret };
}

// make makes an app that acts as Mia.
async function make(page, name) {
  const form = await newApp(page);
  await settled(page);
  await form.getByLabel('Name').fill(name);
  await unfold(page, 'Signing key');
  await form.getByLabel('Its requests act as', { exact: true }).selectOption(tried.account_id);
  await form.getByRole('button', { name: 'Create' }).click();
  return (await keep(page)).key;
}

async function rotate(page, card, grace, words) {
  await settled(page);
  await card.getByRole('button', { name: 'Rotate secret' }).click();
  await page.getByLabel('The former secret').selectOption(grace);
  await page.getByRole('dialog').getByText(words).waitFor();
  await page.getByRole('button', { name: 'Rotate it' }).click();
  const shown = await keep(page);
  await card.getByText('The app has a new secret.').waitFor();
  return shown;
}

// stored returns what the server says of an app, without what it has made itself.
async function stored(key) {
  const { _id, object, kid, credential: { created, maker, lastUsed, lastAddress, ...credential }, ...app } = await (await call(`/apps/${key}`, admin)).json();
  return { ...app, credential };
}

const nonce = () => randomBytes(8).toString('hex');

// signed sends a request that Node has signed.
function signed(key, secret) {
  const at = String(Date.now());
  return call('/accounts/me', {
    'Service-Client-Key': key,
    'Service-Client-Timestamp': at,
    'Service-Client-Nonce': nonce(),
    'Service-Client-Signature': createHmac('sha256', key + secret).update(`/accounts/me;GET;${at}`).digest('hex'),
  });
}

// signedByKey sends a request with a signature of version 2, by a private key.
function signedByKey(key, privateKey) {
  const input = `("@method" "@authority" "@path" "@query");created=${Math.floor(Date.now() / 1000)};nonce="${nonce()}"` +
    `;keyid="${key}";alg="ed25519";tag="service-v2"`;
  const base = `"@method": GET\n"@authority": ${new URL(tried.base_url).host}\n"@path": /acme/v2/accounts/me\n"@query": ?\n"@signature-params": ${input}`;
  const signature = signBytes(null, Buffer.from(base), privateKey).toString('base64');
  return call('/accounts/me', { 'Signature-Input': `sig=${input}`, Signature: `sig=:${signature}:` });
}

async function mint(key, sub = tried.account_id, options = { scope: ['*'], permanent: true }) {
  const reply = await call(`/apps/${key}/tokens`, { Cookie: await ada() }, 'POST', { sub, ...options });
  return (await reply.json()).data.token;
}

const used = async (token) => (await call('/accounts/me', { Authorization: `Bearer ${token}` })).status;
