// The parts of the page: its views, its notices, its steps and its dialogs.

import { Told } from './console_api.js';
import { blame, complain, unblame } from './console_fault.js';
import { byID, code, element, empty, fill, plainly, visible } from './console_render.js';

const views = ['loading', 'sign-in', 'join', 'reset', 'code', 'enrol', 'account'];

// show shows one view. The focus goes to the first field, or to the heading, which
// a screen reader then reads.
/** @param {string} view @param {string} [field] */
export function show(view, field = `${view}-title`) {
  for (const name of views) {
    byID(name).hidden = name !== view;
  }
  byID('welcome').hidden = view !== 'sign-in';
  byID(field).focus();
}

export const isShown = (/** @type {string} */ view) => !byID(view).hidden;

/** @param {string} text @param {HTMLElement} [place] */
export function announce(text, place = byID('notice')) {
  place.replaceChildren(...visible(text));
}

/** quiet removes the messages of the step before. */
export function quiet() {
  for (const place of document.querySelectorAll('#notice, .said, #fault, .fault')) {
    place.replaceChildren();
  }
}

// onSubmit runs a step when its form is submitted. A step that runs does not start again. What the
// form names in data-clears was the result of an earlier step, and goes. controlOf finds the control
// that a part of a refusal is about: by itself, the one of that name.
/** @type {(id: FormID | HTMLFormElement, step: Submitted, controlOf?: ControlOf) => void} */
export function onSubmit(id, step, controlOf) {
  const form = typeof id === 'string' ? byID(id) : id;
  controlOf ??= ({ path = '' }) => /** @type {HTMLElement | null} */ (form.elements.namedItem(path.replace(/\[.*/, '')));
  form.addEventListener('submit', (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    run(form, async () => {
      form.dataset.clears?.split(' ').forEach((result) => byID(result).replaceChildren());
      unblame(form);
      try {
        await step(new FormData(form), /** @type {Button} */ (event.submitter));
        delete form.dataset.filled;
      } catch (error) {
        blame(error, controlOf);
      }
    });
  });
}

// wire makes of the attributes of a form what each has: data-label is the label of a field, data-hint what is said below
// it, and data-new folds the form away. Each form has a place for faults.
export function wire(/** @type {ParentNode} */ place) {
  for (const control of place.querySelectorAll('[data-label]')) {
    const { label = '', hint } = control.dataset;
    const around = element('div');
    control.replaceWith(around);
    around.append(element('label', { htmlFor: control.id }, label), control);
    if (hint) {
      around.append(element('p', { id: `${control.id}-hint`, className: 'hint' }, ...hint.split('`').map((part, i) => (i % 2 ? code(part) : part))));
      control.setAttribute('aria-describedby', `${control.id}-hint`);
    }
  }
  for (const form of /** @type {NodeListOf<HTMLFormElement>} */ (place.querySelectorAll('form:not(#sign-in-form)'))) {
    const buttons = form.querySelector(':scope > button, :scope > .row:last-of-type');
    form.insertBefore(element('div', { className: 'fault', role: 'alert' }), buttons);
    const { new: name } = form.dataset;
    if (name) {
      const details = element('details', { className: 'new' }, element('summary', {}, name));
      form.replaceWith(element('section', { ariaLabel: name }, details));
      details.append(form);
    }
  }
}

// onClick runs a step when its button is pressed. A step that runs does not start again.
/** @param {HTMLElement} button @param {() => unknown} step */
export function onClick(button, step) {
  button.addEventListener('click', () => run(button, step));
}

// action makes a button for a step. about names what it is about, where several buttons have one text.
/** @param {string} text @param {string} about @param {() => unknown} step @param {string} [className] */
export function action(text, about, step, className = 'quiet') {
  const button = element('button', { type: 'button', className, ariaLabel: about ? plainly(`${text}: ${about}`) : null }, text);
  onClick(button, step);
  return button;
}

// link makes a button that looks like a link. label is what a screen reader says of it.
/** @param {string} label @param {() => unknown} step @param {...Child} children */
export function link(label, step, ...children) {
  const button = element('button', { type: 'button', className: 'link', ariaLabel: plainly(label) }, ...children);
  onClick(button, step);
  return button;
}

// menu holds the steps that are not shown at once.
/** @param {string} about @param {...Child} steps */
export const menu = (about, ...steps) => element('details', { className: 'menu' },
  element('summary', { ariaLabel: plainly(`More: ${about}`) }, 'More'), element('div', { className: 'row' }, ...steps));

// copyable returns a text with a button that copies it. what names it, and tell says that it is done.
/** @param {string} text @param {string} what @param {(text: string) => unknown} tell */
export const copyable = (text, what, tell) => [code(text), ' ', link(`Copy: ${what}`, async () => {
  await copy(text);
  tell('Copied.');
}, 'Copy')];

// run runs a step, and marks its control as busy. It does not disable the control, because that would lose the focus.
/** @param {HTMLElement} control @param {() => unknown} step @param {HTMLElement} [fault] found now: the step may take the control away */
async function run(control, step, fault = faultNear(control)) {
  if (control.ariaBusy === 'true') {
    return;
  }
  control.ariaBusy = 'true';
  quiet();
  try {
    await step();
  } catch (error) {
    complain(error, fault.isConnected ? fault : undefined);
  } finally {
    control.ariaBusy = 'false';
  }
}

// faultNear returns the element in which the user of the control reads a fault. An item of a list has
// its own.
function faultNear(/** @type {HTMLElement} */ control) {
  const item = control.closest('li, tr, .item');
  if (item) {
    return item.querySelector('.fault') ?? addFault(item);
  }
  return control.closest('section')?.querySelector('.fault') ?? byID('fault');
}

function addFault(/** @type {Element} */ item) {
  const fault = element('div', { className: 'fault', role: 'alert' });
  (item.matches('tr') ? /** @type {Element} */ (item.lastElementChild) : item).append(fault);
  return fault;
}

export async function copy(/** @type {string} */ text) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    throw new Told('The browser does not let this page copy. Select the text, and copy it by hand.');
  }
}

