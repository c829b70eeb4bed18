// Data: the objects of the org, and the lists within them, as tables. The fields of the form are built
// from the schemas.

import { acting, queryOf, request, Told } from './console_api.js';
import { blame, complain, unblame } from './console_fault.js';
import { action, announce, link, onClick, onSubmit } from './console_page.js';
import { byID, counted, element, empty, facts, field, table, textOf, valueAt, visible } from './console_render.js';
import { addressed, note } from './console_sections.js';

const equal = ['$eq', '$ne'];
const ordered = [...equal, '$gt', '$gte', '$lt', '$lte', '$in'];
/** @type {Record<string, string[]>} */
const operators = { string: [...ordered, '$prefix'], integer: ordered, number: ordered, date: ordered, boolean: equal };
/** @type {Record<string, string>} */
const valueless = { 'has no value': 'null', 'has a value': '{"$ne":null}' }; // and their conditions
/** @type {Record<string, string>} */
const hints = { date: '2026-01-02T03:04:05.000Z', boolean: 'true or false' };

const byIDOnly = '{"_id":1}';
const longest = 1000; // characters of a value that are shown

/** @type {Map<string, Schema>} */
let lists = new Map(); // the schema of the items, by the path of the list
/** @type {Asked | null} */
let page = null; // the page that is shown
let latest = 0; // number of the newest request for a page
let made = 0; // filters, for their ids
let sort = byIDOnly; // the order, as JSON

// openData asks for the schemas, and shows the page in the address, or the first one of the first list.
export async function openData() {
  clearPage();
  const { question } = addressed();
  const list = question.get('list') ?? byID('data-list').value;
  try {
    /** @type {List<Schema>} */
    const { data } = await request('GET', '/schemas?limit=1000');
    data.forEach((schema) => lists.set(schema.plural, schema));
    knowInner(list);
    offerLists(lists.has(list) ? list : data[0]?.plural ?? '');
    if (question.has('list')) {
      restore(question);
    }
    const first = askedBy(new FormData(byID('data-form')));
    const [number, cursor] = [Number(question.get('page')), question.get('cursor')];
    await showPage(first && cursor && number > 1 ? { ...first, cursor: [cursor], number } : first);
  } catch (error) {
    complain(error, byID('data-fault'));
  }
}

// restore fills the form by a question.
function restore(/** @type {URLSearchParams} */ question) {
  sort = question.get('sort') ?? byIDOnly;
  byID('data-limit').value = question.get('limit') ?? '25';
  byID('data-filters').replaceChildren();
  made = 0;
  for (const text of question.getAll('filter')) {
    const [property, operator, ...value] = text.split(' ');
    addFilter(property, operator.replaceAll('_', ' '), value.join(' '));
  }
}

// noted writes a page into the address.
function noted(/** @type {Asked} */ { list, limit, number, cursor }) {
  const form = new FormData(byID('data-form'));
  const [operators, values] = ['operator', 'value'].map((name) => form.getAll(name));
  note('data', [
    ['list', list], ['sort', sort === byIDOnly ? '' : sort], ['limit', limit === '25' ? '' : limit],
    ...form.getAll('property').map((path, i) => /** @type {[string, string]} */ (['filter', `${path} ${operators[i].replaceAll(' ', '_')} ${values[i]}`])),
    ['page', number > 1 ? String(number) : ''], ['cursor', cursor[0] ?? ''],
  ]);
}

// forgetData removes what is shown, and the fields.
export function forgetData() {
  lists = new Map();
  sort = byIDOnly;
  empty('data-list', 'data-filters');
  clearPage();
}

function clearPage() {
  latest++; // a page that is under way comes too late
  page = null;
  empty('data-request', 'data-table', 'data-total', 'data-one');
  for (const id of ['data-previous', 'data-next', 'data-count']) {
    byID(id).hidden = true;
  }
}

const chosen = () => lists.get(byID('data-list').value)?.properties ?? [];

function offerLists(/** @type {string} */ path) {
  byID('data-list').replaceChildren(...[...lists.keys()].map((value) => element('option', { value }, value)));
  byID('data-list').value = path;
  byID('data-add').hidden = !chosen().some(({ filterable }) => filterable);
}

