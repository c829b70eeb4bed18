// People, for administrators: the accounts of the org, its roles, and its rules for sessions.

import { sessionList } from './console_account.js';
import { acting, differing, own, queryOf, reach, request } from './console_api.js';
import { complain, unblame } from './console_fault.js';
import { listing } from './console_list.js';
import { action, announce, copyable, finish, link, menu, onSubmit, sure } from './console_page.js';
import { offer } from './console_pick.js';
import { box, breakable, byID, code, counted, cut, element, empty, field, fill, lines, named, pill, plainly, visible, when } from './console_render.js';
import { askWhy } from './console_scope.js';
import { addressed, linkTo, note, seeAlso, showAccountSection } from './console_sections.js';
import { showCredential, steps, tellTabs } from './console_session.js';

/** @type {WholeAccount | null} */
let one = null; // the account that is open
/** @type {Role | null} */
let role = null; // the role that is open
/** @type {Settings | null} */
let settings = null;
let visit = 0; // a reply to an earlier visit comes too late

const path = '/admin/accounts';

const pathOf = (/** @type {{_id: string}} */ { _id }) => `${path}/${encodeURIComponent(_id)}`;
const nameOf = (/** @type {Account} */ { name, email }) => name || email;
const called = (/** @type {Account} */ account) => plainly(nameOf(account));
const stateOf = (/** @type {Account} */ { disabled }) => (disabled ? 'deactivated' : 'active');

const accounts = listing('accounts', {
  noun: 'account',
  caption: 'Accounts',
  columns: ['Name', 'E-mail', 'Roles', 'State', 'Id'],
  cells: (/** @type {Account} */ account) => [
    element('a', { href: linkTo('people', [['account', account._id]]) }, named(nameOf(account))),
    named(account.email),
    cut(account.roles.join(', ') || 'none'),
    account.disabled ? pill('deactivated', true) : 'active',
    code(account._id),
  ],
  textOf: (account) => [account.name, account.email, account._id, stateOf(account), ...account.roles].join(' '),
  ask: (last) => request('GET', `${path}?limit=1000${last ? `&${queryOf([['where', JSON.stringify({ _id: { $gt: last._id } })]])}` : ''}`),
  shown: (all) => { // the pickers of other sections, and who has a role
    offer('account', all);
    roles.show();
  },
});

const invitations = listing('invitations', {
  noun: 'open invitation',
  caption: 'Invitations',
  columns: ['E-mail', 'Roles', 'Invited by', 'Expires', 'Steps'],
  cells: (/** @type {Invitation} */ invitation) => [
    named(invitation.email), cut(invitation.roles.join(', ') || 'none'), named(nameBy(invitation.maker), invitation.maker), when(invitation.expires),
    element('span', { className: 'row' },
      action('Send again', invitation.email, () => resend(invitation)),
      action('Take back', invitation.email, () => takeBack(invitation), 'quiet danger')),
  ],
  ask: () => request('GET', '/admin/invitations?limit=1000'),
});

const roles = listing('roles', {
  noun: 'role',
  caption: 'Roles',
  columns: ['Name', 'Chains', 'Who has it'],
  cells: (/** @type {Role} */ of) => [
    element('a', { href: linkTo('people', [['view', 'roles'], ['role', of._id]]) }, named(of._id)),
    cut(of.scope.map((chain) => chain || '*').join(' ') || 'none'),
    element('span', {}, ...holdersOf(of)),
  ],
  arrange: (all) => all.map((of) => ({ ...of, holders: accounts.all().filter(({ roles: has }) => has.includes(of._id)).length })), // a row that differs is drawn again
  ask: () => request('GET', '/admin/roles?limit=1000'),
});

// openPeople asks for everything that the section shows. If the caller may not see it, the fault says why.
export async function openPeople() {
  forgetPeople();
  const mine = visit;
  try {
    const [rules] = await Promise.all([request('GET', '/admin/settings'), accounts.load(), roles.load(), invitations.load()]);
    if (mine === visit) {
      showSettings(rules);
      offerNew(['member'], ['member']);
      await showPart();
    }
  } catch (error) {
    mine === visit && complain(error, byID('people-fault'));
  }
}

