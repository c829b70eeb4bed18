// Signing in: the password, and then the second factor, or setting one up where the org requires it.

import { acting, entry, Refused, Told } from './console_api.js';
import { forgetFactor, enrol } from './console_factor.js';
import { complain } from './console_fault.js';
import { announce, onClick, onSubmit, show } from './console_page.js';
import { byID, visible } from './console_render.js';
import { addressed, addressOf, linkSections } from './console_sections.js';
import { actAs, status, steps, tellTabs } from './console_session.js';

export function showSignIn() {
  actAs(null);
  forgetFactor();
  byID('password').value = '';
  show('sign-in', byID('email').value ? 'password' : 'email');
  performance.mark('usable');
}

// callOrg makes an org the one that all requests are for.
/** @param {string} org */
export function callOrg(org) {
  if (org !== acting.org) {
    steps.leave(); // its keys and tokens are of no use in another
  }
  acting.org = org;
}

/** @param {FormData} form */
async function signIn(form) {
  const { back } = addressed();
  callOrg(form.get('org')); // of that form: the field has a pattern
  history.replaceState(null, '', addressOf('account', back));
  linkSections();
  await login({ email: form.get('email'), password: form.get('password') }, 'password');
}

/** @param {FormData} form */
const verify = (form) => login({ location: { verificationToken: form.get('code').trim() } }, 'code-input');

// login takes one step of signing in, and shows the next. After a refusal, the
// focus is on the field to correct.
/** @param {object} body @param {'password' | 'code-input'} field */
async function login(body, field) {
  let who;
  try {
    who = await entry('POST', '/accounts/login', body);
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
  if (!(await status()).loggedin) {
    throw new Told('This browser has not kept the cookie of the session, so nobody is signed in. Allow cookies for this server.');
  }
  enter(who);
  tellTabs();
  await steps.open();
}

// enter makes somebody the user of the page, who goes on in the section that led to the form.
/** @param {Account} who */
export function enter(who) {
  const { back } = addressed();
  if (back) {
    history.replaceState(null, '', addressOf(back));
  }
  actAs(who);
  forgetFactor();
  byID('password').value = '';
  byID('account-title').replaceChildren(...visible(who.name || who.email));
  show('account');
  performance.mark('usable');
}

onSubmit('sign-in-form', signIn);
onSubmit('code-form', verify);
onClick(byID('code-back'), showSignIn);
