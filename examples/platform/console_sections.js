// The sections of the page and the links to them. The address names the org and the
// section: /#acme/tokens.

import { acting } from './console_api.js';
import { byID } from './console_render.js';

const sections = ['account', 'live', 'data', 'apps', 'tokens', 'scope', 'lab', 'paging'];
const withCredential = new Set(['live', 'data', 'apps', 'tokens', 'paging']);

// Other characters would change the path.
const orgCode = /^[a-z0-9][a-z0-9_-]{0,39}$/;

export const longestAddress = 8000; // characters, of a question in it

// addressed returns the org, the section and the question in the address.
export function addressed() {
  const [place, ...question] = location.hash.slice(1).split('?');
  const [org, section] = place.split('/');
  return {
    org: orgCode.test(org) ? org : 'acme',
    section: sections.includes(section) ? section : 'account',
    question: new URLSearchParams(location.hash.length > longestAddress ? '' : question.join('?')),
  };
}

// showSection shows the section in the address, and returns its name.
export function showSection() {
  const { section } = addressed();
  for (const name of sections) {
    byID(`section-${name}`).hidden = name !== section;
  }
  byID('credential').hidden = !withCredential.has(section);
  linkSections();
  return section;
}

// showAccountSection shows the section in which people sign in.
export function showAccountSection() {
  history.replaceState(null, '', `#${acting.org}`);
  return showSection();
}

// linkSections makes the links lead to the org.
export function linkSections() {
  const { section } = addressed();
  for (const link of document.querySelectorAll('[data-try]')) {
    link.setAttribute('href', `#${acting.org}/${link.dataset.try}`);
  }
  for (const link of document.querySelectorAll('nav a')) {
    const { section: name } = link.dataset;
    link.href = name === 'account' ? `#${acting.org}` : `#${acting.org}/${name}`;
    link.ariaCurrent = name === section ? 'page' : null;
    if (name === section) {
      document.title = `${link.textContent} · ${acting.org} · tenantkit`;
    }
  }
}
