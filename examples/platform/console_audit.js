// The audit log: who did what to whom, from which session, with the request.

import { queryOf, request } from './console_api.js';
import { complain } from './console_fault.js';
import { everything } from './console_live.js';
import { announce, link, onClick, onSubmit } from './console_page.js';
import { learn, nameOf } from './console_pick.js';
import { byID, code, counted, cut, element, empty, named, pill, showTable, visible, when } from './console_render.js';
import { addressed, note } from './console_sections.js';

const fields = ['account', 'app', 'credential', 'token', 'session', 'verb', 'address', 'request'];
const atOnce = 100;

/** @type {Entry[]} */
let entries = []; // the newest first
let more = false;
let row = ''; // the id of the one that is unfolded

// openAudit lists what the address says: the history of one object, or all.
export async function openAudit() {
  const { question } = addressed();
  const field = fields.find((name) => question.has(name));
  byID('audit-field').value = field ?? byID('audit-field').value;
  byID('audit-value').value = field ? question.get(field) ?? '' : '';
  row = question.get('row') ?? '';
  await learn('account', 'app');
  await list().catch((error) => complain(error, byID('audit-fault')));
}

// where returns the condition of the form and of the page after the entries that are loaded. A verb may be a
// kind, such as token, and an account is also one that acted.
function where() {
  const [field, value, last] = [byID('audit-field').value, byID('audit-value').value.trim(), entries.at(-1)];
  const wanted = !value ? [] : field === 'verb' && !value.includes('.') ? [{ verb: { $prefix: `${value}.` } }]
    : field === 'account' ? [{ $or: [{ account: value }, { actor: value }] }] : [{ [field]: value }];
  return JSON.stringify({ $and: [...wanted, { n: last ? { $lt: last.n } : { $gt: 0 } }] });
}

async function list() {
  forgetAudit();
  note('audit', [[byID('audit-field').value, byID('audit-value').value.trim()], ['row', row]]);
  await load();
}

async function load() {
  const mine = entries;
  const { data, hasMore } = await request('GET', `/audit?${queryOf([['limit', String(atOnce)], ['sort', '{"n":-1}'], ['where', where()]])}`);
  if (mine === entries) {
    entries.push(...data);
    more = hasMore;
    show();
  }
}

function show() {
  showTable(byID('audit'), {
    caption: 'Audit log', columns: ['Time', 'Request', 'What', 'Who', 'To whom or what', 'By', 'From'], items: entries, keyOf: ({ _id }) => _id, cells, none: 'No entry.',
  });
  byID('audit-more').hidden = !more;
  announce(`${counted(entries.length, 'loaded entry')}${more ? ', and there are more' : ''}.`.replace('entrys', 'entries'), byID('audit-said'));
  const one = entries.find(({ _id }) => _id === row);
  byID('audit-one').replaceChildren(...one ? [everything(`Entry ${one.n}`, one, () => unfold(''))] : []);
}

/** @param {Entry} e @returns {(Node | string)[]} */
const cells = (e) => [
  when(e.time),
  link(`Details of entry ${e.n}`, () => unfold(row === e._id ? '' : e._id), e.request?.slice(0, 8) ?? 'none'),
  element('span', {}, pill(e.verb, false), ' ', [e.reason, e.detail, e.count && `${e.count} times`].filter(Boolean).join(', ')),
  e.actor ? named(nameOf('account', e.actor), e.actor) : 'nobody',
  element('span', {}, ...[e.account && named(nameOf('account', e.account), e.account), e.app && named(nameOf('app', e.app), e.app),
    ...[e.credential, e.token, e.session].map((id) => id && code(id))].filter(Boolean).flatMap((one, i) => [i ? ' ' : '', one])),
  cut(e.by ?? ''),
  element('bdi', {}, ...visible(e.address ?? '')),
];

/** @param {string} id '' folds */
function unfold(id) {
  row = id;
  note('audit', [[byID('audit-field').value, byID('audit-value').value.trim()], ['row', row]]);
  show();
  id && byID('audit-one').querySelector('h2')?.focus();
}

// forgetAudit removes the list from the page.
export function forgetAudit() {
  [entries, more] = [[], false];
  empty('audit', 'audit-one');
  byID('audit-more').hidden = true;
}

onSubmit('audit-form', () => {
  row = '';
  return list();
});
onClick(byID('audit-more'), load);
