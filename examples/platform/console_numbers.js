// The org of the signed-in account, in numbers.

import { acting, own } from './console_api.js';
import { byID, element, fill, plainly, visible } from './console_render.js';
import { addressOf } from './console_sections.js';

// showNumbers counts what the account may read. A number that is not known is left out.
/** @param {Account} account */
export async function showNumbers(account) {
  const list = byID('numbers');
  list.ariaBusy = 'true';
  const asked = [objects()];
  if (account.roles.includes('administrator')) { // only these may ask for the other numbers
    asked.push(lengthOf('Accounts', '/admin/accounts', 'people'), lengthOf('Apps', '/apps', 'apps'),
      lengthOf('Roles', '/admin/roles', 'people'));
  }
  const answers = await Promise.allSettled(asked);
  list.ariaBusy = 'false';
  if (acting.account !== account) {
    return; // another has come meanwhile
  }
  const rows = answers.flatMap(({ value }) => value ?? []).map(([name, count, section]) => [
    element('bdi', {}, ...visible(name)),
    element('strong', {}, count), ' ',
    element('a', { href: addressOf(section), ariaLabel: `${linkOf[section]}: ${plainly(name)}` }, linkOf[section]),
  ]);
  fill(list, rows.length ? rows : [['Nothing', 'could be counted.']]);
}

/** @type {Record<string, string>} */
const linkOf = { people: 'manage them', apps: 'change them', paging: 'page through them' };

async function objects() {
  /** @type {List<Schema>} */
  const { data } = await own('GET', '/schemas?limit=1000');
  const counts = await Promise.allSettled(data.map(({ plural }) => own('GET', `/${plural}?count=true&limit=1`)));
  return data.flatMap(({ plural }, i) => {
    const total = counts[i].value?.total;
    return total === undefined ? [] : [[plural, total.toLocaleString(), 'paging']];
  });
}

/** @param {string} name @param {string} path @param {string} section */
async function lengthOf(name, path, section) {
  const { data, hasMore } = await own('GET', `${path}?limit=1000`);
  return [[name, hasMore ? `more than ${data.length}` : String(data.length), section]];
}
