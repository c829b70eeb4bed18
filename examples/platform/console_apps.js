// Apps, for administrators: all as a table, and one as a page of its own.

import { acting, differing, lookUp, queryOf, request } from './console_api.js';
import { tryWith } from './console_lab.js';
import { listing } from './console_list.js';
import { action, announce, copyable, finish, keep, menu, onSubmit, sure, wire } from './console_page.js';
import { fillIn, learn, nameOf, offer, pick } from './console_pick.js';
import { after, byID, choice, code, counted, cut, dateOf, day, element, empty, field, fill, lines, named, pill, plainly, used, when } from './console_render.js';
import { addressed, linkTo, note, seeAlso } from './console_sections.js';

// secrets are those that this page has seen, by client key. The server does not show them again.
/** @type {Map<string, string>} */
let secrets = new Map(); // another one when another account uses the page: a late reply is not for that
/** @type {Record<string, unknown>} */
let before = {}; // what the form of the open app said at first

const pathOf = (/** @type {{_id: string}} */ { _id }) => `/apps/${encodeURIComponent(_id)}`;
const callOf = (/** @type {App} */ { name, _id }) => plainly(name || _id);
/** @param {App} app @returns {SigningKey} */
const keyOf = ({ credential }) => /** @type {SigningKey} */ (credential);

const opened = () => apps.all().find(({ _id }) => _id === addressed().question.get('key'));

const apps = listing('apps', {
  noun: 'app',
  caption: 'Apps',
  columns: ['Name', 'Client key', 'Acts as', 'Limits', 'Secrets', 'Last used', 'Steps'],
  cells: (/** @type {App} */ app) => [
    element('span', {}, element('a', { href: linkTo('apps', [['key', app._id]]) }, named(app.name || app._id)), app.disabled && pill('disabled', true)),
    code(app._id),
    cut(actorsOf(app)),
    cut(limitsOf(app)),
    element('span', {}, ...secretsOf(app)),
    usedOf(app),
    action('Rotate', callOf(app), () => rotate(app)),
  ],
  none: 'No app.',
  textOf: (app) => `${app.name} ${app._id} ${app.disabled ? 'disabled' : 'enabled'} ${limitsOf(app)} ${actorsOf(app)}`,
  arrange: (all) => all.toSorted((a, b) => a.name.localeCompare(b.name)),
  ask: (last) => request('GET', `/apps?limit=1000${last ? `&${queryOf([['where', JSON.stringify({ _id: { $gt: last._id } })]])}` : ''}`),
  shown: (all) => {
    offer('app', all.toSorted((a, b) => a.name.localeCompare(b.name)));
    byID('client-keys').replaceChildren(...all.map((app) => element('option', { value: app._id, label: plainly(app.name) })));
    const crowded = all.filter(({ credential }) => credential && credential.secrets > 2).length;
    return crowded ? ` With 3 secrets or more: ${counted(crowded, 'app')}.` : '';
  },
});

// openApps lists the apps, and shows the one in the address. If the caller may not list them, the fault
// names the scope.
export async function openApps() {
  const wanted = addressed().question.has('key');
  empty('app-one-title', 'app-steps', 'app-facts');
  byID('app-one').hidden = true;
  byID('apps-all').hidden = wanted;
  await learn('account');
  await apps.open();
  show();
  wanted && byID('app-one-title').focus();
}

function show() {
  const app = opened();
  byID('apps-all').hidden = Boolean(app);
  byID('app-one').hidden = !app;
  app && showOne(app);
}

function actorsOf(/** @type {App} */ { credential }) {
  const [first = '', ...others] = [credential?.account, ...credential?.accounts ?? []].filter(Boolean).map((id) => nameOf('account', String(id)));
  return first ? `${first}${others.length ? ` +${others.length}` : ''}` : 'no account';
}

// limitsOf says what restricts an app, in words.
function limitsOf(/** @type {App} */ { credential: key }) {
  return key ? [
    key.scope ? key.scope.map((chain) => chain || '*').join(' ') || 'nothing' : 'everything',
    key.networks ? `from ${key.networks.join(' ')}` : 'anywhere',
    key.minVersion > 1 && 'version 2 only',
    key.notBefore && Date.parse(key.notBefore) > Date.now() && `from ${dateOf(key.notBefore)}`,
    key.notAfter && `until ${dateOf(key.notAfter)}`,
  ].filter(Boolean).join(', ') : 'deleted';
}

const week = 7 * 86_400_000; // milliseconds

