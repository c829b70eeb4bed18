// The calls of the console. The browser sends the session's cookie, which no script
// can read.

// Refused is a reply with a fault.
export class Refused extends Error {
  /** @param {Fault} fault @param {number | null} retryAfter */
  constructor(fault, retryAfter) {
    super(fault.message);
    this.name = 'Refused';
    this.fault = fault;
    this.retryAfter = retryAfter; // seconds, or null
  }

  // detail is the errCode without the server's namespace.
  get detail() {
    return this.fault.errCode.slice(this.fault.errCode.indexOf('.') + 1);
  }
}

// Told is an error whose text helps its reader. Any other error is a mistake of the page.
export class Told extends Error {}

// Gone is a reply that comes too late: who asked has left the page.
export class Gone extends Error {}

let visitors = 0;

// leave makes the replies that are under way come too late. Nobody else on this page may see them.
export const leave = () => { visitors++; };

// over are the refusals by which a session has ended.
const over = new Set(['accessDenied.sessionExpired', 'accessDenied.loggedInElsewhere', 'accessDenied.noCredentialsSupplied']);

/** @type {(error: unknown) => error is Refused} */
export const isOver = (error) => error instanceof Refused && over.has(error.detail);

// differing returns the fields that a PATCH sends.
/** @param {Record<string, unknown>} before @param {Record<string, unknown>} wanted */
export const differing = (before, wanted) =>
  Object.fromEntries(Object.entries(wanted).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name])));

// acting is the credential of the tools: the session's cookie, or a bearer token
// that the user has pasted. It is kept in memory only.
/** @type {Acting} */
export const acting = { org: 'acme', account: null, bearer: '', held: null };

// hooks are what happens outside of a call. The modules that know set them.
/** @type {Hooks} */
export const hooks = {
  heard: () => {}, // before a request is sent
  lost: () => {}, // the server cannot be reached
  sessionOver: () => {}, // a section learns that the session has ended
  stepUp: async () => false, // asks for the password again, and returns whether it was accepted
};

// told runs a step with a bearer token, or with the session if that is ''. If the session must prove
// itself, the step is tried again after that. If the session has ended, the whole page is told.
/** @template T @param {(bearer: string) => Promise<T>} step @returns {Promise<T>} */
async function told(step, bearer = acting.bearer) {
  try {
    return await step(bearer);
  } catch (error) {
    if (!bearer && isOver(error)) {
      hooks.sessionOver(error);
    }
    if (!bearer && wantsProof(error) && await hooks.stepUp()) {
      return step(bearer);
    }
    throw error;
  }
}

const wantsProof = (/** @type {unknown} */ error) => error instanceof Refused && error.detail === 'accessDenied.reauthenticationRequired';

/** @type {Send} */
const call = (method, path, ...rest) => send(method, `/${acting.org}/v2${path}`, ...rest);

/** @param {string[][]} pairs names and values */
export const queryOf = (pairs) => pairs.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join('&');

// request calls the org with the credential in acting.
/** @type {Call} */
export const request = (method, path, body) => told((bearer) => call(method, path, body, bearer));

// own calls the org with the session, even while the sections use a token.
/** @type {Call} */
export const own = (method, path, body) => told(() => call(method, path, body), '');

// entry calls the org to sign in: what it refuses is no end of a session.
/** @type {Call} */
export const entry = (method, path, body) => call(method, path, body);

// enterOrg opens a session at another org, by the session of this one.
export const enterOrg = (/** @type {string} */ org) => send('POST', `/${org}/v2/accounts/enter`);

// requestBy gets a path of the org with a bearer token, whatever is in acting.
/** @type {(bearer: string, path: string) => Promise<any>} */
export const requestBy = (bearer, path) => call('GET', path, undefined, bearer, true);

// lookUp is a GET of the page itself, for names of what it shows.
export const lookUp = (/** @type {string} */ path) => told((bearer) => call('GET', path, undefined, bearer, true));

