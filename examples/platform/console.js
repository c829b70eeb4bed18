// The console: the server's page at /, which uses only the interface that all clients have. This
// module puts the others together: it opens the section that the address names.

import { forgetAccount, openAccount } from './console_account.js';
import { acting, Gone, leave as forgetReplies, Refused } from './console_api.js';
import { forgetApps, openApps } from './console_apps.js';
import { onCredential } from './console_credential.js';
import { forgetData, openData } from './console_data.js';
import { forgetFactor } from './console_factor.js';
import { complain } from './console_fault.js';
import { forgetLab } from './console_lab.js';
import { closeLive, forgetLive, openLive } from './console_live.js';
import { dismiss, quiet, show } from './console_page.js';
import { forgetPages, openPaging } from './console_paging.js';
import { forgetPeople, openPeople } from './console_people.js';
import { forgetPicks } from './console_pick.js';
import { byID } from './console_render.js';
import { forgetVerdict, openScope } from './console_scope.js';
import { addressed, showSection } from './console_sections.js';
import { status, steps } from './console_session.js';
import { callOrg, enter, showSignIn } from './console_signin.js';
import { forgetTokens, openTokens } from './console_tokens.js';
import { forgetShown } from './console_show.js';

// What a section does when it is opened, and what removes from it what was entered and shown.
/** @type {Record<string, { open?: () => unknown, forget: () => void }>} */
const sections = {
  account: { open: openAccount, forget: forgetAccount },
  live: { open: openLive, forget: forgetLive },
  data: { open: openData, forget: forgetData },
  people: { open: openPeople, forget: forgetPeople },
  apps: { open: openApps, forget: forgetApps },
  tokens: { open: openTokens, forget: forgetTokens },
  scope: { open: openScope, forget: forgetVerdict },
  lab: { forget: forgetLab },
  paging: { open: openPaging, forget: forgetPages },
};

// start shows the section in the address, and who is signed in to its org:
// /#acme/tokens.
async function start() {
  quiet();
  show('loading', 'notice');
  callOrg(addressed().org);
  byID('org').value = acting.org;
  await look();
  await visit();
}

// look shows who is signed in.
async function look() {
  try {
    const now = await status();
    if (now.loggedin) {
      return enter(now.account);
    }
    showSignIn();
    now.fault && complain(new Refused(now.fault, null));
  } catch (error) {
    if (!(error instanceof Gone)) { // otherwise a later look tells
      showSignIn();
      complain(error);
    }
  }
}

// openSection shows the section in the address. Without a credential that it needs, it does no more.
async function openSection() {
  const { section, closed } = showSection();
  closeLive(); // a browser has few connections to one server
  if (section !== 'account') {
    byID(`${section}-title`).focus();
  }
  if (closed) {
    return sections[section].forget();
  }
  const place = byID(`section-${section}`);
  place.ariaBusy = 'true';
  try {
    await sections[section].open?.();
  } finally {
    place.ariaBusy = 'false';
  }
}

let entered = false; // whether something was entered in the section since it was opened

// visit opens the section without the requests that were shown before.
function visit() {
  entered = false;
  forgetShown();
  return openSection();
}

// renew opens the section again. Opening it empties forms and lists, so what was entered prevents that.
const renew = async () => { entered || await openSection(); };

// move shows the section that the address names.
async function move() {
  if (addressed().org !== acting.org) {
    return start();
  }
  quiet();
  await visit();
  if (addressed().section === 'account') {
    byID(acting.account ? 'account-title' : 'email').focus();
  }
}

// leave removes what was entered, asked and shown.
function leave() {
  acting.bearer = '';
  entered = false;
  forgetReplies();
  dismiss();
  quiet();
  for (const form of document.forms) {
    form.id === 'sign-in-form' || form.reset();
  }
  forgetPicks();
  forgetFactor();
  forgetShown();
  Object.values(sections).forEach(({ forget }) => forget());
}

Object.assign(steps, { start, open: openSection, renew, leave, signIn: showSignIn });

// A page from the browser's cache may show a session that is over.
addEventListener('pageshow', (event) => event.persisted && start());
addEventListener('pagehide', closeLive);
addEventListener('hashchange', move);
addEventListener('input', () => { entered ||= addressed().section !== 'account'; });
addEventListener('unhandledrejection', (event) => event.reason instanceof Gone && event.preventDefault());
onCredential(visit);
start();
