// The account: who is signed in, its password, and where else it is signed in.

import { acting, own, Refused } from './console_api.js';
import { showFactor } from './console_factor.js';
import { complain } from './console_fault.js';
import { action, announce, isShown, onClick, onSubmit, sure } from './console_page.js';
import { byID, code, cut, element, empty, facts, fill, keyed, named, pill, plainly, showTable, visible, when } from './console_render.js';

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
  /** @param {() => Promise<unknown>} step @param {string} fault */
  const part = (step, fault) => step().catch((error) => complain(error, byID(fault)));
  await Promise.all([part(showSessions, 'sessions-fault'), part(showDevices, 'devices-fault'), part(showFactor, 'factor-fault')]);
}

// forgetAccount removes the account from the page.
export function forgetAccount() {
  empty('account-title', 'account-facts', 'sessions', 'devices');
}

// showSessions lists the sessions: first the one of this page, then the latest.
async function showSessions() {
  const { account } = acting;
  /** @type {List<Session>} */
  const { data, hasMore } = await own('GET', '/accounts/me/sessions?limit=1000');
  if (account !== acting.account) {
    return; // another has come meanwhile
  }
  showSessionsOf(byID('sessions'), data, revoke);
  byID('revoke-others').hidden = data.length < 2;
  if (hasMore) {
    announce('There are more sessions than are shown.');
  }
}

// showSessionsOf shows sessions as a table: first the one of this page, then the latest.
/** @param {HTMLElement} place @param {Session[]} sessions @param {(session: Session) => unknown} end */
export function showSessionsOf(place, sessions, end) {
  showTable(place, {
    caption: 'Sessions',
    columns: ['Program', 'Address', 'Since', 'Last used', 'Steps'],
    items: sessions.toSorted((a, b) => Number(b.current) - Number(a.current) || b.seen.localeCompare(a.seen)),
    keyOf: ({ _id }) => _id,
    cells: (session) => [
      element('span', { title: plainly(session.agent) }, named(deviceOf(session.agent)), session.current && pill('this one', false),
        session.reason && cut(`Somebody acts for the account: ${session.reason}`)),
      element('bdi', {}, ...visible(session.address)), when(session.created), when(session.seen),
      session.current ? '' : action('Revoke', nameOf(session), () => end(session), 'quiet danger'),
    ],
    none: 'No session.',
  });
}

async function showDevices() {
  const { account } = acting;
  /** @type {List<Device>} */
  const { data } = await own('GET', '/accounts/me/devices?limit=1000');
  if (account === acting.account) {
    keyed(byID('devices'), data, ({ _id }) => _id, deviceCard);
  }
}

/** @param {Device} device */
function deviceCard(device) {
  return element('li', {},
    element('h3', {}, element('bdi', { title: plainly(device.name) }, ...visible(deviceOf(device.name))), device.current && pill('this device', false)),
    facts(['Since', when(device.created)], ['Last used', when(device.seen)], ['Until', when(device.expires)]),
    action('Forget', plainly(deviceOf(device.name)), () => forgetDevice(device), 'quiet danger'));
}

/** @param {Device} device */
async function forgetDevice(device) {
  await own('DELETE', `/accounts/me/devices/${encodeURIComponent(device._id)}`).finally(showDevices);
  byID('devices-title').focus();
  announce(`The device needs a code again: ${plainly(deviceOf(device.name))}.`);
}

/** @param {Session} session */
export const nameOf = ({ agent, address }) => plainly(`${deviceOf(agent)}, ${address}`);

// In this order, because most browsers name others as well.
const browsers = [['Edg/', 'Edge'], ['OPR/', 'Opera'], ['Firefox/', 'Firefox'], ['Chrome/', 'Chrome'], ['Safari/', 'Safari']];
const systems = [['Android', 'Android'], ['iPhone', 'iPhone'], ['iPad', 'iPad'], ['Windows', 'Windows'], ['Mac OS X', 'macOS'], ['Linux', 'Linux']];

// deviceOf reads a User-Agent. The client chooses it, so it only helps people to
// recognize their own devices.
/** @param {string} agent */
function deviceOf(agent) {
  const known = (/** @type {string[][]} */ table) => table.find(([mark]) => agent.includes(mark))?.[1];
  const browser = known(browsers);
  if (!browser) {
    return [...agent].slice(0, 60).join('') || 'Unknown program';
  }
  return [browser, known(systems)].filter(Boolean).join(' on ');
}

/** @param {Session} session */
async function revoke(session) {
  if (!await sure('Revoke this session? Whoever uses it has to sign in again.', 'Revoke it', element('p', {}, named(nameOf(session))))) {
    return;
  }
  await own('DELETE', `/accounts/me/sessions/${encodeURIComponent(session._id)}`).finally(listAgain);
  announce(`The session is revoked: ${nameOf(session)}.`);
}

async function revokeOthers() {
  if (!await sure('Revoke all other sessions of this account? This one stays.', 'Revoke them')) {
    return;
  }
  const { data: count } = await own('DELETE', '/accounts/me/sessions').finally(listAgain);
  announce(count === 1 ? 'One session is revoked.' : `${count} sessions are revoked.`);
}

// listAgain follows a step whose button may have been removed.
async function listAgain() {
  if (acting.account) {
    await showSessions();
    byID('sessions-title').focus();
  }
}

/** @param {FormData} form */
async function changePassword(form) {
  try {
    await own('POST', '/accounts/me/password', { password: form.get('password'), newPassword: form.get('newPassword') });
  } catch (error) {
    byID('password-now').select();
    throw error instanceof Refused && error.detail === 'accessDenied.invalidCredentials'
      ? new Refused({ ...error.fault, path: 'password', reason: 'That is not the present password.' }, null) : error;
  }
  byID('password-form').reset();
  await showSessions();
  announce('The password is changed, and the other sessions are over.', byID('password-said'));
}

onClick(byID('revoke-others'), revokeOthers);
onSubmit('password-form', changePassword);
