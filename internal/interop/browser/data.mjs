// Proves in a browser that data is shown, filtered, sorted and walked.

import assert from 'node:assert/strict';
import { call, focus, go, heading, openAs, openAsMia, settled, tried, useToken } from './kit.mjs';
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
    const sort = async (name) => { // by the header, once or twice
      const [path, way] = name.split(', ');
      const head = page.locator('th').filter({ has: page.getByRole('button', { name: `Sort by ${path}`, exact: true }) });
      for (;;) {
        await settled(page);
        if (await head.getAttribute('aria-sort') === way) {
          return;
        }
        await head.getByRole('button').click();
      }
    };
    const limit = (text) => page.getByLabel('Items on a page').fill(text);
    const filter = (n) => page.getByRole('group', { name: `Filter ${n}`, exact: true });
    const requested = async () => decodeURIComponent(await page.locator('#data-request').textContent());
    const ids = (name) => shown(name).locator('tbody td:first-child').allTextContents();

    // A filter for data that would deceive, with the keyboard alone.
    await shown('c_conversations, page 1').waitFor();
    assert.equal((await ids('c_conversations, page 1')).length, 25);
    await page.getByLabel('Table', { exact: true }).selectOption('c_messages');
    await shown('c_messages, page 1').waitFor(); // by the choice alone
    await page.getByRole('button', { name: 'Add a filter' }).press('Enter');
    await focus(page, 'data-property-1');
    await filter(1).getByLabel('Operator').selectOption('$prefix');
    await filter(1).getByLabel('Value').fill('zz <img');
    await filter(1).getByLabel('Value').press('Enter');
    const odd = shown('c_messages, page 1').getByRole('row').filter({ hasText: 'onerror' });
    await odd.waitFor();
    await settled(page);
    assert.equal((await ids('c_messages, page 1')).length, 1);
    await page.reload(); // the address has the table and the filter
    await odd.waitFor();
    assert.equal(await filter(1).getByLabel('Value').inputValue(), 'zz <img');
    assert.equal((await ids('c_messages, page 1')).length, 1);
    assert.deepEqual(await odd.locator('mark').allTextContents(), ['U+202E', 'U+200B']);
    assert.ok((await odd.innerText()).includes('long'.repeat(25)));
    assert.ok(!(await odd.innerText()).includes('\u202E'));
    assert.equal(await page.locator('main img, main script').count(), 0);
    assert.match(await requested(), /^GET \/acme\/v2\/c_messages\?paths\[\]=c_text&.*&where={"\$and":\[{"c_text":{"\$prefix":"zz <img"}}\]}&sort={"_id":1}&limit=25$/);
    await shoot(page, 'data');

    // The server refuses what it is asked, and each reason is at its control.
    await filter(1).getByLabel('Property').selectOption('c_likes');
    assert.deepEqual(await filter(1).getByLabel('Operator').locator('option').allTextContents(),
      ['$eq', '$ne', '$gt', '$gte', '$lt', '$lte', '$in', 'has no value', 'has a value']);
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
    await filter(1).getByRole('button', { name: 'Remove: filter 1' }).click();
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
    await page.getByRole('button', { name: /^Look at [0-9a-f]{24}$/ }).first().click();
    await heading(page, `One of ${inner}`).waitFor();
    await shoot(page, 'data-inner');

    await useToken(page, tried.narrow_token);
    await page.getByRole('alert').getByText('service.accessDenied.scope').waitFor();
    await page.getByLabel('Table', { exact: true }).selectOption('connections');
    await page.getByRole('alert').getByText('(object.read.connection)').waitFor();
    await shoot(page, 'data-out-of-scope');
    assert.equal(await page.locator('#data-table table').count(), 0);
    assert.deepEqual(problems, []);
    await close();
  },

  'items that have a value or none are found, counted, looked at, and walked both ways while others change them': async () => {
    const admin = { Authorization: `Bearer ${tried.admin_token}` };
    const made = await Promise.all(Array.from({ length: 7 }, async (_, i) => {
      const reply = await call('/c_messages', admin, 'POST', { c_text: `walked ${i}`, ...(i % 2 && { c_likes: i }) });
      assert.equal(reply.status, 200);
      return reply.json();
    }));
    const order = made.map(({ _id }) => _id).sort();
    const { page, problems, close } = await openAs(tried.admin_email, tried.admin_password, 'Ada Admin');
    await go(page, 'Data');
    const table = (n) => page.getByRole('table', { name: `c_messages, page ${n}`, exact: true });
    const ids = (n) => table(n).locator('tbody td:first-child').allTextContents();
    const press = async (name, n) => {
      await page.getByRole('button', { name, exact: true }).click();
      await settled(page);
      await table(n).waitFor();
    };
    await page.getByRole('table', { name: 'c_conversations, page 1' }).waitFor();
    await page.getByLabel('Table', { exact: true }).selectOption('c_messages');
    await table(1).waitFor();
    await settled(page);
    await page.getByRole('button', { name: 'Add a filter' }).click();
    const filter = (n) => page.getByRole('group', { name: `Filter ${n}`, exact: true });
    await filter(1).getByLabel('Operator').selectOption('$gte');
    await filter(1).getByLabel('Value').fill('walked');
    await page.getByRole('button', { name: 'Add a filter' }).click();
    await filter(2).getByLabel('Operator').selectOption('$lte');
    await filter(2).getByLabel('Value').fill('walked 6');
    await page.getByLabel('Items on a page').fill('2');
    await press('Show', 1);
    assert.deepEqual(await ids(1), order.slice(0, 2));
    await page.getByRole('button', { name: 'Count all' }).click();
    await page.getByText('7 in all.').waitFor();
    await press('Next', 2);
    assert.deepEqual(await ids(2), order.slice(2, 4));
    await page.reload(); // a page has an address, too
    await table(2).waitFor();
    assert.deepEqual(await ids(2), order.slice(2, 4));
    await page.goBack();
    await page.goForward();
    await focus(page, 'data-title');
    await settled(page);
    await table(2).waitFor();
    await press('Show', 1);
    await press('Next', 2);

    // The items at which the pages end go, and others come: nothing is shown twice or left out.
    for (const id of order.slice(2, 4)) {
      assert.equal((await call(`/c_messages/${id}`, admin, 'DELETE')).status, 200);
    }
    await press('Next', 3);
    assert.deepEqual(await ids(3), order.slice(4, 6));
    await press('Previous', 2);
    assert.deepEqual(await ids(2), order.slice(4, 6));
    await press('Previous', 1);
    assert.deepEqual(await ids(1), order.slice(0, 2));
    await page.waitForFunction(() => document.activeElement?.parentElement?.id === 'data-table');
    await press('Next', 2);
    assert.deepEqual(await ids(2), order.slice(4, 6));
    await press('Next', 3);
    assert.deepEqual(await ids(3), order.slice(6));
    await page.locator('#data-next').waitFor({ state: 'hidden' });
    await press('Previous', 2);

    // An object by itself, with the keyboard.
    await page.getByRole('button', { name: `Look at ${order[4]}` }).press('Enter');
    await heading(page, 'One of c_messages').waitFor();
    assert.match(await page.locator('#data-one dl').innerText(), new RegExp(`_id\\s+${order[4]}[^]*c_text\\s+walked \\d`));
    await shoot(page, 'data-one');
    await page.getByRole('button', { name: 'Close' }).press('Enter');
    await page.locator(`[data-look="${order[4]}"]:focus`).waitFor();

    // Only those with a value, and only those without.
    const both = ['has a value', 'has no value'];
    const left = made.filter(({ _id }) => !order.slice(2, 4).includes(_id));
    await page.getByLabel('Items on a page').fill('25');
    await page.getByRole('button', { name: 'Add a filter' }).click();
    await filter(3).getByLabel('Property').selectOption('c_likes');
    for (const choice of both) {
      await filter(3).getByLabel('Operator').selectOption(choice);
      assert.equal(await filter(3).getByLabel('Value').isVisible(), false);
      await press('Show', 1);
      const wanted = left.filter(({ c_text: text }) => (Number(text.at(-1)) % 2 === 1) === (choice === 'has a value'));
      assert.deepEqual(await ids(1), wanted.map(({ _id }) => _id).sort(), choice);
    }
    await shoot(page, 'data-valueless');
    assert.deepEqual(problems, []);
    await close();
  },
};
