// Signing in: the password, and then the second factor, or setting one up where the org requires it.

import { acting, enterOrg, entry, own, reach, Refused, Told } from './console_api.js';
import { enrol, forgetFactor } from './console_account.js';
import { complain } from './console_fault.js';
import { announce, link, mayLose, onClick, onSubmit, show } from './console_page.js';
import { byID, visible } from './console_render.js';
import { addressed, addressOf, asked, linkSections } from './console_sections.js';
import { actAs, status, steps, tellTabs } from './console_session.js';

export function showSignIn() {
  actAs(null);
  forgetFactor();
  byID('password').value = '';
  if (addressed().question.has('join')) {
    return show('join', 'join-name');
  }
  if (addressed().question.has('reset')) {
    return show('reset', 'reset-password');
  }
  show('sign-in', byID('email').value ? 'password' : 'email');
  performance.mark('usable');
}

// callOrg makes an org the one that all requests are for.
export function callOrg(/** @type {string} */ org) {
  if (org !== acting.org) {
    steps.leave(); // its keys and tokens are of no use in another
  }
  acting.org = org;
}

async function signIn(/** @type {FormData} */ form) {
  const { back } = addressed();
  callOrg(form.get('org')); // of that form: the field has a pattern
  history.replaceState(null, '', addressOf('account', back));
  linkSections();
  await login({ email: form.get('email'), password: form.get('password') }, 'password');
}

/** @param {FormData} form */
const verify = (form) => login({ location: { verificationToken: form.get('code').trim(), singleUse: !form.get('remember') } }, 'code-input');

// login takes one step of signing in, and shows the next. After a refusal, the
// focus is on the field to correct.
/** @param {object} body @param {'password' | 'code-input'} field */
async function login(body, field) {
  const who = await entry('POST', '/accounts/login', body).catch(half).catch((error) => {
    byID(field).select();
    throw error; // in the form
  });
  await (isHalf(who) ? secondStep(who) : goIn(who));
}

// goIn opens the page for somebody whom the server has signed in.
async function goIn(/** @type {Account} */ who) {
  if (!(await status()).loggedin) {
    throw new Told('This browser has not kept the cookie of the session, so nobody is signed in. Allow cookies for this server.');
  }
  enter(who);
  tellTabs();
  await steps.open();
}

/** @type {(error: unknown) => error is Refused} */
const isHalf = (error) => error instanceof Refused && error.detail === 'accessDenied.unverifiedLocation';

// half returns a refusal that asks for the second factor.
function half(/** @type {unknown} */ error) {
  if (!isHalf(error)) {
    throw error;
  }
  return error;
}

async function secondStep(/** @type {Refused} */ { fault }) {
  byID('password').value = '';
  if (fault.reason === 'enrol') {
    return await enrol();
  }
  announce('Your password is right. Now the second factor.');
  show('code', 'code-input');
}

// enter makes somebody the user of the page, who goes on in the section that led to the form.
export function enter(/** @type {Account} */ who) {
  const { back } = addressed();
  if (back) {
    history.replaceState(null, '', `${addressOf(back)}${asked()}`);
  }
  actAs(who);
  forgetFactor();
  byID('password').value = '';
  byID('account-title').replaceChildren(...visible(who.name || who.email));
  show('account');
  performance.mark('usable');
  showOrgs().catch((error) => complain(error));
}

// showOrgs offers the other orgs of the person.
async function showOrgs() {
  const { account } = acting;
  byID('orgs').ariaBusy = 'true';
  /** @type {List<Org>} */
  const { data } = await own('GET', '/accounts/me/orgs?limit=1000').finally(() => { byID('orgs').ariaBusy = 'false'; });
  if (account === acting.account) {
    byID('orgs').replaceChildren(...data.map(({ _id }) => link(`Go to ${_id}`, () => goTo(_id), `Go to ${_id}`)));
  }
}

// goTo shows another org of the person, in which a session is open or is opened now: the request to that
// org carries the cookie of this one, whose session stays.
async function goTo(/** @type {string} */ org) {
  if (!await mayLose()) {
    return;
  }
  const there = await reach(`/${org}/v2/accounts/status`, { cache: 'no-store' });
  const { loggedin } = await there.json();
  const wanted = loggedin ? null : await enterOrg(org).then(() => null, half);
  history.pushState(null, '', `#${org}`);
  await steps.start();
  wanted && await secondStep(wanted);
}

// join accepts the invitation in the address. An org may then want a second factor.
async function join(/** @type {FormData} */ form) {
  const ticket = addressed().question.get('join');
  const joined = await entry('POST', '/accounts/accept', { ticket, name: form.get('name').trim(), password: form.get('password') }).catch(half);
  byID('join-form').reset();
  history.replaceState(null, '', addressOf('account'));
  await (isHalf(joined) ? secondStep(joined) : goIn(joined));
}

// forgot has a ticket mailed to the address in the form.
async function forgot() {
  const [org, email] = [byID('org'), byID('email')];
  if (!org.reportValidity() || !email.reportValidity()) {
    return;
  }
  callOrg(org.value);
  await entry('POST', '/accounts/forgot', { email: email.value });
  announce('If there is such an account, a link is mailed to it. It works for half an hour.');
}

// reset redeems the ticket in the address.
async function reset(/** @type {FormData} */ form) {
  /** @type {Account} */
  const account = await entry('POST', '/accounts/reset', { ticket: addressed().question.get('reset'), password: form.get('password') });
  byID('reset-form').reset();
  history.replaceState(null, '', addressOf('account'));
  byID('email').value = account.email;
  showSignIn();
  announce('The password has changed. Sign in with the one that you have chosen.');
}

byID('password-see').addEventListener('change', () => { byID('password').type = byID('password-see').checked ? 'text' : 'password'; });
onSubmit('join-form', join);
onSubmit('reset-form', reset);
onClick(byID('forgot'), forgot);
onSubmit('sign-in-form', signIn);
onSubmit('code-form', verify);
onClick(byID('code-back'), showSignIn);