/** @param {App} app @returns {Child[]} */
function secretsOf({ credential: key }) {
  const [end] = key?.secretEnds ?? [];
  return [
    !key || key.publicKey ? 'a public key' : key.secrets === 1 ? '1' : pill(`${key.secrets}${end ? '' : ', no end set'}`, !end || key.secrets > 2),
    end ? element('span', {}, ', old ends ', when(end)) : null,
    key?.notAfter && Date.parse(key.notAfter) < Date.now() + week ? pill('ends soon', true) : null,
  ];
}

const usedOf = (/** @type {App} */ { credential: key }) => (key && used(key)) ?? 'never';

// One app.

function showOne(/** @type {App} */ app) {
  const key = keyOf(app);
  byID('app-one-title').replaceChildren(element('a', { href: linkTo('apps') }, 'Apps'), ' / ', named(app.name || 'Without a name', app._id));
  fill(byID('app-facts'), [
    ['Client key', ...copied(app._id, 'the client key', app)],
    ['State', app.disabled ? element('strong', { className: 'bad' }, 'disabled') : 'enabled'],
    ['Acts as', actorsOf(app)],
    ['Limits', limitsOf(app)],
    ['Secrets', ...secretsOf(app)],
    ['Last used', usedOf(app)],
    ['Key pair', ...(app.kid ? copied(app.kid, 'the id of the key', app) : ['none yet'])],
    ['Certificates', `its public key is ${app.exposeKeys ? '' : 'not '}listed`],
    secrets.has(app._id) && ['In memory', 'This page has the secret, until you leave the page or sign out.'],
    ['See also', ...seeAlso('app', app._id, { tokens: 'its tokens', keys: 'its API keys', audit: 'its history' })],
  ]);
  byID('app-steps').replaceChildren(...steps(app));
  byID('app-one-name').value = app.name;
  showFields(byID('app-one-key'), 'one', key);
  before = stated(byID('app-one-form'));
  delete byID('app-one-form').dataset.filled;
}

/** @param {string} text @param {string} what @param {App} app */
const copied = (text, what, app) => copyable(text, `${what} of ${callOf(app)}`, (said) => announce(said, byID('app-said')));

// steps are the buttons of an app.
function steps(/** @type {App} */ app) {
  const step = (/** @type {string} */ text, /** @type {(app: App) => unknown} */ act, className = 'quiet') => action(text, callOf(app), () => act(app), className);
  return [
    step('Rotate secret', rotate, ''),
    ...secrets.has(app._id) ? [step('Try it in the lab', tryInLab)] : [],
    ...app.kid ? [] : [step('Generate key pair', generate)],
    menu(callOf(app),
      app.kid && step('Replace key pair', generate),
      step(app.exposeKeys ? 'Unpublish public key' : 'Publish public key', expose),
      app.disabled ? step('Enable', enable) : step('Disable', disable, 'quiet danger'),
      step('Delete', remove, 'quiet danger')),
  ];
}

// afterwards shows the result of a step, whose button may be gone.
async function afterwards(/** @type {string} */ text) {
  await apps.open();
  show();
  if (!opened()) {
    return apps.say(text);
  }
  announce(text, byID('app-said'));
  byID('app-one-title').focus();
}

// The signing key.

/** @type {(place: HTMLElement, name: string) => any} */
const control = (place, name) => place.querySelector(`[name=${name}]`);

// showFields shows the fields of a signing key, or of a new one. Their ids begin with the prefix.
/** @param {HTMLElement} place @param {string} prefix @param {Partial<SigningKey>} [key] */
function showFields(place, prefix, key = {}) {
  const made = /** @type {DocumentFragment} */ (byID('key-fields').content.cloneNode(true));
  made.querySelectorAll('[id]').forEach((one) => { one.id = `${prefix}-${one.id}`; });
  wire(made);
  place.replaceChildren(made);
  fillIn(control(place, 'account'));
  pick(control(place, 'account'), key.account ?? '');
  [...key.accounts ?? [], ''].forEach((id) => addAccount(byID(`${prefix}-key-accounts`), id));
  for (const name of /** @type {const} */ (['notBefore', 'notAfter'])) {
    control(place, name).value = localOf(key[name] ?? '');
  }
  for (const name of /** @type {const} */ (['networks', 'scope'])) {
    control(place, name).value = (key[name] ?? []).join('\n');
  }
  control(place, 'everything').checked = !key.scope;
  control(place, 'minVersion').value = key.minVersion ?? 1;
  control(place, 'publicKey').value = key.publicKey ?? '';
  place.oninput = () => follow(place);
  follow(place);
}

