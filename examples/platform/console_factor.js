// The second factor of the account: its state, setting it up, new recovery codes, and removing it.

import { acting, own, site } from './console_api.js';
import { announce, isShown, keep, onClick, onSubmit, show, sure } from './console_page.js';
import { byID, code, counted, element, empty } from './console_render.js';
import { steps } from './console_session.js';

// showFactor shows the state, and offers what fits it.
export async function showFactor() {
  const who = acting.account;
  /** @type {Result<FactorState>} */
  const { data: { active, recoveryCodesLeft: left } } = await own('GET', '/accounts/me/second-factor');
  if (who !== acting.account) {
    return;
  }
  byID('factor-state').textContent = active ? `Active, ${counted(left, 'recovery code')} left.` : 'Not set up.';
  byID('enrol-begin').textContent = active ? 'Replace it' : 'Set up';
  byID('enrol-begin').hidden = false;
  byID('factor-form').hidden = !active;
}

// forgetFactor removes from the page the state, and what is shown only once.
export function forgetFactor() {
  for (const form of [byID('code-form'), byID('enrol-form'), byID('factor-form')]) {
    form.reset();
  }
  empty('enrol-qr', 'enrol-secret', 'enrol-uri', 'factor-state');
  byID('enrol-link').removeAttribute('href');
  byID('enrol-begin').hidden = true;
  byID('factor-form').hidden = true;
}

// enrol starts an enrolment, with the session or with the ticket of a login.
export async function enrol() {
  const { secret, otpauth } = (await own('POST', '/accounts/me/second-factor')).data;
  byID('enrol-secret').textContent = secret.replace(/.{4}(?=.)/g, '$& ');
  byID('enrol-uri').textContent = otpauth;
  if (otpauth.startsWith('otpauth://')) {
    byID('enrol-link').href = otpauth;
  }
  byID('enrol-why').hidden = acting.account !== null;
  show('enrol');
  drawCode(otpauth);
}

// drawCode shows the secret for the camera of a phone. Without the picture, the rest works.
/** @param {string} otpauth */
async function drawCode(otpauth) {
  const png = await site.qr(otpauth).catch(() => '');
  if (png && byID('enrol-uri').textContent === otpauth) {
    byID('enrol-qr').replaceChildren(element('img', {
      src: `data:image/png;base64,${png}`,
      alt: 'A QR code of the secret below, for the camera of a phone',
    }));
  }
}

async function enrolHere() {
  await own('GET', '/accounts/me'); // enrolling without a session would be refused for want of a ticket
  await enrol();
}

/** @param {FormData} form */
async function confirm(form) {
  try {
    const { data } = await own('POST', '/accounts/me/second-factor/confirm', { code: form.get('code') });
    forgetFactor();
    await keepCodes(data.recoveryCodes);
  } catch (error) {
    if (isShown('enrol')) { // and not the form to sign in
      byID('enrol-code').select();
      throw error;
    }
    return;
  }
  await steps.start();
  announce('The second factor is set up.');
}

/** @param {string[]} codes */
const keepCodes = (codes) => keep('Recovery codes', [['Each is valid for one sign-in without your authenticator',
  element('ul', { className: 'codes' }, ...codes.map((text) => element('li', {}, code(text))))]], codes.join('\n'));

// change makes new recovery codes or removes the factor, as the button says.
/** @param {FormData} form @param {Button} button */
async function change(form, button) {
  const body = { code: form.get('code').trim() };
  if (button?.value === 'remove') {
    return remove(body);
  }
  if (await sure('Make new recovery codes? The former ones end at once.', 'Make new ones')) {
    const { data } = await own('POST', '/accounts/me/second-factor/recovery-codes', body);
    byID('factor-form').reset();
    await keepCodes(data.recoveryCodes);
    await changed('The former recovery codes have ended.');
  }
}

/** @param {{code: string}} body */
async function remove(body) {
  if (await sure('Remove the second factor? The password alone then opens this account. Its other sessions end.', 'Remove it')) {
    await own('DELETE', '/accounts/me/second-factor', body);
    byID('factor-form').reset();
    await changed('The second factor is removed, and other sessions are over.');
  }
}

/** @param {string} text */
async function changed(text) {
  await steps.open();
  announce(text);
  byID('factor-title').focus();
}

onClick(byID('enrol-begin'), enrolHere);
onSubmit('enrol-form', confirm);
onClick(byID('enrol-back'), async () => {
  forgetFactor();
  acting.account ? show('account') : steps.signIn();
  await steps.open();
});
onSubmit('factor-form', change);