// offerFields offers what the chosen list can be filtered by.
function offerFields() {
  sort = byIDOnly;
  byID('data-filters').replaceChildren();
}

// addFilter adds the fields of one condition, which may be given.
function addFilter(path = '', condition = '', text = '') {
  made++;
  const options = (/** @type {string[]} */ texts) => texts.map((text) => element('option', {}, text));
  const property = element('select', { id: `data-property-${made}`, name: 'property' },
    ...options(chosen().filter(({ filterable }) => filterable).map(({ fqpp }) => fqpp)));
  const operator = element('select', { id: `data-operator-${made}`, name: 'operator' });
  const value = element('input', { id: `data-value-${made}`, name: 'value', autocomplete: 'off', autocapitalize: 'none', spellcheck: false });
  const needed = field('Value', value);
  const hint = () => {
    needed.hidden = operator.value in valueless;
    value.placeholder = operator.value === '$in' ? 'with commas between' : hints[typeOf(property.value)] ?? '';
  };
  const fit = () => {
    operator.replaceChildren(...options([...operators[typeOf(property.value)] ?? ordered, ...Object.keys(valueless)]));
    hint();
  };
  property.addEventListener('change', fit);
  operator.addEventListener('change', hint);
  path && (property.value = path);
  fit();
  condition && (operator.value = condition);
  value.value = text;
  hint();
  const filter = element('fieldset', { className: 'stack' }, element('legend', {}, `Filter ${made}`),
    element('div', { className: 'pair' }, field('Property', property), field('Operator', operator), needed),
    action('Remove', `filter ${made}`, () => {
      filter.remove();
      showRequest();
      byID('data-add').focus();
    }));
  byID('data-filters').append(filter);
  showRequest();
  path || property.focus();
}

const typeOf = (/** @type {string} */ path) => chosen().find(({ fqpp }) => fqpp === path)?.type ?? '';

// A number keeps its digits. A value that does not fit its type is sent as a text, and the server says
// why it is refused.
/** @type {Record<string, RegExp>} */
const literals = { integer: /^-?(0|[1-9]\d*)$/, number: /^-?(0|[1-9]\d*)(\.\d+)?$/, boolean: /^(true|false)$/ };
/** @param {string} type @param {string} text */
const literal = (type, text) => (literals[type]?.test(text.trim()) ? text.trim() : JSON.stringify(text));

/** @param {string} path @param {string} operator @param {string} text */
function conditionOf(path, operator, text) {
  const type = typeOf(path);
  if (operator in valueless) {
    return `{${JSON.stringify(path)}:${valueless[operator]}}`;
  }
  const value = operator === '$in' ? `[${text.split(',').map((one) => literal(type, one.trim())).join()}]` : literal(type, text);
  return `{${JSON.stringify(path)}:{"${operator}":${value}}}`;
}

// askedBy returns the first page that the form asks for, or null before a list is chosen.
/** @type {(form: FormData) => Asked | null} */
function askedBy(form) {
  const list = form.get('list');
  const schema = lists.get(list);
  if (!schema) {
    return null;
  }
  const [paths, names, texts] = ['property', 'operator', 'value'].map((name) => form.getAll(name));
  return {
    list,
    schema,
    sort,
    limit: form.get('limit').trim(),
    conditions: paths.map((path, i) => conditionOf(path, names[i], texts[i])),
    cursor: [],
    number: 1,
  };
}

function pathOf(/** @type {Asked} */ { list, schema, sort, limit, conditions, cursor }) {
  const all = [...conditions, ...cursor];
  const pairs = parts(schema).plain.map((path) => ['paths[]', path]);
  if (all.length) {
    pairs.push(['where', `{"$and":[${all.join()}]}`]);
  }
  pairs.push(['sort', sort]);
  if (limit) {
    pairs.push(['limit', limit]);
  }
  return `/${list}?${queryOf(pairs)}`;
}

function showRequest(asked = askedBy(new FormData(byID('data-form')))) {
  byID('data-request').textContent = asked ? `GET /${acting.org}/v2${pathOf(asked)}` : '';
}

async function showFirst(/** @type {FormData} */ form) {
  unblame(byID('data-form'));
  clearPage();
  try {
    await showPage(askedBy(form));
  } catch (error) {
    blame(error, controlOf);
  }
}

