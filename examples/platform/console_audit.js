// The audit log: who did what to whom, from which session, with the request.

import { queryOf, request } from './console_api.js';
import { listing } from './console_list.js';
import { everything } from './console_live.js';
import { link, onSubmit } from './console_page.js';
import { learn, nameOf } from './console_pick.js';
import { byID, code, cut, element, named, pill, visible, when } from './console_render.js';
import { addressed, note } from './console_sections.js';

const fields = ['account', 'app', 'credential', 'token', 'session', 'verb', 'address', 'request'];

let row = ''; // the id of the one that is unfolded

const log = listing('audit', {
  noun: 'entry',
  caption: 'Audit log',
  columns: ['Time', 'Request', 'What', 'Who', 'To whom or what', 'By', 'From'],
  cells: (/** @type {Entry} */ e) => [
    when(e.time),
    link(`Details of entry ${e.n}`, () => unfold(row === e._id ? '' : e._id), e.request?.slice(0, 8) ?? 'none'),
    element('span', {}, pill(e.verb, false), ' ', [e.reason, e.detail, e.count && `${e.count} times`].filter(Boolean).join(', ')),
    e.actor ? named(nameOf('account', e.actor), e.actor) : 'nobody',
    element('span', {}, ...[e.account && named(nameOf('account', e.account), e.account), e.app && named(nameOf('app', e.app), e.app),
      ...[e.credential, e.token, e.session].map((id) => id && code(id))].filter(Boolean).flatMap((one, i) => [i ? ' ' : '', one])),
    cut(e.by ?? ''),
    element('bdi', {}, ...visible(e.address ?? '')),
  ],
  none: 'No entry.',
  ask: (last) => request('GET', `/audit?${queryOf([['limit', '100'], ['sort', '{"n":-1}'], ['where', where(last)]])}`),
  shown: (entries) => {
    const one = entries.find(({ _id }) => _id === row);
    byID('audit-one').replaceChildren(...one ? [everything(`Entry ${one.n}`, one, () => unfold(''))] : []);
  },
});

const value = () => byID('audit-value').value.trim();
const noted = () => note('audit', [[byID('audit-field').value, value()], ['row', row]]);

// openAudit lists what the address says: the history of one object, or all.
export async function openAudit() {
  const { question } = addressed();
  const field = fields.find((name) => question.has(name));
  byID('audit-field').value = field ?? byID('audit-field').value;
  byID('audit-value').value = field ? question.get(field) ?? '' : '';
  row = question.get('row') ?? '';
  await learn('account', 'app');
  await log.open();
}

// where returns the condition of the form, for the entries after the last one. A verb may be a kind, such as
// token, and an account is also one that acted.
/** @param {Entry} [last] */
function where(last) {
  const [field, text] = [byID('audit-field').value, value()];
  const wanted = !text ? [] : field === 'verb' && !text.includes('.') ? [{ verb: { $prefix: `${text}.` } }]
    : field === 'account' ? [{ $or: [{ account: text }, { actor: text }] }] : [{ [field]: text }];
  return JSON.stringify({ $and: [...wanted, { n: last ? { $lt: last.n } : { $gt: 0 } }] });
}

/** @param {string} id '' folds */
function unfold(id) {
  row = id;
  noted();
  log.show();
  id && byID('audit-one').querySelector('h2')?.focus();
}

// forgetAudit removes the list from the page.
export function forgetAudit() {
  log.forget();
  byID('audit-one').replaceChildren();
}

onSubmit('audit-form', () => {
  row = '';
  noted();
  return log.open();
});
