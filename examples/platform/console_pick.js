// Pickers: a select with data-pick="account" or "app" offers what its name says, so that nobody pastes
// an id. Whoever may not list them, or has more than are offered, can still name one by its id.

import { acting, Gone, lookUp } from './console_api.js';
import { element, plainly } from './console_render.js';

/** @type {{account: Map<string, Account>, app: Map<string, App>}} */
const known = { account: new Map(), app: new Map() };

const paths = { account: '/admin/accounts?limit=1000', app: '/apps?limit=1000' };
export const byHand = '\n'; // no id is a line end

const wordsOf = (/** @type {{name?: string, email?: string}} */ item) => [item.name, item.email].filter(Boolean).join(' · ');

// nameOf returns the name behind an id, or the id.
/** @param {'account' | 'app'} kind @param {string} id */
export function nameOf(kind, id) {
  const item = known[kind].get(id);
  return item?.name || /** @type {Partial<Account>} */ (item)?.email || id;
}

// offeredApps returns the apps that can be picked.
export const offeredApps = () => [...known.app.values()];

// learn asks for all of a kind that can be picked. Without the right to ask, there is the own account.
export async function learn(/** @type {('account' | 'app')[]} */ ...kinds) {
  await Promise.all(kinds.map(async (kind) => {
    const reply = await lookUp(paths[kind]).catch((error) => (error instanceof Gone ? null : { data: [] }));
    if (reply) {
      offer(kind, reply.data.length || kind === 'app' || !acting.account ? reply.data : [acting.account]);
    }
  }));
}

// offer fills the pickers of a kind. What is picked stays.
/** @param {'account' | 'app'} kind @param {any[]} items */
export function offer(kind, items) {
  known[kind] = new Map(items.map((item) => [item._id, item]));
  for (const select of document.querySelectorAll(`select[data-pick=${kind}]`)) {
    fillIn(/** @type {HTMLSelectElement} */ (select));
  }
}

// fillIn offers what is known.
export function fillIn(/** @type {HTMLSelectElement} */ select) {
  const { value } = select;
  const { none, signs } = select.dataset; // the words for no choice, if that is one; whether the app needs a key pair
  select.replaceChildren(
    element('option', { value: '' }, none ?? 'Choose …'),
    ...[...known[kindOf(select)].values()].map((/** @type {any} */ item) =>
      element('option', { value: item._id, disabled: signs === '' && !item.kid },
        plainly(`${wordsOf(item) || item._id}${signs === '' && !item.kid ? ' (no key pair)' : ''}${item.disabled ? ' (disabled)' : ''}`))),
    element('option', { value: byHand }, 'Another, by its id …'));
  pick(select, value === byHand ? otherOf(select).value : value);
}

/** @param {HTMLSelectElement} select @returns {'account' | 'app'} */
const kindOf = (select) => /** @type {any} */ (select.dataset.pick);

// pick chooses an id, even one that is not offered.
/** @param {HTMLSelectElement} select @param {string} id */
export function pick(select, id) {
  const offered = !id || known[kindOf(select)].has(id);
  select.value = offered ? id : byHand;
  otherOf(select).value = offered ? '' : id;
  follow(select);
}

// otherOf returns the field for an id by hand. While it is shown, it has the name of the select.
/** @param {HTMLSelectElement} select @returns {HTMLInputElement} */
function otherOf(select) {
  const next = select.nextElementSibling;
  if (next instanceof HTMLInputElement) {
    return next;
  }
  const label = `${select.labels[0]?.textContent}, by id`;
  const other = element('input', {
    id: `${select.id}-other`, hidden: true, ariaLabel: label, maxLength: 128, autocomplete: 'off', autocapitalize: 'none', spellcheck: false,
  });
  select.dataset.as = select.name;
  select.after(other);
  select.addEventListener('change', () => {
    follow(select);
    other.hidden || other.focus();
  });
  return /** @type {any} */ (other);
}

function follow(/** @type {HTMLSelectElement} */ select) {
  const other = otherOf(select);
  const hand = select.value === byHand;
  other.hidden = !hand;
  other.required = hand && select.required;
  [select.name, other.name] = hand ? ['', select.dataset.as ?? ''] : [select.dataset.as ?? '', ''];
}

export const forgetPicks = () => /** @type {const} */ (['account', 'app']).forEach((kind) => offer(kind, []));
