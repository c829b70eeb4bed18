// Apps and keys, for administrators.

import { differing, lookUp, request } from './console_api.js';
import { complain } from './console_fault.js';
import { tryWith } from './console_lab.js';
import { action, announce, copyable, keep, onClick, onSubmit, run, sure } from './console_page.js';
import { fillIn, learn, offer, pick } from './console_pick.js';
import { byID, code, counted, dateOf, element, empty, facts, field, keyed, lines, matcher, named, plainly, when } from './console_render.js';

const many = 8; // fewer apps need no filter
const said = byID('apps-said');

// kept is what this page has seen of secrets, by client key. The server does not show it again.
/** @type {Map<string, Kept>} */
let kept = new Map(); // another one when another account uses the page: a late reply is not for that

/** @param {{_id: string}} app */
const pathOf = ({ _id }) => `/apps/${encodeURIComponent(_id)}`;
/** @param {App} app */
const callOf = ({ name, _id }) => plainly(name || _id);

// openApps lists the apps. If the caller may not list them, the fault names the scope.
export async function openApps() {
  byID('apps').replaceChildren();
  try {
    await Promise.all([learn('account'), listApps()]);
  } catch (error) {
    complain(error, byID('apps-fault'));
  }
}

async function listApps() {
  /** @type {List<App>} */
  const { data, hasMore } = await request('GET', '/apps?limit=1000');
  data.sort((a, b) => a.name.localeCompare(b.name));
  offer('app', data);
  byID('client-keys').replaceChildren(...data.map((app) => element('option', { value: app._id, label: plainly(app.name) })));
  keyed(byID('apps'), data.map(({ _id }) => _id), String, card);
  data.forEach((app, i) => keyed(/** @type {Element} */ (byID('apps').children[i]?.firstElementChild),
    [{ ...app, ...kept.get(app._id) }], () => 'top', top));
  byID('apps-filter').hidden = data.length < many;
  filter(hasMore ? ', and there are more' : '');
}

const cards = () => /** @type {HTMLElement[]} */ ([...byID('apps').children]);

// filter hides the apps without one of the words.
function filter(more = '') {
  const all = cards();
  const matches = matcher(byID('apps-words'));
  for (const one of all) {
    const text = [...one.querySelectorAll('h3, dl')].map((part) => part.textContent).join(' ');
    one.hidden = !byID('apps-filter').hidden && !matches(text);
  }
  const left = all.filter((one) => !one.hidden).length;
  announce(`${left < all.length ? `${left} of ` : ''}${counted(all.length, 'app')}${more}.`, said);
}

// card makes what stays while the app changes. top makes the rest.
/** @param {string} _id */
function card(_id) {
  const place = element('div');
  const details = element('details', {}, element('summary', {}, 'Name and signing key'), place);
  details.addEventListener('toggle', () => details.open && run(details, async () => showKey(await request('GET', pathOf({ _id })), place)));
  return element('li', {}, element('div'), element('p', { className: 'said', role: 'status' }),
    element('div', { className: 'fault', role: 'alert' }), details);
}

/** @param {App & Partial<Kept>} app */
const top = (app) => element('div', { className: 'stack' },
  element('h3', { tabIndex: -1 }, app.name ? named(app.name, app._id) : 'Without a name'),
  facts(
    ['Client key', ...copied(app._id, 'the client key', app)],
    ['State', app.disabled ? element('strong', { className: 'bad' }, 'disabled') : 'enabled'],
    ['Key pair', ...(app.kid ? copied(app.kid, 'the id of the key', app) : ['none yet'])],
    ['Certificates', `its public key is ${app.exposeKeys ? '' : 'not '}listed`],
    app.until !== undefined && ['Secrets', app.secrets === 1 ? '1 is valid' : `${app.secrets} are valid; the former until `,
      app.secrets !== 1 && when(app.until), app.secrets !== 1 && ' at most'],
  ),
  element('div', { className: 'row' }, ...steps(app)),
  app.secret && element('p', { className: 'hint' }, 'This page has the secret in memory, until you leave the page or sign out.'));

/** @param {string} text @param {string} what @param {App} app */
const copied = (text, what, app) => copyable(text, `${what} of ${callOf(app)}`, (said) => tell(said, app));

// steps are the buttons of an app.
/** @param {App & Partial<Kept>} app */
function steps(app) {
  const step = (/** @type {string} */ text, /** @type {(app: App) => unknown} */ act, danger = false) =>
    action(text, callOf(app), () => act(app), danger ? 'quiet danger' : 'quiet');
  return [
    app.secret && step('Try it in the lab', tryInLab),
    step('Rotate secret', rotate),
    step(app.kid ? 'Replace key pair' : 'Generate key pair', generate),
    step(app.exposeKeys ? 'Hide key' : 'Expose key', expose),
    app.disabled ? step('Enable', enable) : step('Disable', disable, true),
    step('Delete', remove, true),
  ];
}

