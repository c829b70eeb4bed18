import { createHmac, randomBytes } from 'node:crypto';

/** A client key and its secret. The secret must not reach a browser. */
export interface App {
  key: string;
  secret: string;
}

let last = 0;

/** Returns a time in milliseconds, later than the one before: a signature may be used once. */
const now = () => (last = Math.max(last + 1, Date.now()));

/**
 * Returns a fetch that signs requests to the server by section 5.3 of INTERFACE.md. mount is the URL of an
 * environment, such as https://api.example.net/acme/v2. A request to any other URL fails, so that no
 * signature leaves the server. A redirect fails, too.
 */
export function signingFetch(mount: string, app: App, prefix = 'Service-'): (request: Request) => Promise<Response> {
  return async (request) => {
    if (!request.url.startsWith(mount + '/')) {
      throw new Error(`${request.url} is not below ${mount}`);
    }
    const command = request.url.slice(mount.length).replace(/[?#].*/, '').replace(/\/$/, '');
    const at = now();
    const mac = createHmac('sha256', app.key + app.secret).update(`${command};${request.method};${at}`);
    const signed = new Request(request, { redirect: 'error' });
    signed.headers.set(`${prefix}Client-Key`, app.key);
    signed.headers.set(`${prefix}Client-Signature`, mac.digest('hex'));
    signed.headers.set(`${prefix}Client-Timestamp`, String(at));
    signed.headers.set(`${prefix}Client-Nonce`, randomBytes(8).toString('hex'));
    return fetch(signed);
  };
}
