// The parts of the page: its views, its notices and its elements. Data becomes text
// and attributes, and never markup.

import { Refused } from './console_api.js';

export const byID = /** @type {ByID} */ ((/** @type {string} */ id) => document.getElementById(id));

const views = ['loading', 'sign-in', 'code', 'enrol', 'recovery', 'account'];

// show shows one view. The focus goes to the first field, or to the heading, which
// a screen reader then reads.
/** @param {string} view */
export function show(view, field = `${view}-title`) {
  for (const name of views) {
    byID(name).hidden = name !== view;
  }
  byID('welcome').hidden = view !== 'sign-in';
  byID(field).focus();
}

/** @param {string} view */
export const isShown = (view) => !byID(view).hidden;

// element makes an element. A string becomes text, and other children are elements.
// false and null are left out.
/** @type {Make} */
export function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children.filter((child) => child !== null && child !== false));
  return made;
}

// fill replaces the descriptions in a list of terms.
/** @type {(list: HTMLElement, pairs: Child[][]) => void} */
export function fill(list, pairs) {
  list.replaceChildren(...pairs.map(([term, ...values]) =>
    element('div', {}, element('dt', {}, term), element('dd', {}, ...values))));
}

// table makes a table. A screen reader reads its caption first. On a narrow page,
// the table scrolls by itself.
/** @type {(caption: string, columns: string[], rows: Child[][]) => HTMLElement} */
export function table(caption, columns, rows) {
  /** @type {(name: 'th' | 'td') => (value: Child) => HTMLElement} */
  const cell = (name) => (value) => element(name, name === 'th' ? { scope: 'col' } : {}, value);
  const made = element('table', {}, element('caption', {}, caption),
    element('thead', {}, element('tr', {}, ...columns.map(cell('th')))),
    element('tbody', {}, ...rows.map((row) => element('tr', {}, ...row.map(cell('td'))))));
  return element('div', { className: 'scrolls', tabIndex: 0, role: 'region', ariaLabel: caption }, made);
}

// lines returns the lines of a text that are not empty.
/** @param {string} text */
export const lines = (text) => text.split('\n').map((line) => line.trim()).filter(Boolean);

// when returns a time for people.
/** @param {string} text */
export function when(text) {
  const at = new Date(text);
  const readable = at.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });
  return element('time', { dateTime: text }, Number.isNaN(at.getTime()) ? text : readable);
}

/** @type {(text: string, place?: Element) => void} */
export function announce(text, place = byID('notice')) {
  place.textContent = text;
}

// quiet removes the message of the step before.
export function quiet() {
  for (const place of document.querySelectorAll('#notice, .said, #fault, .fault')) {
    place.replaceChildren();
  }
}

// complain shows what went wrong, with the code of the fault.
/** @type {(error: unknown, place?: Element) => void} */
export function complain(error, place = byID('fault')) {
  place.replaceChildren(...(error instanceof Refused ? refusal(error) : [element('p', {}, reasonOf(error))]));
  place.scrollIntoView({ block: 'nearest' });
}

/** @param {Refused} refused */
function refusal({ fault, retryAfter }) {
  /** @type {HTMLElement[]} */
  const parts = [element('p', {}, sentence(fault), ' ', codeOf(fault))];
  if (fault.faults?.length) {
    parts.push(element('ul', {}, ...fault.faults.map((child) => element('li', {}, childOf(fault, child)))));
  }
  if (retryAfter) {
    parts.push(element('p', {}, `Try again in ${retryAfter} s.`));
  }
  return parts;
}

// breakable lets a code or a chain break its line only after a dot.
/** @param {string} text */
export const breakable = (text) => text.split(/(?<=\.)/).flatMap((word) => [word, element('wbr')]);

/** @param {Fault} fault */
const codeOf = ({ errCode }) => element('code', {}, ...breakable(errCode));

/** @param {About} about */
const aboutOf = ({ path, reason }) => [path, reason].filter(Boolean).join(': ');

