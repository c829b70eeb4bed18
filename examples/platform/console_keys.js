// API keys of apps, for administrators: making, listing, replacing and revoking them.

import { queryOf, request } from './console_api.js';
import { complain } from './console_fault.js';
import { loadMore } from './console_held.js';
import { action, announce, keep, onClick, onSubmit, sure } from './console_page.js';
import { byHand, learn, nameOf, offeredApps, pick } from './console_pick.js';
import { byID, code, counted, cut, element, field, lines, named, pill, plainly, showTable, when } from './console_render.js';
import { addressed, linkTo, note } from './console_sections.js';

/** @type {ListedKeys} */
const nothing = { within: '', apps: [], items: [] };

// listed are the loaded keys of some apps.
let listed = nothing;

// openKeys lists what the address says, or else all.
export async function openKeys() {
  await learn('account', 'app');
  pick(byID('keys-of'), addressed().question.get('app') ?? byID('keys-of').value);
  await list().catch((error) => complain(error, byID('keys-list-form').querySelector('.fault') ?? undefined));
}

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
    expires: endIn(form.get('expires')) ?? undefined,
  });
  byID('keys-form').reset();
  await showOnce(made);
  pick(byID('keys-app'), app);
  pick(byID('keys-of'), app);
  byID('keys-within').value = '';
  await list();
}

// showOnce shows a key that the server does not show again.
/** @param {APIKey} made */
const showOnce = ({ _id, name, expires, key = '' }) => keep('The key, shown this once', [
  ['Id', code(_id)], ['Name', named(name)], ['Expires', expires ? when(expires) : 'never, unless it is revoked'], ['Key', code(key)],
], key);

async function list() {
  forgetKeys();
  const form = new FormData(byID('keys-list-form'));
  const app = form.get('app').trim();
  note('keys', [['app', app]]);
  listed = { within: form.get('within'), apps: app ? [app] : offeredApps().map(({ _id }) => _id), items: [] };
  await load();
}

async function load() {
  const mine = listed;
  const until = new Date(Date.now() + Number(mine.within) * 86_400_000).toISOString();
  await loadMore(mine, (app, last) => {
    const where = JSON.stringify({ ...last && { _id: { $gt: last._id } }, ...mine.within && { expires: { $lt: until } } });
    return request('GET', `${pathOf(app)}?${queryOf([['limit', '50'], ...where === '{}' ? [] : [['where', where]]])}`);
  });
  mine === listed && show();
}

const week = 7 * 86_400_000;

function show() {
  showTable(byID('keys'), {
    caption: 'API keys',
    columns: ['Name', 'Key', 'Acts as', 'Scope', 'Expires', 'Last used', 'Made by', 'Steps'],
    items: listed.items,
    keyOf: ({ _id }) => _id,
    cells,
    none: 'No key to show.',
  });
  byID('keys-more').hidden = !listed.apps.length;
  const soon = listed.items.filter(({ expires, successor }) => expires && !successor && Date.parse(expires) < Date.now() + week).length;
  announce(`${counted(listed.items.length, 'loaded key')}${listed.apps.length ? ', and there are more' : ''}.${soon ? ` ${soon} of them end within 7 days.` : ''}`,
    byID('keys-said'));
}

/** @param {ListedKeys['items'][0]} key @returns {(Node | string)[]} */
const cells = (key) => [
  named(key.name),
  element('a', { href: linkTo('audit', [['credential', key._id]]) }, code(key._id)),
  named(nameOf('account', key.account), key.account),
  cut(`${key.scope.map((chain) => chain || '*').join(' ') || 'nothing'}${key.networks ? ` from ${key.networks.join(' ')}` : ''}`),
  element('span', {}, key.expires ? when(key.expires) : 'never', key.successor && pill('replaced', false)),
  element('span', {}, key.lastUsed ? element('span', { title: `from ${key.lastAddress ?? 'an unknown address'}` }, when(key.lastUsed)) : 'never',
    key.maxUses ? `, ${key.uses} of ${key.maxUses} times` : null),
  key.maker ? named(nameOf('account', key.maker), key.maker) : 'a deleted account',
  element('span', { className: 'row' },
    !key.successor && !key.maxUses && action('Replace', key._id, () => replace(key)),
    action('Revoke', key._id, () => revoke(key), 'quiet danger')),
];

/** @param {string} id @param {[string, number][]} choices in seconds */
const select = (id, choices) => element('select', { id }, ...choices.map(([text, seconds]) => element('option', { value: String(seconds) }, text)));

const day = 86_400; // seconds

// endIn returns the time in some seconds, or null for 0.
/** @param {string} seconds */
const endIn = (seconds) => Number(seconds) ? new Date(Date.now() + Number(seconds) * 1000).toISOString() : null;

/** @param {ListedKeys['items'][0]} key */
async function replace(key) {
  const mine = listed;
  const overlap = select('keys-overlap', [['1 day', day], ['7 days', 7 * day], ['1 hour', 3600], ['not at all', 0]]);
  const end = select('keys-next-end', [['in 90 days', 90 * day], ['in 30 days', 30 * day], ['in 1 year', 365 * day], ['never', 0]]);
  if (!await sure(`Replace the key ${plainly(key.name)}?`, 'Replace it', 'The new key may do what the old one may.',
    field('The old key still works for', overlap), field('The new key expires', end))) {
    return;
  }
  const made = await request('POST', `${pathOf(key.app)}/${encodeURIComponent(key._id)}/replace`,
    { overlap: Number(overlap.value), expires: endIn(end.value) });
  await showOnce(made);
  mine === listed && await list();
}

/** @param {ListedKeys['items'][0]} key */
async function revoke(key) {
  const mine = listed;
  if (!await sure(`Revoke the key ${plainly(key.name)}?`, 'Revoke it', 'Requests with it are refused from now on.')) {
    return;
  }
  await request('DELETE', `${pathOf(key.app)}/${encodeURIComponent(key._id)}`);
  mine.items = mine.items.filter(({ _id }) => _id !== key._id);
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
  byID('keys-more').hidden = true;
}

onSubmit('keys-form', create);
onSubmit('keys-list-form', list);
onClick(byID('keys-more'), load);
byID('keys-list-form').addEventListener('change', () => byID('keys-of').value !== byHand && byID('keys-list-form').requestSubmit());