// tell says what a step has done: in the card of the app, if that is shown.
/** @param {string} text @param {{_id: string}} app */
function tell(text, { _id }) {
  const own = cards().find((one) => one.dataset.key === _id && !one.hidden);
  announce(text, own?.querySelector('.said') ?? said);
  return own?.querySelector('h3') ?? byID('apps-list-title');
}

// afterwards shows the result of a step, whose button may be gone.
/** @param {string} text @param {{_id: string}} app */
async function afterwards(text, app) {
  await listApps();
  tell(text, app).focus();
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

/** @param {SigningKey} key */
const secretsOf = (key) => (key.publicKey ? 'It has a public key, and no secret.' : `Secrets that are valid: ${key.secrets}.`);

/** @param {App} app @param {HTMLElement} place */
function showKey(app, place) {
  const key = /** @type {SigningKey} */ (app.credential);
  const name = element('input', { id: `${app._id}-name`, name: 'name', value: app.name, required: true, maxLength: 200, autocomplete: 'off' });
  const fields = element('div', { className: 'stack' });
  const form = element('form', { method: 'post' },
    element('p', { className: 'hint' }, element('span', { id: `${app._id}-secrets` }, secretsOf(key)),
      ' A change counts from the next request on. Tokens that are minted keep what they have.'),
    field('Name', name), fields, element('button', {}, 'Save'));
  place.replaceChildren(form);
  showFields(fields, app._id, key);
  const before = stated(form);
  onSubmit(form, async () => {
    const body = changes(form, before);
    if (JSON.stringify(body) === '{}') {
      return tell('Nothing has changed.', app);
    }
    const replaces = body.credential?.publicKey;
    if (replaces && !await sure(`Give ${callOf(app)} this public key?`, 'Replace them',
      'Its secrets, or its former public key, end now. It never has a secret again, and signs by version 2 only.')) {
      return;
    }
    showKey(await request('PATCH', pathOf(app), body), place);
    replaces && kept.delete(app._id);
    await afterwards('The app is changed.', app);
  }, controlIn(form));
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
  const own = kept;
  /** @type {App} */
  const app = await request('POST', '/apps', changes(byID('app-form'), fresh));
  resetForm();
  if (app.secret) {
    own.set(app._id, { secret: app.secret });
    await showSecret(app, app.secret);
  }
  await afterwards(`The app is made${app.secret ? '' : ', with a public key and without a secret'}.`, app);
}

// Secrets and key pairs.

// showSecret shows a secret that the server does not show again.
/** @param {App} app @param {string} secret */
const showSecret = (app, secret) => keep('The secret, shown this once', [['Client key', code(app._id)], ['Secret', code(secret)]], secret);

/** @param {App} app */
async function tryInLab(app) {
  const { credential } = await lookUp(pathOf(app));
  tryWith(app._id, kept.get(app._id)?.secret ?? '', String(credential.minVersion));
}

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
    until.replaceChildren(...(seconds() ? [`${what} until `, when(after(seconds())), '.'] : [select.value && now]));
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
  const own = kept;
  const { data: { secret } } = await request('POST', `${pathOf(app)}/secret`, { grace });
  const until = after(grace);
  own.set(app._id, { secret });
  await showSecret(app, secret);
  const { credential } = await lookUp(pathOf(app));
  own.set(app._id, { secret, secrets: credential.secrets, until });
  byID(`${app._id}-secrets`)?.replaceChildren(secretsOf(credential));
  await afterwards('The app has a new secret.', app);
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
  await afterwards(`The app has a new key pair.${overlap ? ` Tokens signed by the former key stay valid until ${until}.` : ''}`, app);
}

// The app itself.

/** @param {App} app @param {Partial<App>} fields @param {string} text */
async function patch(app, fields, text) {
  await request('PATCH', pathOf(app), fields);
  await afterwards(text, app);
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
    kept.delete(app._id);
    await afterwards(`The app ${callOf(app)} is deleted.`, app);
  }
}

// forgetApps removes the apps and their secrets from the page.
export function forgetApps() {
  kept = new Map();
  empty('apps', 'client-keys');
  resetForm();
}

onSubmit('app-form', create, controlIn(byID('app-form')));
onClick(byID('apps-refresh'), listApps);
byID('apps-words').addEventListener('input', () => filter());
resetForm();
