// The console: signing in and out, the account's sessions, and a section for each
// thing to try. It is the server's page at /, and uses only the interface that all
// clients have.

import { acting, isOver, newAPI, onLost, onSessionOver, onStepUp, Refused, wantsProof } from './console_api.js';
import { forgetApps, openApps } from './console_apps.js';
import { onCredential, showCredential } from './console_credential.js';
import { forgetData, openData } from './console_data.js';
import { forgetLab } from './console_lab.js';
import { closeLive, forgetLive, openLive } from './console_live.js';
import { showNumbers } from './console_numbers.js';
import { forgetPicks } from './console_pick.js';
import { forgetPages, openPaging } from './console_paging.js';
import { addressed, linkSections, showAccountSection, showSection } from './console_sections.js';
import { forgetTokens, openTokens } from './console_tokens.js';
import { openScope } from './console_scope.js';
import { forgetShown } from './console_show.js';
import { showAccount, showSessions } from './console_account.js';
import { complain } from './console_fault.js';
import { announce, ask, isShown, keep, onClick, onSubmit, quiet, show } from './console_page.js';
import { byID, code, element } from './console_render.js';

let api = newAPI('acme');
/** @type {Account | null} */
let account = null; // who is signed in

// start shows the section in the address, and who is signed in to its org:
// /#acme/tokens.
async function start() {
  quiet();
  show('loading', 'notice');
  callOrg(addressed().org);
  byID('org').value = api.org;
  showSection();
  await look();
  await openSection();
}

/** @param {string} org */
function callOrg(org) {
  if (org !== acting.org) {
    leave(); // its keys and tokens are of no use in another
  }
  api = newAPI(org);
  acting.org = org;
}

// look shows who is signed in.
async function look() {
  try {
    const status = await api.status();
    if (status.loggedin) {
      return await enter(status.account);
    }
    showSignIn();
    if (status.fault) {
      complain(new Refused(status.fault, null));
    }
  } catch (error) {
    showSignIn();
    complain(error);
  }
}

// What a section does when it is opened, and when another account uses the page.
/** @type {Record<string, () => unknown>} */
const opened = { live: openLive, data: openData, apps: openApps, tokens: openTokens, scope: openScope, paging: openPaging };

async function openSection() {
  const section = showSection();
  forgetShown();
  closeLive(); // a browser has few connections to one server
  if (section !== 'account') {
    byID(`${section}-title`).focus();
  }
  await opened[section]?.();
}

// move shows the section that the address names.
async function move() {
  if (addressed().org !== api.org) {
    return start();
  }
  quiet();
  await openSection();
  if (isShown('section-account')) {
    byID(account ? 'account-title' : 'email').focus();
  }
}

/** @param {Account | null} who */
function actAs(who) {
  account = who;
  acting.account = who;
  byID('who').replaceChildren(...(who ? [element('bdi', {}, who.name || who.email), ` of ${api.org}`] : []));
  showCredential();
}

// The session of the page. All sections share it, and so do all tabs of a browser.

const tabs = new BroadcastChannel('session');

// endSession shows in every section and every tab that nobody is signed in any more.
/** @param {Refused} [error] */
function endSession(error) {
  if (!account) {
    return;
  }
  leave();
  showSignIn();
  showAccountSection();
  error && complain(error);
  tabs.postMessage(api.org);
}

// lookAgain asks the server whether this page still shows the truth. A message of another tab
// proves nothing by itself.
async function lookAgain() {
  let status;
  try {
    status = await api.status();
  } catch {
    return; // the next step tells
  }
  if (status.account?._id === account?._id) {
    return;
  }
  if (status.loggedin) {
    leave(); // another account must not find what this one did
    return start();
  }
  endSession(status.fault && new Refused(status.fault, null));
  status.fault || announce('You were signed out in another tab.');
}

// lost waits until the server answers again, and then shows what is true by then.
async function lost() {
  if (byID('offline').textContent) {
    return;
  }
  for (let wait = 1; ; wait = Math.min(2 * wait, 15)) {
    announce(`The server cannot be reached. The next try is in ${wait} s.`, byID('offline'));
    await new Promise((resolve) => { setTimeout(resolve, wait * 1000); });
    if (await fetch('/healthz', { cache: 'no-store' }).then(({ ok }) => ok, () => false)) {
      break;
    }
  }
  announce('', byID('offline'));
  quiet();
  await lookAgain();
  await openSection();
  announce('The server is back.');
}

onLost(lost);
onStepUp(async () => account !== null && reauthenticate(account.email));
onSessionOver(endSession);
tabs.addEventListener('message', ({ data }) => data === api.org && lookAgain());
document.addEventListener('visibilitychange', () => document.visibilityState === 'visible' && account && lookAgain());

// leave removes what was entered and shown in the sections.
function leave() {
  acting.bearer = '';
  for (const form of document.forms) {
    form.closest('.tool, #credential') && form.reset();
  }
  forgetPicks();
  forgetLive();
  forgetData();
  forgetApps();
  forgetTokens();
  forgetLab();
  forgetPages();
  forgetShown();
  byID('scope-verdict').replaceChildren();
}

function showSignIn() {
  actAs(null);
  forget();
  show('sign-in', byID('email').value ? 'password' : 'email');
}

// forget removes from the page what is shown only once.
function forget() {
  for (const form of [byID('code-form'), byID('enrol-form'), byID('remove-form')]) {
    form.reset();
  }
  byID('password').value = '';
  for (const id of ['enrol-secret', 'enrol-uri', 'account-facts', 'numbers', 'sessions']) {
    byID(id).replaceChildren();
  }
  byID('enrol-link').removeAttribute('href');
}

