// People, for administrators: the accounts of the org, its roles, and its rules for sessions.

import { showSessionsOf, nameOf as sessionName } from './console_account.js';
import { acting, differing, own, queryOf, reach, request } from './console_api.js';
import { showCredential } from './console_credential.js';
import { complain, unblame } from './console_fault.js';
import { action, announce, copyable, link, menu, onClick, onSubmit, sure } from './console_page.js';
import { offer } from './console_pick.js';
import {
  box, breakable, byID, counted, cut, element, empty, facts, field, fill, keyed, lines, matcher, named, pill, plainly, showTable, visible, when,
} from './console_render.js';
import { askWhy } from './console_scope.js';
import { addressed, linkTo, note, showAccountSection } from './console_sections.js';
import { steps, tellTabs } from './console_session.js';

const rows = 50; // accounts that are shown at once

/** @type {Account[]} */
let accounts = []; // those that the server has sent
let more = false; // the server has others
let from = 0; // the first that is shown, of those that match
/** @type {WholeAccount | null} */
let one = null; // the account that is open
/** @type {Role[]} */
let roles = [];
/** @type {Settings | null} */
let settings = null;
let visit = 0; // a reply to an earlier visit comes too late

const path = '/admin/accounts';

/** @param {{_id: string}} account */
const pathOf = ({ _id }) => `${path}/${encodeURIComponent(_id)}`;
/** @param {Account} account */
const nameOf = ({ name, email }) => name || email;
/** @param {Account} account */
const called = (account) => plainly(nameOf(account));

// openPeople asks for everything that the section shows. If the caller may not see it, the fault says why.
export async function openPeople() {
  forgetPeople();
  const mine = visit;
  const id = addressed().question.get('account');
  const replies = await Promise.all([askAccounts(), request('GET', '/admin/roles?limit=1000'), request('GET', '/admin/settings'), askInvitations()])
    .catch((error) => mine === visit && complain(error, byID('people-fault')));
  if (mine === visit && replies) {
    show(...replies);
    id && await openOne(id).catch((error) => complain(error, byID('people-fault')));
  }
}

/** @param {List<Account>} first @param {List<Role>} ofOrg @param {Settings} rules @param {List<Invitation>} open */
function show(first, ofOrg, rules, open) {
  roles = ofOrg.data;
  add(first);
  showAccounts();
  offerRoles(byID('people-new-roles'), ['member']);
  offerRoles(byID('invite-roles'), ['member']);
  showInvitations(open);
  showSettings(rules);
  const { question } = addressed();
  reveal(question.has('account') ? '' : question.get('view') ?? 'accounts');
}

// reveal shows one part of the section: '' is none.
/** @param {string} part */
function reveal(part) {
  document.querySelectorAll('#section-people [data-part]').forEach((one) => { one.hidden = one.dataset.part !== part; });
  for (const link of document.querySelectorAll('#section-people [data-view]')) {
    const { view = '' } = link.dataset;
    link.setAttribute('href', linkTo('people', [['view', view === 'accounts' ? '' : view]]));
    link.ariaCurrent = view === part ? 'page' : null;
  }
}

// forgetPeople removes what is shown.
export function forgetPeople() {
  visit++;
  [accounts, roles, settings, more, from] = [[], [], null, false, 0];
  reveal('');
  close();
  forms.forEach(([id]) => unblame(byID(id)));
  empty('people-fault', 'people-said', 'people-list', 'people-roles', 'people-new-roles', 'roles', 'invitations', 'invite-roles');
}

// The accounts.

/** @returns {Promise<List<Account>>} */
function askAccounts() {
  const last = accounts.at(-1)?._id;
  return request('GET', `${path}?limit=1000${last ? `&${queryOf([['where', JSON.stringify({ _id: { $gt: last } })]])}` : ''}`);
}

/** @param {List<Account>} list */
function add({ data, hasMore }) {
  more = hasMore;
  know([...accounts, ...data]);
}

// know also tells the pickers of other sections.
/** @param {Account[]} all */
function know(all) {
  accounts = all;
  offer('account', all);
  showRoles();
}

/** @param {Account} account */
const stateOf = ({ disabled }) => (disabled ? 'deactivated' : 'active');

/** @param {Account} account */
const textOf = (account) => [account.name, account.email, account._id, stateOf(account), ...account.roles].join(' ');

