// Proves in a browser that data is shown, filtered, sorted and walked.

import assert from 'node:assert/strict';
import { call, focus, go, openAsMia, settled, tried, useToken } from './kit.mjs';
import { shoot } from './look.mjs';

export const checks = {
  'data is shown as tables, filtered, sorted and walked, and a list within an object is one, too': async () => {
    const bearer = { Authorization: `Bearer ${tried.ephemeral_token}` };
    const hidden = `zz <img src=x onerror="document.title=1"> \u202E\u200B\u05D0 ${'long'.repeat(25)}`;
    for (const [path, body] of [['/c_messages', { c_text: hidden }], ['/c_conversations', { c_title: hidden }]]) {
      const made = await call(path, bearer, 'POST', body);
      assert.equal(made.status, 200, await made.text());
    }
    const { page, problems, close } = await openAsMia();
    await go(page, 'Data');
    await focus(page, 'data-title');
    const shown = (name) => page.getByRole('table', { name, exact: true });
    const show = () => page.getByRole('button', { name: 'Show', exact: true }).click();
    const sort = (name) => page.getByLabel('Order', { exact: true }).selectOption({ label: name });
    const limit = (text) => page.getByLabel('Items on a page').fill(text);
    const filter = (n) => page.getByRole('group', { name: `Filter ${n}`, exact: true });
    const requested = async () => decodeURIComponent(await page.locator('#data-request').textContent());
    const ids = (name) => shown(name).locator('tbody td:first-child').allTextContents();

    // A filter for data that would deceive, with the keyboard alone.
    await shown('c_conversations, page 1').waitFor();
    assert.equal((await ids('c_conversations, page 1')).length, 25);
    await page.getByLabel('Table', { exact: true }).selectOption('c_messages');
    await page.getByRole('button', { name: 'Add a filter' }).press('Enter');
    await focus(page, 'data-property-1');
    await filter(1).getByLabel('Operator').selectOption('$prefix');
    await filter(1).getByLabel('Value').fill('zz <img');
    await filter(1).getByLabel('Value').press('Enter');
    const odd = shown('c_messages, page 1').getByRole('row').filter({ hasText: 'onerror' });
    await odd.waitFor();
    assert.equal((await ids('c_messages, page 1')).length, 1);
    assert.deepEqual(await odd.locator('mark').allTextContents(), ['U+202E', 'U+200B']);
    assert.ok((await odd.innerText()).includes('long'.repeat(25)));
    assert.ok(!(await odd.innerText()).includes('\u202E'));
    assert.equal(await page.locator('main img, main script').count(), 0);
    assert.match(await requested(), /^GET \/acme\/v2\/c_messages\?paths\[\]=c_text&.*&where={"\$and":\[{"c_text":{"\$prefix":"zz <img"}}\]}&sort={"_id":1}&limit=25$/);
    await shoot(page, 'data');

    // The server refuses what it is asked, and each reason is at its control.
    await filter(1).getByLabel('Property').selectOption('c_likes');
    assert.deepEqual(await filter(1).getByLabel('Operator').locator('option').allTextContents(), ['$eq', '$gt', '$lt', '$in']);
    await filter(1).getByLabel('Value').fill('many');
    await limit('none');
    await show();
    await filter(1).getByText(/^must be of type integer service/).waitFor();
    await focus(page, 'data-value-1');
    const described = (id) => page.locator(id).evaluate((control) => document.getElementById(control.getAttribute('aria-describedby')).textContent);
    assert.match(await described('#data-limit'), /service\.invalidArgument\.query/);
    assert.equal(await page.locator('#data-table table').count(), 0, 'the page before stays beside the fault');
    await shoot(page, 'data-refused');
    await filter(1).getByLabel('Operator').selectOption('$in');
    await filter(1).getByLabel('Value').fill('7, 20');
    await limit('1000');
    await show();
    await shown('c_messages, page 1').waitFor();
    assert.equal(await page.locator('[aria-invalid]').count(), 0);
    assert.ok((await requested()).includes('{"c_likes":{"$in":[7,20]}}'));
    await filter(1).getByRole('button', { name: 'Remove filter 1' }).click();
    await focus(page, 'data-add');

    // walk presses Next until there is no more, and returns the ids of all items.
    const walk = async (list, pages) => {
      await show();
      const seen = [];
      for (let n = 1; n <= pages; n++) {
        await shown(`${list}, page ${n}`).waitFor();
        await settled(page);
        seen.push(...await ids(`${list}, page ${n}`));
        await (n < pages && page.getByRole('button', { name: 'Next' }).click());
      }
      await page.locator('#data-next').waitFor({ state: 'hidden' });
      assert.equal(new Set(seen).size, seen.length, `${list}: an item is on two pages`);
      return seen;
    };
    const total = async (path) => (await (await call(`${path}?count=true&limit=1`, bearer)).json()).total;
    for (const order of ['c_likes, ascending', 'c_meta.lang, descending', '_id, descending']) {
      await sort(order);
      assert.equal((await walk('c_messages', 3)).length, await total('/c_messages'), order);
    }

    // A list within an object. Its names and values come from a user, too.
    await page.getByLabel('Table', { exact: true }).selectOption('c_conversations');
    assert.equal(await page.locator('#data-table table').count(), 0);
    await show();
    await shown('c_conversations, page 1').getByRole('row').filter({ hasText: 'onerror' }).waitFor();
    const one = shown('c_conversations, page 1').getByRole('row').filter({ has: page.getByText('Conversation 1', { exact: true }) });
    await shoot(page, 'data-lists');
    const inner = `c_conversations/${await one.locator('td').first().textContent()}/c_messages`;
    await one.getByRole('button', { name: /^Open c_messages of [0-9a-f]{24}$/ }).click();
    await shown(`${inner}, page 1`).waitFor();
    await focus(page, 'data-list');
    await limit('30'); // pages end within the items whose c_likes is null, too
    for (const order of ['c_likes, descending', 'c_likes, ascending']) {
      await sort(order);
      assert.equal((await walk(inner, 9)).length, 250, order);
    }
    await shoot(page, 'data-inner');

    await useToken(page, tried.narrow_token);
    await page.getByRole('alert').getByText('service.accessDenied.scope').waitFor();
    await page.getByLabel('Table', { exact: true }).selectOption('connections');
    await show();
    await page.getByRole('alert').getByText('(object.read.connection)').waitFor();
    await shoot(page, 'data-out-of-scope');
    assert.equal(await page.locator('#data-table table').count(), 0);
    assert.deepEqual(problems, []);
    await close();
  },
};
