// Proves in a browser that people can use the console of the reference server, and that pages elsewhere cannot abuse it.
//
//   node browser.mjs CHROMIUM FACTS STRICT_FACTS TRIED_FACTS [WORDS [SHOTS]]
//
// The -demo-json flag of three servers writes the facts; the second server requires a second factor. Only flows whose
// names contain WORDS run. With SHOTS, screenshots go into that folder. The flows are in the files of the folder browser.

import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { browser } from './browser/kit.mjs';
import { named, report, run } from './checks.mjs';

// Two series run at once. The flows of each share servers, and run one after the other. Those of second factors mostly
// wait for the next code.
const series = [
  ['account', 'factor', 'sessions', 'abuse'], // on the first two servers
  ['apps', 'tokens', 'scope', 'lab', 'paging', 'data', 'show', 'visitor', 'live', 'tabs'], // on the third
];
const shared = ['kit', 'look'];

const files = readdirSync(new URL('browser', import.meta.url)).map((name) => name.replace('.mjs', ''));
assert.deepEqual(files.sort(), [...series.flat(), ...shared].sort(), 'a file of flows is in no series');

// checksOf returns all checks of some files. Two checks of one name would be a check that never runs.
async function checksOf(names) {
  const modules = await Promise.all(names.map((name) => import(`./browser/${name}.mjs`)));
  const all = modules.flatMap(({ checks }) => Object.entries(checks));
  assert.equal(new Set(all.map(([name]) => name)).size, all.length, 'two checks have one name');
  return Object.fromEntries(all);
}

const words = process.argv[6] ?? '';
const wanted = (await Promise.all(series.map(checksOf))).map((checks) => named(checks, words));
const failures = await Promise.all(wanted.map(run));
report(wanted.flatMap(Object.keys).length, failures[0] + failures[1]);
await browser.close();
process.exit(); // browsers keep connections open
