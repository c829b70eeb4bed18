// The org of the signed-in account, in numbers.

import { byID, element, fill } from './console_render.js';

// Only these may ask for the numbers of administration.
const administrator = 'administrator';

// showNumbers counts what the account may read. A number that is not known is left out.
/** @param {API} api @param {Account} account */
export async function showNumbers(api, account) {
  const list = byID('numbers');
  list.replaceChildren();
  list.ariaBusy = 'true';
  const asked = [objectsOf(api)];
  if (account.roles.includes(administrator)) {
    asked.push(lengthOf(api, 'Accounts', '/admin/accounts', 'live'), lengthOf(api, 'Apps', '/apps', 'apps'),
      lengthOf(api, 'Roles', '/admin/roles', 'scope'));
  }
  const answers = await Promise.allSettled(asked);
  fill(list, answers.flatMap(({ value }) => value ?? []).map(([name, count, section]) => [
    name,
    element('strong', {}, count), ' ',
    element('a', { href: `#${api.org}/${section}`, ariaLabel: `${linkOf[section]}: ${name}` }, linkOf[section]),
  ]));
  list.ariaBusy = 'false';
}

/** @type {Record<string, string>} */
const linkOf = { live: 'watch their requests', apps: 'change them', scope: 'try their chains', paging: 'page through them' };

/** @param {API} api */
async function objectsOf(api) {
  /** @type {List<Schema>} */
  const { data } = await api.list('/schemas?limit=1000');
  const counts = await Promise.allSettled(data.map(({ plural }) => api.list(`/${plural}?count=true&limit=1`)));
  return data.flatMap(({ plural }, i) => {
    const total = counts[i].value?.total;
    return total === undefined ? [] : [[plural, total.toLocaleString(), 'paging']];
  });
}

/** @param {API} api @param {string} name @param {string} path @param {string} section */
async function lengthOf(api, name, path, section) {
  const { data, hasMore } = await api.list(`${path}?limit=1000`);
  return [[name, hasMore ? `more than ${data.length}` : String(data.length), section]];
}
