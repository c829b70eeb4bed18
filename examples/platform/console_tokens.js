// Tokens: minting, reading, listing and revoking them.

import { acting, request, site } from './console_api.js';
import { decode, rows, summary } from './console_claims.js';
import { useToken } from './console_credential.js';
import { announce, onClick, onCopy, onSubmit, sure } from './console_page.js';
import { byID, element, fill, lines, table, when } from './console_render.js';

// openTokens fills in the user's own account if the fields are empty.
export function openTokens() {
  for (const field of [byID('mint-sub'), byID('held-sub')]) {
    field.value ||= acting.account?._id ?? '';
  }
}

/** @param {FormData} form */
async function mint(form) {
  const key = form.get('app').trim();
  const { data } = await request('POST', `/apps/${encodeURIComponent(key)}/tokens`, wish(form));
  byID('minted-token').textContent = data.token;
  byID('minted').hidden = false;
  announce(data.jti ? `Minted, with the id ${data.jti}.` : 'Minted.', byID('mint-said'));
  byID('held-app').value = key;
  byID('held-sub').value = form.get('sub').trim();
}

// wish returns the body for a mint form. An empty field is left out.
/** @param {FormData} form */
function wish(form) {
  const [roles, maxUses, expiresIn] = ['roles', 'maxUses', 'expiresIn'].map((name) => form.get(name).trim());
  return {
    sub: form.get('sub').trim(),
    scope: lines(form.get('scope')),
    ...(roles && { roles: roles.split(/[\s,]+/).filter(Boolean) }),
    ...(form.get('grant') && { grant: form.get('grant') }),
    ...(maxUses && { maxUses: Number(maxUses) }),
    ...(expiresIn && { expiresIn: Number(expiresIn) }),
    ...(form.get('permanent') && { permanent: true }),
  };
}

const mintedToken = () => byID('minted-token').textContent;

/** @param {string} token */
async function read(token) {
  const { header, claims } = decode(token.trim());
  const { claims: namespace } = await site.brand();
  byID('decoded').replaceChildren(
    element('p', {}, summary(claims, namespace)),
    table('Header', ['Name', 'Value'], Object.entries(header).map(([name, value]) => [name, String(value)])),
    table('Claims', ['Claim', 'Value', 'Meaning'], rows(claims, namespace)));
}

async function readMinted() {
  byID('decode-token').value = mintedToken();
  await read(mintedToken());
  byID('decode-title').focus();
}

// held names the app and the subject of the tokens in the list.
let held = { app: '', sub: '' };

/** @param {FormData} form */
async function list(form) {
  held = { app: form.get('app').trim(), sub: form.get('sub').trim() };
  await listHeld();
}

const heldPath = () => `/apps/${encodeURIComponent(held.app)}/subjects/${encodeURIComponent(held.sub)}/tokens`;

async function listHeld() {
  /** @type {List<Token>} */
  const { data } = await request('GET', `${heldPath()}?limit=1000`);
  byID('held').replaceChildren(...data.map(card));
  byID('held-revoke').hidden = data.length === 0;
  announce(`${data.length} tokens that can be revoked. Ephemeral ones leave no record.`, byID('held-said'));
}

/** @param {Token} token */
function card(token) {
  const facts = element('dl');
  fill(facts, [
    ['Id', element('code', {}, token._id)],
    ['Issued', when(token.issued)],
    ['Expires', token.expires ? when(token.expires) : 'never'],
    ['Used', token.maxUses ? `${token.uses} of ${token.maxUses} times` : `${token.uses} times`],
  ]);
  const button = element('button', { type: 'button', className: 'quiet', ariaLabel: `Revoke ${token._id}` }, 'Revoke');
  onClick(button, () => revoke(token));
  return element('li', {}, element('h3', {}, token.kind === 'limited' ? 'Limited-use' : 'Permanent'), facts, button);
}

/** @param {Token} token */
async function revoke(token) {
  await request('DELETE', `/apps/${encodeURIComponent(held.app)}/tokens/${encodeURIComponent(token._id)}`);
  await listHeld();
  announce('The token is revoked.', byID('held-said'));
  byID('held-title').focus();
}

async function revokeAll() {
  if (!await sure(`Revoke all tokens of ${held.sub}?`, 'Revoke them')) {
    return;
  }
  const { data } = await request('DELETE', heldPath());
  await listHeld();
  announce(`${data} revoked.`, byID('held-said'));
  byID('held-title').focus();
}

// forgetTokens removes the tokens from the page.
export function forgetTokens() {
  byID('minted').hidden = true;
  for (const id of ['minted-token', 'decoded', 'held']) {
    byID(id).replaceChildren();
  }
  byID('held-revoke').hidden = true;
}

onSubmit('mint-form', mint);
onCopy('minted-copy', 'minted-token');
onClick(byID('minted-read'), readMinted);
onClick(byID('minted-use'), () => useToken(mintedToken()));
onSubmit('decode-form', (form) => read(form.get('token')));
onSubmit('held-form', list);
onClick(byID('held-revoke'), revokeAll);