async function showPage(/** @type {Asked | null} */ asked) {
  if (!asked) {
    return;
  }
  byID('data-one').replaceChildren();
  showRequest(asked);
  noted(asked);
  const mine = ++latest;
  const reply = await request('GET', pathOf(asked)).catch((error) => {
    if (mine === latest) {
      throw error;
    }
  });
  if (mine !== latest) {
    return; // the user has gone on
  }
  /** @type {List<Stored>} */
  const { data, hasMore } = reply;
  page = { ...asked, last: data.at(-1) };
  announce(`Page ${asked.number}: ${counted(data.length, 'item')}; ${hasMore ? 'there are more' : 'that is all'}.`, byID('data-said'));
  byID('data-table').replaceChildren(data.length ? tableOf(asked, data) : 'No items.');
  byID('data-next').hidden = !hasMore;
  byID('data-previous').hidden = !asked.before;
  byID('data-count').hidden = false;
}

// turn asks for the page after the shown one, or again for the one before it, as the shown page was asked
// for, even if the form has changed since. The page after begins behind the last item that is shown,
// whatever became of that item.
/** @param {Asked | null | undefined} to @param {'data-next' | 'data-previous'} button */
async function turn(to, button) {
  unblame(byID('data-form'));
  await showPage(to ?? null);
  if (byID(button).hidden) {
    byID('data-table').querySelector('div')?.focus();
  }
}

const after = () => page?.last && { ...page, cursor: [cursorOf(page.sort, page.last)], number: page.number + 1, before: page };

// countAll asks how many items there are on all pages.
async function countAll() {
  if (!page) {
    return;
  }
  const mine = latest;
  const { total, totalIsAtLeast } = await request('GET', `${pathOf({ ...page, cursor: [], limit: '1' })}&count=true`);
  if (mine === latest) {
    announce(`${totalIsAtLeast ? `At least ${totalIsAtLeast.toLocaleString()}` : total.toLocaleString()} in all.`, byID('data-total'));
  }
}

// look shows all values of one object of the page.
/** @param {Asked} asked @param {Stored} item */
function look(asked, item) {
  const { plain: paths, inner } = parts(asked.schema);
  const heading = element('h2', { tabIndex: -1 }, `One of ${asked.list}`);
  byID('data-one').replaceChildren(heading,
    facts(...['_id', ...paths].map((path) => [path, valueOf(item, path)]),
      ...inner.map((property) => [property.fqpp, openButton(asked.schema, item, property)])),
    action('Close', '', () => {
      byID('data-one').replaceChildren();
      document.querySelector(`[data-look="${CSS.escape(item._id)}"]`)?.focus();
    }));
  heading.focus();
}

/** @param {Stored} item @param {string} path */
function valueOf(item, path) {
  const value = valueAt(item, path) ?? null;
  return value === null ? element('span', { className: 'hint' }, 'no value')
    : element('bdi', { className: 'wraps' }, ...visible(textOf(value)));
}

const parts = (/** @type {Schema} */ { properties }) => ({
  plain: properties.filter(({ list }) => !list).map(({ fqpp }) => fqpp),
  inner: properties.filter(({ list }) => list),
});

// cursorOf returns the condition for the items after one (section 4.2 of the interface). null is the
// least value.
/** @param {string} sort @param {Item} item */
export function cursorOf(sort, item) {
  const [[path, way]] = Object.entries(/** @type {Record<string, number>} */ (JSON.parse(sort)));
  const id = JSON.stringify(item._id);
  if (path === '_id') {
    return `{"_id":{"${way > 0 ? '$gt' : '$lt'}":${id}}}`;
  }
  const value = valueAt(item, path) ?? null;
  if (typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new Told('The page ends at a number with more digits than a browser keeps. Sort by another property.');
  }
  const [name, text] = [path, value].map((one) => JSON.stringify(one));
  const equal = `{"$and":[{${name}:${text}},{"_id":{"$gt":${id}}}]}`;
  if (value === null) {
    return way > 0 ? `{"$or":[{${name}:{"$ne":null}},${equal}]}` : equal;
  }
  const beyond = way > 0 ? `{${name}:{"$gt":${text}}}` : `{"$nor":[{${name}:{"$gte":${text}}}]}`;
  return `{"$or":[${beyond},${equal}]}`;
}

