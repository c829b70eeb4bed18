// API keys of apps, for administrators: making, listing, replacing and revoking them.

import { queryOf, request } from './console_api.js';
import { action, announce, keep, onClick, onSubmit, sure } from './console_page.js';
import { learn, nameOf, pick } from './console_pick.js';
import { byID, code, counted, element, field, lines, named, plainly, showTable, when } from './console_render.js';

/** @type {ListedKeys} */
const nothing = { app: '', within: '', keys: [], more: false };

// listed are the loaded keys of an app.
let listed = nothing;

// openKeys offers what can be picked.
export const openKeys = () => learn('account', 'app');

/** @param {string} app */
const pathOf = (app) => `/apps/${encodeURIComponent(app)}/keys`;

/** @param {FormData} form */
async function create(form) {
  const [app, networks] = [form.get('app').trim(), lines(form.get('networks'))];
  /** @type {APIKey} */
  const made = await request('POST', pathOf(app), {
    name: form.get('name'),
    account: form.get('account').trim(),
    scope: lines(form.get('scope')),
    networks: networks.length ? networks : undefined,
    expires: endIn(form.get('end')) ?? undefined,
  });
  byID('keys-form').reset();
  await showOnce(made);
  pick(byID('keys-app'), app);
  pick(byID('keys-of'), app);
  await open(app, '');
}

// showOnce shows a key that the server does not show again.
/** @param {APIKey} made */
const showOnce = ({ _id, name, expires, key = '' }) => keep('The key, shown this once', [
  ['Id', code(_id)], ['Name', named(name)], ['Expires', expires ? when(expires) : 'never, unless it is revoked'], ['Key', code(key)],
], key);

/** @param {FormData} form */
const list = (form) => open(form.get('app').trim(), form.get('within'));

/** @param {string} app @param {string} within days, or '' */
async function open(app, within) {
  forgetKeys();
  listed = { app, within, keys: [], more: false };
  await load();
  byID('keys-found').hidden = false;
}

async function load() {
  const mine = listed;
  const last = mine.keys.at(-1);
  const until = new Date(Date.now() + Number(mine.within) * 86_400_000).toISOString();
  const where = JSON.stringify({ ...last && { _id: { $gt: last._id } }, ...mine.within && { expires: { $lt: until } } });
  const query = queryOf([['limit', '50'], ...where === '{}' ? [] : [['where', where]]]);
  const { data, hasMore } = await request('GET', `${pathOf(mine.app)}?${query}`);
  mine.keys.push(...data);
  mine.more = hasMore;
  mine === listed && show();
}

function show() {
  showTable(byID('keys'), {
    caption: `API keys of ${plainly(nameOf('app', listed.app))}`,
    columns: ['Key', 'Steps', 'Acts as', 'Scope', 'Expires', 'Last used', 'Made by'],
    items: listed.keys,
    keyOf: ({ _id }) => _id,
    cells,
    none: 'No key to show.',
  });
  byID('keys-more').hidden = !listed.more;
  announce(`${counted(listed.keys.length, 'loaded key')}${listed.more ? ', and there are more' : ''}.`, byID('keys-said'));
}

/** @param {APIKey} key @returns {(Node | string)[]} */
const cells = (key) => [
  element('span', {}, named(key.name), ' ', code(key._id)),
  element('span', { className: 'row' },
    !key.successor && !key.maxUses && action('Replace', key._id, () => replace(key)),
    action('Revoke', key._id, () => revoke(key), 'quiet danger')),
  named(nameOf('account', key.account), key.account),
  element('span', {}, ...key.scope.length ? key.scope.flatMap((chain) => [code(chain || '*'), ' ']) : ['nothing'],
    key.networks && ` from ${key.networks.join(', ')}`),
  element('span', {}, key.expires ? when(key.expires) : 'never', key.successor && element('span', {}, ', replaced by ', code(key.successor))),
  element('span', {}, ...key.lastUsed ? ['in the hour after ', when(key.lastUsed), ` from ${key.lastAddress ?? 'an unknown address'}`] : ['never'],
    key.maxUses ? `, ${key.uses} of ${key.maxUses} times` : null),
  key.maker ? named(nameOf('account', key.maker), key.maker) : 'an account that is deleted',
];

/** @param {string} id @param {[string, number][]} choices in seconds */
const select = (id, choices) => element('select', { id }, ...choices.map(([text, seconds]) => element('option', { value: String(seconds) }, text)));

const day = 86_400; // seconds

// endIn returns the time in some seconds, or null for 0.
/** @param {string} seconds */
const endIn = (seconds) => Number(seconds) ? new Date(Date.now() + Number(seconds) * 1000).toISOString() : null;

/** @param {APIKey} key */
async function replace(key) {
  const mine = listed;
  const overlap = select('keys-overlap', [['1 day', day], ['7 days', 7 * day], ['1 hour', 3600], ['not at all', 0]]);
  const end = select('keys-next-end', [['in 90 days', 90 * day], ['in 30 days', 30 * day], ['in 1 year', 365 * day], ['never', 0]]);
  if (!await sure(`Replace the key ${plainly(key.name)}?`, 'Replace it', 'The new key may do what the old one may.',
    field('The old key still works for', overlap), field('The new key expires', end))) {
    return;
  }
  const made = await request('POST', `${pathOf(mine.app)}/${encodeURIComponent(key._id)}/replace`,
    { overlap: Number(overlap.value), expires: endIn(end.value) });
  await showOnce(made);
  mine === listed && await open(mine.app, mine.within);
}

/** @param {APIKey} key */
async function revoke(key) {
  const mine = listed;
  if (!await sure(`Revoke the key ${plainly(key.name)}?`, 'Revoke it', 'Requests with it are refused from now on.')) {
    return;
  }
  await request('DELETE', `${pathOf(mine.app)}/${encodeURIComponent(key._id)}`);
  mine.keys = mine.keys.filter(({ _id }) => _id !== key._id);
  if (mine === listed) {
    show();
    announce('The key is revoked.', byID('keys-said'));
    byID('keys-list-title').focus();
  }
}

// forgetKeys removes the list from the page.
export function forgetKeys() {
  listed = nothing;
  byID('keys').replaceChildren();
  byID('keys-found').hidden = true;
}

/** @param {Fault} fault the field that it names */
const controlOf = ({ path = '' }) => byID(`keys-${path.replace(/\[.*/, '')}`);

onSubmit('keys-form', create, controlOf);
onSubmit('keys-list-form', list);
onClick(byID('keys-more'), load);
