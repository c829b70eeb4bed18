// The tokens that the server has a record of: listing and revoking them.

import { acting, queryOf, request } from './console_api.js';
import { cursorOf } from './console_data.js';
import { complain } from './console_fault.js';
import { action, announce, onClick, onSubmit, sure } from './console_page.js';
import { byHand, nameOf, offeredApps, pick } from './console_pick.js';
import { byID, code, counted, element, named, plainly, showTable, when } from './console_render.js';
import { addressed, linkTo, note } from './console_sections.js';

/** @type {Held} */
const nothing = { sub: '', apps: [], items: [] };

// held is what is listed: the loaded tokens of some apps, for one account or for all.
let held = nothing;

const manages = () => !acting.bearer && acting.account?.roles.includes('administrator');

// openHeld lists what the address says, or else what was minted, or all. Whoever is no administrator lists
// their own.
/** @param {string} [app] */
export async function openHeld(app = addressed().question.get('app') ?? byID('held-app').value) {
  pick(byID('held-app'), app);
  pick(byID('held-sub'), addressed().question.get('sub') || (manages() || acting.bearer ? byID('held-sub').value : acting.account?._id ?? ''));
  await list().catch((error) => complain(error, byID('held-form').querySelector('.fault') ?? undefined));
}

async function list() {
  forgetHeld();
  const form = new FormData(byID('held-form'));
  const [app, sub] = [form.get('app').trim(), form.get('sub').trim()];
  note('tokens', [['app', app], ['sub', sub]]);
  held = { sub, apps: app ? [app] : offeredApps().filter(({ kid }) => kid).map(({ _id }) => _id), items: [] };
  await load();
}

/** @param {string} app @param {string} sub */
const pathOf = (app, sub = '') => `/apps/${encodeURIComponent(app)}${sub && `/subjects/${encodeURIComponent(sub)}`}/tokens`;

const atOnce = 50;

// loadMore asks for the next items of the apps that are left, until there are 50 more.
/**
 * @template {{app: string}} T
 * @param {{apps: string[], items: T[]}} list
 * @param {(app: string, last?: T) => Promise<List<Omit<T, 'app'>>>} ask
 */
export async function loadMore(list, ask) {
  for (const most = list.items.length + atOnce; list.apps.length && list.items.length < most;) {
    const [app] = list.apps;
    const { data, hasMore } = await ask(app, list.items.findLast((one) => one.app === app));
    list.items.push(...data.map((one) => /** @type {T} */ ({ ...one, app })));
    hasMore || list.apps.shift();
  }
}

const order = '{"issued":1}'; // in which the server finds a page at once

async function load() {
  const mine = held;
  await loadMore(mine, (app, last) =>
    request('GET', `${pathOf(app, mine.sub)}?${queryOf([['limit', String(atOnce)], ['sort', order], ...(last ? [['where', cursorOf(order, last)]] : [])])}`));
  mine === held && show();
}

// far is after every date.
const far = '~';

/** @type {Record<string, (tokens: HeldToken[]) => HeldToken[]>} */
const orders = {
  issued: (tokens) => tokens, // as they came
  latest: (tokens) => tokens.toReversed(),
  ends: (tokens) => tokens.toSorted((a, b) => (a.expires ?? far).localeCompare(b.expires ?? far)),
};

// chosen returns the loaded tokens to show, in the chosen order.
function chosen() {
  const ends = byID('held-ends').value;
  const until = Date.now() + Number(ends) * 86_400_000;
  const fits = (/** @type {HeldToken} */ { expires }) => !ends || (expires ? Date.parse(expires) < until : ends === 'never');
  return orders[byID('held-order').value](held.items.filter(fits));
}

// treeOf returns each token after the one that made it, if that is among them, with its depth below it.
/** @param {HeldToken[]} tokens */
function treeOf(tokens) {
  const ids = new Set(tokens.map(({ _id }) => _id));
  const made = Map.groupBy(tokens, ({ parent = '' }) => (ids.has(parent) ? parent : ''));
  /** @type {(parent: string, depth: number) => Row[]} */
  const below = (parent, depth) => (made.get(parent) ?? []).flatMap((token) => [{ ...token, depth }, ...below(token._id, depth + 1)]);
  return below('', 0);
}