/** @param {Account} who */
async function enter(who) {
  actAs(who);
  forget();
  showAccount(api.org, who);
  show('account');
  showNumbers(api, who);
  await refresh();
}

const refresh = () => signedIn(async () => {
  const list = await api.sessions();
  showSessions(list.data, list.hasMore, revoke);
});

// Signing in.

/** @param {FormData} form */
async function signIn(form) {
  callOrg(form.get('org')); // of that form: the field has a pattern
  history.replaceState(null, '', `#${api.org}`);
  linkSections();
  await login(() => api.login(form.get('email'), form.get('password')), 'password');
}

// login takes one step of signing in, and shows the next. After a refusal, the
// focus is on the field to correct.
/** @param {() => Promise<Account>} step @param {'password' | 'code-input'} field */
async function login(step, field) {
  let who;
  try {
    who = await step();
  } catch (error) {
    if (!(error instanceof Refused) || error.detail !== 'accessDenied.unverifiedLocation') {
      complain(error);
      return byID(field).select();
    }
    byID('password').value = '';
    if (error.fault.reason === 'enrol') {
      return await enrol();
    }
    announce('Your password is right. Now the second factor.');
    return show('code', 'code-input');
  }
  await enter(who);
  tabs.postMessage(api.org);
}

onSubmit('sign-in-form', signIn);
onSubmit('code-form', (form) => login(() => api.verify(form.get('code').trim()), 'code-input'));
onClick(byID('code-back'), showSignIn);

// Being signed in.

// signedIn runs a step that needs a session. If the step needs the password again,
// it asks for it. If the session is over, it returns to the start. It returns
// whether the step succeeded.
/** @param {() => Promise<unknown>} step */
async function signedIn(step) {
  for (;;) {
    try {
      await step();
      return true;
    } catch (error) {
      if (!await mended(error)) {
        return false;
      }
    }
  }
}

// mended returns whether a step may be tried again after this error.
/** @param {unknown} error */
async function mended(error) {
  if (isOver(error)) {
    endSession(error);
    return false;
  }
  if (!account || !wantsProof(error)) {
    throw error;
  }
  return reauthenticate(account.email);
}

/** @param {string} email */
async function reauthenticate(email) {
  /** @type {Refused | undefined} */
  let ended;
  const passed = await ask(email, async (password) => {
    try {
      await api.reauthenticate(password);
    } catch (error) {
      if (!isOver(error)) {
        throw error;
      }
      ended = error;
    }
  });
  if (ended) {
    endSession(ended);
  }
  return passed && !ended;
}

async function reauthenticateFirst() {
  if (account && await reauthenticate(account.email)) {
    announce('You have proved who you are. That counts for ten minutes.');
  }
}

async function signOut() {
  await signedIn(async () => {
    await api.logout();
    endSession();
    announce('You are signed out.');
  });
}

/** @param {Session} session */
async function revoke(session) {
  try {
    await signedIn(async () => {
      await api.revoke(session._id);
      announce('The session is revoked.');
    });
  } finally {
    await refreshed();
  }
}

async function revokeOthers() {
  await signedIn(async () => {
    const count = await api.revokeOthers();
    announce(count === 1 ? 'One session is revoked.' : `${count} sessions are revoked.`);
  });
  await refreshed();
}

// refreshed calls refresh after a step whose button may have been removed.
async function refreshed() {
  if (isShown('account')) {
    await refresh();
    byID(isShown('account') ? 'sessions-title' : 'email').focus();
  }
}

onClick(byID('sign-out'), signOut);
onClick(byID('reauthenticate'), reauthenticateFirst);
onClick(byID('revoke-others'), revokeOthers);

// The second factor.

// enrol starts an enrolment, with the session or with the ticket of a login.
async function enrol() {
  const { secret, otpauth } = await api.enrol();
  byID('enrol-secret').textContent = secret.replace(/.{4}(?=.)/g, '$& ');
  byID('enrol-uri').textContent = otpauth;
  if (otpauth.startsWith('otpauth://')) {
    byID('enrol-link').href = otpauth;
  }
  byID('enrol-why').hidden = account !== null;
  show('enrol');
}

async function enrolHere() {
  await signedIn(async () => {
    await api.me(); // enrolling without a session would be refused for want of a ticket
    await enrol();
  });
}

/** @param {FormData} form */
async function confirm(form) {
  /** @type {string[]} */
  let codes = [];
  try {
    if (!await signedIn(async () => { codes = await api.confirm(form.get('code')); })) {
      return;
    }
  } catch (error) {
    complain(error);
    return byID('enrol-code').select();
  }
  forget();
  await keep('Recovery codes', [['Each is valid for one sign-in without your authenticator', element('ul', { className: 'codes' },
    ...codes.map((text) => element('li', {}, code(text))))]], codes.join('\n'));
  await start();
  announce('The second factor is set up.');
}

/** @param {FormData} form */
async function removeFactor(form) {
  const removed = await signedIn(() => api.removeFactor(form.get('code').trim()));
  if (!removed) {
    return;
  }
  byID('remove-form').reset();
  await refresh(); // it has ended the other sessions
  announce('The second factor is removed, and other sessions are over.');
  byID('factor-title').focus();
}

onClick(byID('enrol-begin'), enrolHere);
onSubmit('enrol-form', confirm);
onClick(byID('enrol-back'), () => (account ? enter(account) : showSignIn()));
onSubmit('remove-form', removeFactor);

// A page from the browser's cache may show a session that is over.
addEventListener('pageshow', (event) => event.persisted && start());
addEventListener('pagehide', closeLive);
addEventListener('hashchange', move);
onCredential(openSection);
start();
