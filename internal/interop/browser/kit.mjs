// Proves nothing itself: opens the console in a browser, and does what the flows of several files do.

import { readFileSync } from 'node:fs';
import { chromium, firefox } from 'playwright-core';

const [executablePath, factsFile, strictFile, triedFile] = process.argv.slice(2);
const read = (file) => JSON.parse(readFileSync(file, 'utf8'));
export const facts = read(factsFile);
export const strict = read(strictFile);
export const tried = read(triedFile);

// Every wait of a check is at least this long, so that no check fails because the machine is slow.
export const patience = 60_000; // milliseconds

export const inFirefox = executablePath.includes('firefox');

// The channel is for a Firefox as it is released, and uses WebDriver BiDi. Chromium has no sandbox for root.
const launch = { executablePath, timeout: 2 * patience };
export const browser = await (inFirefox
  ? firefox.launch({ ...launch, channel: 'moz-firefox' })
  : chromium.launch({ ...launch, args: ['--no-sandbox'] }));

// Pages, and what goes wrong on them.

const desktop = { width: 1280, height: 900 };

// open opens the console in its own browser profile. problems collects the errors of its scripts
// and of its policy, and requests to other origins. Chromium also logs each refusal of the server as
// an error; those are in refusals.
export async function open({ base = facts.base_url, path = '/', ...options } = {}) {
  const context = await browser.newContext({ viewport: desktop, locale: 'en-GB', ...options });
  context.setDefaultTimeout(patience);
  const page = await context.newPage();
  const problems = [];
  const refusals = [];
  page.on('pageerror', (error) => problems.push(String(error)));
  page.on('console', (message) => {
    const refused = message.text().startsWith('Failed to load resource') && /\/v2\/|\/console\/(scope|qr)$/.test(message.location().url);
    if (['error', 'warning'].includes(message.type()) && !refused) {
      problems.push(message.text());
    }
  });
  page.on('request', (request) => {
    if (![base, 'data:'].some((start) => request.url().startsWith(start))) {
      problems.push(`a request to ${request.url()}`);
    }
  });
  page.on('response', (reply) => {
    if (reply.status() >= 400) {
      refusals.push(`${reply.status()} ${new URL(reply.url()).pathname}`);
    }
  });
  await page.goto(base + path);
  return { page, context, problems, refusals, base, close: () => context.close() };
}

export const heading = (page, name) => page.getByRole('heading', { name, exact: true });

export async function signIn(page, email, password) {
  const form = page.getByRole('region', { name: 'Sign in' });
  await form.getByLabel('E-mail').clear(); // in Firefox, fill adds to an e-mail
  await form.getByLabel('E-mail').fill(email);
  await form.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

export async function enter(page, code) {
  await page.getByLabel('Code', { exact: true }).fill(code);
  await page.getByRole('button', { name: 'Continue' }).click();
}

export const asMia = (page) => signIn(page, facts.account_email, facts.account_password);
export const ownSession = (page) => page.getByRole('row').filter({ hasText: 'this one' });

// inside waits until somebody is signed in and sees the sessions. Other requests may
// still be running. A step that ends the session would make the server refuse it.
export async function inside(page, name) {
  await heading(page, name).waitFor();
  await ownSession(page).waitFor();
  await settled(page);
}

// cookiesOf returns the cookies of a browser profile, by name.
export async function cookiesOf(context) {
  const cookies = await context.cookies();
  return cookies.sort((one, other) => (one.name < other.name ? -1 : 1));
}

export const namesOf = async (context) => (await cookiesOf(context)).map(({ name }) => name);

export async function signOut(page) {
  await page.getByRole('button', { name: 'Sign out' }).click();
  await heading(page, 'Sign in').waitFor();
}

// sure agrees in the dialog that a step asks in.
export const sure = (page, verb) => page.getByRole('dialog').getByRole('button', { name: verb, exact: true }).click();

// focus waits until an element has the focus, which often comes after the element is visible. In Firefox, only one
// window matches :focus, and only its frames are drawn.
export const focus = (page, id) => page.waitForFunction((wanted) => document.activeElement?.id === wanted, id, { polling: 50 });

// settled waits until no step is running: a busy control ignores clicks.
export const settled = (page) => page.locator('[aria-busy=true]').first().waitFor({ state: 'detached' });

// The server of tried, whose sections several files try.

// call sends a request outside of the browser, and returns the reply.
export const call = (path, headers = {}, method = 'GET', body = undefined) => fetch(`${tried.base_url}/acme/v2${path}`, {
  method,
  headers: { ...headers, ...(body && { 'Content-Type': 'application/json' }) },
  body: body && JSON.stringify(body),
});

// cookieOf signs somebody in outside of the browser.
export async function cookieOf(email, password) {
  const reply = await call('/accounts/login', {}, 'POST', { email, password });
  return reply.headers.getSetCookie().map((cookie) => cookie.split(';')[0]).join('; ');
}

export const openAsMia = () => openAs(tried.account_email, tried.account_password, 'Mia Member');

export async function openAs(email, password, name, options) {
  const opened = await open({ base: tried.base_url, ...options });
  await signIn(opened.page, email, password);
  await inside(opened.page, name);
  return opened;
}

// go opens a section. If loses is set, a filled form is lost, and the page asks before.
export async function go(page, section, loses = false) {
  const link = page.getByRole('navigation').getByRole('link', { name: section, exact: true });
  await link.click();
  await (loses && sure(page, 'Leave'));
  await link.and(page.locator('[aria-current=page]')).waitFor(); // the page changes after its address
}

// unfold opens a form that is folded away.
export async function unfold(page, text) {
  const summary = page.locator('summary:visible').filter({ hasText: text });
  await (await summary.evaluate((one) => one.parentElement.open) || summary.click());
}

// useToken makes the sections use a bearer token, and comes back to the section.
export async function useToken(page, token, loses = false) {
  const section = await page.locator('nav a[aria-current]').textContent();
  await go(page, 'Tokens', loses);
  await settled(page);
  await unfold(page, 'Use a bearer token');
  await page.getByRole('textbox', { name: 'Bearer token' }).fill(token);
  await page.getByRole('button', { name: 'Use it', exact: true }).click();
  await page.getByText('a pasted bearer token').waitFor();
  await settled(page);
  await (section !== 'Tokens' && go(page, section));
  await settled(page);
}
