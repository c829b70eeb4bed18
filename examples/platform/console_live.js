// The decisions and verbs of the org as they happen, and the latest before them.

import { Refused, watch } from './console_api.js';
import { complain } from './console_fault.js';
import { announce, link, onClick } from './console_page.js';
import { learn, nameOf } from './console_pick.js';
import { byID, code, cut, element, facts, matcher, named, pill, showTable, visible, when } from './console_render.js';
import { askWhy } from './console_scope.js';
import { addressed, linkTo, note } from './console_sections.js';

const kept = 500; // in memory
const shown = 100; // rows of the table
const redraw = 250; // milliseconds between two drawings

/** @type {AbortController | null} */
let stop = null; // ends the stream, if there is one
/** @type {Happening[]} */
let happenings = []; // the newest first
let known = new Set(); // their keys: what was kept for whoever comes later may come once more
let seen = 0;
let dropped = 0;
let paused = false;
let drawing = 0;
let open = ''; // the row that is unfolded

// openLive starts to watch, with the present credential. The address may have a filter and a row.
export function openLive() {
  closeLive();
  const { question } = addressed();
  byID('live-words').value = question.get('words') ?? byID('live-words').value;
  byID('live-only').value = question.get('only') ?? byID('live-only').value;
  open = question.get('row') ?? '';
  stop = new AbortController();
  byID('live-fault').replaceChildren();
  run(stop.signal);
}

export function closeLive() {
  stop?.abort();
  stop = null;
}

// forgetLive also removes what is shown.
export function forgetLive() {
  closeLive();
  pause(false);
  clear();
  state('');
}

// run watches, and connects again when the connection is lost. A refusal ends it, unless the
// server says that it is too busy.
async function run(/** @type {AbortSignal} */ signal) {
  for (let attempt = 1; ; attempt++) {
    state('Connecting …');
    try {
      await watch(signal, (name, data) => {
        if (attempt) {
          attempt = 0;
          state('Watching.');
          learn('account', 'app').then(later);
        }
        take(name, data);
      });
    } catch (error) {
      if (signal.aborted) {
        return;
      }
      if (error instanceof Refused && error.fault.status < 429) {
        state('Not watching.');
        return complain(error, byID('live-fault'));
      }
    }
    const wait = Math.min(2 ** attempt, 15);
    state(`The connection is lost. Trying again in ${wait} s.`);
    await new Promise((resolve) => { setTimeout(resolve, wait * 1000); });
    if (signal.aborted) {
      return;
    }
  }
}

const state = (/** @type {string} */ text) => announce(text, byID('live-state'));

const keyOf = (/** @type {Happening} */ d) => [d.requestId, d.verb, d.fault, d.handler ? 'handler' : '', d.verb && d.at].filter(Boolean).join(' ');

/** @type {Step} */
function take(name, data) {
  if (name === 'dropped') {
    dropped += data.count;
  } else if (name === 'event') {
    if (known.has(keyOf(data))) {
      return;
    }
    seen++;
    happenings.unshift(data);
    happenings.length = Math.min(happenings.length, kept);
    known = new Set(happenings.map(keyOf));
  } else {
    return;
  }
  later();
}

// later draws soon, and once for all that has come until then.
function later() {
  drawing ||= setTimeout(() => {
    drawing = 0;
    paused || draw();
  }, redraw);
}

function draw() {
  const matches = matcher(byID('live-words'));
  const only = byID('live-only').value;
  const kinds = { refused: (/** @type {Happening} */ d) => Boolean(d.fault), allowed: (/** @type {Happening} */ d) => !d.fault && !d.verb, verbs: (/** @type {Happening} */ d) => Boolean(d.verb) };
  const fits = kinds[/** @type {keyof typeof kinds} */ (only)] ?? (() => true);
  const items = happenings.filter((d) => fits(d) && matches(textOf(d))).slice(0, shown);
  const lost = dropped ? `, and ${dropped} more that this page was too slow for` : '';
  byID('live-count').textContent = `${seen} seen${lost}. Shown are the latest ${items.length} that match.`;
  showTable(byID('live-decisions'), {
    caption: 'Decisions', columns: ['Time', 'Route', 'Decision', 'Why', 'Who', 'From', 'Request'], items, keyOf, cells, none: seen ? 'Nothing matches.' : 'Nothing has happened yet.',
  });
  const row = happenings.find((d) => keyOf(d) === open);
  byID('live-one').replaceChildren(...row ? [everything(`Request ${row.requestId}`, row, () => unfold(''))] : []);
}