// showPart shows the part of the section that the address names.
async function showPart() {
  const { question } = addressed();
  const [id, name] = [question.get('account'), question.get('role')];
  const named = roles.all().find(({ _id }) => _id === name);
  reveal(named ? 'role' : question.get('view') ?? 'accounts');
  named && showRole(named);
  if (id) {
    const mine = visit;
    const whole = await request('GET', pathOf({ _id: id }));
    mine === visit && await showOne(whole);
  }
}

// reveal shows one part of the section: '' is none.
function reveal(/** @type {string} */ part) {
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
  [settings, role] = [null, null];
  reveal('');
  close();
  [accounts, invitations, roles].forEach(({ forget }) => forget());
  forms.forEach(([id]) => unblame(byID(id)));
  empty('people-fault', 'people-roles', 'people-new-roles', 'invite-roles', 'role-one-title', 'role-one-facts', 'role-steps');
}

const nameBy = (/** @type {string} */ id) => accounts.all().filter(({ _id }) => _id === id).map(nameOf)[0] ?? id;

// The account that is open.

const say = (/** @type {string} */ text) => announce(text, byID('people-one-said'));

function showOne(/** @type {WholeAccount} */ account) {
  close();
  one = account;
  note('people', [['account', account._id]]);
  reveal('account');
  const { secondFactor: { active, pending, recoveryCodesLeft }, tokensFrom } = account;
  byID('people-one-title').append(element('a', { href: linkTo('people') }, 'Accounts'), ' / ', named(nameOf(account)));
  fill(byID('people-one-facts'), [
    ['E-mail', element('bdi', {}, ...visible(account.email))],
    ['Id', ...copyable(account._id, `the id of ${called(account)}`, say)],
    ['State', stateOf(account)],
    ['Second factor', active ? `active, ${counted(recoveryCodesLeft, 'recovery code')} left` : pending ? 'begun, not confirmed' : 'not set up'],
    ['See also', ...seeAlso('sub', account._id, { tokens: 'its tokens' }), ', ', ...seeAlso('account', account._id, { audit: 'its history' })],
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
  return sessions.open();
}

// The sessions of the account that is open.

const sessions = sessionList('people-sessions', request, () => `${pathOf(/** @type {Account} */ (one))}/sessions`);

async function endSessions(/** @type {Account} */ account) {
  if (await agreed(account, `End the sessions of ${called(account)}?`, 'End its sessions', 'Whoever uses them has to sign in again. Its tokens and keys stay.')) {
    const { data } = await request('DELETE', `${pathOf(account)}/sessions`);
    await sessions.open();
    say(`${counted(data, 'session')} of ${called(account)} ended.`);
  }
}

async function sendReset(/** @type {Account} */ account) {
  await request('POST', '/accounts/forgot', { email: account.email });
  say(`A link to choose another password is mailed to ${plainly(account.email)}. It works for half an hour.`);
}

function close() {
  one = null;
  empty('people-one-title', 'people-one-facts', 'people-steps');
  sessions.forget();
  unblame(byID('people-form'));
  delete byID('people-form').dataset.filled;
}

// offerRoles shows a box for each role. A role that somebody has, and that was deleted, can only be taken away.
/** @param {HTMLElement} place @param {string[]} has */
function offerRoles(place, has) {
  const names = roles.all().map(({ _id }) => _id);
  place.replaceChildren(...new Set([...names, ...has]).values().map((value) =>
    box({ name: 'role', value, defaultChecked: has.includes(value) }, element('bdi', {}, ...visible(value)), !names.includes(value) && ' (deleted)')));
}

// offerNew shows the boxes of a new account and a new invitation.
/** @param {string[]} account @param {string[]} invitation */
function offerNew(account, invitation) {
  offerRoles(byID('people-new-roles'), account);
  offerRoles(byID('invite-roles'), invitation);
}

async function save(/** @type {FormData} */ form) {
  if (!one) {
    return;
  }
  const before = { name: one.name, roles: one.roles.toSorted() };
  const changes = differing(before, { name: form.get('name').trim(), roles: form.getAll('role').toSorted() });
  await (Object.keys(changes).length ? changed(await request('PATCH', pathOf(one), changes), 'is changed') : say('Nothing has changed.'));
}

// changed shows what an account has become.
/** @param {WholeAccount} account @param {string} what */
function changed(account, what) {
  const { secondFactor, ...listed } = account;
  if (account._id === acting.account?._id) {
    Object.assign(acting.account, listed);
    showCredential();
  }
  const others = accounts.all().filter(({ _id }) => _id !== account._id);
  accounts.set([...others, listed].sort((a, b) => (a._id < b._id ? -1 : 1)));
  say(`${called(account)} ${what}.`);
  return showOne(account);
}

/** @param {Account} account @param {string} question @param {string} verb @param {...(Node | string)} then */
const agreed = (account, question, verb, ...then) => sure(question, verb, account._id === acting.account?._id ? 'It is your own account.' : '', ...then);

const deactivate = async (/** @type {Account} */ account) => await agreed(account, `Deactivate ${called(account)}?`, 'Deactivate it',
  'Its sessions and tokens end now, for good, and so do the revocable tokens that it has made for others. Logins, and keys that act as it, are '
  + 'refused until it is activated again. Other instances of the server follow within two seconds.')
  && changed(await request('POST', `${pathOf(account)}/deactivate`), 'is deactivated');

const activate = async (/** @type {Account} */ account) =>
  changed(await request('POST', `${pathOf(account)}/activate`), 'is active. Its password and its keys work again. What had ended stays ended');

const resetFactor = async (/** @type {Account} */ account) => await agreed(account, `Remove the second factor of ${called(account)}?`, 'Remove it',
  `Its sessions and its recovery codes end now. From then on, its password alone ${settings?.requireSecondFactor ? 'lets somebody set up another one' : 'signs in'}.`)
  && changed(await request('PATCH', pathOf(account), { resetSecondFactor: true }), 'has no second factor now');

// endTokens goes by the clock of the server, because that of a browser may be wrong. Tokens of the
// present second end, too, and those that were made with a former time in the future.
async function endTokens(/** @type {Account} */ account) {
  if (await agreed(account, `Refuse all tokens of ${called(account)} that were signed before now?`, 'End its tokens',
    'So are the revocable ones that it has made for others. They end for good, because this time only moves forward. '
    + 'Its sessions and its keys go on, and may make new tokens.')) {
    const { headers } = await reach('/healthz', { cache: 'no-store' });
    const { tokensFrom: former } = await request('GET', pathOf(account));
    const last = Math.max(Date.parse(headers.get('Date') ?? ''), Date.parse(former ?? '') || 0);
    const tokensFrom = new Date(last + 1000).toISOString();
    await changed(await request('PATCH', pathOf(account), { tokensFrom }), 'has no valid tokens now');
  }
}

// actFor makes the session of this browser one of the account.
async function actFor(/** @type {Account} */ account) {
  const reason = element('input', { id: 'act-reason', required: true, maxLength: 200, autocomplete: 'off' });
  if (await sure(`Act for ${called(account)}?`, 'Act for it', 'For an hour at most. When you stop, you sign in again. Its owner sees the reason.', field('Reason', reason))) {
    await own('POST', `${pathOf(account)}/act`, { reason: reason.value });
    tellTabs();
    showAccountSection();
    await steps.start();
  }
}

async function create(/** @type {FormData} */ form) {
  const password = form.get('password');
  const account = await request('POST', path, {
    email: form.get('email'), name: form.get('name').trim(), roles: form.getAll('role'), ...(password && { password }),
  });
  finish(byID('people-new-form')); // which also gives the boxes back what they were
  await changed(account, 'is a new account');
}

// The invitations.

async function invite(/** @type {FormData} */ form) {
  /** @type {Invitation} */
  const { email } = await request('POST', '/admin/invitations', { email: form.get('email'), roles: form.getAll('role') });
  finish(byID('invite-form'));
  await invitations.open();
  invitations.say(`The invitation is sent to ${plainly(email)}.`);
}

async function resend(/** @type {Invitation} */ { _id, email }) {
  await request('POST', `/admin/invitations/${encodeURIComponent(_id)}/resend`).finally(invitations.open);
  invitations.say(`The invitation is sent to ${plainly(email)} again.`);
}

async function takeBack(/** @type {Invitation} */ { _id, email }) {
  if (await sure(`Take back the invitation of ${plainly(email)}?`, 'Take it back', 'The mailed link works no longer.')) {
    await request('DELETE', `/admin/invitations/${encodeURIComponent(_id)}`).finally(invitations.open);
    invitations.say(`The invitation of ${plainly(email)} is taken back.`);
  }
}

// The roles.

const rolePath = (/** @type {Role} */ { _id }) => `/admin/roles/${encodeURIComponent(_id)}`;

const most = 5; // names

// holdersOf names who has a role, among how many accounts if these are not all.
/** @param {Role} of @returns {Child[]} */
function holdersOf({ _id }) {
  const holders = accounts.all().filter((account) => account.roles.includes(_id));
  const names = holders.slice(0, most).flatMap((holder) => [', ', named(nameOf(holder))]).slice(1);
  return [...(names.length ? names : ['nobody']), holders.length > most && ` and ${holders.length - most} more`,
    accounts.hasMore() && `, of the first ${accounts.all().length} accounts`];
}

const tryButton = (/** @type {string} */ chain) => link(`Try ${chain}`, () => askWhy(chain), element('code', {}, ...breakable(chain)));

function showRole(/** @type {Role} */ of) {
  role = of;
  const scope = of.scope.map((chain) => chain || '*');
  byID('role-one-title').replaceChildren(element('a', { href: linkTo('people', [['view', 'roles']]) }, 'Roles'), ' / ', named(of._id));
  fill(byID('role-one-facts'), [
    ['Chains', ...(scope.length ? scope.map((chain) => element('div', {}, tryButton(chain))) : ['none'])],
    ['Who has it', ...holdersOf(of)],
  ]);
  byID('role-one-scope').value = scope.join('\n');
  byID('role-steps').replaceChildren(menu(of._id, action('Delete', `role ${plainly(of._id)}`, () => removeRole(of), 'quiet danger')));
  byID('role-one-title').focus();
}

function rolesChanged(/** @type {Role[]} */ all) {
  roles.set(all);
  const [account, invitation] = [byID('people-new-form'), byID('invite-form')].map((form) => new FormData(form).getAll('role'));
  offerNew(account, invitation);
}

async function createRole(/** @type {FormData} */ form) {
  const made = await request('POST', '/admin/roles', { name: form.get('name').trim(), scope: lines(form.get('scope')) });
  finish(byID('role-form'));
  rolesChanged([...roles.all(), made]);
  roles.say(`The role ${made._id} is made.`);
}

async function saveRole(/** @type {FormData} */ form) {
  if (role) {
    /** @type {Role} */
    const now = await request('PATCH', rolePath(role), { scope: lines(form.get('scope')) });
    rolesChanged(roles.all().map((other) => (other._id === now._id ? now : other)));
    showRole(now);
    announce(`The role ${now._id} is changed.`, byID('role-one-said'));
  }
}

async function removeRole(/** @type {Role} */ of) {
  if (await sure(`Delete the role ${plainly(of._id)}?`, 'Delete the role', 'Whoever has it loses its chains, and tokens that add it are refused. If a role of that '
    + 'name is made again, they have that one.', element('p', {}, 'Who has it: ', ...holdersOf(of)))) {
    await request('DELETE', rolePath(of));
    rolesChanged(roles.all().filter((other) => other._id !== of._id));
    note('people', [['view', 'roles']]);
    reveal('roles');
    roles.say(`The role ${of._id} is deleted.`);
  }
}

// The rules for sessions. On the wire, times are seconds.

/** @type {[string, number][]} */
const units = [['days', 86400], ['hours', 3600], ['minutes', 60], ['seconds', 1]];
const times = /** @type {const} */ (['idle', 'maxSession']);

function showSettings(/** @type {Settings} */ rules) {
  settings = rules;
  for (const name of times) {
    const [, unit] = units.find(([, seconds]) => rules[name] % seconds === 0 && rules[name] > seconds) ?? ['', 1]; // 24 hours, not "1 days"
    const select = byID(`settings-${name}-unit`);
    select.replaceChildren(...units.map(([text, seconds]) => element('option', { value: String(seconds) }, text)));
    byID(`settings-${name}`).value = String(rules[name] / unit);
    select.value = String(unit);
  }
  byID('settings-most').value = String(rules.sessionsPerAccount);
  byID('settings-devices').value = String(rules.rememberDevices);
  byID('settings-factor').checked = rules.requireSecondFactor;
}

async function saveSettings(/** @type {FormData} */ form) {
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
const forms = [['people-form', save], ['people-new-form', create], ['invite-form', invite], ['role-form', createRole], ['role-one-form', saveRole],
  ['settings-form', saveSettings]];
for (const [id, step] of forms) {
  onSubmit(id, step);
}
