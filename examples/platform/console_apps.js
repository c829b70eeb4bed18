// Apps, for administrators: all as a table, and one as a page of its own.

import { differing, lookUp, request } from './console_api.js';
import { complain } from './console_fault.js';
import { tryWith } from './console_lab.js';
import { action, announce, copyable, keep, menu, onSubmit, sure } from './console_page.js';
import { fillIn, learn, nameOf, offer, pick } from './console_pick.js';
import { at, byID, code, counted, cut, dateOf, element, empty, field, fill, lines, matcher, named, pill, plainly, showTable, when } from './console_render.js';
import { addressed, linkTo, note } from './console_sections.js';

// secrets are those that this page has seen, by client key. The server does not show them again.
/** @type {Map<string, string>} */
let secrets = new Map(); // another one when another account uses the page: a late reply is not for that
/** @type {App[]} */
let apps = [];
let more = ''; // what is said if the server has others
/** @type {Record<string, unknown>} */
let before = {}; // what the form of the open app said at first

/** @param {{_id: string}} app */
const pathOf = ({ _id }) => `/apps/${encodeURIComponent(_id)}`;
/** @param {App} app */
const callOf = ({ name, _id }) => plainly(name || _id);
/** @param {App} app @returns {SigningKey} */
const keyOf = ({ credential }) => /** @type {SigningKey} */ (credential);

const opened = () => addressed().question.get('key') ?? '';

// openApps lists the apps, and shows the one in the address. If the caller may not list them, the fault
// names the scope.
export async function openApps() {
  empty('apps', 'app-one-title', 'app-steps', 'app-facts');
  byID('app-one').hidden = true;
  byID('apps-all').hidden = Boolean(opened());
  try {
    await Promise.all([learn('account'), list()]);
    show();
    opened() && byID('app-one-title').focus();
  } catch (error) {
    complain(error, byID('apps-fault'));
  }
}

async function list() {
  /** @type {List<App>} */
  const { data, hasMore } = await request('GET', '/apps?limit=1000');
  apps = data.sort((a, b) => a.name.localeCompare(b.name));
  more = hasMore ? ', and there are more' : '';
  offer('app', apps);
  byID('client-keys').replaceChildren(...apps.map((app) => element('option', { value: app._id, label: plainly(app.name) })));
}

function show() {
  warn();
  const app = apps.find(({ _id }) => _id === opened());
  byID('apps-all').hidden = Boolean(app);
  byID('app-one').hidden = !app;
  app ? showOne(app) : showAll();
}

const week = 7 * 86_400_000;
/** @param {string | null} [end] */
const endsSoon = (end) => Boolean(end) && Date.parse(end ?? '') < Date.now() + week;

// warn says in one line what ends soon, and what a rotation has left behind.
function warn() {
  const live = apps.filter(({ disabled, credential }) => credential && !disabled).map(keyOf);
  const [ending, crowded] = [live.filter(({ notAfter }) => endsSoon(notAfter)).length, live.filter(({ secrets: n }) => n > 2).length];
  const words = [ending && `${counted(ending, 'key')} end${ending === 1 ? 's' : ''} within 7 days`, crowded && `${counted(crowded, 'app')} with 3 secrets or more`];
  byID('apps-warn').textContent = `${words.filter(Boolean).join(', ')}.`;
  byID('apps-warn').hidden = !words.some(Boolean);
}

// showAll shows the apps that have all words of the filter.
function showAll() {
  const matches = matcher(byID('apps-words'));
  const items = apps.filter((app) => matches(`${app.name} ${app._id} ${app.disabled ? 'disabled' : 'enabled'} ${limitsOf(app)} ${actorsOf(app)}`));
  showTable(byID('apps'), {
    caption: 'Apps', columns: ['Name', 'Client key', 'Acts as', 'Limits', 'Secrets', 'Last used', 'Steps'], items, keyOf: ({ _id }) => _id, cells, none: 'No app.',
  });
  announce(`${items.length < apps.length ? `${items.length} of ` : ''}${counted(apps.length, 'app')}${more}.`, byID('apps-said'));
}

/** @param {App} app @returns {(Node | string)[]} */
const cells = (app) => [
  element('span', {}, element('a', { href: linkTo('apps', [['key', app._id]]) }, named(app.name || app._id)), app.disabled && pill('disabled', true)),
  code(app._id),
  cut(actorsOf(app)),
  cut(limitsOf(app)),
  element('span', {}, ...secretsOf(app)),
  usedOf(app),
  action('Rotate', callOf(app), () => rotate(app)),
];

/** @param {App} app */
function actorsOf({ credential }) {
  const [first = '', ...others] = [credential?.account, ...credential?.accounts ?? []].filter(Boolean).map((id) => nameOf('account', String(id)));
  return first ? `${first}${others.length ? ` +${others.length}` : ''}` : 'no account';
}

// limitsOf says what restricts an app, in words.
/** @param {App} app */
function limitsOf({ credential: key }) {
  return key ? [
    key.scope ? key.scope.map((chain) => chain || '*').join(' ') || 'nothing' : 'everything',
    key.networks ? `from ${key.networks.join(' ')}` : 'anywhere',
    key.minVersion > 1 && 'version 2 only',
    key.notBefore && Date.parse(key.notBefore) > Date.now() && `from ${dateOf(key.notBefore)}`,
    key.notAfter && `until ${dateOf(key.notAfter)}`,
  ].filter(Boolean).join(', ') : 'deleted';
}

