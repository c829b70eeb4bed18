// What the page shows of the signed-in account: the account and its sessions.

import { announce, onClick } from './console_page.js';
import { byID, element, fill, when } from './console_render.js';

/** @param {string} org @param {Account} account */
export function showAccount(org, account) {
  byID('account-title').textContent = account.name || account.email;
  fill(byID('account-facts'), [
    ['Org', org],
    ['E-mail', account.email],
    ['Roles', account.roles.join(', ') || 'none'],
    ['Id', element('code', {}, account._id)],
  ]);
}

// showSessions lists the sessions: first the one of this page, then the latest.
/** @type {(sessions: Session[], hasMore: unknown, revoke: Revoke) => void} */
export function showSessions(sessions, hasMore, revoke) {
  const sorted = sessions.toSorted((a, b) => Number(b.current) - Number(a.current) || b.seen.localeCompare(a.seen));
  byID('sessions').replaceChildren(...sorted.map((session) => card(session, revoke)));
  byID('revoke-others').hidden = sessions.length < 2;
  if (hasMore) {
    announce('There are more sessions than are shown.');
  }
}

/** @param {Session} session @param {Revoke} revoke */
function card(session, revoke) {
  const device = deviceOf(session.agent);
  const facts = element('dl');
  fill(facts, [
    ['Address', session.address],
    ['Since', when(session.created)],
    ['Last used', when(session.seen)],
  ]);
  return element('li', {},
    element('h3', { title: session.agent }, device, session.current && element('span', { className: 'mark' }, 'this one')),
    facts,
    !session.current && revokeButton(session, device, revoke));
}

/** @param {Session} session @param {string} device @param {Revoke} revoke */
function revokeButton(session, device, revoke) {
  const button = element('button', { type: 'button', className: 'quiet' }, 'Revoke');
  button.ariaLabel = `Revoke ${device}, ${session.address}`;
  onClick(button, () => revoke(session));
  return button;
}

// In this order, because most browsers name others as well.
const browsers = [['Edg/', 'Edge'], ['OPR/', 'Opera'], ['Firefox/', 'Firefox'], ['Chrome/', 'Chrome'], ['Safari/', 'Safari']];
const systems = [['Android', 'Android'], ['iPhone', 'iPhone'], ['iPad', 'iPad'], ['Windows', 'Windows'], ['Mac OS X', 'macOS'], ['Linux', 'Linux']];

// deviceOf reads a User-Agent. The client chooses it, so it only helps people to
// recognize their own devices.
/** @param {string} agent */
function deviceOf(agent) {
  const named = (/** @type {string[][]} */ table) => table.find(([mark]) => agent.includes(mark))?.[1];
  const browser = named(browsers);
  if (!browser) {
    return agent.slice(0, 60) || 'Unknown program';
  }
  return [browser, named(systems)].filter(Boolean).join(' on ');
}
