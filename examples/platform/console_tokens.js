// Tokens: minting, trying and reading them. console_held.js lists and revokes them.

import { acting, lookUp, Refused, request, requestBy, site } from './console_api.js';
import { decode, rows, summary } from './console_claims.js';
import { useToken } from './console_credential.js';
import { unblame } from './console_fault.js';
import { forgetHeld, openHeld } from './console_held.js';
import { announce, keep, onClick, onCopy, onSubmit } from './console_page.js';
import { learn, pick } from './console_pick.js';
import { at, box, byID, code, element, empty, field, keyed, lines, table, visible, when } from './console_render.js';

const form = byID('mint-form');

// openTokens offers what can be picked. The first choice is the user's own account.
export async function openTokens() {
  follow();
  await Promise.all([learn('account', 'app'), offerRoles()]);
  byID('mint-sub').value || pick(byID('mint-sub'), acting.account?._id ?? '');
  await openHeld();
}

// offerRoles offers the roles of the org. Whoever may not list them writes them.
async function offerRoles() {
  /** @type {List<Item>} */
  const { data } = await lookUp('/admin/roles?limit=1000').catch(() => ({ data: [] }));
  const offered = data.map(({ _id }) => _id);
  keyed(byID('mint-role-set'), offered.length ? offered : [''], (role) => role, roleField);
}

/** @param {string} role is empty for the field in which they are written */
function roleField(role) {
  const input = { id: `mint-roles-${role}`, name: 'roles' };
  return role ? element('div', {}, box({ ...input, value: role }, element('bdi', {}, ...visible(role))))
    : field('Names, with commas', element('input', { ...input, autocomplete: 'off', autocapitalize: 'none', spellcheck: false }));
}

// follow shows the fields that the chosen kind and end have, and the time of the end. What is not
// shown is not sent.
function follow() {
  const kind = new FormData(form).get('kind');
  const [uses, end, seconds] = [byID('mint-maxUses'), byID('mint-expiresIn'), byID('mint-seconds')];
  for (const option of end.options) {
    option.disabled = kind === 'ephemeral' && 'long' in option.dataset;
  }
  if (end.selectedOptions[0]?.disabled) {
    end.selectedIndex = 0;
  }
  uses.disabled = kind !== 'limited';
  byID('mint-uses').hidden = uses.disabled;
  seconds.hidden = seconds.disabled = end.value !== 'other';
  const over = new Date(Date.now() + 1000 * lasts(new FormData(form)));
  byID('mint-until').replaceChildren(...Number.isNaN(over.getTime()) ? [] : ['If it is minted now: ', at(over.toISOString())]);
}

// lasts returns seconds, or NaN without an end.
/** @param {FormData} fields */
const lasts = (fields) => parseInt(fields.get('seconds') ?? fields.get('end'), 10);

// wish returns the body for a mint form, without what is undefined.
/** @param {FormData} fields */
function wish(fields) {
  const roles = fields.getAll('roles').flatMap((text) => text.split(/[\s,]+/)).filter(Boolean);
  return {
    sub: fields.get('sub').trim(),
    scope: lines(fields.get('scope')),
    roles: roles.length ? roles : undefined,
    permanent: fields.get('kind') === 'permanent' || undefined,
    maxUses: fields.has('maxUses') ? Number(fields.get('maxUses')) : undefined,
    expiresIn: lasts(fields) || undefined,
  };
}

/** @param {Fault} fault the field that it names, if that is on the page */
function controlOf({ path = '', reason = '' }) {
  const control = path === 'roles' ? byID(`mint-roles-${reason}`) ?? byID(`mint-roles-`) : byID(`mint-${path}`);
  return control?.closest('[hidden]') ? null : control;
}

// minted is the latest token. The server shows it once.
let minted = { token: '', limited: false };

/** @param {FormData} fields */
async function mint(fields) {
  const [app, body] = [fields.get('app').trim(), wish(fields)];
  const { token, jti, expires } = (await request('POST', `/apps/${encodeURIComponent(app)}/tokens`, body)).data;
  minted = { token, limited: fields.get('kind') === 'limited' };
  if (jti) {
    await keep('The token, shown this once', [['Id', code(jti)], ['Ends', expires ? when(expires) : 'never, unless it is revoked'], ['Token', code(token)]], token);
  }
  if (minted.token === token) { // still the same user
    showMinted(jti);
    jti && await openHeld(app);
  }
}

/** @param {string} [jti] a token with one was shown once, and is not shown again */
function showMinted(jti) {
  byID('minted-title').textContent = jti ? `The token ${jti}` : 'The token';
  byID('minted-token').textContent = jti ? '' : minted.token;
  byID('minted-token').hidden = byID('minted-copy').hidden = Boolean(jti);
  empty('minted-tried', 'decoded');
  byID('minted').hidden = false;
  byID('minted-title').focus();
  announce('Minted.', byID('mint-said'));
}

// tryIt asks with the token, and shows what it may read. A use of a limited-use token is dear: it asks
// once.
async function tryIt() {
  const { token, limited } = minted;
  /** @type {List<Schema>} */
  const { data } = await requestBy(token, '/schemas?limit=1000');
  if (limited) {
    return byID('minted-tried').replaceChildren(`The server takes it, and has named ${data.length} kinds of objects. That was one of its uses.`);
  }
  const answers = await Promise.all(data.map(({ plural }) => requestBy(token, `/${plural}?limit=1`).then(() => 'yes', refusalOf)));
  byID('minted-tried').replaceChildren(table('What it may read', ['Objects', 'Readable'], data.map(({ plural }, i) => [plural, answers[i]])));
}

/** @param {unknown} error */
function refusalOf(error) {
  if (!(error instanceof Refused)) {
    throw error;
  }
  return element('span', {}, 'no: ', code(error.detail), ` ${error.fault.reason ?? ''}`);
}

async function read() {
  const { header, claims } = decode(minted.token);
  const { claims: namespace } = await site.brand();
  byID('decoded').replaceChildren(
    element('p', {}, summary(claims, namespace)),
    table('Header', ['Name', 'Value'], Object.entries(header).map(([name, value]) => [name, String(value)])),
    table('Claims', ['Claim', 'Value', 'Meaning'], rows(claims, namespace)));
}

// forgetTokens removes the tokens from the page.
export function forgetTokens() {
  minted = { token: '', limited: false };
  unblame(form);
  empty('minted-token', 'minted-tried', 'mint-role-set', 'decoded');
  byID('minted').hidden = true;
  forgetHeld();
}

onSubmit('mint-form', mint, controlOf);
form.addEventListener('input', follow);
onClick(byID('minted-try'), tryIt);
onClick(byID('minted-read'), read);
onCopy('minted-copy', 'minted-token');
onClick(byID('minted-use'), () => useToken(minted.token));
