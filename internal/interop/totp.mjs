// Proves nothing itself: computes one-time passwords for the other files, as an authenticator does by RFC 6238.

import { createHmac } from 'node:crypto';

const period = 30_000; // milliseconds

// Authenticator returns a code for each request. It never returns a code twice, because a server
// accepts each code once. It may return the code of the next step, which a server already accepts.
// If it has returned that one, it waits.
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

  // latest returns the code that was returned before.
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
