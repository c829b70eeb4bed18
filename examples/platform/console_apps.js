// Apps and keys, for administrators.

import { acting, request } from './console_api.js';
import { complain } from './console_fault.js';
import { announce, forgetKept, keep, onClick, onSubmit, sure } from './console_page.js';
import { byID, code, element, fill } from './console_render.js';

/** @param {App} app */
const pathOf = (app) => `/apps/${encodeURIComponent(app._id)}`;
const said = byID('apps-said');

// openApps lists the apps. If the caller may not list them, the fault names the
// scope.
export async function openApps() {
  byID('apps').replaceChildren();
  if (!acting.account && !acting.bearer) {
    return;
  }
  try {
    await listApps();
  } catch (error) {
    complain(error, byID('apps-fault'));
  }
}

async function listApps() {
  /** @type {List<App>} */
  const { data, hasMore } = await request('GET', '/apps?limit=1000');
  byID('apps').replaceChildren(...data.map(card));
  offer(data);
  announce(`${data.length} apps${hasMore ? ', and there are more' : ''}.`, said);
}

// offer lets other forms complete a client key.
/** @param {App[]} apps */
const offer = (apps) => byID('client-keys').replaceChildren(
  ...apps.map((app) => element('option', { value: app._id, label: app.name })));

/** @param {App} app */
function card(app) {
  const facts = element('dl');
  fill(facts, [
    ['Client key', element('code', {}, app._id)],
    ['Key pair', app.kid ? element('code', {}, app.kid) : 'none yet'],
    ['Public key', app.exposeKeys ? 'listed' : 'not listed'],
  ]);
  return element('li', {},
    element('h3', {}, app.name || 'Without a name', app.disabled && element('span', { className: 'mark' }, 'disabled')),
    facts,
    element('div', { className: 'row' }, ...steps(app)));
}

// steps are the buttons of an app.
/** @param {App} app */
const steps = (app) => [
  step(app, 'Rotate secret', () => rotate(app)),
  step(app, app.kid ? 'Replace key pair' : 'Generate key pair', () => generate(app)),
  step(app, app.exposeKeys ? 'Hide key' : 'Expose key', () => change(app, { exposeKeys: !app.exposeKeys })),
  step(app, app.disabled ? 'Enable' : 'Disable', () => change(app, { disabled: !app.disabled })),
  step(app, 'Delete', () => remove(app)),
];

/** @param {App} app @param {string} text @param {() => unknown} act */
function step(app, text, act) {
  const button = element('button', { type: 'button', className: 'quiet', ariaLabel: `${text}: ${app.name || app._id}` }, text);
  onClick(button, act);
  return button;
}

// afterwards shows the result of a step. The step's button is gone with the old
// list.
/** @param {string} text */
async function afterwards(text) {
  await listApps();
  announce(text, said);
  byID('apps-list-title').focus();
}

/** @param {FormData} form */
async function create(form) {
  const account = form.get('account').trim();
  const app = await request('POST', '/apps', {
    name: form.get('name'),
    exposeKeys: form.get('exposeKeys') === 'on',
    ...(account && { credential: { account } }),
  });
  byID('app-form').reset();
  await showSecret(app, app.secret);
  await listApps();
  byID('apps-list-title').focus();
}

/** @param {App} app */
async function rotate(app) {
  const { data } = await request('POST', `${pathOf(app)}/secret`);
  await showSecret(app, data.secret);
}

// showSecret shows a secret that the server does not show again.
/** @param {App} app @param {string} secret */
const showSecret = (app, secret) => keep('The secret, shown this once', [['Client key', code(app._id)], ['Secret', code(secret)]], secret);

/** @param {App} app */
async function generate(app) {
  if (app.kid && !await sure(`Replace the key pair of ${app.name || app._id}? All its tokens end at once.`, 'Replace it')) {
    return;
  }
  await request('POST', `${pathOf(app)}/keypair`);
  await afterwards('The app has a new key pair.');
}

/** @param {App} app @param {Partial<App>} fields */
async function change(app, fields) {
  await request('PATCH', pathOf(app), fields);
  await afterwards('The app is changed.');
}

/** @param {App} app */
async function remove(app) {
  if (!await sure(`Delete ${app.name || app._id}, with its secret, key pair and tokens?`, 'Delete the app')) {
    return;
  }
  await request('DELETE', pathOf(app));
  await afterwards('The app is deleted.');
}

// forgetApps removes the apps from the page.
export function forgetApps() {
  forgetKept();
  byID('apps').replaceChildren();
  byID('client-keys').replaceChildren();
}

onSubmit('app-form', create);
onClick(byID('apps-refresh'), listApps);
