// Data: the objects of the org, and the lists within them, as tables. The fields of the form are built
// from the schemas.

import { acting, queryOf, request, Told } from './console_api.js';
import { blame, complain, unblame } from './console_fault.js';
import { action, announce, link, onClick, onSubmit } from './console_page.js';
import { byID, counted, element, empty, facts, field, table, textOf, valueAt, visible } from './console_render.js';

const equal = ['$eq', '$ne'];
const ordered = [...equal, '$gt', '$gte', '$lt', '$lte', '$in'];
/** @type {Record<string, string[]>} */
const operators = { string: [...ordered, '$prefix'], integer: ordered, number: ordered, date: ordered, boolean: equal };
/** @type {Record<string, string>} */
const valueless = { 'has no value': 'null', 'has a value': '{"$ne":null}' }; // and their conditions
/** @type {Record<string, string>} */
const hints = { date: '2026-01-02T03:04:05.000Z', boolean: 'true or false' };

const longest = 1000; // characters of a value that are shown

/** @type {Map<string, Schema>} */
let lists = new Map(); // the schema of the items, by the path of the list
/** @type {Asked | null} */
let page = null; // the page that is shown
let latest = 0; // number of the newest request for a page
let made = 0; // filters, for their ids

// openData asks for the schemas, and shows the first page of the chosen list.
export async function openData() {
  clearPage();
  try {
    /** @type {List<Schema>} */
    const { data } = await request('GET', '/schemas?limit=1000');
    data.forEach((schema) => lists.set(schema.plural, schema));
    const { value } = byID('data-list');
    offerLists(value || (data[0]?.plural ?? ''));
    if (!value) {
      offerFields();
    }
    await showFirst(new FormData(byID('data-form')));
  } catch (error) {
    complain(error, byID('data-fault'));
  }
}

// forgetData removes what is shown, and the fields.
export function forgetData() {
  lists = new Map();
  empty('data-list', 'data-filters', 'data-sort');
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

/** @param {string} path */
function offerLists(path) {
  byID('data-list').replaceChildren(...[...lists.keys()].map((value) => element('option', { value }, value)));
  byID('data-list').value = path;
}

// offerFields offers what the chosen list can be sorted and filtered by.
function offerFields() {
  const paths = ['_id', ...chosen().filter(({ sortable }) => sortable).map(({ fqpp }) => fqpp)];
  byID('data-sort').replaceChildren(...paths.flatMap((path) => [[1, 'ascending'], [-1, 'descending']].map(([way, words]) =>
    element('option', { value: JSON.stringify({ [path]: way }) }, `${path}, ${words}`))));
  byID('data-filters').replaceChildren();
  byID('data-add').hidden = !chosen().some(({ filterable }) => filterable);
}

// addFilter adds the fields of one condition.
function addFilter() {
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
  fit();
  const filter = element('fieldset', { className: 'stack' }, element('legend', {}, `Filter ${made}`),
    element('div', { className: 'pair' }, field('Property', property), field('Operator', operator), needed),
    action('Remove', `filter ${made}`, () => {
      filter.remove();
      showRequest();
      byID('data-add').focus();
    }));
  byID('data-filters').append(filter);
  showRequest();
  property.focus();
}

/** @param {string} path */
const typeOf = (path) => chosen().find(({ fqpp }) => fqpp === path)?.type ?? '';

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
    sort: form.get('sort'),
    limit: form.get('limit').trim(),
    conditions: paths.map((path, i) => conditionOf(path, names[i], texts[i])),
    cursor: [],
    number: 1,
  };
}

/** @param {Asked} asked */
function pathOf({ list, schema, sort, limit, conditions, cursor }) {
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

/** @param {FormData} form */
async function showFirst(form) {
  unblame(byID('data-form'));
  clearPage();
  try {
    await showPage(askedBy(form));
  } catch (error) {
    blame(error, controlOf);
  }
}

/** @param {Asked | null} asked */
async function showPage(asked) {
  if (!asked) {
    return;
  }
  byID('data-one').replaceChildren();
  showRequest(asked);
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
  byID('data-table').replaceChildren(data.length ? tableOf(asked, data) : element('p', { className: 'hint' }, 'No items.'));
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

// look shows all values of one object, as they are now.
/** @param {Asked} asked @param {string} id */
async function look(asked, id) {
  const mine = latest;
  const path = pathOf({ ...asked, sort: '{"_id":1}', limit: '1', conditions: [`{"_id":${JSON.stringify(id)}}`], cursor: [] });
  /** @type {List<Stored>} */
  const { data: [item] } = await request('GET', path);
  if (mine !== latest) {
    return;
  }
  if (!item) {
    throw new Told('This object is no longer there, or no longer for this credential.');
  }
  const { plain: paths, inner } = parts(asked.schema);
  const heading = element('h2', { tabIndex: -1 }, `One of ${asked.list}`);
  byID('data-one').replaceChildren(heading,
    facts(...['_id', ...paths].map((path) => [path, valueOf(item, path)]),
      ...inner.map((property) => [property.fqpp, openButton(asked.schema, item, property)])),
    action('Close', '', () => {
      byID('data-one').replaceChildren();
      document.querySelector(`[data-look="${CSS.escape(id)}"]`)?.focus();
    }));
  heading.focus();
}

/** @param {Stored} item @param {string} path */
function valueOf(item, path) {
  const value = valueAt(item, path) ?? null;
  return value === null ? element('span', { className: 'hint' }, 'no value')
    : element('bdi', { className: 'wraps' }, ...visible(textOf(value)));
}

/** @param {Schema} schema */
const parts = ({ properties }) => ({
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
  return table(`${list}, page ${number}`, ['_id', ...paths, ...inner.map(({ fqpp }) => fqpp)], items.map((item) => [
    lookButton(asked, item._id),
    ...paths.map((path) => element('bdi', { className: 'value' }, ...shown(valueAt(item, path)))),
    ...inner.map((property) => openButton(schema, item, property)),
  ]));
}

/** @param {Asked} asked @param {string} id */
function lookButton(asked, id) {
  const button = link(`Look at ${id}`, () => look(asked, id), id);
  button.dataset.look = id;
  return button;
}

// shown returns a value as text, and not all of a long one.
/** @param {unknown} value */
function shown(value) {
  const text = textOf(value);
  return visible(text.length > longest ? `${text.slice(0, longest)}…` : text);
}

// openButton opens a list property of an object as a table of its own.
/** @param {Schema} schema @param {Stored} item @param {Property} property */
function openButton({ plural }, { _id }, { fqpp, list }) {
  const path = `${plural}/${encodeURIComponent(_id)}/${fqpp.replaceAll('.', '/')}`;
  return link(`Open ${fqpp} of ${_id}`, async () => {
    const schema = [...lists.values()].find((one) => one._id === list);
    if (!schema) {
      throw new Error(`There is no schema of ${list}.`);
    }
    lists = new Map([...lists].filter(([other]) => !other.includes('/'))).set(path, schema); // one at a time
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
  return path === 'sort' || path === 'limit' ? byID(`data-${path}`) : null;
}

onSubmit('data-form', showFirst);
onClick(byID('data-add'), addFilter);
onClick(byID('data-previous'), () => turn(page?.before, 'data-previous'));
onClick(byID('data-next'), () => turn(after(), 'data-next'));
onClick(byID('data-count'), countAll);
byID('data-form').addEventListener('input', () => showRequest());
byID('data-list').addEventListener('change', () => {
  unblame(byID('data-form'));
  clearPage();
  offerFields();
  showRequest();
});
