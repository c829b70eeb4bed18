// API keys of apps: making, listing, replacing and revoking them.

import { queryOf, request } from './console_api.js';
import { listing } from './console_list.js';
import { action, finish, keep, onSubmit, sure } from './console_page.js';
import { byHand, learn, nameOf, pick } from './console_pick.js';
import { after, byID, choice, code, cut, day, element, field, lines, named, pill, plainly, used, when } from './console_render.js';
import { addressed, linkTo, note } from './console_sections.js';

const keys = listing('keys', {
  noun: 'key',
  caption: 'API keys',
  columns: ['Name', 'Key', 'Acts as', 'App', 'Scope', 'Expires', 'Last used', 'Made by', 'Steps'],
  cells: (/** @type {APIKey} */ key) => [
    named(key.name),
    element('a', { href: linkTo('audit', [['credential', key._id]]) }, code(key._id)),
    named(nameOf('account', key.account), key.account),
    named(nameOf('app', key.app), key.app),
    cut(`${key.scope.map((chain) => chain || '*').join(' ') || 'nothing'}${key.networks ? ` from ${key.networks.join(' ')}` : ''}`),
    element('span', {}, key.expires ? when(key.expires) : 'never', key.successor && pill('replaced', false)),
    element('span', {}, used(key) ?? 'never', key.maxUses ? `, ${key.uses} of ${key.maxUses} times` : null),
    key.maker ? named(nameOf('account', key.maker), key.maker) : 'a deleted account',
    element('span', { className: 'row' },
      !key.successor && !key.maxUses && action('Replace', key._id, () => replace(key)),
      action('Revoke', key._id, () => revoke(key), 'quiet danger')),
  ],
  none: 'No key to show.',
  ask: (last) => {
    const [app, within] = [form().get('app').trim(), form().get('within')];
    const where = JSON.stringify({ ...last && { _id: { $gt: last._id } }, ...within && { expires: { $lt: after(Number(within) * day) } } });
    return request('GET', `${app ? pathOf(app) : '/keys'}?${queryOf([['limit', '200'], ...where === '{}' ? [] : [['where', where]]])}`);
  },
});

const form = () => new FormData(byID('keys-list-form'));

// openKeys lists what the address says, or else all.
export async function openKeys() {
  const { question } = addressed();
  await learn('account', 'app');
  pick(byID('keys-of'), question.get('app') ?? byID('keys-of').value);
  byID('keys-within').value = question.get('within') ?? byID('keys-within').value;
  await list();
}

const pathOf = (/** @type {string} */ app) => `/apps/${encodeURIComponent(app)}/keys`;

async function create(/** @type {FormData} */ form) {
  const [app, networks] = [form.get('app').trim(), lines(form.get('networks'))];
  /** @type {APIKey} */
  const made = await request('POST', pathOf(app), {
    name: form.get('name'),
    account: form.get('account').trim(),
    scope: lines(form.get('scope')),
    networks: networks.length ? networks : undefined,
    expires: endIn(form.get('expires')) ?? undefined,
  });
  finish(byID('keys-form'));
  await showOnce(made);
  byID('keys-within').value = '';
  await list();
}

// showOnce shows a key that the server does not show again.
const showOnce = (/** @type {APIKey} */ { _id, name, expires, key = '' }) => keep('The key, shown this once', [
  ['Id', code(_id)], ['Name', named(name)], ['Expires', expires ? when(expires) : 'never, unless it is revoked'], ['Key', code(key)],
], key);

function list() {
  note('keys', [['app', form().get('app').trim()], ['within', form().get('within')]]);
  return keys.open();
}

// endIn returns the time in some seconds, or null for 0.
const endIn = (/** @type {string} */ seconds) => (Number(seconds) ? after(Number(seconds)) : null);

async function replace(/** @type {APIKey} */ key) {
  const overlap = choice('keys-overlap', [['1 day', day], ['7 days', 7 * day], ['1 hour', 3600], ['not at all', 0]]);
  const end = choice('keys-next-end', [['in 90 days', 90 * day], ['in 30 days', 30 * day], ['in 1 year', 365 * day], ['never', 0]]);
  if (!await sure(`Replace the key ${plainly(key.name)}?`, 'Replace it', 'The new key may do what the old one may.',
    field('The old key still works for', overlap), field('The new key expires', end))) {
    return;
  }
  await showOnce(await request('POST', `${pathOf(key.app)}/${encodeURIComponent(key._id)}/replace`, { overlap: Number(overlap.value), expires: endIn(end.value) }));
  await list();
}

async function revoke(/** @type {APIKey} */ key) {
  if (await sure(`Revoke the key ${plainly(key.name)}?`, 'Revoke it', 'Requests with it are refused from now on.')) {
    await request('DELETE', `${pathOf(key.app)}/${encodeURIComponent(key._id)}`);
    keys.set(keys.all().filter(({ _id }) => _id !== key._id));
    keys.say('The key is revoked.');
  }
}

export const forgetKeys = keys.forget;

onSubmit('keys-form', create);
onSubmit('keys-list-form', list);
byID('keys-list-form').addEventListener('change', () => byID('keys-of').value !== byHand && byID('keys-list-form').requestSubmit());
