// The decisions of the org as they happen.

import { Refused, watch } from './console_api.js';
import { complain } from './console_fault.js';
import { link, onClick } from './console_page.js';
import { learn, nameOf } from './console_pick.js';
import { breakable, byID, element, matcher, named, table } from './console_render.js';
import { askWhy } from './console_scope.js';

const kept = 500; // decisions in memory
const shown = 100; // rows of the table
const redraw = 250; // milliseconds between two drawings

/** @type {AbortController | null} */
let stop = null; // ends the stream, if there is one
/** @type {Decision[]} */
let decisions = []; // the newest first
let seen = 0;
let dropped = 0;
let paused = false;
let drawing = 0;

// openLive starts to watch, with the present credential.
export function openLive() {
  closeLive();
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
/** @param {AbortSignal} signal */
async function run(signal) {
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

/** @param {string} text */
function state(text) {
  if (byID('live-state').textContent !== text) {
    byID('live-state').textContent = text;
  }
}

/** @type {Step} */
function take(name, data) {
  if (name === 'dropped') {
    dropped += data.count;
  } else if (name === 'event') {
    seen++;
    decisions.unshift(data);
    decisions.length = Math.min(decisions.length, kept);
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
  const wanted = decisions.filter((d) => (!only || (only === 'refused') === Boolean(d.fault)) && matches(textOf(d))).slice(0, shown);
  const lost = dropped ? `, and ${dropped} more that this page was too slow for` : '';
  byID('live-count').textContent = `${seen} seen${lost}. Shown are the latest ${wanted.length} that match.`;
  const focused = document.activeElement?.closest('button')?.dataset.decision;
  byID('live-decisions').replaceChildren(wanted.length
    ? table('Decisions', ['Time', 'Route', 'Decision', 'Why', 'Who', 'Took'], wanted.map(row))
    : element('p', { className: 'hint' }, seen ? 'Nothing matches.' : 'Nothing has happened yet.'));
  if (focused) {
    document.querySelector(`[data-decision="${focused}"]`)?.focus();
  }
}

/** @param {Decision} d */
const textOf = (d) => [d.verb, d.reason, d.route, d.mechanism, d.app, d.account, nameOf('app', d.app ?? ''), nameOf('account', d.account ?? ''), d.fault, d.need, d.chain, d.requestId]
  .join(' ');

/** @param {Decision} d */
function row(d) {
  return [
    element('time', { dateTime: d.at, title: d.requestId }, new Date(d.at).toLocaleTimeString()),
    d.route ?? 'no route',
    d.fault ? element('code', { className: 'bad' }, ...breakable(d.fault)) : what(d),
    d.need ? whyButton(d, d.need) : '',
    who(d),
    d.took === undefined ? '' : `${(d.took / 1000).toFixed(2)}\u00A0ms`,
  ];
}

// what says which verb it is, or that a request was admitted.
/** @param {Decision} d */
const what = (d) => (d.verb ? element('code', {}, ...breakable(d.verb), d.reason ? ` (${d.reason})` : '') : 'allowed');

// who names the account and the app.
/** @param {Decision} d */
function who(d) {
  if (!d.account) {
    return 'nobody';
  }
  const who = [d.account && named(nameOf('account', d.account), d.account), d.app && named(nameOf('app', d.app), d.app)].filter(Boolean);
  return element('span', {}, ...who.flatMap((one, i) => [i ? ' by ' : '', one]), d.mechanism ? `, ${d.mechanism}` : '');
}

/** @param {Decision} d @param {string} need */
function whyButton(d, need) {
  const chain = d.chain || 'no chain';
  const button = link(`Why: ${d.route}, ${chain}`, () => askWhy(d.chain ?? '', need), ...breakable(chain));
  button.dataset.decision = `${d.requestId}${d.fault ?? ''}`.replace(/[^\w.]/g, '');
  return button;
}

function clear() {
  decisions = [];
  [seen, dropped] = [0, 0];
  draw();
}

/** @param {boolean} on */
function pause(on) {
  paused = on;
  byID('live-pause').textContent = on ? 'Go on' : 'Pause';
  draw();
}

onClick(byID('live-pause'), () => pause(!paused));
onClick(byID('live-clear'), clear);
byID('live-form').addEventListener('submit', (event) => event.preventDefault());
byID('live-form').addEventListener('input', draw);
