// The box above the tools: it shows and changes their credential.

import { acting } from './console_api.js';
import { announce, onClick, onSubmit } from './console_page.js';
import { byID } from './console_render.js';

/** @type {() => void} */
let changed = () => {};

// onCredential sets what to do when the credential has changed.
/** @param {typeof changed} step */
export function onCredential(step) {
  changed = step;
}

export function showCredential() {
  byID('credential-now').textContent = describe();
  byID('credential-forget').hidden = !acting.bearer;
}

function describe() {
  if (acting.bearer) {
    return 'a pasted bearer token';
  }
  return acting.account ? `the session of ${acting.account.name || acting.account.email}` : 'nobody: sign in, or paste a token';
}

// useToken makes a bearer token the credential. '' is the session again.
/** @param {string} token */
export async function useToken(token) {
  acting.bearer = token;
  byID('credential-form').reset();
  byID('credential-more').open = false;
  showCredential();
  announce(token ? 'Requests now carry the token.' : 'The token is forgotten.');
  await changed();
}

onSubmit('credential-form', (form) => useToken(form.get('token').trim().replace(/^Bearer\s+/i, '')));
onClick(byID('credential-forget'), () => useToken(''));