/** @param {About} fault */
function sentence(fault) {
  const about = aboutOf(fault);
  return about ? `${fault.message} (${about})` : fault.message;
}

// childOf leaves out what the parent fault has said.
/** @param {Fault} fault @param {Fault} child */
const childOf = (fault, child) => (child.message === fault.message ? aboutOf(child) || child.message : sentence(child));

/** @param {unknown} error */
function reasonOf(error) {
  switch (error instanceof Error && error.name) {
    case 'TimeoutError': return 'The server does not answer.';
    case 'TypeError': return 'The server cannot be reached.';
    case 'SyntaxError': return 'The server answered something that is not JSON.';
  }
  return String(error);
}

// onSubmit runs a step when its form is submitted. A step that runs does not start
// again.
/** @type {(id: FormID, step: Submitted) => void} */
export function onSubmit(id, step) {
  const form = byID(id);
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    run(form, () => step(new FormData(form), /** @type {HTMLButtonElement | null} */ (event.submitter)));
  });
}

// onClick runs a step when its button is pressed. A step that runs does not start
// again.
/** @type {(button: HTMLElement, step: () => unknown) => void} */
export function onClick(button, step) {
  button.addEventListener('click', () => run(button, step));
}

// run marks the control as busy. It does not disable the control, because that
// would lose the focus.
/** @param {HTMLElement} control @param {() => unknown} step */
async function run(control, step) {
  if (control.ariaBusy === 'true') {
    return;
  }
  const place = faultNear(control); // now: the step may take the control away
  control.ariaBusy = 'true';
  quiet();
  try {
    await step();
  } catch (error) {
    complain(error, place);
  } finally {
    control.ariaBusy = 'false';
  }
}

// faultNear returns the element near the control where its user reads a fault.
/** @param {HTMLElement} control */
const faultNear = (control) => control.closest('section')?.querySelector('.fault') ?? byID('fault');

// onCopy makes a button copy the text of an element.
/** @type {(id: string, from: string) => void} */
export function onCopy(id, from) {
  onClick(byID(id), async () => {
    await navigator.clipboard.writeText(byID(from).textContent);
    announce('Copied.', byID(id).closest('section')?.querySelector('.said') ?? undefined);
  });
}

// sure asks before a step that cannot be undone, and returns true or false.
/** @type {(question: string) => Promise<boolean>} */
export function sure(question) {
  const dialog = byID('sure');
  byID('sure-question').textContent = question;
  dialog.returnValue = '';
  return new Promise((resolve) => {
    const controller = new AbortController();
    const { signal } = controller;
    byID('sure-yes').addEventListener('click', () => dialog.close('yes'), { signal });
    byID('sure-no').addEventListener('click', () => dialog.close(), { signal });
    dialog.addEventListener('close', () => {
      controller.abort();
      resolve(dialog.returnValue === 'yes');
    }, { signal });
    dialog.showModal();
    byID('sure-no').focus();
  });
}

// ask opens the dialog for the password. It returns true if the password was
// accepted, and false if the user gave up.
/** @type {(email: string, check: (password: string) => Promise<void>) => Promise<boolean>} */
export function ask(email, check) {
  const dialog = byID('again');
  const form = byID('again-form');
  const controller = new AbortController();
  const { signal } = controller;
  return new Promise((resolve) => {
    const attempt = async (/** @type {SubmitEvent} */ event) => {
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
    const closed = () => {
      controller.abort();
      form.reset();
      resolve(dialog.returnValue === 'passed');
    };
    form.addEventListener('submit', attempt, { signal });
    byID('again-cancel').addEventListener('click', () => dialog.close(), { signal });
    dialog.addEventListener('close', closed, { signal });
    byID('again-fault').replaceChildren();
    dialog.returnValue = '';
    dialog.showModal();
    byID('again-email').value = email;
    byID('again-password').focus();
  });
}