/** @param {App} app @returns {Child[]} */
function secretsOf({ credential: key }) {
  const [end] = key?.secretEnds ?? [];
  return [
    !key || key.publicKey ? 'a public key' : key.secrets === 1 ? '1' : pill(`${key.secrets}${end ? '' : ', no end set'}`, !end || key.secrets > 2),
    end ? element('span', {}, ', old ends ', when(end)) : null,
    key?.notAfter && endsSoon(key.notAfter) ? pill('ends soon', true) : null,
  ];
}

/** @param {App} app */
const usedOf = ({ credential: key }) => (key?.lastUsed ? element('span', { title: `from ${key.lastAddress ?? 'an unknown address'}` }, when(key.lastUsed)) : 'never');

// One app.

/** @param {App} app */
function showOne(app) {
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
    ['See also', element('a', { href: linkTo('tokens', [['app', app._id]]) }, 'its tokens'), ', ', element('a', { href: linkTo('keys', [['app', app._id]]) }, 'its API keys'), ', ', element('a', { href: linkTo('audit', [['app', app._id]]) }, 'its history')],
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
/** @param {App} app */
function steps(app) {
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
/** @param {string} text */
async function afterwards(text) {
  await list();
  show();
  announce(text, byID(opened() ? 'app-said' : 'apps-said'));
  byID(opened() ? 'app-one-title' : 'apps-list-title').focus();
}

// The signing key.

/** @type {(place: HTMLElement, name: string) => any} */
const control = (place, name) => place.querySelector(`[name=${name}]`);

// showFields shows the fields of a signing key, or of a new one. Their ids begin with the prefix.
/** @param {HTMLElement} place @param {string} prefix @param {Partial<SigningKey>} [key] */
function showFields(place, prefix, key = {}) {
  const made = /** @type {DocumentFragment} */ (byID('key-fields').content.cloneNode(true));
  for (const name of ['id', 'for', 'aria-describedby']) {
    made.querySelectorAll(`[${name}]`).forEach((one) => one.setAttribute(name, `${prefix}-${one.getAttribute(name)}`));
  }
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
/** @param {string} text */
function localOf(text) {
  const at = new Date(text);
  return text ? new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 19) : '';
}

/** @param {string} text */
const instant = (text) => (text ? new Date(text).toISOString() : null);

// follow shows what the fields say: times in UTC, and whether there are chains.
/** @param {HTMLElement} place */
function follow(place) {
  for (const name of ['notBefore', 'notAfter']) {
    const at = control(place, name);
    at.nextElementSibling.textContent = at.value ? `In UTC: ${instant(at.value)}` : 'No limit.';
  }
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
  const app = apps.find(({ _id }) => _id === opened());
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

function resetForm() {
  byID('app-form').reset();
  showFields(byID('app-key'), 'app');
  fresh = stated(byID('app-form'));
}

async function create() {
  const own = secrets;
  /** @type {App} */
  const app = await request('POST', '/apps', changes(byID('app-form'), fresh));
  resetForm();
  byID('app-new').open = false;
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
const showSecret = (app, secret) => keep('The secret, shown this once', [['Client key', code(app._id)], ['Secret', code(secret)]], secret);

/** @param {App} app */
const tryInLab = (app) => tryWith(app._id, secrets.get(app._id) ?? '', String(keyOf(app).minVersion));

const day = 86_400; // seconds
/** @param {number} seconds from now */
const after = (seconds) => new Date(Date.now() + seconds * 1000).toISOString();

// askTime asks how long what is replaced stays valid, and says until when. It returns a number of
// seconds, or null if the user gave up.
/**
 * @param {string} question
 * @param {string} verb
 * @param {{what: string, now: string, choices: [string, number][], most: number}} asked
 */
async function askTime(question, verb, { what, now, choices, most }) {
  const select = element('select', { id: 'time' }, ...choices.map(([text, seconds]) =>
    element('option', { value: String(seconds), defaultSelected: seconds === day }, text)), element('option', { value: '' }, 'Seconds …'));
  const other = element('input', { id: 'time-seconds', type: 'number', min: '1', max: String(most), required: true });
  const by = field('Seconds', other);
  const until = element('p', { role: 'status' });
  const seconds = () => Number(select.value || other.value);
  const show = () => {
    by.hidden = other.disabled = select.value !== '';
    until.replaceChildren(...(seconds() ? [`${what} until `, at(after(seconds())), '.'] : [select.value && now]));
  };
  [select, other].forEach((one) => one.addEventListener('input', show));
  show();
  return await sure(question, verb, field(what, select), by, until) ? seconds() : null;
}

/** @param {App} app */
async function rotate(app) {
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

/** @param {App} app */
async function generate(app) {
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

/** @param {App} app */
const expose = (app) => patch(app, { exposeKeys: !app.exposeKeys },
  app.exposeKeys ? 'Its public key is not listed any more.' : 'Its public key is listed, for others who verify its tokens.');

/** @param {App} app */
const enable = (app) => patch(app, { disabled: false },
  'The app is enabled. Its signatures, its tokens and those that it has made count again, unless they have ended.');

/** @param {App} app */
const disable = async (app) => await sure(`Disable ${callOf(app)}?`, 'Disable it',
  'Until it is enabled again, the server refuses its secrets and signatures, all its tokens, ' +
  'and the permanent and limited-use tokens of other apps that it has made.') && patch(app, { disabled: true }, 'The app is disabled.');

/** @param {App} app */
async function remove(app) {
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
  [secrets, apps] = [new Map(), []];
  empty('apps', 'client-keys', 'app-one-title', 'app-steps', 'app-facts', 'app-one-key');
  byID('app-one').hidden = byID('apps-warn').hidden = true;
  resetForm();
}

onSubmit('app-form', create, controlIn(byID('app-form')));
onSubmit('app-one-form', save, controlIn(byID('app-one-form')));
byID('apps-words').addEventListener('input', showAll);
resetForm();
