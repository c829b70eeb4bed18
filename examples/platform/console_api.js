// The calls of the console. The browser sends the session's cookie, which no script
// can read.

// Refused is a reply with a fault.
export class Refused extends Error {
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

// over are the refusals by which a session has ended.
const over = new Set(['accessDenied.sessionExpired', 'accessDenied.loggedInElsewhere', 'accessDenied.noCredentialsSupplied']);

export const isOver = (error) => error instanceof Refused && over.has(error.detail);

// acting is the credential of the tools: the session's cookie, or a bearer token
// that the user has pasted. It is kept in memory only.
export const acting = { org: 'acme', account: null, bearer: '' };

let sessionOver = () => {};

// onSessionOver sets what to do when a section learns that the session has ended.
export function onSessionOver(step) {
  sessionOver = step;
}

// told runs a step of a section. If the session has ended, the whole page is told.
async function told(step) {
  const { bearer } = acting;
  try {
    return await step(bearer);
  } catch (error) {
    if (!bearer && isOver(error)) {
      sessionOver(error);
    }
    throw error;
  }
}

// request calls the org with the credential in acting.
export const request = (method, path, body) => told((bearer) => send(method, `/${acting.org}/v2${path}`, body, bearer));

// watch calls step with the name and the data of each server-sent event of the org, until the
// stream ends. A comment has the name ''. It throws the fault that has ended the stream.
export const watch = (signal, step) => told(async (bearer) => {
  const reply = await fetch(`/${acting.org}/v2/events`, { ...options(bearer), signal });
  if (reply.headers.get('Content-Type') !== 'text/event-stream') {
    await valueOf(reply);
    return;
  }
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let rest = ''; ;) {
    const late = setTimeout(() => reader.cancel(), longestSilence);
    const { value, done } = await reader.read().finally(() => clearTimeout(late));
    if (done) {
      return;
    }
    const parts = (rest + value).split('\n\n');
    rest = parts.pop();
    parts.forEach((part) => deliver(part, step));
  }
});

const longestSilence = 10_000; // milliseconds; the server sends something every two seconds

function deliver(part, step) {
  const [, name = '', text = 'null'] = part.match(/^event: (.*)\ndata: (.*)$/) ?? [];
  const data = JSON.parse(text);
  if (name === 'end') {
    throw new Refused(data, null);
  }
  step(name, data);
}

// site calls paths outside of the orgs, which need no credential.
export const site = {
  brand: async () => (await send('GET', '/console/brand')).data,
  scope: async (grants, need) => (await send('POST', '/console/scope', { grants, need })).data,
};

const longest = 30_000; // milliseconds until a request is given up

// newAPI returns the calls of one org, by its code.
export function newAPI(org) {
  const call = (method, path, body) => send(method, `/${org}/v2${path}`, body);
  return {
    org,
    status: () => call('GET', '/accounts/status'),
    login: (email, password) => call('POST', '/accounts/login', { email, password }),
    verify: (code) => call('POST', '/accounts/login', { location: { verificationToken: code } }),
    me: () => call('GET', '/accounts/me'),
    logout: () => call('POST', '/accounts/me/logout'),
    reauthenticate: (password) => call('POST', '/accounts/me/reauthenticate', { password }),
    enrol: async () => (await call('POST', '/accounts/me/second-factor')).data,
    confirm: async (code) => (await call('POST', '/accounts/me/second-factor/confirm', { code })).data.recoveryCodes,
    removeFactor: (code) => call('DELETE', '/accounts/me/second-factor', { code }),
    list: (path) => call('GET', path),
    sessions: () => call('GET', '/accounts/me/sessions?limit=1000'),
    revoke: (id) => call('DELETE', `/accounts/me/sessions/${encodeURIComponent(id)}`),
    revokeOthers: async () => (await call('DELETE', '/accounts/me/sessions')).data,
  };
}

function options(bearer) {
  return {
    credentials: bearer ? 'omit' : 'same-origin', // one credential, not two
    cache: 'no-store',
    redirect: 'error',
    headers: bearer ? { Authorization: `Bearer ${bearer}` } : {},
  };
}

async function send(method, path, body, bearer = '') {
  const sent = { ...options(bearer), method, signal: AbortSignal.timeout(longest) };
  if (body !== undefined) {
    sent.headers['Content-Type'] = 'application/json';
    sent.body = JSON.stringify(body);
  }
  return valueOf(await fetch(path, sent));
}

// valueOf returns the JSON of a reply, or throws its fault.
async function valueOf(reply) {
  const value = await reply.json();
  if (value.object === 'fault') { // whatever the status
    throw new Refused(value, secondsOf(reply.headers.get('Retry-After')));
  }
  return value;
}

const secondsOf = (text) => (/^\d+$/.test(text ?? '') ? Number(text) : null);
