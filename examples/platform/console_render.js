// Makes elements. Data becomes text and attributes, and never markup.

export const byID = /** @type {ByID} */ ((/** @type {string} */ id) => document.getElementById(id));

// empty removes what elements show.
export const empty = (/** @type {string[]} */ ...ids) => ids.forEach((id) => byID(id).replaceChildren());

// element makes an element. A string becomes text, and other children are elements.
// false, null and undefined are left out.
/** @type {Make} */
export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children.filter((child) => child !== null && child !== false && child !== undefined));
  return made;
}

/** @type {WeakMap<Element, string>} */
const states = new WeakMap(); // of what children of keyed show

// keyed shows one child for each item. A child stays while its item is the same, and so keeps the
// focus, a selection and open details when a list is shown again.
/**
 * @template T
 * @param {Element} place
 * @param {T[]} items
 * @param {(item: T) => string} keyOf two items never have the same key
 * @param {(item: T) => HTMLElement} draw it may use nothing that changes but the item
 */
export function keyed(place, items, keyOf, draw) {
  const old = new Map([...place.children].map((child) => [child.getAttribute('data-key'), child]));
  const children = items.map((item) => {
    const [key, state] = [keyOf(item), JSON.stringify(item)];
    const child = old.get(key);
    if (child && states.get(child) === state) {
      return child;
    }
    const made = draw(item);
    made.dataset.key = key;
    states.set(made, state);
    return made;
  });
  const stay = new Set(children);
  [...place.children].filter((child) => !stay.has(child)).forEach((child) => child.remove());
  children.forEach((child, i) => place.children[i] === child || place.insertBefore(child, place.children[i] ?? null));
}

// showTable shows items as the rows of a table in place, or a sentence if there are none. A screen
// reader reads the caption first. On a narrow page, the table scrolls by itself.
/**
 * @template T
 * @param {HTMLElement} place
 * @param {{caption: string, columns: string[], items: T[], keyOf: (item: T) => string,
 *   cells: (item: T) => (Node | string)[], none?: string}} wanted
 */
export function showTable(place, { caption, columns, items, keyOf, cells, none = '' }) {
  if (!items.length) {
    return place.replaceChildren(none);
  }
  const shape = JSON.stringify([caption, columns]);
  if (place.firstElementChild?.getAttribute('data-shape') !== shape) {
    place.replaceChildren(table(caption, columns, []));
    place.firstElementChild?.setAttribute('data-shape', shape);
  }
  const body = /** @type {Element} */ (place.querySelector('tbody'));
  keyed(body, items, keyOf, (item) => row(cells(item)));
}

// table makes a table that does not change.
/** @param {string} caption @param {(HTMLElement | string)[]} columns @param {(Node | string)[][]} rows */
export function table(caption, columns, rows) {
  const made = element('table', {}, element('caption', {}, caption),
    element('thead', {}, element('tr', {}, ...columns.map(headOf))),
    element('tbody', {}, ...rows.map(row)));
  return element('div', { className: 'scrolls', tabIndex: 0, role: 'group', ariaLabel: caption }, made);
}

/** @param {HTMLElement | string} name a button that sorts says how it does */
const headOf = (name) => element('th', { scope: 'col', ariaSort: typeof name === 'string' ? null : name.dataset.sort ?? null }, name);

const row = (/** @type {(Node | string)[]} */ cells) => element('tr', {}, ...cells.map((value) => element('td', {}, value)));

// fill replaces the descriptions in a list of terms. What is falsy stands for no pair.
/** @param {HTMLElement} list @param {(Child[] | false | '' | 0 | undefined)[]} pairs @returns {HTMLElement} */
export function fill(list, pairs) {
  list.replaceChildren(...pairs.filter(Boolean).map(([term, ...values]) =>
    element('div', {}, element('dt', {}, term), element('dd', {}, ...values))));
  return list;
}

export const facts = (/** @type {Parameters<typeof fill>[1]} */ ...pairs) => fill(element('dl'), pairs);

const unseen = /((?![\n\t])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\u115F\u1160\u3164\uFFA0])/u;

const nameOf = (/** @type {string} */ letter) => `U+${letter.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`;

// visible returns a text in which letters that nobody sees, or that turn the direction of others, are
// named instead.
/**
 * @param {string} text
 * @returns {(HTMLElement | string)[]}
 */
export const visible = (text) => text.split(unseen).map((part, i) => (i % 2 ? element('mark', {}, nameOf(part)) : part));

