// What went wrong, for people: the fault, its rule, what was held and what would be enough.

import { acting, Gone, Refused, Told } from './console_api.js';
import { breakable, byID, element, facts, visible } from './console_render.js';

// complain shows an error, unless it is about what somebody else did.
/** @param {unknown} error @param {HTMLElement} [place] */
export function complain(error, place = byID('fault')) {
  if (error instanceof Gone) {
    return;
  }
  place.replaceChildren(...(error instanceof Refused ? refusal(error) : [element('p', {}, ...visible(reasonOf(error)))]));
  place.scrollIntoView({ block: 'nearest' });
}

function refusal(/** @type {Refused} */ error) {
  const { fault, retryAfter } = error;
  /** @type {HTMLElement[]} */
  const parts = [element('p', {}, ...visible(sentence(fault)), ' ', element('code', {}, ...breakable(fault.errCode)))];
  if (fault.faults?.length) {
    parts.push(element('ul', {}, ...fault.faults.map((child) => element('li', {}, ...visible(childOf(fault, child))))));
  }
  const rule = ruleOf(error);
  if (rule) {
    parts.push(facts(['Rule', rule.rule], ['Held', ...visible(rule.held)], ['Enough', ...visible(rule.enough)]));
  }
  if (retryAfter) {
    parts.push(element('p', {}, `Try again in ${retryAfter} s.`));
  }
  return parts;
}

const aboutOf = (/** @type {Fault} */ { path, reason }) => [path, reason].filter(Boolean).join(': ');

function sentence(/** @type {Fault} */ fault) {
  const about = aboutOf(fault);
  return about ? `${fault.message} (${about})` : fault.message;
}

// childOf leaves out what the parent fault has said.
/** @param {Fault} fault @param {Fault} child */
const childOf = (fault, child) => (child.message === fault.message ? aboutOf(child) || child.message : sentence(child));

// ruleOf says which rule has refused, what was held, and what would be enough.
function ruleOf(/** @type {Refused} */ { fault, detail }) {
  const [held, roles] = heldNow();
  switch (detail) {
    case 'accessDenied.scope': return {
      rule: 'The scope of the credential must cover what is asked for.',
      held,
      enough: fault.reason ? `The chain ${fault.reason}, or one above it.` : 'A wider scope.',
    };
    case 'accessDenied.unspecified': return {
      rule: 'This needs a right of the account, besides the scope.',
      held: roles,
      enough: fault.reason || 'The role administrator.',
    };
    case 'accessDenied.delegation': return {
      rule: 'Nobody passes on more than they hold.',
      held,
      enough: 'Less of what is named above, or a maker who holds it.',
    };
  }
  return null;
}

/** heldNow describes the scope and the roles of the credential of the page. */
function heldNow() {
  const { account, bearer, held } = acting;
  if (!bearer && !account) {
    return ['Nothing: nobody is signed in.', 'Nothing: nobody is signed in.'];
  }
  const chains = held ? held.join(', ') || '(none)' : 'of a scope that the server does not tell';
  const roles = account?.roles.join(', ') || 'none';
  return bearer ? [`A token, for the chains ${chains}.`, 'A token, with the roles of its subject.']
    : [`A session, for all that the roles of its account allow: ${roles}.`, `The roles of the account: ${roles}.`];
}

// blame shows each child of a fault at the control that it is about, which stands in a div of its
// own. It throws the error as well if a child has no control, or if there is a rule to tell.
/** @param {unknown} error @param {ControlOf} controlOf */
export function blame(error, controlOf) {
  const fault = error instanceof Refused ? error.fault : null;
  const errCode = fault?.errCode ?? '';
  const faults = fault?.faults?.length || !fault?.path ? fault?.faults ?? [] : [fault]; // a conflict has no part
  const controls = faults.map((child) => mark(controlOf(child), child, errCode)).filter(Boolean);
  controls[0]?.closest('details')?.setAttribute('open', '');
  controls[0]?.focus();
  if (!(error instanceof Refused) || !controls.length || controls.length < faults.length || ruleOf(error)) {
    throw error;
  }
}

/** @param {HTMLElement | null | undefined} control @param {Fault} fault @param {string} errCode */
function mark(control, { message, reason, path = '' }, errCode) {
  if (control) {
    const id = `${control.id}-fault`;
    byID(id) ?? control.closest('div')?.append(element('div', { id, className: 'wrong' }));
    const words = reason?.replace(/^\/\S+: /, '') ?? message; // without the JSON pointer
    const line = path.match(/\[(\d+)\]$/)?.[1]; // of a field that has one item per line
    byID(id).append(element('p', {}, line ? `Line ${Number(line) + 1}: ` : '', ...visible(words), ' ', element('code', {}, ...breakable(errCode))));
    if (control.ariaInvalid !== 'true') {
      control.setAttribute('aria-describedby', `${id} ${control.getAttribute('aria-describedby') ?? ''}`.trim());
    }
    control.ariaInvalid = 'true';
  }
  return control;
}

// unblame removes what blame has shown in a form.
export function unblame(/** @type {HTMLFormElement} */ form) {
  for (const control of form.querySelectorAll('[aria-invalid]')) {
    const [id, ...rest] = (control.getAttribute('aria-describedby') ?? '').split(' ');
    control.removeAttribute('aria-invalid');
    control.setAttribute('aria-describedby', rest.join(' '));
    byID(id).remove();
  }
}

const reasonOf = (/** @type {unknown} */ error) => (error instanceof Told ? error.message
  : `This page has made a mistake: ${error}. Load it again; if that does not help, tell whoever runs the server.`);
