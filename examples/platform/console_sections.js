// The sections of the page and the links to them. The address names the org and the section:
// /#acme/tokens. To come back to one after signing in: /#acme/account/tokens.

import { acting } from './console_api.js';
import { byID, element } from './console_render.js';

const sections = ['account', 'live', 'apps', 'tokens', 'keys', 'people', 'audit', 'data', 'scope', 'lab'];

// Other characters would change the path.
const orgCode = /^[a-z0-9][a-z0-9_-]{0,39}$/;

export const longestAddress = 8000; // characters, of a question in it

// addressed returns the org, the section and the question in the address, and where to go after
// signing in, or ''.
export function addressed() {
  const [place, ...question] = location.hash.slice(1).split('?');
  const [org, section, back] = place.split('/');
  return {
    org: orgCode.test(org) ? org : 'acme',
    section: sections.includes(section) ? section : 'account',
    back: sections.includes(back) ? back : '',
    question: new URLSearchParams(location.hash.length > longestAddress ? '' : question.join('?')),
  };
}

// showSection shows the section in the address. It returns its name, and whether it is closed: it
// needs a credential, and there is none. What it is for is then said in place of its content.
export function showSection() {
  const { section } = addressed();
  for (const name of sections) {
    byID(`section-${name}`).hidden = name !== section;
  }
  const place = byID(`section-${section}`);
  const closed = Boolean(place.dataset.for) && !acting.account && !acting.bearer;
  place.classList.toggle('closed', closed);
  byID('gate').hidden = !closed;
  if (closed) {
    byID('gate-for').textContent = place.dataset.for ?? '';
    byID(`${section}-title`).after(byID('gate'));
  }
  linkSections();
  byID('menu').ariaExpanded = 'false';
  return { section, closed };
}

// showAccountSection shows the section in which people sign in. back is the section to come back to.
export function showAccountSection(back = '') {
  history.replaceState(null, '', addressOf('account', back));
  return showSection();
}

// addressOf keeps the question of the address while somebody signs in.
/** @param {string} section @param {string} [back] the section to go to after signing in */
export const addressOf = (section, back = '') => `#${acting.org}${section === 'account' && !back ? '' : `/${section}`}${back && `/${back}${asked()}`}`;

export const asked = () => location.hash.match(/\?.*/)?.[0] ?? '';

// linkTo returns the address of what a section shows. It is a fragment, which no browser sends to a server.
/** @param {string} section @param {[string, string][]} [question] without values, there is none */
export function linkTo(section, question = []) {
  const some = new URLSearchParams(question.filter(([, value]) => value));
  const link = `#${acting.org}/${section}${some.size ? `?${some}` : ''}`;
  return link.length > longestAddress ? `#${acting.org}/${section}` : link;
}

// seeAlso links to what sections show of a thing.
/** @param {string} field @param {string} id @param {Record<string, string>} words by section */
export const seeAlso = (field, id, words) => Object.entries(words).flatMap(([section, text], i) =>
  [i ? ', ' : '', element('a', { href: linkTo(section, [[field, id]]) }, text)]);

// note writes what a section shows into its address, so that a reload and a link show it again.
/** @param {string} section @param {[string, string][]} question */
export const note = (section, question) => addressed().section === section && history.replaceState(null, '', linkTo(section, question));

// linkSections makes the links lead to the org, and names the page.
export function linkSections() {
  const { section } = addressed();
  for (const link of document.querySelectorAll('[data-try]')) {
    link.setAttribute('href', addressOf(link.dataset.try ?? ''));
  }
  for (const link of document.querySelectorAll('[data-enter]')) {
    link.setAttribute('href', addressOf('account', section === 'account' ? '' : section));
    link.hidden = section === 'account' || acting.account !== null;
  }
  for (const link of document.querySelectorAll('nav a')) {
    const { section: name = '' } = link.dataset;
    link.href = addressOf(name);
    link.ariaCurrent = name === section ? 'page' : null;
    if (name === section) {
      const title = name === 'account' && !acting.account ? 'Sign in' : link.textContent;
      document.title = `${title} · ${acting.org} · tenantkit`;
    }
  }
}
