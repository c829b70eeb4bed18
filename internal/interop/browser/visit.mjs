// Proves in a browser that the first visit of examples/platform/VISIT.md goes as it is written.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Authenticator } from '../totp.mjs';
import { focus, go, heading, open, settled, signIn, unfold } from './kit.mjs';
import { picture, shoot } from './look.mjs';
import { Server } from './server.mjs';

const visit = readFileSync(new URL('../VISIT.md', import.meta.url), 'utf8');
const bold = [...visit.matchAll(/\*\*([^*]+)\*\*/g)].map(([, words]) => words.replace(/\s+/g, ' ')).slice(1); // the first is the word bold

// the returns words for the page, which must be the next ones in bold of the document.
function the(words) {
  assert.equal(bold.shift(), words, 'the next words in bold');
  return words;
}

// inShell runs the commands of the document as the reader would, who pastes a key and a secret.
async function inShell(base, key, secret) {
  const commands = visit.match(/```sh\n(read [^]*?)```/)[1]
    .replace('http://127.0.0.1:8080', base).replaceAll('go run ./examples/client', fileURLToPath(new URL('../client', import.meta.url)));
  const bash = spawn('bash', ['-c', commands]);
  let printed = '';
  [bash.stdout, bash.stderr].forEach((stream) => stream.on('data', (text) => { printed += text; }));
  bash.stdin.end(`${key}\n${secret}\n`);
  await once(bash, 'close');
  return printed;
}