function show() {
  const items = treeOf(chosen());
  showTable(byID('held'), {
    caption: held.sub ? `Tokens for ${plainly(nameOf('account', held.sub))}` : 'Tokens for all accounts',
    columns: ['Token', 'Acts as', 'App', 'Made by', 'Issued', 'Ends', 'Used', 'Steps'],
    items,
    keyOf: ({ _id }) => _id,
    cells,
    none: 'No token to show.',
  });
  byID('held-more').hidden = !held.apps.length;
  byID('held-revoke').hidden = !held.sub || !byID('held-app').value || !held.items.length;
  announce(`${items.length} of ${counted(held.items.length, 'loaded token')}${held.apps.length ? ', and there are more' : ''}.`, byID('held-said'));
}

/** @param {Row} token */
const cells = (token) => [
  element('span', {}, token.depth > 0 && element('span', { ariaHidden: 'true' }, `${'\u2003'.repeat(token.depth - 1)}└ `), element('a', { href: linkTo('audit', [['token', token._id]]) }, code(token._id)), token.name ? element('span', {}, ' ', named(token.name)) : null),
  named(nameOf('account', token.subject), token.subject),
  named(nameOf('app', token.app), token.app),
  element('span', {}, ...makerOf(token)),
  when(token.issued),
  token.expires ? when(token.expires) : 'never',
  element('span', {}, token.maxUses ? `${token.uses} of ${token.maxUses} times` : 'not counted',
    token.lastUsed ? element('span', { title: `from ${token.lastAddress ?? 'an unknown address'}` }, ', ', when(token.lastUsed)) : null),
  action('Revoke', token._id, () => revoke(token), 'quiet danger'),
];

// makerOf says who made a token. The server names others only to administrators.
/** @param {Token} token @returns {Child[]} */
const makerOf = ({ maker, makerApp, parent }) => [
  maker ? named(nameOf('account', maker), maker) : `the server${held.sub && !manages() ? ', or somebody else' : ''}`,
  ...makerApp ? [' with the app ', named(nameOf('app', makerApp), makerApp)] : [],
  ...parent ? [' by the token ', code(parent)] : [],
];

/** @param {HeldToken} token */
async function revoke(token) {
  const mine = held;
  const tree = treeOf(mine.items);
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
  mine.items = mine.items.filter(({ _id }) => !ended.has(_id));
  afterwards(mine, below.length ? `The token is revoked, and ${below.length} made with it have ended.` : 'The token is revoked.');
}

async function revokeAll() {
  const mine = held;
  if (!await sure(`Revoke all tokens of this app for ${plainly(nameOf('account', mine.sub))}?`, 'Revoke them',
    'What was made with them ends, too, whoever it is for.')) {
    return;
  }
  const { data } = await request('DELETE', pathOf(byID('held-app').value, mine.sub));
  Object.assign(mine, { apps: [], items: [] });
  afterwards(mine, `${data} revoked.`);
}

/** @param {Held} mine @param {string} text */
function afterwards(mine, text) {
  if (mine === held) {
    show();
    announce(text, byID('held-said'));
    byID('held-title').focus();
  }
}

// forgetHeld removes the list from the page.
export function forgetHeld() {
  held = nothing;
  byID('held').replaceChildren();
  byID('held-more').hidden = byID('held-revoke').hidden = true;
}

onSubmit('held-form', list);
onClick(byID('held-more'), load);
onClick(byID('held-revoke'), revokeAll);
for (const id of /** @type {const} */ (['held-app', 'held-sub'])) {
  byID(id).addEventListener('change', () => byID(id).value !== byHand && byID('held-form').requestSubmit());
}
for (const id of ['held-ends', 'held-order']) {
  byID(id).addEventListener('change', show);
}
