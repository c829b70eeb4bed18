// Proves nothing itself: checks how a page looks, in the states that flows bring it to.

import assert from 'node:assert/strict';
import axe from 'axe-core';
import { desktop, inFirefox } from './kit.mjs';

const shots = process.argv[7]; // a folder

const phone = { width: 375, height: 812 };

// faces are the widths and colour schemes of screenshots. Colours do not change the layout, so
// without screenshots the light scheme is enough.
const faces = [
  ['desktop-light', desktop, 'light'],
  ['desktop-dark', desktop, 'dark'],
  ['phone-light', phone, 'light'],
  ['phone-dark', phone, 'dark'],
].filter(([, , scheme]) => shots || scheme === 'light');

// accessible checks the page by the rules of WCAG 2.2 AA that a program can check.
async function accessible(page, name) {
  await page.evaluate(`${axe.source}; 0`); // the policy holds for scripts of the page, and not for a debugger
  const { violations } = await page.evaluate((tags) => globalThis.axe.run({ runOnly: tags }), ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa']);
  assert.deepEqual(violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]), [], name);
}

// shoot takes screenshots of a page in its present state, and checks that it fits each width and is
// accessible.
export async function shoot(page, name) {
  const before = page.viewportSize();
  for (const [face, viewport, colorScheme] of faces) {
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
    const [wide, seen] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(wide <= seen, `${name} is ${wide} wide on a ${face} of ${seen}`);
    await (inFirefox || accessible(page, `${name}, ${face}`)); // the rules are the same everywhere
    if (shots) {
      await page.screenshot({ path: `${shots}/${name}-${face}.png`, fullPage: true });
    }
  }
  await page.setViewportSize(before);
}
