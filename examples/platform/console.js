// The console: the server's page at /, which uses only the interface that all clients have. This
// module puts the others together: it opens the section that the address names.

import { forgetAccount, forgetFactor, openAccount } from './console_account.js';
import { acting, Gone, leave as forgetReplies, lookUp, queryOf, reach, Refused } from './console_api.js';
import { complain } from './console_fault.js';
import { dismiss, isUnsent, mayLose, onClick, quiet, show } from './console_page.js';
import { forgetPicks } from './console_pick.js';
import { after, byID, counted, day, element, empty } from './console_render.js';
import { forgetVerdict, openScope } from './console_scope.js';
import { addressed, linkTo, showSection } from './console_sections.js';
import { status, steps } from './console_session.js';
import { callOrg, enter, showSignIn } from './console_signin.js';
import { forgetShown } from './console_show.js';

// How each section is loaded. Most are loaded when they are opened first, because few people open all.
/** @type {Record<string, () => Promise<Section>>} */
const sections = {
  account: async () => ({ open: openAccount, forget: forgetAccount }),
  live: () => import('./console_live.js').then((live) => ({ open: live.openLive, close: live.closeLive, forget: live.forgetLive })),
  data: () => import('./console_data.js').then((data) => ({ open: data.openData, forget: data.forgetData })),
  people: () => import('./console_people.js').then((people) => ({ open: people.openPeople, forget: people.forgetPeople })),
  apps: () => import('./console_apps.js').then((apps) => ({ open: apps.openApps, forget: apps.forgetApps })),
  tokens: () => import('./console_tokens.js').then((tokens) => ({ open: tokens.openTokens, forget: tokens.forgetTokens })),
  keys: () => import('./console_keys.js').then((keys) => ({ open: keys.openKeys, forget: keys.forgetKeys })),
  audit: () => import('./console_audit.js').then((audit) => ({ open: audit.openAudit, forget: audit.forgetAudit })),
  scope: async () => ({ open: openScope, forget: forgetVerdict }),
  lab: () => import('./console_lab.js').then((lab) => ({ forget: lab.forgetLab })),
};

/** @type {Map<string, Section>} */
const loaded = new Map();

async function load(/** @type {string} */ name) {
  const section = loaded.get(name) ?? await sections[name]().catch(async (error) => {
    await reach('/', { method: 'HEAD', cache: 'no-store' }); // it tells if the server is gone
    throw error;
  });
  loaded.set(name, section);
  return section;
}

// close ends what a section does by itself: a browser has few connections to one server.
const close = () => loaded.forEach((section) => section.close?.());

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
  const { section: name, closed } = showSection();
  close();
  if (name !== 'account') {
    byID(`${name}-title`).focus();
  }
  const place = byID(`section-${name}`);
  place.ariaBusy = 'true';
  tellEnding().catch(() => {}); // whoever may not know, is told nothing
  try {
    const section = await load(name);
    if (closed) {
      section.forget();
    } else if (addressed().section === name) { // nobody has gone on meanwhile
      await section.open?.();
    }
  } catch (error) {
    complain(error);
  } finally {
    place.ariaBusy = 'false';
  }
}

// visit opens the section without the requests that were shown before.
function visit() {
  forgetShown();
  return openSection();
}

// renew opens the section again. Opening it empties forms and lists, so what was entered prevents that.
const renew = async () => { isUnsent() || await openSection(); };

/** @type {Record<string, [string, string, [string, string][]]>} */
const ending = { credential: ['app', 'apps', []], key: ['API key', 'keys', [['within', '7']]], token: ['token', 'tokens', [['ends', '7']]] };
let told = 0; // when it was told what ends, in milliseconds

// tellEnding tells administrators in one line what ends within 7 days, once a minute at most.
async function tellEnding() {
  const place = byID('ending');
  const { account, bearer } = acting;
  if (bearer || !account?.roles.includes('administrator')) {
    [place.hidden, told] = [true, 0];
  } else if (Date.now() - told > 60_000) {
    told = Date.now();
    /** @type {List<Ending>} */
    const { data } = await lookUp(`/admin/ending?${queryOf([['limit', '1000'], ['where', JSON.stringify({ ends: { $lt: after(7 * day) } })]])}`);
    const links = Object.entries(ending).flatMap(([kind, [noun, section, question]]) => {
      const count = data.filter((one) => one.kind === kind).length;
      return count ? [', ', element('a', { href: linkTo(section, question) }, counted(count, noun))] : [];
    }).slice(1);
    place.replaceChildren('Within 7 days end ', ...links, '.');
    place.hidden = !links.length;
  }
}

// move shows the section that the address names, unless a form would be lost. Then the former address comes back
// until its reader agrees.
async function move(/** @type {HashChangeEvent} */ { oldURL }) {
  if (isUnsent()) {
    history.pushState(null, '', oldURL);
    !byID('sure').open && await mayLose() && history.back();
    return;
  }
  if (addressed().org !== acting.org || ['join', 'reset'].some((ticket) => addressed().question.has(ticket))) {
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
  forgetReplies();
  dismiss();
  quiet();
  for (const form of document.forms) {
    form.id === 'sign-in-form' || form.reset();
  }
  forgetPicks();
  forgetFactor();
  forgetShown();
  empty('orgs');
  [byID('ending').hidden, told] = [true, 0];
  loaded.forEach(({ forget }) => forget());
}

Object.assign(steps, { start, open: openSection, renew, leave, signIn: showSignIn, visit });

// A page from the browser's cache may show a session that is over.
addEventListener('pageshow', (event) => event.persisted && start());
addEventListener('pagehide', close);
addEventListener('hashchange', move);
addEventListener('input', ({ target }) => {
  const form = target instanceof Element ? target.closest('form') : null;
  if (form && !('free' in form.dataset)) {
    form.dataset.filled = '';
  }
});
addEventListener('reset', ({ target }) => { target instanceof HTMLFormElement && delete target.dataset.filled; });
addEventListener('beforeunload', (event) => { isUnsent() && event.preventDefault(); });
onClick(byID('menu'), () => { byID('menu').ariaExpanded = String(byID('menu').ariaExpanded === 'false'); });
addEventListener('unhandledrejection', (event) => event.reason instanceof Gone && event.preventDefault());
start();