export const checks = {
  'the first visit that is written down': async () => {
    const server = new Server();
    await server.start();
    const { base_url: base, admin_email: email, admin_password: password } = server.facts;
    const { page, problems, close } = await open({ base });
    const button = (name, place = page) => place.getByRole('button', { name, exact: true });
    const press = async (name, place) => {
      await settled(page);
      await button(name, place).click();
    };
    const agree = (name) => button(name).click(); // in a dialog, whose step is still running
    const text = (words) => page.getByText(words, { exact: true }).locator('visible=true').waitFor();
    const region = (name) => page.getByRole('region', { name, exact: true });
    const section = async (name) => {
      await go(page, name);
      await settled(page);
    };

    // 2. Sign in
    await heading(page, the('What this is')).waitFor();
    const entrance = region('Sign in');
    await entrance.getByLabel(the('E-mail')).fill(email);
    await entrance.getByLabel(the('Password')).fill(password);
    await press(the('Sign in'));
    await heading(page, the('Ada Admin')).waitFor();

    // 3. Read data
    await section(the('Data'));
    const data = region('Data');
    await data.getByLabel(the('Table'), { exact: true }).selectOption(the('c_messages'));
    await press(the('Add a filter'));
    await data.getByLabel(the('Property'), { exact: true }).selectOption(the('c_likes'));
    await data.getByLabel(the('Operator'), { exact: true }).selectOption(the('$gte'));
    await data.getByLabel(the('Value'), { exact: true }).fill('48');
    await press(the('Show'));
    await page.getByRole('table', { name: 'c_messages, page 1' }).waitFor();
    await press(the('Count all'));
    await data.getByText(/^\d+ in all\.$/).waitFor();
    await picture(page, 'data', button('Show'));

    // 4. Make an account
    await section(the('People'));
    await unfold(page, the('New account'));
    const account = region('New account');
    await account.getByLabel(the('E-mail')).fill('vera@acme.example');
    await account.getByLabel(the('Name')).fill('Vera Visitor');
    await account.getByLabel(the('First password')).fill('correct horse battery');
    await account.getByLabel(the('reader')).check();
    await press(the('Create the account'));
    await text(the('Vera Visitor is a new account.'));

    // 5. Make an app with a restricted key
    await section(the('Apps'));
    await unfold(page, the('New app'));
    const app = region('New app');
    await app.getByLabel(the('Name'), { exact: true }).fill('Visitor');
    await app.getByText(the('Signing key: whom it acts as, and its limits'), { exact: true }).click();
    const vera = { label: 'Vera Visitor · vera@acme.example' };
    await app.getByLabel(the('Its requests act as'), { exact: true }).selectOption(vera);
    await app.getByLabel(the('Networks, one per line'), { exact: true }).fill('127.0.0.0/8');
    await app.getByLabel(the('Everything that its accounts may do'), { exact: true }).uncheck();
    await app.getByLabel(the('Scope chains, one per line'), { exact: true }).fill('object.read.c_message');
    await press(the('Create'));
    await heading(page, the('The secret, shown this once')).waitFor();
    const [key, secret] = await page.locator('#keep-facts code').allTextContents();
    await agree(the('I have kept it'));
    const card = page.locator('#app-one');
    await card.getByText(the('Generate key pair'), { exact: true }).click();
    await card.getByText('The app has a new key pair.').waitFor();

    // 6. Sign requests, and see a rejection
    await section(the('Live'));
    await text(the('Watching.'));
    const printed = await inShell(base, key, secret);
    assert.match(printed, /"object":"list"[^]*"Vera Visitor"[^]*accessDenied\.scope: object\.read\.connection/);
    await shoot(page, 'visit-live');
    await picture(page, 'live', page.getByRole('row').filter({ hasText: 'GET /connections' }));
    const refused = page.getByRole('row').filter({ hasText: 'GET /connections' });
    await page.getByRole('columnheader', { name: the('Why'), exact: true }).waitFor();
    await refused.getByRole('button', { name: /^Why: / }).click();
    await heading(page, the('Scope tester')).waitFor();
    await text(the('Denied.'));
    await page.getByText('The chain has "c_message" where the need has "connection".').waitFor();
    await picture(page, 'scope', page.getByText('Denied.', { exact: true }).locator('visible=true'));
    await press(the('Decide'));
    await settled(page);
    await page.getByText(the('Show as code'), { exact: true }).click();
    await page.getByLabel(the('As'), { exact: true }).selectOption(the('client, the command line'));
    await page.getByText(/^client scope explain /).waitFor();
    await page.getByText('Show as code', { exact: true }).click();

    // 7. Mint, narrow and revoke tokens
    await section(the('Tokens'));
    await unfold(page, the('New token'));
    const mint = region('New token');
    await mint.getByLabel(the('App that issues it'), { exact: true }).selectOption('Visitor');
    const subject = mint.getByLabel(the('Account it acts as'), { exact: true });
    await subject.selectOption(vera);
    assert.ok(await mint.getByLabel(the('Ephemeral: for a day at most')).isChecked());
    await press(the('Mint'));
    await focus(page, 'minted-title');
    await press(the('Try it'));
    const readable = page.getByRole('table', { name: the('What it may read') });
    await readable.waitFor();
    assert.equal(await readable.getByText('yes', { exact: true }).count(), 1);
    await mint.getByLabel(the('Limited-use: for a number of requests')).check();
    await press(the('Mint'));
    await agree(the('I have kept it'));
    await mint.getByLabel(the('Permanent: until it ends or is revoked')).check();
    await subject.selectOption({ label: 'Ada Admin · ada@acme.example' });
    const end = mint.getByLabel('It ends', { exact: true });
    const chains = mint.getByRole('textbox', { name: 'Scope chains, one per line' });
    await end.selectOption(the('in 30 days'));
    await chains.fill('object.read\nadmin.read');
    await press(the('Mint'));
    await agree(the('I have kept it'));
    await press(the('Use it here'));
    await settled(page);
    await end.selectOption(the('in 1 day'));
    await chains.fill('object.update');
    await press(the('Mint'));
    await text(the('Nobody passes on more than they hold.'));
    await shoot(page, 'visit-refused');
    await chains.fill('object.read.c_message');
    await press(the('Mint'));
    await agree(the('I have kept it'));
    await press(the('Forget the token'));
    await settled(page);
    const held = region(the('List and revoke'));
    const rows = page.getByRole('table', { name: 'Tokens for all accounts' }).getByRole('row');
    const upper = rows.filter({ hasText: 'not counted' }).filter({ hasNotText: '└' });
    await upper.getByText(the('Revoke'), { exact: true }).click();
    const asked = page.getByRole('dialog', { name: /^Revoke the token / });
    await asked.getByRole('listitem').waitFor();
    await picture(page, 'tokens', asked);
    await asked.getByRole('button', { name: the('Revoke it') }).click();
    await held.getByText(/^The token is revoked, and /).waitFor();
    assert.equal(await rows.filter({ hasText: 'not counted' }).count(), 0);

    // 8. Set up a second factor
    await section(the('Account'));
    await press(the('Set up'));
    await page.getByRole('img', { name: 'A QR code' }).waitFor();
    const authenticator = new Authenticator(await page.locator('#enrol-secret').textContent());
    await page.getByLabel(the('The code it shows')).fill(await authenticator.code());
    await press(the('Confirm'));
    await heading(page, the('Recovery codes')).waitFor();
    const codes = await page.locator('#keep-facts li').allTextContents();
    await agree(the('I have kept it'));
    await text(the('Active, 10 recovery codes left.'));

    // 9. Rotate the secret
    await section(the('Apps'));
    const row = page.locator(`#apps tr[data-key="${key}"]`);
    await row.getByText(the('Rotate'), { exact: true }).click();
    await page.getByLabel(the('The former secret stays valid'), { exact: true }).selectOption(the('1 hour'));
    await agree(the('Rotate it'));
    await heading(page, 'The secret, shown this once').waitFor();
    const [, next] = await page.locator('#keep-facts code').allTextContents();
    await agree(the('I have kept it'));
    await row.getByText('2, old ends in 59 min.').waitFor();
    for (const one of [secret, next]) {
      assert.match(await inShell(base, key, one), /"Vera Visitor"/);
    }

    // 10. Loosen a rule of the org
    await section(the('People'));
    await page.getByRole('link', { name: the('Rules for sessions') }).click();
    await settled(page);
    const rules = region('Rules for sessions');
    await rules.getByLabel(the('A session lasts at most'), { exact: true }).fill('24');
    await press(the('Save the rules'));
    await text(the('The rules are changed.'));

    // 11. Sign out, and come back with a recovery code
    await press(the('Sign out'));
    await heading(page, 'Sign in').waitFor();
    await signIn(page, email, password);
    await page.getByLabel(the('Code'), { exact: true }).fill(codes[0]);
    await heading(page, the('Second factor')).locator('visible=true').waitFor();
    await press(the('Continue'));
    await text(the('Active, 9 recovery codes left.'));
    await press(the('Sign out'));
    await heading(page, the('Sign in')).waitFor();
    assert.deepEqual(bold, [], 'words in bold that no step has used');
    assert.deepEqual(problems, []);
    await close();
    await server.remove();
  },
};
