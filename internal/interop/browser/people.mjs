// Proves in a browser that administrators manage accounts, roles and the rules for sessions.

import assert from 'node:assert/strict';
import { Authenticator } from '../totp.mjs';
import { call, cookieOf, focus, go, heading, open, openAs, openAsMia, ownSession, settled, signIn, tried, unfold, useToken } from './kit.mjs';
import { shoot } from './look.mjs';

const password = 'a password of its own';
// What would deceive, and is longer than a line.
const odd = `<img src=x onerror="document.title=1"> \u200B\u05D0 ${'long'.repeat(25)}`;

const byAdmin = { Authorization: `Bearer ${tried.admin_token}` };
const asked = async (path) => (await call(path, byAdmin)).json();
const accountOf = async (email) => (await asked('/admin/accounts?limit=1000')).data.find((account) => account.email === email);
const loginOf = (email) => call('/accounts/login', {}, 'POST', { email, password });

// make makes an account outside of the browser. Without a password, this takes no time.
async function make(email, fields = {}) {
  const made = await call('/admin/accounts', byAdmin, 'POST', { email, ...fields });
  assert.equal(made.status, 200, await made.clone().text());
  return made.json();
}

const openAsAda = () => openAs(tried.admin_email, tried.admin_password, 'Ada Admin');

async function openPeople() {
  const opened = await openAsAda();
  await go(opened.page, 'People');
  await focus(opened.page, 'people-title');
  await rowsOf(opened.page).nth(1).waitFor();
  return opened;
}

const region = (page, name) => page.getByRole('region', { name, exact: true });
const rowsOf = (page) => page.getByRole('table', { name: 'Accounts' }).getByRole('row');
const opened = (page) => page.locator('[data-part=account]');
const view = (page, name) => page.locator('.tabs').getByRole('link', { name, exact: true }).click().then(() => settled(page));
const said = (page) => opened(page).getByRole('status');
const saveIt = (page) => opened(page).getByRole('button', { name: 'Save' }).click();
const press = async (place, name) => {
  await settled(place.page());
  await (await place.locator('.menu:not([open])').filter({ has: place.page().locator('button', { hasText: String(name).split(':')[0] }) }).count()
    && place.locator('.menu > summary').click());
  await place.getByRole('button', { name }).click();
};
const agree = (page, verb) => page.getByRole('dialog').getByRole('button', { name: verb, exact: true }).click();

async function openAccount(page, email) {
  await view(page, 'Accounts');
  await page.getByLabel('Only accounts with these words').fill(email);
  await rowsOf(page).filter({ hasText: email }).getByRole('link').press('Enter');
  await focus(page, 'people-one-title');
}

// offered returns what a picker of another section offers.
const offered = (page) => page.locator('#section-apps select[data-pick=account]').first().locator('option').allTextContents();

// bodiesOf collects what the page sends.
function bodiesOf(page) {
  const bodies = [];
  page.on('request', (request) => ['PATCH', 'POST'].includes(request.method()) && bodies.push(JSON.parse(request.postData() ?? 'null')));
  return bodies;
}

// faultAt returns what a screen reader says of a wrong field.
const faultAt = (page, id) => page.locator(`#${id}[aria-invalid=true]`).evaluate((field) =>
  field.getAttribute('aria-describedby').split(' ').map((one) => document.getElementById(one).textContent).join(' '));

