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

/** @param {string} view */
export const isShown = (view) => !byID(view).hidden;

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
/** @param {HTMLElement} control @param {() => unknown} step */
export async function run(control, step) {
  if (control.ariaBusy === 'true') {
    return;
  }
  const place = faultNear(control); // now: the step may take the control away
  control.ariaBusy = 'true';
  quiet();
  try {
    await step();
  } catch (error) {
    complain(error, place.isConnected ? place : undefined);
  } finally {
    control.ariaBusy = 'false';
  }
}

// faultNear returns the element in which the user of the control reads a fault. An item of a list has
// its own.
/** @param {HTMLElement} control */
function faultNear(control) {
  const item = control.closest('li, tr, .item');
  if (item) {
    return item.querySelector('.fault') ?? addFault(item);
  }
  return control.closest('section')?.querySelector('.fault') ?? byID('fault');
}

/** @param {Element} item */
function addFault(item) {
  const fault = element('div', { className: 'fault', role: 'alert' });
  (item.matches('tr') ? /** @type {Element} */ (item.lastElementChild) : item).append(fault);
  return fault;
}

/** @param {string} text */
export async function copy(text) {
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
  byID('sure-question').replaceChildren(...[question, ...more].filter(Boolean).map((part) =>
    (typeof part === 'string' ? element('p', {}, ...visible(part)) : part)));
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

/** @param {Event} event */
const stay = (event) => event.preventDefault();

// keep shows what the server shows only once, until its reader says that they have it. Neither Escape
// nor a reload takes it away without a question.
/**
 * @param {string} title
 * @param {Parameters<typeof fill>[1]} pairs
 * @param {string} text what is copied
 */
export async function keep(title, pairs, text) {
  const dialog = byID('keep');
  byID('keep-title').textContent = title;
  fill(byID('keep-facts'), pairs);
  byID('keep-said').replaceChildren();
  await opened(dialog, byID('keep-title'), (signal) => {
    addEventListener('beforeunload', stay, { signal });
    dialog.addEventListener('cancel', stay, { signal });
    byID('keep-copy').addEventListener('click', async () => {
      await copy(text).then(() => announce('Copied.', byID('keep-said')), (error) => complain(error, byID('keep-said')));
    }, { signal });
    byID('keep-done').addEventListener('click', () => dialog.close(), { signal });
  });
  empty('keep-facts');
}

// dismiss closes the dialogs as if their reader gave up: what they ask must not be answered by somebody else.
export function dismiss() {
  byID('sure').close();
  byID('keep').close();
  byID('again').close();
  empty('sure-question', 'keep-facts', 'again-fault');
}

// ask opens the dialog for the password. It returns whether the password was accepted: false, too, if
// the user gave up.
/** @param {string} email @param {(password: string) => Promise<unknown>} check */
export async function ask(email, check) {
  const dialog = byID('again');
  const form = byID('again-form');
  byID('again-fault').replaceChildren();
  byID('again-email').value = email;
  /** @param {Event} event */
  const attempt = async (event) => {
    event.preventDefault();
    if (form.ariaBusy === 'true') {
      return;
    }
    form.ariaBusy = 'true';
    try {
      await check(byID('again-password').value);
      dialog.close('passed');
    } catch (error) {
      complain(error, byID('again-fault'));
      byID('again-password').select();
    } finally {
      form.ariaBusy = 'false';
    }
  };
  const answer = await opened(dialog, byID('again-password'), (signal) => {
    form.addEventListener('submit', attempt, { signal });
    byID('again-cancel').addEventListener('click', () => dialog.close(), { signal });
  });
  form.reset();
  return answer === 'passed';
}