// plainly is visible where only text can stand: in options, titles and labels.
export const plainly = (/** @type {string} */ text) => text.split(unseen).map((part, i) => (i % 2 ? `[${nameOf(part)}]` : part)).join('');

// named returns a name that somebody has chosen. It stands alone, because it may hold letters of both
// directions. A long one is cut on the page; its title has all of it.
/** @param {string} text @param {string} [id] */
export const named = (text, id = '') => element('bdi', { className: 'name', title: plainly([text, id].filter(Boolean).join(' · ')) }, ...visible(text));

/** @param {string} text @param {HTMLElement} control */
export const field = (text, control) => element('div', {}, element('label', { htmlFor: control.id }, text), control);

// choice makes a select of words and their values.
/** @param {string} id @param {[string, string | number][]} choices */
export const choice = (id, choices) => element('select', { id }, ...choices.map(([text, value]) => element('option', { value: String(value) }, text)));

/** @param {string} text lets a code or a chain break its line only after a dot */
export const breakable = (text) => text.split(/(?<=\.)/).flatMap((word) => [...visible(word), element('wbr')]);

export const code = (/** @type {string} */ text) => element('code', {}, ...visible(text));

/** @param {string} text @returns {string[]} the lines that are not empty */
export const lines = (text) => text.split('\n').map((line) => line.trim()).filter(Boolean);

// dateOf returns the one form of a whole time: with its zone.
/** @param {string} text a date of the interface */
export function dateOf(text) {
  const at = new Date(text);
  return Number.isNaN(at.getTime()) ? text : at.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'long' });
}

/** @type {[Intl.RelativeTimeFormatUnit, number][]} */
const units = [['year', 31_536_000], ['month', 2_592_000], ['day', 86_400], ['hour', 3600], ['minute', 60]];
const relative = new Intl.RelativeTimeFormat('en', { style: 'short' });

/** @param {string} text a date of the interface */
function distance(text) {
  const seconds = (Date.parse(text) - Date.now()) / 1000;
  const [unit, size] = units.find(([, least]) => Math.abs(seconds) >= least) ?? [];
  return unit && size ? relative.format(Math.trunc(seconds / size), unit) : Number.isNaN(seconds) ? text : 'just now';
}

// when shows how far away a time is. Its title is the whole time.
/** @param {string} text a date of the interface */
export const when = (text) => element('time', { dateTime: text, title: dateOf(text), className: 'when' }, distance(text));

setInterval(() => document.querySelectorAll('time.when').forEach((one) => { one.textContent = distance(one.getAttribute('datetime') ?? ''); }), 30_000);

// used shows when something was last used, or is null.
/** @param {{lastUsed?: string, lastAddress?: string}} item */
export const used = ({ lastUsed, lastAddress }) => (lastUsed ? element('span', { title: `from ${lastAddress ?? 'an unknown address'}` }, when(lastUsed)) : null);

export const day = 86_400; // seconds

/** @param {number} seconds from now */
export const after = (seconds) => new Date(Date.now() + seconds * 1000).toISOString();

// cut shows the beginning of a text in one line. Its title is all of it.
export const cut = (/** @type {string} */ text) => element('bdi', { className: 'cut', title: plainly(text) }, ...visible(text));

// pill marks a state that needs somebody to look, or that is harmless.
/** @param {string} text @param {boolean} bad */
export const pill = (text, bad) => element('span', { className: bad ? 'mark warn' : 'mark' }, text);

/** @param {number} count @param {string} noun */
export const counted = (count, noun) => `${count} ${count === 1 ? noun : `${noun}s`.replace(/([^aeiou])ys$/, '$1ies')}`;

/** @param {unknown} value of an object */
export const textOf = (value) => (typeof value === 'string' ? value : JSON.stringify(value) ?? '');

/** @type {(item: any, path: string) => unknown} */
export const valueAt = (item, path) => path.split('.').reduce((at, name) => at?.[name], item);

// box makes a checkbox with its label.
/** @param {Partial<HTMLInputElement>} properties @param {...Child} words */
export const box = (properties, ...words) =>
  element('label', { className: 'check' }, element('input', { type: 'checkbox', ...properties }), ...words);

// matcher returns a function that reports whether a text has all words of a field, whatever their case.
export function matcher(/** @type {HTMLInputElement} */ { value }) {
  const words = value.toLowerCase().split(/\s+/);
  return (/** @type {string} */ text) => words.every((word) => text.toLowerCase().includes(word));
}
