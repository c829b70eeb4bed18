// The session of the page: who is signed in, in all sections and in all tabs of a browser.

import { acting, entry, hooks, isOver, own, Refused, requestBy } from './console_api.js';
import { complain } from './console_fault.js';
import { announce, ask, mayLose, onClick, onSubmit, quiet } from './console_page.js';
import { byID, element, named } from './console_render.js';
import { addressed, linkSections, showAccountSection } from './console_sections.js';

// steps are what the page does when its session changes. The first module of the page sets them.
export const steps = {
  start: async () => {}, // shows what is true by then
  open: async () => {}, // opens the section in the address
  renew: async () => {}, // opens it again, unless that loses what was entered
  leave: () => {}, // removes what was entered and shown
  signIn: () => {}, // shows the form
  visit: async () => {}, // opens the section by another credential
};

const tabs = openTabs();
export const tellTabs = () => tabs?.postMessage(acting.org);

// openTabs returns null if the browser lets the page store nothing. Tabs then look again when they are shown.
function openTabs() {
  try {
    return new BroadcastChannel('session');
  } catch {
    return null;
  }
}

export function actAs(/** @type {Account | null} */ who) {
  if (acting.account && acting.account._id !== who?._id) {
    steps.leave(); // another account must not find what this one did
  }
  acting.account = who;
  showCredential();
  linkSections();
}

/** @returns {Promise<Status>} */
export const status = () => entry('GET', '/accounts/status');

// endSession shows in every section and every tab that nobody is signed in any more. Who signs in
// again after an error comes back to the section.
/** @param {Refused} [error] */
function endSession(error) {
  if (!acting.account) {
    return;
  }
  const { section } = addressed();
  showAccountSection(error && section !== 'account' ? section : '');
  steps.signIn();
  error && complain(error);
  tellTabs();
}

// lookAgain asks the server whether this page still shows the truth. A message of another tab
// proves nothing by itself.
async function lookAgain() {
  const now = await status().catch(() => null); // the next step tells
  if (!now || now.account?._id === acting.account?._id) {
    return;
  }
  if (now.loggedin) {
    steps.leave(); // also what was done with a token
    return steps.start();
  }
  endSession(now.fault && new Refused(now.fault, null));
  now.fault || announce('You were signed out in another tab.');
}

const longestWait = 15; // seconds
let wait = 1; // seconds until the next try
let back = 0; // when the server was back, in milliseconds

// lost waits until the server answers again, and then shows what is true by then. If that is lost again at once, it
// waits longer: something may let no other request through.
async function lost() {
  if (byID('offline').textContent) {
    return;
  }
  if (performance.now() - back > 2000 * longestWait) {
    wait = 1;
  }
  for (; ; wait = Math.min(2 * wait, longestWait)) {
    announce(`The server cannot be reached. The next try is in ${wait} s.`, byID('offline'));
    await new Promise((resolve) => { setTimeout(resolve, wait * 1000); });
    if (await fetch('/healthz', { cache: 'no-store', signal: AbortSignal.timeout(10_000) }).then(({ ok }) => ok, () => false)) {
      break;
    }
  }
  wait = Math.min(2 * wait, longestWait);
  back = performance.now();
  announce('', byID('offline'));
  quiet();
  await lookAgain();
  await steps.renew();
  announce('The server is back.');
}

// reauthenticate asks for the password again, and returns whether it was accepted.
async function reauthenticate() {
  if (!acting.account) {
    return false;
  }
  /** @type {Refused | undefined} */
  let ended;
  const passed = await ask(acting.account.email, async (password) => {
    try {
      await entry('POST', '/accounts/me/reauthenticate', { password });
    } catch (error) {
      if (!isOver(error)) {
        throw error;
      }
      ended = error;
    }
  });
  ended && endSession(ended);
  return passed && !ended;
}

async function reauthenticateFirst() {
  if (await reauthenticate()) {
    announce('You have proved who you are. That counts for ten minutes.');
  }
}

async function signOut() {
  if (!await mayLose()) {
    return;
  }
  await (acting.account?.actor ? own('DELETE', '/accounts/me/act') : own('POST', '/accounts/me/logout'));
  endSession();
  announce('You are signed out.');
}

// showCredential shows who is signed in, and what makes the requests of the sections.
export function showCredential() {
  const { account, bearer, org } = acting;
  const name = account ? account.name || account.email : '';
  byID('who').replaceChildren(...(account?.actor ? [element('strong', {}, 'Acting for'), ' '] : []), ...(name ? [named(name), ` of ${org}`] : []));
  byID('by-token').hidden = !bearer;
  byID('sign-out').hidden = !account;
  byID('sign-out').textContent = account?.actor ? 'Stop acting' : 'Sign out';
}

// useToken makes a bearer token the credential. '' is the session again.
export async function useToken(/** @type {string} */ token) {
  acting.held = token ? await requestBy(token, '/accounts/me?scope=true').then(({ scope }) => scope ?? null, () => null) : null;
  acting.bearer = token;
  byID('credential-form').reset();
  byID('credential-more').open = false;
  showCredential();
  announce(token ? 'The token now makes the requests.' : 'The token is forgotten.');
  await steps.visit();
}

Object.assign(hooks, { lost, stepUp: reauthenticate, sessionOver: endSession });
onClick(byID('sign-out'), signOut);
onClick(byID('reauthenticate'), reauthenticateFirst);
tabs?.addEventListener('message', ({ data }) => data === acting.org && lookAgain());
document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && acting.account && lookAgain());
onSubmit('credential-form', (form) => useToken(form.get('token').trim().replace(/^Bearer\s+/i, '')));
onClick(byID('credential-forget'), () => useToken(''));