function found() {
  const matches = matcher(byID('people-words'));
  return accounts.filter((account) => matches(textOf(account)));
}

function showAccounts() {
  const all = found();
  const items = all.slice(from, from + rows);
  byID('people-count').textContent = [
    items.length ? `${from + 1} to ${from + items.length} of ${all.length}` : 'None',
    byID('people-words').value.trim() && ' that match',
    more && `, among the first ${accounts.length} accounts. Next looks further`,
    '.',
  ].filter(Boolean).join('');
  showTable(byID('people-list'), { caption: 'Accounts', columns: ['Name', 'E-mail', 'Roles', 'State', 'Id'], items, keyOf: ({ _id }) => _id, cells });
  byID('people-back').hidden = !from;
  byID('people-next').hidden = !more && all.length <= from + rows;
}

/** @param {Account} account */
function cells(account) {
  const open = element('a', { href: linkTo('people', [['account', account._id]]) }, named(nameOf(account)));
  return [open, named(account.email), cut(account.roles.join(', ') || 'none'), account.disabled ? pill('deactivated', true) : 'active', idOf(account)];
}

// idOf shows an id with a button that copies it.
/** @param {Account} account */
const idOf = (account) => element('span', { className: 'id' },
  ...copyable(account._id, `the id of ${called(account)}`, (text) => announce(text, byID('people-said'))));

// showNext asks the server only if no other account that it has sent matches. A page that had room stays,
// and gets more.
async function showNext() {
  const [mine, end, before] = [visit, from + rows, found().length];
  if (before <= end) {
    const list = await askAccounts();
    if (mine !== visit) {
      return;
    }
    add(list);
  }
  move(before >= end && found().length > end ? rows : 0);
}

/** @param {number} by */
function move(by) {
  from += by;
  showAccounts();
  byID('people-list-title').focus();
}

// The account that is open.

/** @param {string} id */
async function openOne(id) {
  const mine = visit;
  const whole = await request('GET', pathOf({ _id: id }));
  if (mine === visit) {
    await showOne(whole);
  }
}

/** @param {WholeAccount} account */
function showOne(account) {
  close();
  one = account;
  note('people', [['account', account._id]]);
  reveal('one');
  const { secondFactor: { active, pending, recoveryCodesLeft }, tokensFrom } = account;
  byID('people-one-title').append(element('a', { href: linkTo('people') }, 'Accounts'), ' / ', named(nameOf(account)));
  fill(byID('people-one-facts'), [
    ['E-mail', element('bdi', {}, ...visible(account.email))],
    ['Id', idOf(account)],
    ['State', stateOf(account)],
    ['Second factor', active ? `active, ${counted(recoveryCodesLeft, 'recovery code')} left` : pending ? 'begun, not confirmed' : 'not set up'],
    ['See also', element('a', { href: linkTo('tokens', [['sub', account._id]]) }, 'its tokens'), ', ', element('a', { href: linkTo('audit', [['account', account._id]]) }, 'its history')],
    tokensFrom && ['Tokens', 'refused if signed before ', when(tokensFrom)],
  ]);
  byID('people-name').value = account.name;
  offerRoles(byID('people-roles'), account.roles);
  const step = (/** @type {string} */ text, /** @type {(account: Account) => unknown} */ act, className = 'quiet danger') =>
    action(text, called(account), () => act(account), className);
  byID('people-steps').append(
    step('Send a reset link', sendReset, ''),
    menu(called(account),
      account.disabled ? step('Activate', activate, 'quiet') : step('Deactivate', deactivate),
      step('End its tokens', endTokens),
      step('End its sessions', endSessions),
      !account.disabled && account._id !== acting.account?._id && step('Act for it', actFor, 'quiet'),
      (active || pending) && step('Reset second factor', resetFactor)),
    element('div', { className: 'fault', role: 'alert' }));
  byID('people-one-title').focus();
  return showSessions();
}

// The sessions of the account that is open.

async function showSessions() {
  const shown = one;
  /** @type {List<Session>} */
  const { data } = shown ? await request('GET', `${pathOf(shown)}/sessions?limit=1000`) : { data: [] };
  shown === one && showSessionsOf(byID('people-sessions'), data, endSession);
}

