// The paging explorer: the query of a list call, its page, and two ways to walk on
// from it, with their times.

import { acting, queryOf, request } from './console_api.js';
import { complain } from './console_fault.js';
import { announce, onSubmit } from './console_page.js';
import { box, byID, counted, element, empty, table, textOf, valueAt, visible } from './console_render.js';

/** @type {Schema[]} */
let schemas = [];

// openPaging asks the server which lists there are.
export async function openPaging() {
  try {
    schemas = (await request('GET', '/schemas?limit=1000')).data;
  } catch (error) {
    return complain(error, byID('paging-fault'));
  }
  const { value } = byID('paging-list');
  byID('paging-list').replaceChildren(...schemas.map(({ plural }) => element('option', { value: plural }, plural)));
  byID('paging-list').value = schemas.some(({ plural }) => plural === value) ? value : (schemas.at(-1)?.plural ?? '');
  showPaths();
}

const chosen = () => schemas.find(({ plural }) => plural === byID('paging-list').value);

// showPaths offers the properties of the list. A list below it is asked for by its
// name.
function showPaths() {
  byID('paging-paths').replaceChildren(...(chosen()?.properties ?? []).map(({ fqpp, type }, i) =>
    box({ name: 'paths', value: fqpp, checked: i === 0 }, `${fqpp} `, element('span', { className: 'hint' }, type))));
  showQuery();
}

// argumentsOf returns the arguments of a list call before they are escaped.
/** @param {FormData} form */
function argumentsOf(form) {
  const pairs = form.getAll('paths').map((path) => ['paths[]', path]);
  for (const name of ['where', 'sort', 'limit']) {
    const text = form.get(name).trim();
    if (text) {
      pairs.push([name, text]);
    }
  }
  return pairs;
}

/** @type {(form: FormData, pairs: string[][]) => string} */
const pathOf = (form, pairs) => `/${form.get('list')}?${queryOf(pairs)}`;

function showQuery() {
  const form = new FormData(byID('paging-form'));
  byID('paging-query').textContent = form.get('list') ? `GET /${acting.org}/v2${pathOf(form, argumentsOf(form))}` : '';
}

// timed asks for a page, and measures how long it took.
/** @type {(path: string) => Promise<Page>} */
async function timed(path) {
  const begin = performance.now();
  const { data, hasMore } = await request('GET', path);
  return { data, more: hasMore, took: performance.now() - begin };
}

/** @param {number} took */
const milliseconds = (took) => `${took.toFixed(1)} ms`;

/** @param {FormData} form @param {Button} button */
async function fetchPage(form, button) {
  if (button?.value === 'walk') {
    return walk(form);
  }
  byID('paging-page').replaceChildren();
  const { data, more, took } = await timed(pathOf(form, argumentsOf(form)));
  announce(`${counted(data.length, 'item')} in ${milliseconds(took)}; ${more ? 'there are more' : 'that is all'}.`, byID('paging-said'));
  const paths = ['_id', ...form.getAll('paths').filter((path) => path !== '_id')];
  const rows = data.map((item) => paths.map((path) => element('bdi', { className: 'value' }, ...visible(textOf(valueAt(item, path))))));
  byID('paging-page').replaceChildren(table('The page', paths, rows));
}

// walk fetches the same pages in both ways. Both sort by _id, so that they get the
// same items. With skip, the server counts the items before; with a keyset, it
// seeks to them.
/** @param {FormData} form */
async function walk(form) {
  byID('paging-walk').replaceChildren();
  const pages = Math.min(Math.max(Number(form.get('pages')) || 1, 1), 50);
  await steps(form, 1, skipping); // so that neither way pays for the connection
  const keyset = await steps(form, pages, afterLast);
  const skip = await steps(form, pages, skipping);
  const rows = keyset.map((page, i) => [
    String(i + 1), String(page.data.length), milliseconds(page.took), skip[i] ? milliseconds(skip[i].took) : '',
    same(page, skip[i]) ? 'yes' : 'no']);
  rows.push(['all', String(count(keyset)), milliseconds(total(keyset)), milliseconds(total(skip)), '']);
  byID('paging-walk').replaceChildren(table('Times', ['Page', 'Items', 'Keyset', 'Skip', 'Same items'], rows));
  announce(`${counted(keyset.length, 'page')} each way.`, byID('paging-said'));
}

/** @param {Page} a @param {Page} [b] */
const same = (a, b) => a.data.map(({ _id }) => _id).join() === b?.data.map(({ _id }) => _id).join();
/** @param {Page[]} pages */
const total = (pages) => pages.reduce((sum, { took }) => sum + took, 0);
/** @param {Page[]} pages */
const count = (pages) => pages.reduce((sum, { data }) => sum + data.length, 0);

// steps fetches pages until there are no more, or most pages. next returns the
// arguments of the page after the given ones.
/** @param {FormData} form @param {number} most @param {Next} next */
async function steps(form, most, next) {
  const fixed = argumentsOf(form).filter(([name]) => name !== 'where' && name !== 'sort');
  const where = form.get('where').trim();
  /** @type {Page[]} */
  const pages = [];
  do {
    const pairs = [...fixed, ['sort', '{"_id":1}'], ...next(pages, where)];
    pages.push(await timed(pathOf(form, pairs)));
  } while (pages.length < most && pages.at(-1)?.more);
  return pages;
}

// afterLast starts after the last item (section 4.2 of the interface). It does not
// parse the user's where, because a script may lose digits of a number in it.
/** @type {Next} */
function afterLast(pages, where) {
  const last = pages.at(-1)?.data.at(-1)?._id;
  const behind = last && JSON.stringify({ _id: { $gt: last } });
  const all = [where, behind].filter(Boolean);
  return all.length ? [['where', all.length > 1 ? `{"$and":[${all.join()}]}` : all[0]]] : [];
}

/** @type {Next} */
const skipping = (pages, where) => [
  ...(where ? [['where', where]] : []),
  ...(pages.length ? [['skip', String(count(pages))]] : []),
];

// forgetPages removes the pages from the page.
export const forgetPages = () => empty('paging-query', 'paging-page', 'paging-walk');

onSubmit('paging-form', fetchPage);
byID('paging-form').addEventListener('input', showQuery);
byID('paging-list').addEventListener('change', showPaths);
