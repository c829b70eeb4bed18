// Proves in a browser that people see and revoke their sessions.

import assert from 'node:assert/strict';
import { asMia, focus, heading, inside, namesOf, open, sure } from './kit.mjs';
import { shoot } from './look.mjs';

export const checks = {
  'a session that is revoked elsewhere is over': async () => {
    const here = await open();
    const there = await open({ userAgent: 'Mozilla/5.0 (iPhone; CPU iPhone OS 26_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.0 Mobile/15E148 Safari/604.1' });
    await asMia(here.page);
    await inside(here.page, 'Mia Member');
    await asMia(there.page);
    await inside(there.page, 'Mia Member');
    await here.page.reload();
    await inside(here.page, 'Mia Member');
    await shoot(here.page, 'account');
    await here.page.getByRole('button', { name: 'Revoke: Safari on iPhone, 127.0.0.1' }).click();
    await here.page.getByRole('dialog').getByText('Safari on iPhone, 127.0.0.1').waitFor();
    await shoot(here.page, 'session-sure');
    await sure(here.page, 'Revoke it');
    await here.page.getByRole('status').getByText('The session is revoked: Safari on iPhone, 127.0.0.1.').waitFor();
    await here.page.getByRole('row').filter({ hasText: 'Safari on iPhone' }).waitFor({ state: 'detached' });
    await focus(here.page, 'sessions-title');

    await there.page.getByRole('button', { name: 'Revoke all others' }).click();
    await sure(there.page, 'Revoke them');
    await there.page.getByRole('alert').getByText('service.accessDenied.sessionExpired').waitFor();
    await heading(there.page, 'Sign in').waitFor();
    await shoot(there.page, 'session-over');
    assert.deepEqual(await namesOf(there.context), ['device-acme']);
    assert.deepEqual([...here.problems, ...there.problems], []);
    await Promise.all([here.close(), there.close()]);
  },

  'all others are revoked at once': async () => {
    const here = await open();
    const there = await open();
    await asMia(there.page);
    await inside(there.page, 'Mia Member');
    await asMia(here.page);
    await here.page.getByRole('button', { name: 'Revoke all others' }).click();
    await sure(here.page, 'Revoke them');
    await here.page.getByRole('status').getByText(/revoked/).waitFor();
    const listed = here.page.getByRole('table', { name: 'Sessions' }).locator('tbody tr');
    await listed.nth(1).waitFor({ state: 'detached' });
    assert.equal(await listed.count(), 1);
    await shoot(here.page, 'sessions-revoked');
    await focus(here.page, 'sessions-title');
    await there.page.getByRole('button', { name: 'Set up' }).click();
    await there.page.getByRole('alert').getByText('service.accessDenied.sessionExpired').waitFor();
    await heading(there.page, 'Sign in').waitFor();
    await Promise.all([here.close(), there.close()]);
  },
};