// addAccount adds a picker. When the last one is used, there is another.
/** @param {HTMLElement} list @param {string} id */
function addAccount(list, id) {
  const number = list.children.length + 1;
  const select = element('select', { id: `${list.id}-${number}`, name: 'accounts' });
  Object.assign(select.dataset, { pick: 'account', none: 'nobody' });
  list.append(field(`Account ${number}`, select));
  fillIn(select);
  pick(select, id);
  select.addEventListener('change', () => number === list.children.length && select.value && addAccount(list, ''));
}

// localOf returns a time for a field, which has no time zone.
function localOf(/** @type {string} */ text) {
  const at = new Date(text);
  return text ? new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19) : '';
}

const instant = (/** @type {string} */ text) => (text ? new Date(text).toISOString() : null);

// follow shows the chains unless the key may do everything.
function follow(/** @type {HTMLElement} */ place) {
  const scope = control(place, 'scope');
  scope.disabled = scope.parentElement.hidden = control(place, 'everything').checked;
}

// stated returns what a form says of an app and its signing key.
/** @param {HTMLFormElement} form @returns {Record<string, unknown>} */
function stated(form) {
  const data = new FormData(form);
  const networks = lines(data.get('networks'));
  return {
    name: data.get('name'),
    exposeKeys: data.get('exposeKeys') === 'on',
    account: data.get('account').trim() || null,
    accounts: data.getAll('accounts').map((id) => id.trim()).filter(Boolean),
    notBefore: instant(data.get('notBefore')),
    notAfter: instant(data.get('notAfter')),
    networks: networks.length ? networks : null,
    scope: data.get('everything') ? null : lines(data.get('scope')),
    minVersion: Number(data.get('minVersion')),
    publicKey: data.get('publicKey').trim(),
  };
}

// changes returns the body for what a form says now, and did not say before.
/** @param {HTMLFormElement} form @param {Record<string, unknown>} before */
function changes(form, before) {
  const { name, exposeKeys, ...key } = differing(before, stated(form));
  return { name, exposeKeys, credential: Object.keys(key).length ? key : undefined };
}

