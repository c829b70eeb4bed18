// Proves nothing itself: starts reference servers that a flow may end.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { patience } from './kit.mjs';

process.once('SIGTERM', () => process.exit(1)); // by itself, node calls no listener of exit then

const program = fileURLToPath(new URL('../platform', import.meta.url));

// Server keeps its database in a folder of its own, so that it can come back with its sessions.
export class Server {
  #folder = mkdtempSync(join(tmpdir(), 'console-'));
  #mails = join(this.#folder, 'mails');
  #process;

  // A run that ends in the middle, by an error or by SIGTERM, leaves no server behind.
  constructor() {
    process.once('exit', () => {
      this.#process?.kill('SIGKILL');
      rmSync(this.#folder, { recursive: true, force: true });
    });
  }

  // start starts the server, the second time at the address of the first.
  async start(...flags) {
    const file = join(this.#folder, 'facts.json');
    const address = this.facts ? new URL(this.facts.base_url).host : '127.0.0.1:0';
    this.#process = spawn(program, ['-addr', address, '-db', `sqlite:${join(this.#folder, 'db')}`, '-store-timeout', '10s', '-mail-dir', this.#mails,
      ...(this.facts ? [] : ['-demo-json', file]), ...flags], { stdio: 'ignore' });
    for (const end = Date.now() + patience; Date.now() < end; await delay(100)) {
      if (!this.facts && existsSync(file) && readFileSync(file).length) {
        this.facts = JSON.parse(readFileSync(file, 'utf8'));
      }
      if (this.facts && await fetch(`${this.facts.base_url}/healthz`).then(({ ok }) => ok, () => false)) {
        return;
      }
    }
    throw new Error('the server does not listen');
  }

  // link waits for the newest mail to an address, and returns its link.
  async link(address, count = 1) {
    for (const end = Date.now() + patience; Date.now() < end; await delay(100)) {
      const mails = readdirSync(this.#mails).filter((name) => name.endsWith('.eml')).sort()
        .map((name) => readFileSync(join(this.#mails, name), 'utf8')).filter((mail) => mail.includes(`\nTo: <${address}>\n`));
      if (mails.length >= count) {
        return mails.at(-1).split('\n\n')[1].split('\n')[0];
      }
    }
    throw new Error(`no mail to ${address}`);
  }

  // kill ends the server at once, as a crash would.
  async kill() {
    this.#process.kill('SIGKILL');
    await once(this.#process, 'exit');
  }

  async remove() {
    await this.kill();
    rmSync(this.#folder, { recursive: true });
  }
}
