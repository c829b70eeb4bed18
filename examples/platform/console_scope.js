// The scope tester. The server decides, with the package that its routes use. A
// second implementation could decide otherwise.

import { site, Told } from './console_api.js';
import { announce, copy, onClick, onSubmit } from './console_page.js';
import { byID, code, element, facts, lines, visible } from './console_render.js';
import { addressed, linkTo } from './console_sections.js';

async function test(/** @type {FormData} */ form) {
  history.replaceState(null, '', linkOf(form.get('grants'), form.get('need')));
  const reply = await site.scope(lines(form.get('grants')), form.get('need').trim());
  byID('scope-verdict').replaceChildren(verdict(reply), reasons(reply), ...reply.warnings.map(warning));
}

const verdict = (/** @type {Verdict} */ { allowed, why }) => element('p', { className: allowed ? 'verdict' : 'verdict no' },
  element('strong', {}, allowed ? 'Allowed.' : 'Denied.'), ' ', ...visible(why));

const reasons = (/** @type {Verdict} */ reply) => facts(
  ['Need', code(reply.need)],
  reply.chain && [reply.allowed ? 'Allowing chain' : 'Nearest chain', marked(reply.chain, reply.segment)],
  reply.source && ['Source', ...visible(reply.source)],
  reply.segment && ['Fails at', `segment ${reply.segment}`],
  !reply.allowed && ['In part', reply.part ? 'some of it is covered: a list is narrowed to that, and a write held to it' : 'no part of it is covered'],
);

// marked returns the chain with the failing segment marked.
/** @param {string} chain @param {number} [segment] */
function marked(chain, segment) {
  const parts = chain.split('.').map((text, i) => (i + 1 === segment ? element('mark', {}, ...visible(text)) : element('span', {}, ...visible(text))));
  return element('code', {}, ...parts.flatMap((part, i) => (i ? ['.', part] : [part])));
}

/** @param {Verdict['warnings'][0]} warning */
const warning = ({ source, text }) => element('p', { className: 'hint' }, ...visible(`${source} grants nothing: ${text}`));

/** @param {string} grants @param {string} need */
const linkOf = (grants, need) => linkTo('scope', [['need', need.trim()], ['grants', lines(grants).join('\n')]]);

// openScope decides the question in the address, if there is one.
export function openScope() {
  const { question } = addressed();
  const need = question.get('need') ?? '';
  if (!need || need.length > byID('scope-need').maxLength) {
    return;
  }
  byID('scope-need').value = need;
  byID('scope-grants').value = question.get('grants') ?? '';
  byID('scope-form').requestSubmit();
}

// askWhy shows the decision about a need by some chains, one per line.
/** @param {string} grants @param {string} [need] */
export function askWhy(grants, need = byID('scope-need').value) {
  location.hash = linkOf(grants, need);
}

async function copyLink() {
  const link = linkOf(byID('scope-grants').value, byID('scope-need').value);
  if (!link.includes('?')) {
    throw new Told('The question is too long for a link.');
  }
  await copy(new URL(link, location.href).href);
  announce('The link is copied.', byID('scope-said'));
}

export const forgetVerdict = () => byID('scope-verdict').replaceChildren();

onSubmit('scope-form', test);
onClick(byID('scope-copy'), copyLink);
byID('try-scope').addEventListener('click', () => {
  byID('try-scope').href = linkOf(byID('scope-grants').value, byID('scope-need').value);
});
