// The session of the page: who is signed in, in all sections and in all tabs of a browser.

import { acting, entry, isOver, onLost, onSessionOver, onStepUp, own, Refused } from './console_api.js';
import { showCredential } from './console_credential.js';
import { complain } from './console_fault.js';
import { announce, ask, onClick, quiet } from './console_page.js';
import { byID } from './console_render.js';
import { addressed, linkSections, showAccountSection } from './console_sections.js';

// steps are what the page does when its session changes. The first module of the page sets them.
export const steps = {
  start: async () => {}, // shows what is true by then
  open: async () => {}, // opens the section in the address
  renew: async () => {}, // opens it again, unless that loses what was entered
  leave: () => {}, // removes what was entered and shown
  signIn: () => {}, // shows the form
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

/** @param {Account | null} who */
export function actAs(who) {
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
  await (acting.account?.actor ? own('DELETE', '/accounts/me/act') : own('POST', '/accounts/me/logout'));
  endSession();
  announce('You are signed out.');
}

onLost(lost);
onStepUp(reauthenticate);
onSessionOver(endSession);
onClick(byID('sign-out'), signOut);
onClick(byID('reauthenticate'), reauthenticateFirst);
tabs?.addEventListener('message', ({ data }) => data === acting.org && lookAgain());
document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && acting.account && lookAgain());
