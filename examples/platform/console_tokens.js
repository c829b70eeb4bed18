// Tokens: minting, trying and reading them, and listing and revoking those that the server has a record of.

import { acting, queryOf, Refused, request, requestBy, site } from './console_api.js';
import { decode, rows } from './console_claims.js';
import { cursorOf } from './console_data.js';
import { unblame } from './console_fault.js';
import { listing } from './console_list.js';
import { action, announce, keep, onClick, onCopy, onSubmit, sure } from './console_page.js';
import { byHand, learn, nameOf, offeredApps, pick } from './console_pick.js';
import { byID, code, cut, dateOf, day, element, empty, lines, named, plainly, table, used, when } from './console_render.js';
import { addressed, linkTo, note } from './console_sections.js';
import { useToken } from './console_session.js';

const form = byID('mint-form');

// openTokens offers what can be picked. The first choice is the user's own account.
export async function openTokens() {
  follow();
  await learn('account', 'app');
  byID('mint-sub').value || pick(byID('mint-sub'), acting.account?._id ?? '');
  await openHeld();
}

// follow shows the fields that the chosen kind and end have, and the time of the end. What is not
// shown is not sent.
function follow() {
  const kind = new FormData(form).get('kind');
  const [uses, end, seconds] = [byID('mint-maxUses'), byID('mint-expiresIn'), byID('mint-seconds')];
  for (const option of end.options) {
    option.disabled = kind === 'ephemeral' && 'long' in option.dataset;
  }
  if (end.selectedOptions[0]?.disabled) {
    end.selectedIndex = 0;
  }
  uses.disabled = kind !== 'limited';
  /** @type {HTMLElement} */ (uses.parentElement).hidden = uses.disabled;
  seconds.hidden = seconds.disabled = end.value !== 'other';
  const over = new Date(Date.now() + 1000 * lasts(new FormData(form)));
  byID('mint-until').replaceChildren(...Number.isNaN(over.getTime()) ? [] : [`If it is minted now: ${dateOf(over.toISOString())}`]);
}

// lasts returns seconds, or NaN without an end.
const lasts = (/** @type {FormData} */ fields) => parseInt(fields.get('seconds') ?? fields.get('end'), 10);

// wish returns the body for a mint form, without what is undefined.
function wish(/** @type {FormData} */ fields) {
  const roles = fields.get('roles').split(/[\s,]+/).filter(Boolean);
  return {
    sub: fields.get('sub').trim(),
    scope: lines(fields.get('scope')),
    roles: roles.length ? roles : undefined,
    permanent: fields.get('kind') === 'permanent' || undefined,
    maxUses: fields.has('maxUses') ? Number(fields.get('maxUses')) : undefined,
    expiresIn: lasts(fields) || undefined,
  };
}

// controlOf returns the field that a fault names, if that is shown.
function controlOf(/** @type {Fault} */ { path = '' }) {
  const control = byID(`mint-${path}`);
  return control?.closest('[hidden]') ? null : control;
}

// minted is the latest token. The server shows it once.
let minted = { token: '', limited: false };

async function mint(/** @type {FormData} */ fields) {
  const [app, body] = [fields.get('app').trim(), wish(fields)];
  const { token, jti, expires } = (await request('POST', `/apps/${encodeURIComponent(app)}/tokens`, body)).data;
  minted = { token, limited: fields.get('kind') === 'limited' };
  if (jti) {
    await keep('The token, shown this once', [['Id', code(jti)], ['Ends', expires ? when(expires) : 'never, unless it is revoked'], ['Token', code(token)]], token);
  }
  if (minted.token === token) { // still the same user
    showMinted(jti);
    jti && await openHeld(app);
  }
}

/** @param {string} [jti] a token with one was shown once, and is not shown again */
function showMinted(jti) {
  byID('minted-title').textContent = jti ? `The token ${jti}` : 'The token';
  byID('minted-token').textContent = jti ? '' : minted.token;
  byID('minted-token').hidden = byID('minted-copy').hidden = Boolean(jti);
  empty('minted-tried', 'decoded');
  byID('minted').hidden = false;
  byID('minted-title').focus();
  announce('Minted.', byID('mint-said'));
}