export const checks = {
  'people: an account is made, signs in, gets another name and other roles': async () => {
    const email = 'new@acme.example';
    const { page, problems, close } = await openAsAda();
    await go(page, 'Apps');
    await page.locator('#apps tbody tr').first().waitFor();
    await go(page, 'People');
    await focus(page, 'people-title');
    await rowsOf(page).nth(1).waitFor();
    await shoot(page, 'people');

    await settled(page);
    await unfold(page, 'New account');
    const form = region(page, 'New account');
    await form.getByLabel('E-mail').fill(tried.account_email);
    await form.getByLabel('Name').fill(odd);
    await form.getByLabel('First password').fill(password);
    await press(form, 'Create the account');
    await focus(page, 'people-new-email');
    assert.match(await faultAt(page, 'people-new-email'), /It conflicts .* service\.conflict\.unspecified/);
    await form.getByLabel('E-mail').fill(email);
    await form.getByLabel('First password').fill('short');
    await press(form, 'Create the account');
    await focus(page, 'people-new-password');
    assert.match(await faultAt(page, 'people-new-password'), /^must have at least 8 characters and at most 1024 bytes service\.invalidArgument\.body Without one,/);
    assert.equal(await page.locator('#people-new-email[aria-invalid]').count(), 0);
    await shoot(page, 'people-new-refused');
    await form.getByLabel('First password').fill(password);
    assert.ok(await form.getByLabel('member').isChecked());
    await press(form, 'Create the account');
    await said(page).getByText('is a new account.').waitFor();
    assert.equal(await page.locator('#people-new-password').inputValue(), '', 'the password stays on the page');
    assert.equal(await page.locator('.wrong').count(), 0);
    const account = await accountOf(email);
    assert.deepEqual([account.name, account.roles, account.disabled], [odd, ['member'], false]);
    await opened(page).getByText(account._id).waitFor();
    assert.equal(await opened(page).getByRole('heading').locator('mark').textContent(), 'U+200B');
    assert.equal(await page.locator('main img, main script').count(), 0);
    assert.ok((await offered(page)).includes(`${odd.replace('\u200B', '[U+200B]')} · ${email}`));
    await shoot(page, 'people-opened');

    const there = await open({ base: tried.base_url });
    await signIn(there.page, email, password);
    await ownSession(there.page).waitFor();
    await there.close();

    // A PATCH says only what has changed.
    const bodies = bodiesOf(page);
    await saveIt(page);
    await said(page).getByText('Nothing has changed.').waitFor();
    await opened(page).getByLabel('reader').check();
    await opened(page).getByLabel('member').uncheck();
    await saveIt(page);
    await said(page).getByText('is changed.').waitFor();
    await opened(page).getByLabel('Name').fill('Nora New');
    await settled(page);
    await saveIt(page);
    await said(page).getByText('Nora New is changed.').waitFor();
    assert.deepEqual(bodies, [{ roles: ['reader'] }, { name: 'Nora New' }]);
    assert.deepEqual(await accountOf(email), { ...account, name: 'Nora New', roles: ['reader'] });
    assert.ok((await offered(page)).includes(`Nora New · ${email}`));
    await view(page, 'Roles');
    await page.getByRole('table', { name: 'Roles' }).getByRole('row').filter({ hasText: 'Nora New' }).getByRole('link', { name: 'reader' }).waitFor();
    await page.goBack();
    await focus(page, 'people-one-title');
    await opened(page).getByLabel('Name').fill('\u00e4'.repeat(200));
    await settled(page);
    await saveIt(page);
    await focus(page, 'people-name');
    assert.match(await faultAt(page, 'people-name'), /at most 256 bytes/);
    await opened(page).getByRole('link', { name: 'Accounts' }).click();
    await agree(page, 'Leave'); // the name is not saved
    await opened(page).waitFor({ state: 'hidden' });
    await page.getByLabel('Only accounts with these words').fill('NORA new@');
    assert.equal(await rowsOf(page).count(), 2); // with the header
    assert.deepEqual(problems, []);
    await close();
  },

  'people: an account is deactivated and activated, its tokens end, and its second factor is reset': async () => {
    const email = 'ended@acme.example';
    const { _id: sub } = await make(email, { name: 'Enno Ended', password });
    const there = await open({ base: tried.base_url });
    await signIn(there.page, email, password);
    await ownSession(there.page).waitFor();
    const { page, context, problems, close } = await openPeople();
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await openAccount(page, email);
    await press(opened(page), 'Copy: the id of Enno Ended');
    await page.getByText('Copied.').waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), sub);

    // Its session, which is seen and ended.
    const its = opened(page).getByRole('table', { name: 'Sessions' });
    await its.getByRole('button', { name: 'Revoke: Chrome on Linux, 127.0.0.1' }).click();
    await agree(page, 'Revoke it');
    await said(page).getByText('The session is revoked').waitFor();
    await its.waitFor({ state: 'detached' });
    await there.page.reload();
    await heading(there.page, 'Sign in').waitFor();
    await signIn(there.page, email, password);
    await ownSession(there.page).waitFor();
    await press(opened(page), 'End its sessions');
    await agree(page, 'End its sessions');
    await said(page).getByText('1 session of Enno Ended ended.').waitFor();
    await press(opened(page), 'Send a reset link');
    await said(page).getByText(`is mailed to ${email}`).waitFor();

    // Tokens signed before now.
    const cookie = { Cookie: await cookieOf(email, password) };
    const mint = async () => {
      const minted = await call(`/apps/${tried.client_key}/tokens`, cookie, 'POST', { sub, scope: ['object.read'] });
      return { Authorization: `Bearer ${(await minted.json()).data.token}` };
    };
    const read = async (headers) => (await call('/c_messages?limit=1', headers)).status;
    const token = await mint();
    assert.equal(await read(token), 200);
    await press(opened(page), 'End its tokens');
    await shoot(page, 'people-sure');
    await agree(page, 'End its tokens');
    await said(page).getByText('Enno Ended has no valid tokens now.').waitFor();
    await opened(page).getByText('refused if signed before').waitFor();
    assert.equal(await read(token), 401);
    assert.equal(await read(cookie), 200);
    assert.equal(await read(await mint()), 200);

    await press(opened(page), 'Deactivate');
    await agree(page, 'Cancel');
    await settled(page);
    assert.equal((await accountOf(email)).disabled, false);
    const last = await mint();
    await press(opened(page), 'Deactivate');
    await agree(page, 'Deactivate it');
    await said(page).getByText('Enno Ended is deactivated.').waitFor();
    assert.equal((await accountOf(email)).disabled, true);
    assert.deepEqual([await read(last), await read(cookie), (await loginOf(email)).status], [401, 401, 401]);
    await there.page.reload();
    await heading(there.page, 'Sign in').waitFor();

    await press(opened(page), 'Activate');
    await said(page).getByText('Enno Ended is active.').waitFor();
    assert.equal((await accountOf(email)).disabled, false);
    assert.deepEqual([await read(last), await read(cookie), (await loginOf(email)).status], [401, 401, 200]);

    const again = { Cookie: await cookieOf(email, password) };
    const { secret } = (await (await call('/accounts/me/second-factor', again, 'POST')).json()).data;
    const confirmed = await call('/accounts/me/second-factor/confirm', again, 'POST', { code: await new Authenticator(secret).code() });
    assert.equal(confirmed.status, 200, await confirmed.text());
    assert.equal((await loginOf(email)).status, 403);
    assert.equal(await opened(page).getByRole('button', { name: 'Reset second factor' }).count(), 0);
    await openAccount(page, email);
    await opened(page).getByText('active, 10 recovery codes left').waitFor();
    await press(opened(page), 'Reset second factor');
    await agree(page, 'Remove it');
    await said(page).getByText('Enno Ended has no second factor now.').waitFor();
    await opened(page).getByText('not set up').waitFor();
    assert.deepEqual([await read(again), (await loginOf(email)).status], [401, 200]);
    assert.deepEqual(problems, []);
    await Promise.all([close(), there.close()]);
  },

  'people: the last administrator stays one, and the refusal is where it was caused': async () => {
    const { page, problems, close } = await openPeople();
    await openAccount(page, tried.admin_email);
    await opened(page).getByLabel('administrator').uncheck();
    await saveIt(page);
    await page.locator('#people-form .fault').getByText('the last administrator of the org').waitFor();
    await press(opened(page), 'Deactivate');
    await page.getByRole('dialog').getByText('It is your own account.').waitFor();
    await agree(page, 'Deactivate it');
    await page.locator('#people-steps .fault').getByText('the last administrator of the org').waitFor();
    await shoot(page, 'people-last');
    assert.deepEqual((await accountOf(tried.admin_email)).roles, ['administrator', 'member']);

    // With another administrator, it may go, and then sees no more.
    const { _id } = await make('second@acme.example', { password });
    const change = (id, roles, headers) => call(`/admin/accounts/${id}`, headers, 'PATCH', { roles });
    const ada = { Cookie: await cookieOf(tried.admin_email, tried.admin_password) };
    assert.equal((await change(_id, ['administrator', 'member'], ada)).status, 200);
    await settled(page);
    await saveIt(page);
    await said(page).getByText('Ada Admin is changed.').waitFor();
    await go(page, 'Data');
    await go(page, 'People');
    await page.getByRole('alert').getByText('service.accessDenied.unspecified').waitFor();
    await page.getByRole('alert').getByText('The roles of the account: member.').waitFor();
    assert.equal(await rowsOf(page).count(), 0, 'the accounts stay on the page');
    const second = { Cookie: await cookieOf('second@acme.example', password) };
    assert.equal((await change(tried.admin_account_id, ['administrator', 'member'], second)).status, 200);
    assert.equal((await change(_id, ['member'], second)).status, 200);
    assert.deepEqual(problems, []);
    await close();
  },

  'people: a role is made, tried, changed and deleted': async () => {
    const { _id } = await make('writer@acme.example', { name: odd });
    const { page, problems, close } = await openPeople();
    const place = region(page, 'Roles');
    await view(page, 'Roles');
    const create = async (name, chains) => {
      await settled(page);
      await unfold(page, 'New role');
      await place.getByLabel('Name of the role').fill(name);
      await place.getByLabel('Chains, one per line').fill(chains);
      await press(place, 'Create the role');
    };
    await create('reader', 'object.read');
    await focus(page, 'role-name');
    assert.match(await faultAt(page, 'role-name'), /It conflicts/);
    await create('writer', 'object.read.c_message\nobject.raed');
    await focus(page, 'role-scope');
    assert.match(await faultAt(page, 'role-scope'), /segment 2: got "raed".* service\.invalidArgument\.authScope/);
    await shoot(page, 'roles-refused');
    await create('writer', 'object.update.c_message\nobject.read.c_message.*.c_text');
    await place.getByText('The role writer is made.').waitFor();
    await shoot(page, 'roles');
    const scopeOf = async (name) => (await asked('/admin/roles')).data.find((role) => role._id === name)?.scope;
    assert.deepEqual(await scopeOf('writer'), ['object.update.c_message', 'object.read.c_message.*.c_text']);
    const row = page.getByRole('table', { name: 'Roles' }).getByRole('row').filter({ has: page.getByRole('link', { name: 'writer', exact: true }) });
    await row.getByText('nobody').waitFor();
    await row.getByRole('link').click();
    const card = page.locator('[data-part=role]');
    await focus(page, 'role-one-title');
    assert.match(page.url(), /people\?view=roles&role=writer$/);

    await press(card, 'Try object.update.c_message');
    await heading(page, 'Scope tester').waitFor();
    await page.locator('#scope-verdict').getByText('Denied').waitFor();
    assert.equal(await page.locator('#scope-grants').inputValue(), 'object.update.c_message');
    await page.goBack();
    await focus(page, 'role-one-title');
    await openAccount(page, 'writer@acme.example');
    await opened(page).getByLabel('writer').check();
    await saveIt(page);
    await said(page).getByText('is changed.').waitFor();
    await view(page, 'Roles');
    await row.locator('td').filter({ hasText: 'onerror' }).waitFor();

    await row.getByRole('link').click();
    await focus(page, 'role-one-title');
    await card.getByLabel('Chains of the role, one per line').fill('object.raed');
    await press(card, 'Save the chains');
    await card.getByText('got "raed"').waitFor();
    await shoot(page, 'role');
    await card.getByLabel('Chains of the role, one per line').fill('*');
    await press(card, 'Save the chains');
    await card.getByText('The role writer is changed.').waitFor();
    assert.deepEqual(await scopeOf('writer'), ['*']);

    await press(card, 'Delete');
    await page.getByRole('dialog').getByText('onerror').waitFor();
    await shoot(page, 'roles-sure');
    await agree(page, 'Delete the role');
    await place.getByText('The role writer is deleted.').waitFor();
    assert.equal(await row.count(), 0);
    assert.equal(await scopeOf('writer'), undefined);
    await focus(page, 'roles-title');
    await openAccount(page, 'writer@acme.example');
    await opened(page).getByLabel('writer (deleted)').uncheck();
    await saveIt(page);
    await said(page).getByText('is changed.').waitFor();
    assert.deepEqual((await asked(`/admin/accounts/${_id}`)).roles, ['member']);
    assert.equal(await opened(page).getByLabel('writer').count(), 0);
    assert.deepEqual(problems, []);
    await close();
  },

  'people: the rules for sessions are changed, and to loosen them takes a fresh password': async () => {
    await make('strict@acme.example', { password });
    const { page, problems, close } = await openPeople();
    const place = region(page, 'Rules for sessions');
    await view(page, 'Rules for sessions');
    const saved = async () => {
      await press(place, 'Save the rules');
      await place.getByText('The rules are changed.').waitFor();
    };
    const rules = () => asked('/admin/settings');
    const before = await rules();
    const idle = place.getByLabel('A session ends when unused for');
    assert.equal(await idle.inputValue(), '30');
    await idle.fill('0');
    await place.getByLabel('Sessions of one account').fill('5000');
    await press(place, 'Save the rules');
    await focus(page, 'settings-idle');
    assert.match(await faultAt(page, 'settings-idle'), /must be 1 to 31536000/);
    assert.match(await faultAt(page, 'settings-most'), /must be 1 to 1000/);
    await shoot(page, 'settings-refused');
    await place.getByLabel('Sessions of one account').fill('100');

    // Ten minutes are too long to wait: the test gives the server's first reply to such a session.
    await page.route('**/admin/settings', (route) => route.fulfill({
      status: 403,
      json: { object: 'fault', status: 403, errCode: 'service.accessDenied.reauthenticationRequired', message: 'Again.', faults: [] },
    }), { times: 1 });
    const bodies = bodiesOf(page);
    await idle.fill('2');
    await place.getByLabel('Unit of the time without use').selectOption('hours');
    await press(place, 'Save the rules');
    const dialog = page.getByRole('dialog', { name: 'Is it you?' });
    await dialog.getByLabel('Password').fill(tried.admin_password);
    await dialog.getByRole('button', { name: 'Continue' }).click();
    await place.getByText('The rules are changed.').waitFor();
    assert.deepEqual(bodies.filter((body) => body.idle), [{ idle: 7200 }, { idle: 7200 }]);
    assert.deepEqual(await rules(), { ...before, idle: 7200 });

    await place.getByLabel('Require a second factor').check();
    await saved();
    assert.equal((await (await loginOf('strict@acme.example')).json()).reason, 'enrol');
    await place.getByLabel('Require a second factor').uncheck();
    await place.getByLabel('Sessions of one account').fill('1');
    await idle.fill('30');
    await place.getByLabel('Unit of the time without use').selectOption('minutes');
    await saved();
    const first = { Cookie: await cookieOf('strict@acme.example', password) };
    assert.equal((await loginOf('strict@acme.example')).status, 200);
    assert.equal((await (await call('/accounts/me', first)).json()).errCode, 'service.accessDenied.loggedInElsewhere');
    await place.getByLabel('Sessions of one account').fill('100');
    await saved();
    assert.deepEqual(await rules(), before);
    assert.deepEqual(problems, []);
    await close();
  },

  'people: whoever is no administrator sees why, and a token makes nobody beyond itself': async () => {
    const { page, problems, close } = await openAsMia();
    await go(page, 'People');
    const fault = page.getByRole('alert');
    for (const words of ['service.accessDenied.unspecified', 'This needs a right of the account, besides the scope.', 'The roles of the account: member.', 'The role administrator.']) {
      await fault.getByText(words).waitFor();
    }
    assert.equal(await page.locator('#section-people [data-part]').evaluateAll((parts) => parts.filter((part) => !part.hidden).length), 0);
    await shoot(page, 'people-refused');
    await useToken(page, tried.narrow_token);
    await fault.getByText('The chain admin.read, or one above it.').waitFor();
    await useToken(page, tried.admin_token);
    await rowsOf(page).nth(1).waitFor();
    await unfold(page, 'New account');
    const form = region(page, 'New account');
    await form.getByLabel('E-mail').fill('king@acme.example');
    await form.getByLabel('administrator').check();
    await press(form, 'Create the account');
    await form.getByRole('alert').getByText('Nobody passes on more than they hold.').waitFor();
    assert.equal(await accountOf('king@acme.example'), undefined);
    assert.deepEqual(problems, []);
    await close();
  },

  'people: many accounts are paged, and names that turn the direction are named': async () => {
    for (let n = 0; n < 60; n++) {
      await make(`crowd-${String(n).padStart(2, '0')}@acme.example`);
    }
    const turned = 'Ada \u202Enimda';
    const { page, context, problems, close } = await openAsAda();
    const cursors = [];
    await context.route('**/admin/accounts?*', async (route) => {
      const url = route.request().url();
      cursors.push(new URL(url).searchParams.get('where'));
      const reply = await route.fetch({ url: url.replace('limit=1000', 'limit=30') });
      const list = await reply.json();
      await route.fulfill({ response: reply, json: { ...list, data: list.data.map((one) => (one.email === tried.reader_email ? { ...one, name: turned } : one)) } });
    });
    await context.route(`**/admin/accounts/${tried.reader_account_id}`, async (route) => {
      const reply = await route.fetch();
      await route.fulfill({ response: reply, json: { ...await reply.json(), name: turned } });
    });
    await go(page, 'People');
    await page.getByText('30 accounts, and there are more.').waitFor();
    const next = page.locator('#accounts-more');
    while (await next.isVisible()) {
      await next.click();
      await settled(page);
    }
    const all = (await asked('/admin/accounts?limit=1000')).data.map(({ _id }) => _id);
    assert.deepEqual(cursors, [null, ...all.filter((_, i) => i % 30 === 29).map((id) => JSON.stringify({ _id: { $gt: id } }))].slice(0, Math.ceil(all.length / 30)));
    await page.getByText(`${all.length} accounts.`).waitFor();
    assert.equal(await rowsOf(page).count(), all.length + 1); // with the header
    await page.getByLabel('Only accounts with these words').fill('crowd-5');
    await page.getByText(`10 of ${all.length} accounts.`).waitFor();
    await shoot(page, 'people-many');

    await openAccount(page, tried.reader_email);
    assert.equal(await opened(page).getByRole('heading').locator('mark').textContent(), 'U+202E');
    await press(opened(page), 'Deactivate: Ada [U+202E]nimda');
    await page.getByRole('dialog').getByText('Deactivate Ada [U+202E]nimda?').waitFor();
    await agree(page, 'Cancel');
    assert.ok(!(await page.locator('main').innerText()).includes('\u202E'));
    assert.deepEqual(problems, []);
    await close();
  },
};
