// The scope tester. The server decides, with the package that its routes use. A
// second implementation could decide otherwise.

import { site } from './console_api.js';
import { onSubmit } from './console_page.js';
import { byID, code, element, fill, lines, visible } from './console_render.js';

/** @param {FormData} form */
async function test(form) {
  const reply = await site.scope(lines(form.get('grants')), form.get('need').trim());
  byID('scope-verdict').replaceChildren(verdict(reply), reasons(reply), ...reply.warnings.map(warning));
}

/** @param {Verdict} reply */
const verdict = ({ allowed, why }) => element('p', { className: allowed ? 'verdict' : 'verdict no' },
  element('strong', {}, allowed ? 'Allowed.' : 'Denied.'), ' ', ...visible(why));

/** @param {Verdict} reply */
function reasons(reply) {
  const facts = element('dl');
  const nearest = reply.allowed ? 'Allowing chain' : 'Nearest chain';
  fill(facts, [
    ['Need', code(reply.need)],
    reply.chain && [nearest, marked(reply.chain, reply.segment)],
    reply.source && ['Source', ...visible(reply.source)],
    reply.segment && ['Fails at', `segment ${reply.segment}`],
    !reply.allowed && ['In part', reply.part ? 'some of it is covered: a list is narrowed to that, and a write held to it' : 'no part of it is covered'],
  ].filter(Boolean));
  return facts;
}

// marked returns the chain with the failing segment marked.
/** @param {string} chain @param {number} [segment] */
function marked(chain, segment) {
  const parts = chain.split('.').map((text, i) => (i + 1 === segment ? element('mark', {}, ...visible(text)) : element('span', {}, ...visible(text))));
  return element('code', {}, ...parts.flatMap((part, i) => (i ? ['.', part] : [part])));
}

/** @param {Verdict['warnings'][0]} warning */
const warning = ({ source, text }) => element('p', { className: 'hint' }, ...visible(`${source} grants nothing: ${text}`));

// askWhy shows the decision about a need by one chain, or by none.
/** @param {string} chain @param {string} need */
export function askWhy(chain, need) {
  byID('scope-grants').value = chain;
  byID('scope-need').value = need;
  byID('scope-form').requestSubmit();
}

export const forgetVerdict = () => byID('scope-verdict').replaceChildren();

onSubmit('scope-form', test);
document.querySelector('[data-try=scope]')?.addEventListener('click', () => byID('scope-form').requestSubmit());