// tryIt asks with the token, and shows what it may read. A use of a limited-use token is dear: it asks
// once.
async function tryIt() {
  const { token, limited } = minted;
  /** @type {List<Schema>} */
  const { data } = await requestBy(token, '/schemas?limit=1000');
  if (limited) {
    return byID('minted-tried').replaceChildren(`The server takes it, and has named ${data.length} kinds of objects. That was one of its uses.`);
  }
  const answers = await Promise.all(data.map(({ plural }) => requestBy(token, `/${plural}?limit=1`).then(() => 'yes', refusalOf)));
  byID('minted-tried').replaceChildren(table('What it may read', ['Objects', 'Readable'], data.map(({ plural }, i) => [plural, answers[i]])));
}

function refusalOf(/** @type {unknown} */ error) {
  if (!(error instanceof Refused)) {
    throw error;
  }
  return element('span', {}, 'no: ', code(error.detail), ` ${error.fault.reason ?? ''}`);
}

async function read() {
  const { header, claims } = decode(minted.token);
  const { claims: namespace } = await site.brand();
  byID('decoded').replaceChildren(
    table('Header', ['Name', 'Value'], Object.entries(header).map(([name, value]) => [name, String(value)])),
    table('Claims', ['Claim', 'Value', 'Meaning'], rows(claims, namespace)));
}

// forgetTokens removes the tokens from the page.
export function forgetTokens() {
  minted = { token: '', limited: false };
  unblame(form);
  empty('minted-token', 'minted-tried', 'decoded');
  byID('minted').hidden = true;
  held.forget();
  byID('held-revoke').hidden = true;
}

// The tokens on record.

/** @type {string[]} */
let left = []; // the apps whose tokens are not all loaded

const order = '{"issued":1}'; // in which the server finds a page at once
const atOnce = 50;

const held = listing('held', {
  noun: 'token',
  caption: () => (sub() ? `Tokens for ${plainly(nameOf('account', sub()))}` : 'Tokens for all accounts'),
  columns: ['Token', 'Acts as', 'Scope', 'App', 'Made by', 'Issued', 'Ends', 'Used', 'Steps'],
  cells: (/** @type {Row} */ token) => [
    element('span', {}, token.depth > 0 && element('span', { ariaHidden: 'true' }, `${'\u2003'.repeat(token.depth - 1)}└ `),
      element('a', { href: linkTo('audit', [['token', token._id]]) }, code(token._id)), token.name ? element('span', {}, ' ', named(token.name)) : null),
    named(nameOf('account', token.subject), token.subject),
    cut(token.scope ? token.scope.join(' ') || 'nothing' : 'unknown'),
    named(nameOf('app', token.app), token.app),
    element('span', {}, ...makerOf(token)),
    when(token.issued),
    token.expires ? when(token.expires) : 'never',
    element('span', {}, token.maxUses ? `${token.uses} of ${token.maxUses} times` : 'not counted', token.lastUsed ? ', ' : null, used(token)),
    action('Revoke', token._id, () => revoke(token), 'quiet danger'),
  ],
  none: 'No token to show.',
  arrange: (tokens) => treeOf(chosen(tokens)),
  ask,
  shown: (tokens) => { byID('held-revoke').hidden = !sub() || !byID('held-app').value || !tokens.length; },
});

const manages = () => !acting.bearer && acting.account?.roles.includes('administrator');
const sub = () => new FormData(byID('held-form')).get('sub').trim();

// openHeld lists what the address says, or else what was minted, or all. Whoever is no administrator lists
// their own.
async function openHeld(app = addressed().question.get('app') ?? byID('held-app').value) {
  const { question } = addressed();
  pick(byID('held-app'), app);
  pick(byID('held-sub'), question.get('sub') || (manages() || acting.bearer ? byID('held-sub').value : acting.account?._id ?? ''));
  byID('held-ends').value = question.get('ends') ?? byID('held-ends').value;
  await list();
}

function list() {
  const app = new FormData(byID('held-form')).get('app').trim();
  noted();
  left = app ? [app] : offeredApps().filter(({ kid }) => kid).map(({ _id }) => _id);
  return held.open();
}

const noted = () => note('tokens', [['app', new FormData(byID('held-form')).get('app').trim()], ['sub', sub()], ['ends', byID('held-ends').value]]);

/** @param {string} app @param {string} sub */
const pathOf = (app, sub = '') => `/apps/${encodeURIComponent(app)}${sub && `/subjects/${encodeURIComponent(sub)}`}/tokens`;

