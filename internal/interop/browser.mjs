// Proves in a browser that people can use the console of the reference server, and that pages elsewhere cannot abuse it.
//
//   node browser.mjs BROWSER FACTS STRICT_FACTS TRIED_FACTS [WORDS [SHOTS]]
//
// BROWSER is the program of Chromium or Firefox. The -demo-json flag of three servers writes the facts; the second server
// requires a second factor. Only flows whose names contain WORDS run; @sections are the first flow of each section. With
// SHOTS, screenshots go into that folder. The flows are in the files of the folder browser.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { browser, inFirefox } from './browser/kit.mjs';
import { named, report, run } from './checks.mjs';

// Two series run at once. The flows of each share servers, and run one after the other. Those of second factors mostly
// wait for the next code.
const series = [
  ['account', 'factor', 'sessions', 'abuse', 'conditions'], // on the first two servers
  ['apps', 'tokens', 'keys', 'scope', 'lab', 'data', 'show', 'visitor', 'live', 'audit', 'tabs', 'names', 'people', 'orgs', 'visit'], // on the third
];
const alone = ['weight']; // afterwards, because it measures times
const shared = ['kit', 'look', 'server'];

// The files whose flows also run in Firefox. Others use DevTools, or would repeat what these show of a second engine.
const portable = new Set(['account', 'factor', 'sessions', 'apps', 'tokens', 'keys', 'scope', 'lab', 'live', 'audit', 'tabs']);

// The files of the console's sections.
const sections = new Set(['account', 'sessions', 'apps', 'tokens', 'keys', 'scope', 'lab', 'data', 'live', 'audit', 'people', 'orgs']);

const files = readdirSync(new URL('browser', import.meta.url)).map((name) => name.replace('.mjs', ''));
assert.deepEqual(files.sort(), [...series.flat(), ...alone, ...shared].sort(), 'a file of flows is in no series');

// checksOf returns the checks of some files. Two checks of one name would be a check that never runs.
async function checksOf(names) {
  const tried = names.filter((name) => !inFirefox || portable.has(name));
  const modules = await Promise.all(tried.map((name) => import(`./browser/${name}.mjs`)));
  const all = modules.flatMap(({ checks }) => Object.entries(checks));
  assert.equal(new Set(all.map(([name]) => name)).size, all.length, 'two checks have one name');
  return Object.fromEntries(all);
}

// firstOf returns the first check of each section among some files.
async function firstOf(names) {
  const all = await Promise.all(names.filter((name) => sections.has(name)).map((name) => checksOf([name])));
  return Object.fromEntries(all.map((checks) => Object.entries(checks)[0]));
}

const words = process.argv[6] ?? '';
const wanted = await Promise.all([...series, alone].map(async (names) => (words === '@sections' ? firstOf(names) : named(await checksOf(names), words))));

// Firefox gives the keyboard to one window at a time.
const [last, ...first] = wanted.toReversed();
const failures = inFirefox ? [await run(Object.assign({}, ...first))] : await Promise.all(first.map(run));
failures.push(await run(last));
report(wanted.flatMap(Object.keys).length, failures.reduce((sum, failed) => sum + failed));
await browser.close();
process.exit(); // browsers keep connections open