/** @param {Happening} d */
const textOf = (d) => [...Object.values(d), nameOf('app', d.app ?? d.claimed ?? ''), nameOf('account', d.account ?? ''), nameOf('account', d.actor ?? '')].join(' ');

/** @param {Happening} d @returns {(Node | string)[]} */
const cells = (d) => [
  when(d.at),
  d.route ?? 'no route',
  d.verb ? pill(d.verb, false) : d.fault ? element('span', { className: 'bad' }, `${d.status} `, code(d.fault.slice(d.fault.indexOf('.') + 1))) : 'allowed',
  whyOf(d),
  who(d),
  d.address ?? '',
  link(`Details of ${d.requestId}`, () => unfold(keyOf(d) === open ? '' : keyOf(d)), d.requestId.slice(0, 8) || 'none'),
];

// whyOf names the reason. Only where a chain was asked, it leads to the scope tester.
function whyOf(/** @type {Happening} */ d) {
  const asked = d.need && (d.chain || d.reason === 'scope');
  const held = d.chain || 'no chain';
  return element('span', {}, d.reason && element('strong', {}, ...visible(d.reason)), d.reason && asked ? ' ' : '',
    asked ? link(`Why: ${d.route}, ${held}`, () => askWhy(d.chain ?? '', d.need), cut(d.reason === 'scope' ? `needs ${d.need}, held ${held}` : held)) : null);
}

// who names the account and the app, or the app that a rejected credential claims to be of.
function who(/** @type {Happening} */ d) {
  const account = d.verb ? d.actor ?? d.account : d.account;
  if (!account) {
    return d.claimed ? element('span', {}, 'claims ', named(nameOf('app', d.claimed), d.claimed)) : 'nobody';
  }
  const names = [named(nameOf('account', account), account), d.app && named(nameOf('app', d.app), d.app)].filter(Boolean);
  return element('span', {}, ...names.flatMap((one, i) => [i ? ' by ' : '', one]), d.mechanism && `, ${d.mechanism}`);
}

/** @param {string} key '' folds */
function unfold(key) {
  open = key;
  noted();
  draw();
  key && byID('live-one').querySelector('h2')?.focus();
}

/** @type {Record<string, ['app' | 'account', string, string]>} */
const pages = { app: ['app', 'apps', 'key'], claimed: ['app', 'apps', 'key'], account: ['account', 'people', 'account'], actor: ['account', 'people', 'account'] };

/** @type {Record<string, string>} */
const terms = { need: 'needed', chain: 'held, nearest' };

// everything shows all that is known of a decision, or of an entry of the audit log.
/** @param {string} title @param {Happening | Entry} row @param {() => unknown} close */
export const everything = (title, row, close) => element('div', { className: 'stack' }, element('h2', { tabIndex: -1 }, title),
  facts(...Object.entries(row).filter(([name, value]) => name !== 'object' && value !== null).map(([name, value]) => {
    const [kind, section, id] = pages[name] ?? [];
    return [terms[name] ?? name, kind && section && id ? element('a', { href: linkTo(section, [[id, String(value)]]) }, named(nameOf(kind, String(value)), String(value)))
      : element('bdi', {}, ...visible(String(value)))];
  })),
  link('Close the details', close, 'Close'));

const noted = () => note('live', [['words', byID('live-words').value.trim()], ['only', byID('live-only').value], ['row', open]]);

function clear() {
  happenings = [];
  known = new Set();
  [seen, dropped, open] = [0, 0, ''];
  draw();
}

function pause(/** @type {boolean} */ on) {
  paused = on;
  byID('live-pause').textContent = on ? 'Go on' : 'Pause';
  draw();
}

onClick(byID('live-pause'), () => pause(!paused));
onClick(byID('live-clear'), clear);
byID('live-form').addEventListener('submit', (event) => event.preventDefault());
byID('live-form').addEventListener('input', () => {
  noted();
  draw();
});
