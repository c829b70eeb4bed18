// The account: who is signed in, its password and its second factor, and where else it is signed in.

import { acting, own, Refused, site } from './console_api.js';
import { complain } from './console_fault.js';
import { listing } from './console_list.js';
import { action, announce, isShown, keep, onClick, onSubmit, show, sure } from './console_page.js';
import { byID, code, counted, cut, element, empty, fill, named, pill, plainly, visible, when } from './console_render.js';
import { steps } from './console_session.js';

// openAccount shows the account, if somebody is signed in and does not set up a second factor.
export async function openAccount() {
  const { account, org } = acting;
  if (!account || !isShown('account')) {
    return;
  }
  fill(byID('account-facts'), [
    ['Org', org],
    ['E-mail', ...visible(account.email)],
    ['Roles', ...visible(account.roles.join(', ') || 'none')],
    ['Id', code(account._id)],
  ]);
  await Promise.all([sessions.open(), devices.open(), showFactor().catch((error) => complain(error, byID('factor-fault')))]);
}

// forgetAccount removes the account from the page.
export function forgetAccount() {
  empty('account-title', 'account-facts');
  [sessions, devices].forEach(({ forget }) => forget());
}

// sessionList shows the sessions at a path in the element of a name: first the one of this page, then the latest.
/** @param {string} name @param {Call} call @param {() => string} path @param {(all: Session[]) => void} [shown] */
export function sessionList(name, call, path, shown) {
  const list = listing(name, {
    noun: 'session',
    caption: 'Sessions',
    columns: ['Program', 'Address', 'Since', 'Last used', 'Steps'],
    cells: (/** @type {Session} */ session) => [
      element('span', { title: plainly(session.agent) }, named(deviceOf(session.agent)), session.current && pill('this one', false),
        session.reason && cut(`Somebody acts for the account: ${session.reason}`)),
      element('bdi', {}, ...visible(session.address)), when(session.created), when(session.seen),
      session.current ? '' : action('Revoke', agentOf(session), () => revoke(session), 'quiet danger'),
    ],
    arrange: (all) => all.toSorted((a, b) => Number(b.current) - Number(a.current) || b.seen.localeCompare(a.seen)),
    ask: () => call('GET', `${path()}?limit=1000`),
    shown,
  });

  async function revoke(/** @type {Session} */ session) {
    if (await sure('Revoke this session?', 'Revoke it', 'Whoever uses it has to sign in again.', element('p', {}, named(agentOf(session))))) {
      await call('DELETE', `${path()}/${encodeURIComponent(session._id)}`).finally(list.open);
      list.say(`The session is revoked: ${agentOf(session)}.`);
    }
  }
  return list;
}

const sessions = sessionList('sessions', own, () => '/accounts/me/sessions', (all) => { byID('revoke-others').hidden = all.length < 2; });

const devices = listing('devices', {
  noun: 'device',
  caption: 'Remembered devices',
  columns: ['Program', 'Since', 'Last used', 'Until', 'Steps'],
  cells: (/** @type {Device} */ device) => [
    element('span', { title: plainly(device.name) }, named(deviceOf(device.name)), device.current && pill('this device', false)),
    when(device.created), when(device.seen), when(device.expires),
    action('Forget', plainly(deviceOf(device.name)), () => forgetDevice(device), 'quiet danger'),
  ],
  ask: () => own('GET', '/accounts/me/devices?limit=1000'),
});

async function forgetDevice(/** @type {Device} */ device) {
  await own('DELETE', `/accounts/me/devices/${encodeURIComponent(device._id)}`).finally(devices.open);
  devices.say(`The device needs a code again: ${plainly(deviceOf(device.name))}.`);
}

const agentOf = (/** @type {Session} */ { agent, address }) => plainly(`${deviceOf(agent)}, ${address}`);

// In this order, because most browsers name others as well.
const browsers = [['Edg/', 'Edge'], ['OPR/', 'Opera'], ['Firefox/', 'Firefox'], ['Chrome/', 'Chrome'], ['Safari/', 'Safari']];
const systems = [['Android', 'Android'], ['iPhone', 'iPhone'], ['iPad', 'iPad'], ['Windows', 'Windows'], ['Mac OS X', 'macOS'], ['Linux', 'Linux']];

// deviceOf reads a User-Agent. The client chooses it, so it only helps people to
// recognize their own devices.
function deviceOf(/** @type {string} */ agent) {
  const known = (/** @type {string[][]} */ table) => table.find(([mark]) => agent.includes(mark))?.[1];
  const browser = known(browsers);
  if (!browser) {
    return [...agent].slice(0, 60).join('') || 'Unknown program';
  }
  return [browser, known(systems)].filter(Boolean).join(' on ');
}

async function revokeOthers() {
  if (await sure('Revoke all other sessions of this account?', 'Revoke them', 'This one stays.')) {
    const { data: count } = await own('DELETE', '/accounts/me/sessions').finally(sessions.open);
    sessions.say(count === 1 ? 'One session is revoked.' : `${count} sessions are revoked.`);
  }
}

async function changePassword(/** @type {FormData} */ form) {
  try {
    await own('POST', '/accounts/me/password', { password: form.get('password'), newPassword: form.get('newPassword') });
  } catch (error) {
    byID('password-now').select();
    throw error instanceof Refused && error.detail === 'accessDenied.invalidCredentials'
      ? new Refused({ ...error.fault, path: 'password', reason: 'That is not the present password.' }, null) : error;
  }
  byID('password-form').reset();
  await sessions.open();
  announce('The password is changed, and the other sessions are over.', byID('password-said'));
}

onClick(byID('revoke-others'), revokeOthers);
onSubmit('password-form', changePassword);

// The second factor: its state, setting it up, new recovery codes, and removing it.

// showFactor shows the state, and offers what fits it.
async function showFactor() {
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
async function drawCode(/** @type {string} */ otpauth) {
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

async function confirm(/** @type {FormData} */ form) {
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

const keepCodes = (/** @type {string[]} */ codes) => keep('Recovery codes', [['Each is valid for one sign-in without your authenticator',
  element('ul', { className: 'codes' }, ...codes.map((text) => element('li', {}, code(text))))]], codes.join('\n'), { count: codes.length });

// change makes new recovery codes or removes the factor, as the button says.
/** @param {FormData} form @param {Button} button */
async function change(form, button) {
  const body = { code: form.get('code').trim() };
  if (button?.value === 'remove') {
    return remove(body);
  }
  if (await sure('Make new recovery codes?', 'Make new ones', 'The former ones end at once.')) {
    const { data } = await own('POST', '/accounts/me/second-factor/recovery-codes', body);
    byID('factor-form').reset();
    await keepCodes(data.recoveryCodes);
    await changed('The former recovery codes have ended.');
  }
}

async function remove(/** @type {{code: string}} */ body) {
  if (await sure('Remove the second factor?', 'Remove it', 'The password alone then opens this account. Its other sessions end.')) {
    await own('DELETE', '/accounts/me/second-factor', body);
    byID('factor-form').reset();
    await changed('The second factor is removed, and other sessions are over.');
  }
}

async function changed(/** @type {string} */ text) {
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
