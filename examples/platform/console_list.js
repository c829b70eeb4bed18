// Lists: the items of a section as a table, what is said of them, and a button for more.

import { complain } from './console_fault.js';
import { announce, onClick } from './console_page.js';
import { byID, counted, element, matcher, showTable } from './console_render.js';

const atOnce = 200; // rows that are drawn

/**
 * @template {{_id: string}} T
 * @typedef {{
 *   noun: string, columns: string[], cells: (item: T) => (Node | string)[], ask?: (last?: T) => Promise<List<T>>,
 *   caption: string | (() => string), none?: string, textOf?: (item: T) => string, arrange?: (items: T[]) => T[], shown?: (items: T[]) => unknown,
 * }} Listed
 */

// listing shows a list in the element of a name. If there is a field #name-words, only the items whose textOf has these
// words are shown. ask asks for the items after the last one. shown learns what is loaded, and
// may return what is said of it.
/** @template {{_id: string}} T @param {string} name @param {Listed<T>} of */
export function listing(name, { noun, caption, columns, cells, ask, none = 'None.', textOf = () => '', arrange = (all) => all, shown = () => '' }) {
  const place = byID(name);
  const words = /** @type {HTMLInputElement | null} */ (document.querySelector(`#${name}-words`));
  const said = element('p', { id: `${name}-said`, className: 'said', role: 'status' });
  const next = element('button', { id: `${name}-more`, type: 'button', className: 'quiet', hidden: true }, 'Show more');
  const fault = element('div', { className: 'fault', role: 'alert' });
  place.before(said, fault);
  place.after(next);
  /** @type {T[]} */
  let items = [];
  let [more, drawn, visit] = [false, atOnce, 0];

  // matching returns the items to show, in their order.
  function matching() {
    const matches = words ? matcher(words) : () => true;
    return arrange(items.filter((item) => matches(textOf(item))));
  }

  function show() {
    const all = matching();
    showTable(place, {
      caption: typeof caption === 'string' ? caption : caption(), columns, items: all.slice(0, drawn), keyOf: ({ _id }) => _id, cells,
    });
    next.hidden = !more && all.length <= drawn;
    announce(!items.length ? none : `${all.length < items.length ? `${all.length} of ` : ''}${counted(items.length, noun)}${more ? ', and there are more' : ''}.${shown(items) || ''}`, said);
  }

  // load asks for more, if the server has any. What comes after a visit is over is not shown.
  async function load() {
    const mine = visit;
    const { data, hasMore } = ask ? await ask(items.at(-1)) : { data: [], hasMore: false };
    if (mine === visit) {
      set([...items, ...data], hasMore);
    }
  }

  /** @param {T[]} all */
  function set(all, hasMore = more) {
    [items, more] = [all, hasMore];
    show();
  }

  function forget() {
    visit++;
    [items, more, drawn] = [[], false, atOnce];
    [place, said, fault].forEach((one) => one.replaceChildren());
    next.hidden = true;
  }

  // open lists from the beginning.
  function open() {
    forget();
    return load().catch((error) => complain(error, fault));
  }

  // say tells what has become of an item, whose button may be gone.
  function say(/** @type {string} */ text) {
    announce(text, said);
    byID(place.closest('section')?.getAttribute('aria-labelledby') ?? '').focus();
  }

  onClick(next, () => {
    const waiting = matching().length > drawn;
    drawn += atOnce;
    return waiting ? show() : load();
  });
  words?.addEventListener('input', show);
  return { open, load, set, show, say, forget, all: () => items, hasMore: () => more };
}
