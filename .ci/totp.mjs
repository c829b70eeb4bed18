// One-time passwords by RFC 6238, as an authenticator computes them.

import { createHmac } from 'node:crypto';

const period = 30_000; // milliseconds

// Authenticator has a code for each time it is asked. It never gives one twice:
// a server takes each once. It may give the next step's, which a server
// takes already, and waits when that was given as well.
export class Authenticator {
  #key;
  #last = 0;

  constructor(secret) {
    this.#key = fromBase32(secret.replaceAll(' ', ''));
  }

  async code() {
    const step = Math.max(this.#last + 1, Math.floor(Date.now() / period));
    const early = (step - 1) * period - Date.now();
    if (early > 0) {
      await new Promise((resolve) => { setTimeout(resolve, early + 100); });
    }
    this.#last = step;
    return this.#at(step);
  }

  // latest is the code that was given before.
  latest() {
    return this.#at(this.#last);
  }

  #at(step) {
    const counter = Buffer.alloc(8);
    counter.writeBigUInt64BE(BigInt(step));
    const mac = createHmac('sha1', this.#key).update(counter).digest();
    const number = mac.readUInt32BE(mac.at(-1) & 15) & 0x7fffffff;
    return String(number % 1_000_000).padStart(6, '0');
  }
}

const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

function fromBase32(text) {
  const bits = [...text].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('');
  return Buffer.from(bits.match(/.{8}/g).map((byte) => Number.parseInt(byte, 2)));
}
