// Proves that what the console shows as code runs, gets the reply that the page got, and holds no secret.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { call, focus, go, heading, open, openAsMia, settled, tried } from './kit.mjs';
import { shoot } from './look.mjs';

const inScratch = (name) => fileURLToPath(new URL(`../${name}`, import.meta.url));
const folder = mkdtempSync(inScratch('shown/run-')); // of the module for Go, and of the cookies of curl

const environment = {
  ...process.env,
  GOWORK: 'off',
  GOFLAGS: '-mod=mod -trimpath', // its cache does not depend on the folder
  TOKEN: tried.ephemeral_token,
  TENANTKIT_URL: `${tried.base_url}/acme/v2`,
  TENANTKIT_KEY: tried.client_key,
  TENANTKIT_SECRET: tried.client_secret,
  PASSWORD: tried.account_password,
};

// execute runs a program, and returns what it prints. A status other than 0 is an error with the output.
async function execute(variables, program, ...args) {
  const { stdout } = await promisify(execFile)(program, args, { cwd: folder, env: { ...environment, ...variables } });
  return stdout;
}

const bash = (text, variables) => execute(variables, 'bash', '-c', text);

function fileOf(name, text) {
  writeFileSync(`${folder}/${name}`, `${text}\n`);
  return `${folder}/${name}`;
}

// runs runs a text in each form, with more variables.
const runs = {
  curl: bash,
  client: (text, variables) => bash(`client() { ${JSON.stringify(inScratch('client'))} "$@"; }\n${text}`, variables),
  go: async (text, variables) => {
    const file = fileOf('main.go', text);
    assert.equal(await execute({}, 'gofmt', '-d', file), '');
    return execute(variables, 'go', 'run', file);
  },
};

const formOf = (page) => page.getByLabel('As', { exact: true });
const panel = (page) => page.getByText('Show as code', { exact: true });

// unfold opens the panel, which is filled after that.
async function unfold(page) {
  await panel(page).click();
  await page.locator('#shown-request option').first().waitFor({ state: 'attached' });
}

const names = (page) => page.getByLabel('Latest requests').locator('option').allTextContents();

// shown returns the chosen request in a form. Whatever is in it, its text is ASCII.
async function shown(page, form) {
  await formOf(page).selectOption(form);
  const text = await page.locator('#shown-text').textContent();
  assert.match(text, /^[\n\t -~]+$/, form);
  return text;
}

// ask sends a request as the sections of the page do, and returns the reply.
const ask = (page, ...request) => page.evaluate(async (json) => {
  const api = await import(new URL('console_api.js', document.querySelector('script[type=module]').src).href);
  return api.request(...JSON.parse(json)).catch(({ fault }) => fault);
}, JSON.stringify(request)); // with a property __proto__, if there is one

// same compares two replies. Each has made an object of its own, as the account of its credential.
function same(output, reply, name) {
  const bare = (value) => ({ ...value, _id: null, c_sent: null, c_author: null });
  assert.deepEqual(bare(JSON.parse(output)), bare(reply), name);
}

const nasty = 'it\'s "quoted" \\ `$HOME` ${x} $(id)\n\t\u202E\u200B\u05D0 \u00E9 \u{1F600} --> </script> __proto__ %s \u2028';

// asMember opens the page and its panel, signed in as a member.
async function asMember() {
  const opened = await openAsMia();
  await unfold(opened.page);
  return opened;
}

const bearer = { Authorization: `Bearer ${tried.ephemeral_token}` };

async function message() {
  const made = await call('/c_messages', bearer, 'POST', { c_text: 'to be deleted' });
  assert.equal(made.status, 200);
  return (await made.json())._id;
}

// documentOf returns everything that is in a page: its markup and what its controls hold.
const documentOf = (page) => page.evaluate(() => document.documentElement.outerHTML +
  [...document.querySelectorAll('input, textarea, select')].map(({ value }) => value).join('\n'));

