// The head of the page: who is signed in, and the credential of the sections.

import { acting } from './console_api.js';
import { announce, onClick, onSubmit } from './console_page.js';
import { byID, element, named } from './console_render.js';

/** @type {() => void} */
let changed = () => {};

// onCredential sets what to do when the credential has changed.
/** @param {typeof changed} step */
export function onCredential(step) {
  changed = step;
}

export function showCredential() {
  const { account, bearer, org } = acting;
  const name = account ? account.name || account.email : '';
  byID('who').replaceChildren(...(account?.actor ? [element('strong', {}, 'Acting for'), ' '] : []), ...(name ? [named(name), ` of ${org}`] : []));
  byID('by-token').hidden = !bearer;
  byID('sign-out').hidden = !account;
  byID('sign-out').textContent = account?.actor ? 'Stop acting' : 'Sign out';
}

// useToken makes a bearer token the credential. '' is the session again.
/** @param {string} token */
export async function useToken(token) {
  acting.bearer = token;
  byID('credential-form').reset();
  byID('credential-more').open = false;
  showCredential();
  announce(token ? 'The token now makes the requests.' : 'The token is forgotten.');
  await changed();
}

onSubmit('credential-form', (form) => useToken(form.get('token').trim().replace(/^Bearer\s+/i, '')));
onClick(byID('credential-forget'), () => useToken(''));