/** @param {Asked} asked @param {Stored[]} items */
function tableOf(asked, items) {
  const { list, schema, number } = asked;
  const { plain: paths, inner } = parts(schema);
  const sortable = new Set(['_id', ...schema.properties.filter((one) => one.sortable).map(({ fqpp }) => fqpp)]);
  const heads = ['_id', ...paths].map((path) => (sortable.has(path) ? sortButton(asked, path) : path));
  return table(`${list}, page ${number}`, [...heads, ...inner.map(({ fqpp }) => fqpp)], items.map((item) => [
    lookButton(asked, item),
    ...paths.map((path) => element('bdi', { className: 'value' }, ...shown(valueAt(item, path)))),
    ...inner.map((property) => openButton(schema, item, property)),
  ]));
}

// sortButton sorts by a property, ascending at first.
/** @param {Asked} asked @param {string} path */
function sortButton(asked, path) {
  const way = JSON.parse(asked.sort)[path];
  const button = link(`Sort by ${path}`, async () => {
    sort = JSON.stringify({ [path]: way === 1 ? -1 : 1 });
    await showFirst(new FormData(byID('data-form')));
    byID('data-table').querySelector(`[data-path="${CSS.escape(path)}"]`)?.focus();
  }, `${path}${way ? (way > 0 ? ' ▲' : ' ▼') : ''}`);
  Object.assign(button.dataset, { path, sort: way ? (way > 0 ? 'ascending' : 'descending') : 'none' });
  return button;
}

/** @param {Asked} asked @param {Stored} item */
function lookButton(asked, item) {
  const button = link(`Look at ${item._id}`, () => look(asked, item), item._id);
  button.dataset.look = item._id;
  return button;
}

// shown returns a value as text, and not all of a long one.
function shown(/** @type {unknown} */ value) {
  const text = textOf(value);
  return visible(text.length > longest ? `${text.slice(0, longest)}…` : text);
}

// knowInner adds a list within an object to the lists, one at a time: its path is that of a list, an id and
// a list property.
function knowInner(/** @type {string} */ path) {
  const [plural, , ...names] = path.split('/');
  const name = lists.get(plural)?.properties.find(({ fqpp }) => fqpp === names.join('.'))?.list;
  const schema = [...lists.values()].find(({ _id }) => _id === name);
  lists = new Map([...lists].filter(([other]) => !other.includes('/')));
  schema && lists.set(path, schema);
}

// openButton opens a list property of an object as a table of its own.
/** @param {Schema} schema @param {Stored} item @param {Property} property */
function openButton({ plural }, { _id }, { fqpp }) {
  const path = `${plural}/${encodeURIComponent(_id)}/${fqpp.replaceAll('.', '/')}`;
  return link(`Open ${fqpp} of ${_id}`, async () => {
    knowInner(path);
    offerLists(path);
    offerFields();
    byID('data-list').focus(); // the button goes with its table
    await showFirst(new FormData(byID('data-form')));
  }, 'Open');
}

// controlOf returns the control of an argument. The reason of a where begins with a JSON pointer into it.
/** @type {ControlOf} */
function controlOf({ path, reason = '' }) {
  const [, filter] = (path === 'where' && reason.match(/^\/\$and\/(\d+)\//)) || [];
  if (filter) {
    const fields = byID('data-filters').children[Number(filter)];
    return fields?.querySelector('div:not([hidden]) > input') ?? fields?.querySelector('[name=operator]');
  }
  return path === 'limit' ? byID('data-limit') : null;
}

onSubmit('data-form', showFirst);
onClick(byID('data-add'), () => addFilter());
onClick(byID('data-previous'), () => turn(page?.before, 'data-previous'));
onClick(byID('data-next'), () => turn(after(), 'data-next'));
onClick(byID('data-count'), countAll);
byID('data-form').addEventListener('input', () => showRequest());
byID('data-list').addEventListener('change', () => {
  offerFields();
  offerLists(byID('data-list').value);
  byID('data-form').requestSubmit();
});
