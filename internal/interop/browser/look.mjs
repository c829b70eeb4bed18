// Proves nothing itself: checks how a page looks, in the states that flows bring it to.

import assert from 'node:assert/strict';
import axe from 'axe-core';
import { inFirefox } from './kit.mjs';

const shots = process.argv[7]; // a folder

const widths = [{ width: 1440, height: 900 }, { width: 1024, height: 768 }, { width: 390, height: 844 }];

const schemes = {
  light: { runOnly: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'] },
  dark: { runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] } }, // what depends on colours
};

// shoot takes screenshots of a page in its present state. It checks that the page fits each width and is accessible in
// both colour schemes.
export async function shoot(page, name) {
  const before = page.viewportSize();
  for (const viewport of widths) {
    await page.setViewportSize(viewport);
    for (const [scheme, rules] of Object.entries(schemes)) {
      await page.emulateMedia({ colorScheme: scheme });
      await look(page, `${name}-${viewport.width}-${scheme}`, rules);
    }
  }
  await page.emulateMedia({ colorScheme: 'light' });
  await page.setViewportSize(before);
}

async function look(page, face, rules) {
  await fits(page, face);
  await (inFirefox || accessible(page, face, rules)); // the rules are the same everywhere
  await (shots && page.screenshot({ path: `${shots}/${face}.png`, fullPage: true }));
}

// picture takes one of the screenshots that the tour shows, if PICTURES names their folder. It is narrow, so that its words
// can be read in a page of a code host. Its middle is a part of the page.
export async function picture(page, name, part) {
  if (!process.env.PICTURES) {
    return;
  }
  const before = page.viewportSize();
  await page.setViewportSize({ width: 960, height: 320 });
  await part.evaluate((element) => element.scrollIntoView({ block: 'center' }));
  await page.screenshot({ path: `${process.env.PICTURES}/${name}.png`, animations: 'disabled' });
  await page.setViewportSize(before);
}

// fits checks that nobody must scroll sideways.
export async function fits(page, face) {
  const [wide, seen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  assert.ok(wide <= seen, `${face} is ${wide} wide`);
}

// accessible checks the page by the rules of WCAG 2.2 AA and of good practice that a program can check.
export async function accessible(page, face, rules = schemes.light) {
  if (!await page.evaluate(() => 'axe' in globalThis)) {
    await page.evaluate(`${axe.source}; 0`); // the policy holds for scripts of the page, and not for a debugger
  }
  const { violations } = await page.evaluate((only) => globalThis.axe.run(only), rules);
  assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]), [], face);
}