// onCopy makes a button copy the text of an element.
/** @param {string} id @param {string} from */
export function onCopy(id, from) {
  onClick(byID(id), async () => {
    await copy(byID(from).textContent);
    announce('Copied.', byID(id).closest('section')?.querySelector('.said') ?? undefined);
  });
}

// opened shows a dialog, and returns how it was closed. attach adds what listens while it is open.
/**
 * @param {HTMLDialogElement} dialog
 * @param {HTMLElement} first gets the focus
 * @param {(signal: AbortSignal) => void} attach
 * @returns {Promise<string>}
 */
function opened(dialog, first, attach) {
  const controller = new AbortController();
  dialog.returnValue = '';
  return new Promise((resolve) => {
    attach(controller.signal);
    dialog.addEventListener('close', () => {
      controller.abort();
      resolve(dialog.returnValue);
    }, { signal: controller.signal });
    dialog.showModal();
    first.focus();
  });
}

// sure asks before a step that cannot be undone, and returns whether to go on. verb names the step.
// more may have fields; a text is a paragraph.
/** @param {string} question @param {string} verb @param {...(Node | string)} more */
export async function sure(question, verb, ...more) {
  byID('sure-title').replaceChildren(...visible(question));
  byID('sure-more').replaceChildren(...more.filter(Boolean).map((part) => (typeof part === 'string' ? element('p', {}, ...visible(part)) : part)));
  byID('sure-yes').textContent = verb;
  const dialog = byID('sure');
  return await opened(dialog, byID('sure-no'), (signal) => {
    byID('sure-yes').addEventListener('click', () => {
      const wrong = dialog.querySelector('input:invalid');
      wrong instanceof HTMLInputElement ? wrong.reportValidity() : dialog.close('yes');
    }, { signal });
    byID('sure-no').addEventListener('click', () => dialog.close(), { signal });
  }) === 'yes';
}

// isUnsent reports whether a form has something that nobody has sent.
export const isUnsent = () => document.querySelector('form[data-filled]') !== null;

// finish empties a form whose step is done, and folds it away.
export function finish(/** @type {HTMLFormElement} */ form) {
  form.reset();
  form.closest('details')?.removeAttribute('open');
}

// mayLose asks before what was entered is lost, and then empties the forms.
export async function mayLose() {
  if (isUnsent() && !await sure('Leave without sending the form?', 'Leave', 'What you have entered is lost.')) {
    return false;
  }
  for (const form of /** @type {NodeListOf<HTMLFormElement>} */ (document.querySelectorAll('form[data-filled]'))) {
    form.reset();
  }
  return true;
}

const stay = (/** @type {Event} */ event) => event.preventDefault();

// keep shows what the server shows only once, until its reader says that they have it. Neither Escape
// nor a reload takes it away without a question. variables are for a file .env, and count is how many secrets there are.
/**
 * @param {string} title
 * @param {Parameters<typeof fill>[1]} pairs
 * @param {string} text what is copied
 * @param {{variables?: Record<string, string>, count?: number}} [more]
 */
export async function keep(title, pairs, text, { variables, count = 1 } = {}) {
  const dialog = byID('keep');
  byID('keep-title').textContent = title;
  byID('keep-hint').textContent = count > 1 ? 'The server does not show them again. Keep them where you keep keys.' : 'The server does not show it again. Keep it where you keep keys.';
  byID('keep-env').hidden = !variables;
  fill(byID('keep-facts'), pairs);
  byID('keep-said').replaceChildren();
  const env = Object.entries(variables ?? {}).map(([name, value]) => `${name}=${value}\n`).join('');
  await opened(dialog, byID('keep-title'), (signal) => {
    addEventListener('beforeunload', stay, { signal });
    dialog.addEventListener('cancel', stay, { signal });
    for (const [id, copied] of [['keep-copy', text], ['keep-env', env]]) {
      byID(id).addEventListener('click', () => copy(copied).then(() => announce('Copied.', byID('keep-said')), (error) => complain(error, byID('keep-said'))), { signal });
    }
    byID('keep-done').addEventListener('click', () => dialog.close(), { signal });
  });
  empty('keep-facts');
}

// dismiss closes the dialogs as if their reader gave up: what they ask must not be answered by somebody else.
export function dismiss() {
  byID('sure').close();
  byID('keep').close();
  byID('again').close();
  empty('sure-title', 'sure-more', 'keep-facts', 'again-fault');
}

// ask opens the dialog for the password. It returns whether the password was accepted: false, too, if
// the user gave up.
/** @param {string} email @param {(password: string) => Promise<unknown>} check */
export async function ask(email, check) {
  const dialog = byID('again');
  const form = byID('again-form');
  byID('again-fault').replaceChildren();
  byID('again-email').value = email;
  const attempt = (/** @type {Event} */ event) => {
    event.preventDefault();
    run(form, async () => {
      await check(byID('again-password').value).finally(() => byID('again-password').select());
      dialog.close('passed');
    }, byID('again-fault'));
  };
  const answer = await opened(dialog, byID('again-password'), (signal) => {
    form.addEventListener('submit', attempt, { signal });
    byID('again-cancel').addEventListener('click', () => dialog.close(), { signal });
  });
  form.reset();
  return answer === 'passed';
}

wire(document);