/** @param {Session} session */
async function endSession(session) {
  if (one && await sure('Revoke this session? Whoever uses it has to sign in again.', 'Revoke it', element('p', {}, named(sessionName(session))))) {
    await request('DELETE', `${pathOf(one)}/sessions/${encodeURIComponent(session._id)}`).finally(showSessions);
    byID('people-sessions-title').focus();
    announce(`The session is revoked: ${sessionName(session)}.`, byID('people-one-said'));
  }
}

/** @param {Account} account */
async function endSessions(account) {
  if (await agreed(account, `End the sessions of ${called(account)}? Whoever uses them has to sign in again. Its tokens and keys stay.`, 'End its sessions')) {
    const { data } = await request('DELETE', `${pathOf(account)}/sessions`);
    await showSessions();
    announce(`${counted(data, 'session')} of ${called(account)} ended.`, byID('people-one-said'));
  }
}

/** @param {Account} account */
async function sendReset(account) {
  await request('POST', '/accounts/forgot', { email: account.email });
  announce(`A link to choose another password is mailed to ${plainly(account.email)}. It works for half an hour.`, byID('people-one-said'));
}

function close() {
  one = null;
  empty('people-one-title', 'people-one-facts', 'people-steps', 'people-sessions');
  unblame(byID('people-form'));
  delete byID('people-form').dataset.filled;
}

// offerRoles shows a box for each role. A role that somebody has, and that was deleted, can only be taken away.
/** @param {HTMLElement} place @param {string[]} has */
function offerRoles(place, has) {
  const names = roles.map(({ _id }) => _id);
  place.replaceChildren(...new Set([...names, ...has]).values().map((value) =>
    box({ name: 'role', value, checked: has.includes(value) }, element('bdi', {}, ...visible(value)), !names.includes(value) && ' (deleted)')));
}

/** @param {FormData} form */
async function save(form) {
  if (!one) {
    return;
  }
  const before = { name: one.name, roles: one.roles.toSorted() };
  const changes = differing(before, { name: form.get('name').trim(), roles: form.getAll('role').toSorted() });
  if (Object.keys(changes).length) {
    await changed(await request('PATCH', pathOf(one), changes), 'is changed');
  } else {
    announce('Nothing has changed.', byID('people-one-said'));
  }
}

// changed shows what an account has become.
/** @param {WholeAccount} account @param {string} what */
function changed(account, what) {
  const { secondFactor, ...listed } = account;
  if (account._id === acting.account?._id) {
    Object.assign(acting.account, listed);
    showCredential();
  }
  know(accounts.map((other) => (other._id === account._id ? listed : other)));
  showAccounts();
  announce(`${called(account)} ${what}.`, byID('people-one-said'));
  return showOne(account);
}

/** @param {Account} account @param {string} question @param {string} verb */
const agreed = (account, question, verb) => sure(question, verb, account._id === acting.account?._id ? 'It is your own account.' : '');

/** @param {Account} account */
async function deactivate(account) {
  if (await agreed(account, `Deactivate ${called(account)}? Its sessions and tokens end now, for good, and so do the revocable tokens that it has made for others. `
    + 'Logins, and keys that act as it, are refused until it is activated again. Other instances of the server follow within two seconds.', 'Deactivate it')) {
    await changed(await request('POST', `${pathOf(account)}/deactivate`), 'is deactivated');
  }
}

/** @param {Account} account */
async function activate(account) {
  await changed(await request('POST', `${pathOf(account)}/activate`), 'is active. Its password and its keys work again. What had ended stays ended');
}

/** @param {Account} account */
async function resetFactor(account) {
  const then = settings?.requireSecondFactor ? 'its password alone lets somebody set up another one' : 'its password alone signs in';
  if (await agreed(account, `Remove the second factor of ${called(account)}? Its sessions and its recovery codes end now. From then on, ${then}.`, 'Remove it')) {
    await changed(await request('PATCH', pathOf(account), { resetSecondFactor: true }), 'has no second factor now');
  }
}

// endTokens goes by the clock of the server, because that of a browser may be wrong. Tokens of the
// present second end, too.
/** @param {Account} account */
async function endTokens(account) {
  if (await agreed(account, `Refuse all tokens of ${called(account)} that were signed before now, and the revocable ones that it has made for others? `
    + 'They end for good, because this time only moves forward. '
    + 'Its sessions and its keys go on, and may make new tokens.', 'End its tokens')) {
    const { headers } = await reach('/healthz', { cache: 'no-store' });
    const tokensFrom = new Date(Date.parse(headers.get('Date') ?? '') + 1000).toISOString();
    await changed(await request('PATCH', pathOf(account), { tokensFrom }), 'has no valid tokens now');
  }
}