export const checks = {
  'a list that a section asked for is shown as code, and each form gets the same page': async () => {
    const { page, context, problems, close } = await asMember();
    await go(page, 'Data');
    await settled(page);
    await page.getByLabel('Table', { exact: true }).selectOption('c_messages');
    await page.getByRole('button', { name: 'Add a filter' }).click();
    await page.getByLabel('Property', { exact: true }).selectOption('c_text');
    await page.getByLabel('Operator', { exact: true }).selectOption('$ne');
    await page.getByLabel('Value', { exact: true }).fill('it\'s \u202E\\ `x`');
    const [reply] = await Promise.all([
      page.waitForResponse((one) => one.url().includes('/c_messages?') && one.url().includes('where=')),
      page.getByRole('button', { name: 'Show', exact: true }).click(),
    ]);
    assert.match((await names(page)).join('\n'), /^GET \/c_messages\?paths\[\]=c_text&/);
    const wanted = await reply.json();
    for (const [form, run] of Object.entries(runs)) {
      same(await run(await shown(page, form)), wanted, form);
    }
    await shoot(page, 'shown');
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.locator('#shown-copy').click();
    await page.getByText('Copied.').waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), await page.locator('#shown-text').textContent());
    await go(page, 'Tokens');
    await panel(page).waitFor({ state: 'hidden' });
    assert.equal(await page.locator('#shown-text').textContent(), '', 'another section shows what was done in this one');
    assert.deepEqual(problems, []);
    await close();
  },

  'what a section sends is shown as code with each letter of it, and each form does the same': async () => {
    const { page, problems, close } = await asMember();
    const body = { c_text: nasty, c_meta: { lang: "o'clock" }, c_likes: 7 };
    const reply = await ask(page, 'POST', '/c_messages?x=[]', body);
    assert.equal(reply.object, 'c_message', JSON.stringify(reply));
    for (const [form, run] of Object.entries(runs)) {
      const made = await run(await shown(page, form));
      same(made, reply, form);
      const kept = await call(`/c_messages/${JSON.parse(made)._id}?paths[]=c_text`, bearer);
      assert.equal((await kept.json()).c_text, nasty, form);
    }
    const refused = await ask(page, 'POST', '/c_messages', { __proto__: null, ['__proto__']: { c_text: 1 }, c_text: 1 });
    assert.ok(refused.faults.some(({ path }) => path === '__proto__'));
    same(await bash(await shown(page, 'curl')), refused, 'curl');
    assert.deepEqual(problems, []);
    await close();
  },

  'a deletion is shown as code, and each form deletes': async () => {
    const { page, problems, close } = await asMember();
    const first = await message();
    const reply = await ask(page, 'DELETE', `/c_messages/${first}`);
    assert.equal(reply.object, 'result', JSON.stringify(reply));
    for (const [form, run] of Object.entries(runs)) {
      const other = await message();
      same(await run((await shown(page, form)).replaceAll(first, other)), reply, form);
      assert.equal((await call(`/c_messages/${other}`, bearer)).status, 404, form);
    }
    assert.deepEqual(problems, []);
    await close();
  },

  'signing in is shown as code without the password, and the cookies of curl go on from there': async () => {
    const { page, problems, close } = await asMember();
    assert.deepEqual(await names(page), ['POST /accounts/login']);
    const login = await shown(page, 'curl');
    assert.ok(login.includes('"password":"\'"$PASSWORD"\'"'), login);
    assert.match(await bash(login), new RegExp(tried.account_id));
    const me = await ask(page, 'POST', '/accounts/me/reauthenticate', { password: tried.account_password });
    assert.equal((await names(page))[0], 'POST /accounts/me/reauthenticate');
    same(await bash(await shown(page, 'curl')), me);
    assert.match(await shown(page, 'go'), /^\/\/ This needs a session[^\n]*$/);
    assert.match(await shown(page, 'client'), /^# This needs a session[^\n]*$/);
    assert.deepEqual(problems, []);
    await close();
  },

  'no secret that the page sends is shown': async () => {
    const { page, problems, close } = await asMember();
    const hidden = 'jA7-never-shown';
    const token = `ey${'Jhb'.repeat(5)}.e30.${'x'.repeat(20)}`;
    const sent = [
      ['POST', '/admin/accounts', { email: 'x@acme.example', password: hidden, 'new-password': hidden }],
      ['POST', '/admin/accounts', { location: { verificationToken: hidden }, newPassword: hidden, codes: [hidden], recoveryCode: 7_341_905 }],
      ['PATCH', '/apps/x', { credential: { secret: hidden, client_secret: hidden, '1code': { a: hidden } } }],
      ['POST', `/apps/${token}/tokens?x=${token}&y=${encodeURIComponent(`otpauth://${hidden}`)}`, { token, sub: token, list: ['', `Bearer ${token}`], text: `otpauth://totp/a?secret=${hidden}` }],
      ['DELETE', '/accounts/me/second-factor', { code: hidden }],
    ];
    for (const request of sent) {
      assert.equal((await ask(page, ...request)).object, 'fault');
    }
    assert.equal((await names(page)).length, sent.length + 1, 'refused requests are shown');
    for (let i = 0; i < sent.length; i++) {
      await page.getByLabel('Latest requests').selectOption({ index: i });
      for (const form of Object.keys(runs)) {
        const text = await shown(page, form);
        for (const secret of [hidden, token, '7341905', tried.account_password]) {
          assert.ok(!text.includes(secret), `${form}: ${text}`);
          assert.ok(!(await documentOf(page)).includes(secret), form);
        }
      }
    }
    // With the variables, it is the same request. Go makes JSON of any password.
    const password = { curl: 'right horse', go: `it's "${nasty}` };
    await ask(page, 'POST', '/admin/accounts', { email: 'curl@acme.example', password: hidden });
    for (const form of ['curl', 'go']) {
      const email = `${form}@acme.example`;
      const text = (await shown(page, form)).replace('curl@acme.example', email);
      const made = JSON.parse(await runs[form](text, { TOKEN: tried.admin_token, PASSWORD: password[form] }));
      assert.equal(made.email, email, JSON.stringify(made));
      assert.equal((await call('/accounts/login', {}, 'POST', { email, password: password[form] })).status, 200, form);
    }
    assert.deepEqual(problems, []);
    await close();
  },

  'a question to the scope tester is shown as code that no chain can leave': async () => {
    const { page, problems, close } = await open({ base: tried.base_url, path: '/#acme/scope' });
    await focus(page, 'scope-title');
    await page.getByRole('button', { name: 'Decide' }).click();
    await page.locator('#scope-verdict').getByText('Denied').waitFor();
    await unfold(page);
    assert.deepEqual(await names(page), ['POST /console/scope']);
    for (const form of ['curl', 'go']) {
      assert.equal(JSON.parse(await runs[form](await shown(page, form))).data.segment, 5, form);
    }
    assert.match(await runs.client(`${await shown(page, 'client')} || true`), /denied[^]*c_text/);
    const chains = [nasty, '-batch', "'; id; '", ''];
    await page.evaluate(async (grants) => {
      const { site } = await import(new URL('console_api.js', document.querySelector('script[type=module]').src).href);
      document.body.click(); // or it would be a question of the page itself
      await site.scope(grants, grants[0]).catch(() => {});
    }, chains);
    const args = await bash(`client() { printf '%s\\0' "$@"; }\n${await shown(page, 'client')}`);
    assert.deepEqual(args.split('\0'), ['scope', 'explain', ...chains.flatMap((chain) => ['--grant', chain]), '--', nasty, '']);
    assert.deepEqual(problems, []);
    await close();
  },

  'the live stream is shown as code, and what the page asks by itself is not': async () => {
    const { page, problems, close } = await open({ base: tried.base_url, path: '/#acme/live' });
    await focus(page, 'live-title');
    await go(page, 'Tokens');
    await page.getByText('Use a bearer token').click();
    await page.getByRole('textbox', { name: 'Bearer token' }).fill(tried.admin_token);
    await page.getByRole('button', { name: 'Use it', exact: true }).click();
    await settled(page);
    await go(page, 'Live');
    await page.getByText('Watching.').waitFor();
    await unfold(page);
    assert.deepEqual(await names(page), ['GET /events?history=500']);
    assert.match(await shown(page, 'client'), /\nclient tail$/);
    assert.match(await shown(page, 'curl'), /-N \\\n/);
    assert.ok(!(await documentOf(page)).includes(tried.admin_token));
    await page.evaluate(async () => (await import(new URL('console_api.js', document.querySelector('script[type=module]').src).href)).site.scope([], 'object.read'));
    assert.deepEqual(await names(page), ['GET /events?history=500']);
    await go(page, 'Data');
    await page.getByRole('table').waitFor();
    assert.match((await names(page)).join('\n'), /^GET \/c_conversations\?[^\n]*$/);
    assert.deepEqual(problems, []);
    await close();
  },

  'a question is decided by its link, and the link stays with the browser': async () => {
    const need = 'object.read.c_message';
    const link = `/#acme/scope?${new URLSearchParams({ need, grants: 'object.read.c_message.*.c_text\nobject.read' })}`;
    const { page, context, problems, close } = await open({ base: tried.base_url });
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const asked = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.goto(tried.base_url + link);
    const verdict = page.locator('#scope-verdict');
    await verdict.getByText('Allowed').waitFor();
    assert.match(await verdict.innerText(), /grant 2/);
    assert.equal(await page.getByLabel('Need', { exact: true }).inputValue(), need);
    await page.getByLabel('Grants, one chain per line').fill('object.update');
    await page.getByRole('button', { name: 'Decide' }).click();
    await verdict.getByText('Denied').waitFor();
    assert.equal(new URL(page.url()).hash, `#acme/scope?${new URLSearchParams({ need, grants: 'object.update' })}`);
    await page.getByRole('button', { name: 'Copy a link to this question' }).click();
    await page.getByText('The link is copied.').waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), page.url());
    await shoot(page, 'scope-link');
    assert.deepEqual(asked.filter((url) => url.includes('need')), []);

    const nothing = await context.newPage();
    for (const query of ['', 'need=', `need=${'x'.repeat(513)}`, `need=a&grants=${'a%0A'.repeat(3000)}`, '%%%', 'grants=object.read']) {
      await nothing.goto('about:blank');
      await nothing.goto(`${tried.base_url}/#acme/scope?${query}`);
      await heading(nothing, 'Scope tester').waitFor();
      await focus(nothing, 'scope-title');
      assert.equal(await nothing.getByLabel('Need', { exact: true }).inputValue(), need, query);
      assert.equal(await nothing.locator('#scope-verdict').textContent(), '', query);
    }
    await page.getByLabel('Grants, one chain per line').fill('object.read\n'.repeat(900));
    await page.getByRole('button', { name: 'Copy a link to this question' }).click();
    await page.getByText('too long for a link').waitFor();
    await page.goto(`${tried.base_url}/#acme/scope?need=${encodeURIComponent('<img src=x onerror="document.title=1">\u202E')}`);
    await page.locator('#scope-need-fault').getByText('service.invalidArgument.authScope').waitFor();
    assert.equal(await page.locator('main img').count(), 0);
    assert.deepEqual(problems, []);
    await close();
  },
};
