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

// acting is the credential of the tools: the session's cookie, or a bearer token
// that the user has pasted. It is kept in memory only.
export const acting = { org: 'acme', account: null, bearer: '' };

// request calls the org with the credential in acting.
export const request = (method, path, body) => send(method, `/${acting.org}/v2${path}`, body, acting.bearer);

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
    sessions: () => call('GET', '/accounts/me/sessions?limit=1000'),
    revoke: (id) => call('DELETE', `/accounts/me/sessions/${encodeURIComponent(id)}`),
    revokeOthers: async () => (await call('DELETE', '/accounts/me/sessions')).data,
  };
}

async function send(method, path, body, bearer = '') {
  const reply = await fetch(path, {
    method,
    credentials: bearer ? 'omit' : 'same-origin', // one credential, not two
    cache: 'no-store',
    redirect: 'error',
    signal: AbortSignal.timeout(longest),
    headers: {
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...(bearer && { Authorization: `Bearer ${bearer}` }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const value = await reply.json();
  if (value.object === 'fault') { // whatever the status
    throw new Refused(value, secondsOf(reply.headers.get('Retry-After')));
  }
  return value;
}

const secondsOf = (text) => (/^\d+$/.test(text ?? '') ? Number(text) : null);