// actFor makes the session of this browser one of the account.
/** @param {Account} account */
async function actFor(account) {
  const reason = element('input', { id: 'act-reason', required: true, maxLength: 200, autocomplete: 'off' });
  if (await sure(`Act for ${called(account)}, for an hour at most? When you stop, you sign in again. Its owner sees the reason.`, 'Act for it', field('Reason', reason))) {
    await own('POST', `${pathOf(account)}/act`, { reason: reason.value });
    tellTabs();
    showAccountSection();
    await steps.start();
  }
}

/** @param {FormData} form */
async function create(form) {
  const password = form.get('password');
  const account = await request('POST', path, {
    email: form.get('email'), name: form.get('name').trim(), roles: form.getAll('role'), ...(password && { password }),
  });
  byID('people-new-form').reset();
  offerRoles(byID('people-new-roles'), ['member']);
  more || know([...accounts, account]); // otherwise Next comes to it
  await changed(account, 'is a new account');
}

// The invitations.

/** @returns {Promise<List<Invitation>>} */
const askInvitations = () => request('GET', '/admin/invitations?limit=1000');

/** @param {List<Invitation>} open */
const showInvitations = ({ data }) => keyed(byID('invitations'), data, ({ _id }) => _id, (invitation) => element('li', {},
  element('h3', {}, named(invitation.email)),
  facts(['Roles', ...visible(invitation.roles.join(', ') || 'none')], ['Expires', when(invitation.expires)]),
  element('div', { className: 'row' },
    action('Send again', invitation.email, () => resend(invitation), 'quiet'),
    action('Take back', invitation.email, () => takeBack(invitation), 'quiet danger'))));

/** @param {FormData} form */
async function invite(form) {
  const mine = visit;
  /** @type {Invitation} */
  const { email } = await request('POST', '/admin/invitations', { email: form.get('email'), roles: form.getAll('role') });
  byID('invite-form').reset();
  offerRoles(byID('invite-roles'), ['member']);
  announce(`The invitation is sent to ${plainly(email)}.`, byID('invite-said'));
  const open = await askInvitations();
  mine === visit && showInvitations(open);
}

/** @param {Invitation} invitation */
async function resend({ _id, email }) {
  await request('POST', `/admin/invitations/${encodeURIComponent(_id)}/resend`).finally(async () => showInvitations(await askInvitations()));
  byID('invite-title').focus();
  announce(`The invitation is sent to ${plainly(email)} again.`, byID('invite-said'));
}

/** @param {Invitation} invitation */
async function takeBack({ _id, email }) {
  await request('DELETE', `/admin/invitations/${encodeURIComponent(_id)}`).finally(async () => showInvitations(await askInvitations()));
  byID('invite-title').focus();
  announce(`The invitation of ${plainly(email)} is taken back.`, byID('invite-said'));
}

// The roles.

/** @param {Role} role */
const rolePath = ({ _id }) => `/admin/roles/${encodeURIComponent(_id)}`;

// holdersOf says who has a role, among how many accounts if these are not all.
/** @param {Role} role */
const holdersOf = ({ _id }) => ({ holders: accounts.filter((account) => account.roles.includes(_id)).map(nameOf), among: more ? accounts.length : 0 });

const showRoles = () => keyed(byID('roles'), roles.map((role) => ({ ...role, ...holdersOf(role) })), ({ _id }) => _id, roleCard);

/** @param {Role & ReturnType<typeof holdersOf>} role */
function roleCard(role) {
  const name = plainly(role._id);
  const scope = role.scope.map((chain) => chain || '*');
  const chains = element('textarea', { id: `role-scope-${role._id}`, rows: 3, value: scope.join('\n'), autocapitalize: 'none', spellcheck: false });
  return element('li', {},
    element('h3', {}, named(role._id)),
    facts(
      ['Chains', ...(scope.length ? scope.map((chain) => element('div', {}, tryButton(chain))) : ['none'])],
      ['Who has it', ...people(role)]),
    element('details', {}, element('summary', {}, 'Change'), field(`Chains of ${name}, one per line`, chains),
      action('Save', `chains of ${name}`, () => saveRole(role, lines(chains.value)))),
    element('div', { className: 'row' }, action('Delete', `role ${name}`, () => removeRole(role), 'quiet danger')));
}