// watch calls step with the name and the data of each server-sent event of the org, until the
// stream ends. A comment has the name ''. It throws the fault that has ended the stream.
/** @type {(signal: AbortSignal, step: Step) => Promise<void>} */
export const watch = (signal, step) => told(async (bearer) => {
  const path = `/${acting.org}/v2/events?history=500`;
  hooks.heard({ method: 'GET', path });
  const reply = await reach(path, { ...options(bearer), signal });
  if (reply.headers.get('Content-Type') !== 'text/event-stream') {
    await valueOf(reply);
    return;
  }
  const reader = /** @type {ReadableStream} */ (reply.body).pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ''; ;) {
    const late = setTimeout(() => reader.cancel(), longestSilence);
    const { value, done } = await reader.read().finally(() => clearTimeout(late));
    if (done) {
      return;
    }
    const parts = (rest + value).split('\n\n');
    rest = parts.pop() ?? '';
    parts.forEach((part) => deliver(part, step));
  }
});

const longestSilence = 10_000; // milliseconds; the server sends something every two seconds

/** @type {(part: string, step: Step) => void} */
function deliver(part, step) {
  const [, name = '', text = 'null'] = part.match(/^event: (.*)\ndata: (.*)$/) ?? [];
  const data = JSON.parse(text);
  if (name === 'end') {
    throw new Refused(data, null);
  }
  step(name, data);
}

// site calls paths outside of the orgs, which need no credential.
/** @type {Site} */
export const site = {
  brand: async () => (await send('GET', '/console/brand')).data,
  scope: async (grants, need) => (await send('POST', '/console/scope', { grants, need })).data,
  qr: async (text) => (await send('POST', '/console/qr', { text })).data.png,
};

const longest = 30_000; // milliseconds until a request is given up

/** @param {string} bearer @returns {Options} */
function options(bearer) {
  return {
    credentials: bearer ? 'omit' : 'same-origin', // one credential, not two
    cache: 'no-store',
    redirect: 'error',
    headers: bearer ? { Authorization: `Bearer ${bearer}` } : {},
  };
}

/** @type {Send} */
async function send(method, path, body, bearer = '', unheard = false) {
  unheard || hooks.heard({ method, path, body });
  const sent = { ...options(bearer), method, signal: AbortSignal.timeout(longest) };
  if (body !== undefined) {
    sent.headers['Content-Type'] = 'application/json';
    sent.body = JSON.stringify(body);
  }
  const asking = visitors;
  return reach(path, sent).then(valueOf).finally(() => {
    if (asking !== visitors) {
      throw new Gone();
    }
  });
}

// reach fetches, and tells the kinds of silence apart.
/** @param {string | URL} path @param {RequestInit} sent */
export async function reach(path, sent) {
  const request = made(path, sent);
  try {
    return await fetch(request);
  } catch (error) {
    const { name } = /** @type {Error} */ (error);
    if (name === 'AbortError') {
      throw error; // by the page itself
    }
    const late = name === 'TimeoutError';
    late || hooks.lost();
    throw new Told(late ? 'The server does not answer in time.' : 'The server cannot be reached.');
  }
}

/** @param {string | URL} path @param {RequestInit} sent */
function made(path, sent) {
  try {
    return new Request(path, sent);
  } catch { // the server is not lost for that
    throw new Told('The browser cannot send this: the token or a key has letters that no header can have.');
  }
}

// valueOf returns the JSON of a reply, or throws its fault.
async function valueOf(/** @type {Response} */ reply) {
  const value = await reply.json().catch(() => {
    throw new Told(`What came back (status ${reply.status}) is not JSON. Is something between this page and the server?`);
  });
  if (value.object === 'fault') { // whatever the status
    throw new Refused(value, secondsOf(reply.headers.get('Retry-After')));
  }
  if (value.object === 'list') {
    value.hasMore = String(value.hasMore) === 'true'; // it may be a text (section 2.1 of the interface)
  }
  return value;
}

const secondsOf = (/** @type {string | null} */ text) => (/^\d+$/.test(text ?? '') ? Number(text) : null);
