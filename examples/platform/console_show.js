// Show as code: the latest requests that a person caused in this section.

import { onRequest, site } from './console_api.js';
import { forms, withoutSecrets } from './console_code.js';
import { onCopy } from './console_page.js';
import { byID, element } from './console_render.js';
import { addressed } from './console_sections.js';

const most = 8;

/** @type {Coded[]} */
let kept = []; // the newest first
let acted = false; // whether a person has acted since the latest request that was kept
let prefix = '';

// What the page asks for its own use.
const own = /\/(accounts\/(status|me|me\/sessions)|schemas|console\/brand)(\?|$)/;

// hear keeps a request if it changes something, or if it is the first after a person has acted. Others are
// of the page itself, such as the list after a change. They would bury what the person did.
/** @param {Requested} request */
function hear(request) {
  const changes = request.method !== 'GET' && !request.path.startsWith('/console/');
  if (!changes && (!acted || own.test(request.path))) {
    return;
  }
  acted = false;
  const one = withoutSecrets(request);
  const text = JSON.stringify(one);
  kept = [one, ...kept.filter((other) => JSON.stringify(other) !== text)].slice(0, most);
  draw();
}

// forgetShown removes the requests. The first request of a section counts as the person's who opens it, but the
// account's section only asks for numbers.
export function forgetShown() {
  kept = [];
  acted = addressed().section !== 'account';
  draw();
}

// draw writes nothing into a panel that is closed.
function draw() {
  byID('shown').hidden = !kept.length;
  const requests = byID('shown-more').open ? kept : [];
  byID('shown-request').replaceChildren(...requests.map(({ method, path }, i) => element('option', { value: `${i}` },
    `${method} ${path.length > 80 ? `${path.slice(0, 80)}…` : path}`)));
  write();
}

function write() {
  const one = kept[Number(byID('shown-request').value || -1)];
  byID('shown-text').textContent = one ? forms[byID('shown-form').value](one, prefix) : '';
}

// learnPrefix asks how this server names its headers.
async function learnPrefix() {
  const { header } = await site.brand();
  prefix = header === 'Service-' ? '' : header;
  write();
}

onRequest(hear);
for (const name of ['click', 'submit', 'input', 'hashchange']) {
  addEventListener(name, (event) => { acted ||= !event.composedPath().includes(byID('shown')); }, true);
}
byID('shown-more').addEventListener('toggle', () => {
  draw();
  learnPrefix().catch(() => {}); // the usual prefix then
});
byID('shown-request').addEventListener('change', write);
byID('shown-form').addEventListener('change', write);
onCopy('shown-copy', 'shown-text');
