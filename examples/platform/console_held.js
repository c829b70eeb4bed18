// The tokens that the server has a record of: listing and revoking them.

import { acting, queryOf, request } from './console_api.js';
import { cursorOf } from './console_data.js';
import { action, announce, onClick, onSubmit, sure } from './console_page.js';
import { nameOf, pick } from './console_pick.js';
import { byID, code, counted, element, named, plainly, showTable, when } from './console_render.js';

/** @type {Held} */
const nothing = { app: '', sub: '', tokens: [], more: false };

// held is what is listed: the loaded tokens of an app, for one account or for all.
let held = nothing;

const manages = () => !acting.bearer && acting.account?.roles.includes('administrator');

// openHeld chooses what to list: what was minted, or else one's own. Administrators list all accounts,
// unless they choose one.
/** @param {string} sub @param {string} [app] */
export function openHeld(sub, app) {
  app && pick(byID('held-app'), app);
  if (!manages() && (app || !byID('held-sub').value)) {
    pick(byID('held-sub'), sub);
  }
}

/** @param {FormData} form */
async function list(form) {
  forgetHeld();
  held = { app: form.get('app').trim(), sub: form.get('sub').trim(), tokens: [], more: false };
  await load();
  byID('held-found').hidden = false;
}

const ofApp = () => `/apps/${encodeURIComponent(held.app)}`;
const ofHolder = () => `${ofApp()}${held.sub && `/subjects/${encodeURIComponent(held.sub)}`}/tokens`;

const order = '{"issued":1}'; // in which the server finds a page at once

async function load() {
  const mine = held;
  const last = mine.tokens.at(-1);
  const query = queryOf([['limit', '50'], ['sort', order], ...(last ? [['where', cursorOf(order, last)]] : [])]);
  const { data, hasMore } = await request('GET', `${ofHolder()}?${query}`);
  mine.tokens.push(...data);
  mine.more = hasMore;
  mine === held && show();
}

// far is after every date.
const far = '~';

/** @type {Record<string, (tokens: Token[]) => Token[]>} */
const orders = {
  issued: (tokens) => tokens, // as they came
  latest: (tokens) => tokens.toReversed(),
  ends: (tokens) => tokens.toSorted((a, b) => (a.expires ?? far).localeCompare(b.expires ?? far)),
};

// chosen returns the loaded tokens to show, in the chosen order.
function chosen() {
  const ends = byID('held-ends').value;
  const until = Date.now() + Number(ends) * 86_400_000;
  const fits = (/** @type {Token} */ { expires }) => !ends || (expires ? Date.parse(expires) < until : ends === 'never');
  return orders[byID('held-order').value](held.tokens.filter(fits));
}

// treeOf returns each token after the one that made it, if that is among them, with its depth below it.
/** @param {Token[]} tokens */
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
    columns: ['Token', 'Revoke', 'Acts as', 'Made by', 'Issued', 'Ends', 'Used'], // the button is seen on narrow pages, too
    items,
    keyOf: ({ _id }) => _id,
    cells,
    none: 'No token to show.',
  });
  byID('held-more').hidden = !held.more;
  byID('held-revoke').hidden = !held.sub || !held.tokens.length;
  announce(`${items.length} of ${counted(held.tokens.length, 'loaded token')}${held.more ? ', and there are more' : ''}.`, byID('held-said'));
}

/** @param {Row} token */
const cells = (token) => [
  element('span', {}, token.depth > 0 && element('span', { ariaHidden: 'true' }, `${'\u2003'.repeat(token.depth - 1)}└ `), code(token._id)),
  action('Revoke', token._id, () => revoke(token), 'quiet danger'),
  named(nameOf('account', token.subject), token.subject),
  element('span', {}, ...makerOf(token)),
  when(token.issued),
  token.expires ? when(token.expires) : 'never',
  token.maxUses ? `${token.uses} of ${token.maxUses} times` : `${token.uses} times, permanent`,
];

// makerOf says who made a token. The server names others only to administrators.
/** @param {Token} token @returns {Child[]} */
const makerOf = ({ maker, makerApp, parent }) => [
  maker ? named(nameOf('account', maker), maker) : `the server${held.sub && !manages() ? ', or somebody else' : ''}`,
  ...makerApp ? [' with the app ', named(nameOf('app', makerApp), makerApp)] : [],
  ...parent ? [' by the token ', code(parent)] : [],
];

/** @param {Token} token */
async function revoke(token) {
  const mine = held;
  const tree = treeOf(mine.tokens);
  const at = tree.findIndex(({ _id }) => _id === token._id);
  const end = tree.findIndex(({ depth }, i) => i > at && depth <= tree[at].depth);
  const below = tree.slice(at + 1, end < 0 ? undefined : end);
  if (!await sure(`Revoke the token ${token._id} of ${plainly(nameOf('account', token.subject))}?`, 'Revoke it',
    below.length ? 'These were made with it, and end too:' : 'No loaded token was made with it.',
    element('ul', {}, ...below.map(({ _id, subject }) => element('li', {}, code(_id), ' of ', named(nameOf('account', subject), subject)))),
    'What was made with it and is not loaded ends, too.')) {
    return;
  }
  await request('DELETE', `${ofApp()}/tokens/${encodeURIComponent(token._id)}`);
  const ended = new Set([token, ...below].map(({ _id }) => _id));
  mine.tokens = mine.tokens.filter(({ _id }) => !ended.has(_id));
  afterwards(mine, below.length ? `The token is revoked, and ${below.length} made with it have ended.` : 'The token is revoked.');
}

async function revokeAll() {
  const mine = held;
  if (!await sure(`Revoke all tokens of this app for ${plainly(nameOf('account', mine.sub))}?`, 'Revoke them',
    'What was made with them ends, too, whoever it is for.')) {
    return;
  }
  const { data } = await request('DELETE', ofHolder());
  Object.assign(mine, { tokens: [], more: false });
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
  byID('held-found').hidden = true;
}

onSubmit('held-form', list);
onClick(byID('held-more'), load);
onClick(byID('held-revoke'), revokeAll);
for (const id of ['held-ends', 'held-order']) {
  byID(id).addEventListener('change', show);
}