// controlIn finds the control of a field of the body. A chain has a path such as credential.scope[0].
/** @type {(form: HTMLFormElement) => ControlOf} */
const controlIn = (form) => ({ path = '' }) => {
  const name = path.replace(/\[.*/, '').split('.').at(-1);
  const all = /** @type {HTMLInputElement[]} */ ([...form.elements]);
  const named = all.filter((one) => one.name === name && !one.disabled);
  return named.find((one) => one.matches('input')) // an id by hand is more often wrong than one that was offered
    ?? named[0] ?? all.find((one) => name === 'scope' && one.name === 'everything');
};

async function save() {
  const app = opened();
  const body = changes(byID('app-one-form'), before);
  if (!app || JSON.stringify(body) === '{}') {
    return announce('Nothing has changed.', byID('app-said'));
  }
  const replaces = body.credential?.publicKey;
  if (replaces && !await sure(`Give ${callOf(app)} this public key?`, 'Replace them',
    'Its secrets, or its former public key, end now. It never has a secret again, and signs by version 2 only.')) {
    return;
  }
  await request('PATCH', pathOf(app), body);
  replaces && secrets.delete(app._id);
  await afterwards('The app is changed.');
}

// New apps.

/** @type {Record<string, unknown>} */
let fresh = {}; // what the form says before somebody uses it

// begin shows the fields of a new app as they are at first.
function begin() {
  showFields(byID('app-key'), 'app');
  fresh = stated(byID('app-form'));
}

async function create() {
  const own = secrets;
  /** @type {App} */
  const app = await request('POST', '/apps', changes(byID('app-form'), fresh));
  finish(byID('app-form'));
  if (app.secret) {
    own.set(app._id, app.secret);
    await showSecret(app, app.secret);
  }
  if (own === secrets) { // still the same user
    note('apps', [['key', app._id]]);
    await afterwards(`The app is made${app.secret ? '' : ', with a public key and without a secret'}.`);
  }
}

// Secrets and key pairs.

// showSecret shows a secret that the server does not show again.
/** @param {App} app @param {string} secret */
const showSecret = (app, secret) => keep('The secret, shown this once', [['Client key', code(app._id)], ['Secret', code(secret)]], secret, {
  variables: { TENANTKIT_URL: `${location.origin}/${acting.org}/v2`, TENANTKIT_KEY: app._id, TENANTKIT_SECRET: secret },
});

const tryInLab = (/** @type {App} */ app) => tryWith(app._id, secrets.get(app._id) ?? '', String(keyOf(app).minVersion));

// askTime asks how long what is replaced stays valid, and says until when. It returns a number of
// seconds, or null if the user gave up.
/**
 * @param {string} question
 * @param {string} verb
 * @param {{what: string, now: string, choices: [string, number][], most: number}} asked
 */
async function askTime(question, verb, { what, now, choices, most }) {
  const select = choice('time', [...choices, ['Seconds …', '']]);
  select.value = String(day);
  const other = element('input', { id: 'time-seconds', type: 'number', min: '1', max: String(most), required: true });
  const by = field('Seconds', other);
  const until = element('p', { role: 'status' });
  const seconds = () => Number(select.value || other.value);
  const show = () => {
    by.hidden = other.disabled = select.value !== '';
    until.replaceChildren(...(seconds() ? [`${what} until ${dateOf(after(seconds()))}.`] : [select.value && now]));
  };
  [select, other].forEach((one) => one.addEventListener('input', show));
  show();
  return await sure(question, verb, field(what, select), by, until) ? seconds() : null;
}

async function rotate(/** @type {App} */ app) {
  const grace = await askTime(`Give ${callOf(app)} a new secret?`, 'Rotate it', {
    what: 'The former secret stays valid',
    now: 'All former secrets end now: clients that have no other are refused.',
    choices: [['not at all', 0], ['1 hour', 3600], ['24 hours', day], ['7 days', 7 * day]],
    most: 365 * day,
  });
  if (grace === null) {
    return;
  }
  const own = secrets;
  const { data: { secret } } = await request('POST', `${pathOf(app)}/secret`, { grace });
  own.set(app._id, secret);
  await showSecret(app, secret);
  own === secrets && await afterwards('The app has a new secret.');
}

async function generate(/** @type {App} */ app) {
  /** @type {List<Token>} */
  const { data, hasMore } = app.kid ? await lookUp(`${pathOf(app)}/tokens?limit=1000`) : { data: [], hasMore: false };
  const overlap = app.kid ? await askTime(`Replace the key pair of ${callOf(app)}?`, 'Replace it', {
    what: 'Tokens of the former key stay valid',
    now: `All its tokens end now: the ephemeral ones, and ${data.length}${hasMore ? ' or more' : ''} on record.`,
    choices: [['not at all', 0], ['1 hour', 3600], ['24 hours', day], ['7 days', 7 * day], ['30 days', 30 * day]],
    most: 30 * day,
  }) : 0;
  if (overlap === null) {
    return;
  }
  const until = dateOf(after(overlap));
  await request('POST', `${pathOf(app)}/keypair`, overlap ? { overlap } : undefined);
  await afterwards(`The app has a new key pair.${overlap ? ` Tokens signed by the former key stay valid until ${until}.` : ''}`);
}

// The app itself.

/** @param {App} app @param {Partial<App>} fields @param {string} text */
async function patch(app, fields, text) {
  await request('PATCH', pathOf(app), fields);
  await afterwards(text);
}

const expose = (/** @type {App} */ app) => patch(app, { exposeKeys: !app.exposeKeys },
  app.exposeKeys ? 'Its public key is not listed any more.' : 'Its public key is listed, for others who verify its tokens.');

const enable = (/** @type {App} */ app) => patch(app, { disabled: false },
  'The app is enabled. Its signatures, its tokens and those that it has made count again, unless they have ended.');

const disable = async (/** @type {App} */ app) => await sure(`Disable ${callOf(app)}?`, 'Disable it',
  'Until it is enabled again, the server refuses its secrets and signatures, all its tokens, ' +
  'and the permanent and limited-use tokens of other apps that it has made.') && patch(app, { disabled: true }, 'The app is disabled.');

async function remove(/** @type {App} */ app) {
  if (await sure(`Delete ${callOf(app)}?`, 'Delete the app', 'Its secrets, its key pair and all its tokens end for good, ' +
    'and so do the permanent and limited-use tokens of other apps that it has made.')) {
    await request('DELETE', pathOf(app));
    secrets.delete(app._id);
    note('apps', []);
    await afterwards(`The app ${callOf(app)} is deleted.`);
  }
}

// forgetApps removes the apps and their secrets from the page.
export function forgetApps() {
  secrets = new Map();
  apps.forget();
  empty('client-keys', 'app-one-title', 'app-steps', 'app-facts', 'app-one-key');
  byID('app-one').hidden = true;
  finish(byID('app-form'));
}

onSubmit('app-form', create, controlIn(byID('app-form')));
onSubmit('app-one-form', save, controlIn(byID('app-one-form')));
byID('app-form').addEventListener('reset', () => queueMicrotask(begin)); // after the reset
begin();