const most = 5; // names

/** @param {ReturnType<typeof holdersOf>} holders */
function people({ holders, among }) {
  const names = holders.slice(0, most).flatMap((name) => [', ', named(name)]).slice(1);
  return [...(names.length ? names : ['nobody']), holders.length > most ? ` and ${holders.length - most} more` : '', among ? `, of the first ${among} accounts` : ''];
}

/** @param {string} chain */
const tryButton = (chain) => link(`Try ${chain}`, () => askWhy(chain), element('code', {}, ...breakable(chain)));

/** @param {Role[]} all @param {string} text */
function rolesChanged(all, text) {
  roles = all;
  showRoles();
  offerRoles(byID('people-new-roles'), new FormData(byID('people-new-form')).getAll('role'));
  offerRoles(byID('invite-roles'), new FormData(byID('invite-form')).getAll('role'));
  one && offerRoles(byID('people-roles'), one.roles);
  announce(text, byID('roles-said'));
  byID('roles-title').focus();
}

/** @param {FormData} form */
async function createRole(form) {
  const role = await request('POST', '/admin/roles', { name: form.get('name').trim(), scope: lines(form.get('scope')) });
  byID('role-form').reset();
  rolesChanged([...roles, role], `The role ${role._id} is made.`);
}

/** @param {Role} role @param {string[]} scope */
async function saveRole(role, scope) {
  const now = await request('PATCH', rolePath(role), { scope });
  rolesChanged(roles.map((other) => (other._id === role._id ? now : other)), `The role ${role._id} is changed.`);
}

/** @param {Role} role */
async function removeRole(role) {
  if (await sure(`Delete the role ${plainly(role._id)}? Whoever has it loses its chains, and tokens that add it are refused. If a role of that name is made again, `
    + 'they have that one.', 'Delete the role', element('p', {}, 'Who has it: ', ...people(holdersOf(role))))) {
    await request('DELETE', rolePath(role));
    rolesChanged(roles.filter((other) => other._id !== role._id), `The role ${role._id} is deleted.`);
  }
}

// The rules for sessions. On the wire, times are seconds.

const units = [86400, 3600, 60, 1];
const times = /** @type {const} */ (['idle', 'maxSession']);

/** @param {Settings} rules */
function showSettings(rules) {
  settings = rules;
  for (const name of times) {
    const unit = units.find((seconds) => rules[name] % seconds === 0 && rules[name] > seconds) ?? 1; // 24 hours, not "1 days"
    byID(`settings-${name}`).value = String(rules[name] / unit);
    byID(`settings-${name}-unit`).value = String(unit);
  }
  byID('settings-most').value = String(rules.sessionsPerAccount);
  byID('settings-devices').value = String(rules.rememberDevices);
  byID('settings-factor').checked = rules.requireSecondFactor;
}

/** @param {FormData} form */
async function saveSettings(form) {
  const number = (/** @type {string} */ name) => Number(form.get(name)) * Number(form.get(`${name}Unit`) ?? 1);
  const changes = differing({ ...settings }, {
    idle: number('idle'), maxSession: number('maxSession'), sessionsPerAccount: number('sessionsPerAccount'),
    rememberDevices: number('rememberDevices'),
    requireSecondFactor: byID('settings-factor').checked,
  });
  const some = Object.keys(changes).length > 0;
  if (some) {
    showSettings(await request('PATCH', '/admin/settings', changes));
  }
  announce(some ? 'The rules are changed.' : 'Nothing has changed.', byID('settings-said'));
}

/** @type {[FormID, (form: FormData) => Promise<unknown>][]} */
const forms = [['people-form', save], ['people-new-form', create], ['invite-form', invite], ['role-form', createRole], ['settings-form', saveSettings]];
for (const [id, step] of forms) {
  onSubmit(id, step);
}

onClick(byID('people-back'), () => move(-rows));
onClick(byID('people-next'), showNext);
byID('people-words').addEventListener('input', () => {
  from = 0;
  showAccounts();
});