// ask returns the next tokens of the apps that are left, about 50.
/** @param {Row} [last] @returns {Promise<List<Row>>} */
async function ask(last) {
  const of = sub();
  /** @type {Row[]} */
  const data = [];
  for (let [app] = left; app && data.length < atOnce; [app] = left) {
    const before = data.at(-1) ?? last;
    const cursor = before?.app === app ? [['where', cursorOf(order, before)]] : [];
    const page = await request('GET', `${pathOf(app, of)}?${queryOf([['limit', String(atOnce)], ['sort', order], ...cursor])}`);
    data.push(...page.data.map((/** @type {Token} */ one) => ({ ...one, app, depth: 0 })));
    left = page.hasMore ? left : left.slice(1);
  }
  return { object: 'list', data, hasMore: left.length > 0 };
}

// chosen returns the loaded tokens to show: as they came, or those that end, the next first.
function chosen(/** @type {Row[]} */ tokens) {
  const ends = byID('held-ends').value;
  const until = Date.now() + Number(ends) * day * 1000;
  const fits = (/** @type {Row} */ { expires }) => !ends || (expires ? Date.parse(expires) < until : ends === 'never');
  const some = tokens.filter(fits);
  return Number(ends) ? some.sort((a, b) => (a.expires ?? '').localeCompare(b.expires ?? '')) : some;
}

// treeOf returns each token after the one that made it, if that is among them, with its depth below it.
function treeOf(/** @type {Row[]} */ tokens) {
  const ids = new Set(tokens.map(({ _id }) => _id));
  const made = Map.groupBy(tokens, ({ parent = '' }) => (ids.has(parent) ? parent : ''));
  /** @type {(parent: string, depth: number) => Row[]} */
  const below = (parent, depth) => (made.get(parent) ?? []).flatMap((token) => [{ ...token, depth }, ...below(token._id, depth + 1)]);
  return below('', 0);
}

// makerOf says who made a token. The server names others only to administrators.
/** @param {Token} token @returns {Child[]} */
const makerOf = ({ maker, makerApp, parent }) => [
  maker ? named(nameOf('account', maker), maker) : `the server${sub() && !manages() ? ', or somebody else' : ''}`,
  ...makerApp ? [' with the app ', named(nameOf('app', makerApp), makerApp)] : [],
  ...parent ? [' by the token ', code(parent)] : [],
];

async function revoke(/** @type {Row} */ token) {
  const tree = treeOf(held.all());
  const at = tree.findIndex(({ _id }) => _id === token._id);
  const end = tree.findIndex(({ depth }, i) => i > at && depth <= tree[at].depth);
  const below = tree.slice(at + 1, end < 0 ? undefined : end);
  if (!await sure(`Revoke the token ${token._id} of ${plainly(nameOf('account', token.subject))}?`, 'Revoke it',
    below.length ? 'These were made with it, and end too:' : 'No loaded token was made with it.',
    element('ul', {}, ...below.map(({ _id, subject }) => element('li', {}, code(_id), ' of ', named(nameOf('account', subject), subject)))),
    'What was made with it and is not loaded ends, too.')) {
    return;
  }
  await request('DELETE', `${pathOf(token.app)}/${encodeURIComponent(token._id)}`);
  const ended = new Set([token, ...below].map(({ _id }) => _id));
  held.set(held.all().filter(({ _id }) => !ended.has(_id)));
  held.say(below.length ? `The token is revoked, and ${below.length} made with it have ended.` : 'The token is revoked.');
}

async function revokeAll() {
  if (await sure(`Revoke all tokens of this app for ${plainly(nameOf('account', sub()))}?`, 'Revoke them', 'What was made with them ends, too, whoever it is for.')) {
    const { data } = await request('DELETE', pathOf(byID('held-app').value, sub()));
    held.set([], false);
    held.say(`${data} revoked.`);
  }
}

onSubmit('mint-form', mint, controlOf);
form.addEventListener('input', ({ target }) => {
  if (target instanceof HTMLInputElement && target.name === 'kind') { // a permanent token does not end in 15 minutes
    byID('mint-expiresIn').value = target.value === 'permanent' ? '' : '900';
  }
  follow();
});
onClick(byID('minted-try'), tryIt);
onClick(byID('minted-read'), read);
onCopy('minted-copy', 'minted-token');
onClick(byID('minted-use'), () => useToken(minted.token));
onSubmit('held-form', list);
onClick(byID('held-revoke'), revokeAll);
for (const id of /** @type {const} */ (['held-app', 'held-sub'])) {
  byID(id).addEventListener('change', () => byID(id).value !== byHand && byID('held-form').requestSubmit());
}
byID('held-ends').addEventListener('change', () => {
  noted();
  held.show();
});
