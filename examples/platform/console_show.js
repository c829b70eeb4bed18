// Show as code: the latest requests that a person caused in this section, as code that sends them again. No text of a
// request ends the quotes around it. The code is ASCII, so that it has no letter that nobody sees or that turns the
// direction of others.

import { hooks, site } from './console_api.js';
import { onCopy } from './console_page.js';
import { byID, element } from './console_render.js';
import { addressed } from './console_sections.js';

const mark = `<${crypto.getRandomValues(new Uint32Array(4)).join()}>`; // between which no data can be
const secretName = /(password|passphrase|secret|token|code|otp|private_?key)s?$/i;
const secretText = /\beyJ[\w-]*\.[\w-]*\.[\w-]*|otpauth(:|%3A)[^]*/i; // a token, the secret of an authenticator

const variable = (/** @type {string} */ name) => name.replace(/[a-z\d](?=[A-Z])/g, '$&_').toUpperCase().replace(/\W|^\d/g, '_')
  .replace(/^(TOKEN|TENANTKIT_SECRET)$/, 'OTHER_$1'); // the code has variables of these names

// withoutSecrets returns a request that may be kept and shown. A secret becomes the name of a variable, between marks.
/** @type {(request: Requested) => Coded} */
function withoutSecrets({ method, path, body }) {
  const { pathname, search } = new URL(path.replace(new RegExp(secretText, 'gi'), 'SECRET'), location.origin); // as it is sent
  const [, mount = '', below = pathname] = pathname.match(/^(\/[^/]+\/v2)(\/.*)$/) ?? [];
  const json = JSON.stringify(body, (name, value) => {
    const secret = secretName.test(name) ? variable(name) : typeof value === 'string' && secretText.test(value) && 'SECRET';
    return secret && !/^(boolean|undefined)$/.test(typeof value) && value !== null ? mark + secret + mark : value;
  }) ?? '';
  return {
    method, mount, path: below + search,
    session: /^\/accounts(\/login|\/me\/.*)?$/.test(below),
    stream: below === '/events',
    json: json.replace(/[^ -~]|`/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`), // these are in strings only
  };
}

// written returns the parts of a body: texts, and variables. quote is '"' if a variable replaces the quotes of JSON, too.
/** @type {(json: string, quote: '"' | '', text: (text: string) => string, name: (name: string) => string) => string[]} */
const written = (json, quote, text, name) => json.split(new RegExp(`${quote}${mark}(\\w+)${mark}${quote}`))
  .map((part, i) => (i % 2 ? name(part) : text(part)));

const present = (/** @type {(string | false)[]} */ ...lines) => lines.filter(Boolean);

// shell quotes a word for a shell. A word beyond ASCII becomes bytes.
function shell(/** @type {string} */ word) {
  if (/^[ -~]*$/.test(word)) {
    return `'${word.replaceAll("'", String.raw`'\''`)}'`;
  }
  const byte = (/** @type {number} */ n) => (/[ -&(-[\]-~]/.test(String.fromCharCode(n)) ? String.fromCharCode(n) : `\\${n.toString(8).padStart(3, '0')}`);
  return `$'${[...new TextEncoder().encode(word)].map(byte).join('')}'`;
}

const shellBody = (/** @type {Coded} */ { json }) => json && written(json, '', shell, (name) => `"$${name}"`).join('');

/** @type {(method: string, ...lines: (string | false)[]) => string} */
const command = (method, ...lines) => present(`curl -g -X ${method}`, ...lines).join(' \\\n  '); // -g: paths[] is no pattern

// curlOf returns a command for a request with all its headers.
export const curlOf = (/** @type {Sent} */ { method, url, headers, body }) => command(method,
  ...Object.entries(headers).map(([name, value]) => `-H ${shell(`${name}: ${value}`)}`),
  body && `--data-raw ${shell(body)}`,
  shell(url.href));

// The comments have no quotes: some shells run a pasted comment as a command.
function curl(/** @type {Coded} */ one) {
  const { method, mount, path, session, stream, json } = one;
  return present(
    !session && Boolean(mount) && '# TOKEN is a token that you have minted',
    session && `# The file jar has the cookies of the session${path === '/accounts/login' ? '' : ': sign in with it first'}`,
    json.includes(mark) && '# The variables are parts of JSON: escape quotes and backslashes in them',
    command(method,
      session ? '-b jar -c jar' : Boolean(mount) && '-H "Authorization: Bearer $TOKEN"',
      session && method !== 'GET' && `-H ${shell(`Origin: ${location.origin}`)}`,
      json && `-H 'Content-Type: application/json' \\\n  -d ${shellBody(one)}`,
      stream && '-N',
      shell(location.origin + mount + path))).join('\n');
}

const noSignature = 'This needs a session and takes no signature: see curl';

/** @param {Coded} one @param {string} prefix */
function client(one, prefix) {
  const { method, mount, path, session, stream, json } = one;
  if (path === '/console/scope') {
    const { grants, need } = JSON.parse(json);
    return ['client scope explain', ...grants.map((/** @type {string} */ chain) => `--grant ${shell(chain)}`), '--', shell(need)].join(' ');
  }
  if (session || !mount) {
    return `# ${session ? noSignature : 'The client stays within an org'}`;
  }
  return `# client is built from examples/client. With a key of ${location.origin}${mount}: see client help connection\n${present(
    `client ${stream ? 'tail' : method.toLowerCase()}`, prefix && `--header-prefix ${shell(prefix)}`, !stream && shell(path), shellBody(one)).join(' ')}`;
}

/** @param {Coded} one @param {string} prefix */
function go({ method, mount, path, session, json }, prefix) {
  if (session) {
    return `// ${noSignature}`;
  }
  const secrets = json.includes(mark);
  const imports = present(secrets && 'encoding/json', 'io', 'log', 'net/http', 'os', json && 'strings').map((name) => `\t"${name}"\n`);
  const body = json && `strings.NewReader(${written(json, '"', (text) => `\`${text}\``, (name) => `quoted("${name}")`).join('+')})`;
  const failed = 'if err != nil {\n\t\tlog.Fatal(err)\n\t}';
  return `${mount && '// In a module: go get github.com/tenantkit/tenantkit\n'}package main

import (
${imports.join('')}${mount && '\n\t"github.com/tenantkit/tenantkit/signing"\n'})

const base = ${JSON.stringify(location.origin + mount)}
${secrets ? `
// quoted returns a variable of the environment as JSON.
func quoted(name string) string {
	text, _ := json.Marshal(os.Getenv(name))
	return string(text)
}
` : ''}
func main() {
	client := ${mount ? `&http.Client{Transport: &signing.Transport{
		BaseURL:   base,
		ClientKey: os.Getenv("TENANTKIT_KEY"),
		Secret:    signing.Secret(os.Getenv("TENANTKIT_SECRET")),${prefix && `\n\t\tHeader:    ${JSON.stringify(prefix)},`}
	}}` : 'http.DefaultClient'}
	request, err := http.NewRequest("${method}", base+${JSON.stringify(path)}, ${body || 'nil'})
	${failed}
${json && '\trequest.Header.Set("Content-Type", "application/json")\n'}	reply, err := client.Do(request)
	${failed}
	defer reply.Body.Close()
	_, err = io.Copy(os.Stdout, reply.Body)
	${failed}
}`;
}

// forms write a request. prefix is that of the server's headers, or '' for the usual one.
/** @type {Record<string, (one: Coded, prefix: string) => string>} */
const forms = { curl, client, go };

// The panel.

const most = 8;

/** @type {Coded[]} */
let kept = []; // the newest first
let acted = false; // whether a person has acted since the latest request that was kept
let prefix = '';

// What the page asks for its own use.
const own = /\/(accounts\/(status|me|me\/sessions)|schemas|console\/brand)(\?|$)/;

// hear keeps a request if it changes something, or if it is the first after a person has acted. Others are
// of the page itself, such as the list after a change. They would bury what the person did.
function hear(/** @type {Requested} */ request) {
  const changes = request.method !== 'GET' && !request.path.startsWith('/console/');
  if (!changes && (!acted || own.test(request.path))) {
    return;
  }
  acted = false;
  const one = withoutSecrets(request);
  const text = JSON.stringify(one);
  kept = [one, ...kept.filter((other) => JSON.stringify(other) !== text)].slice(0, most);
  draw();
}

// forgetShown removes the requests. The first request of a section counts as the person's who opens it, but the
// account's section only asks for numbers.
export function forgetShown() {
  kept = [];
  acted = addressed().section !== 'account';
  draw();
}

// draw writes nothing into a panel that is closed.
function draw() {
  byID('shown').hidden = !kept.length;
  const requests = byID('shown-more').open ? kept : [];
  byID('shown-request').replaceChildren(...requests.map(({ method, path }, i) => element('option', { value: `${i}` },
    `${method} ${path.length > 80 ? `${path.slice(0, 80)}…` : path}`)));
  write();
}

function write() {
  const one = kept[Number(byID('shown-request').value || -1)];
  byID('shown-text').textContent = one ? forms[byID('shown-form').value](one, prefix) : '';
}

// learnPrefix asks how this server names its headers.
async function learnPrefix() {
  const { header } = await site.brand();
  prefix = header === 'Service-' ? '' : header;
  write();
}

hooks.heard = hear;
for (const name of ['click', 'submit', 'input', 'hashchange']) {
  addEventListener(name, (event) => { acted ||= !event.composedPath().includes(byID('shown')); }, true);
}
byID('shown-more').addEventListener('toggle', () => {
  draw();
  learnPrefix().catch(() => {}); // the usual prefix then
});
byID('shown-request').addEventListener('change', write);
byID('shown-form').addEventListener('change', write);
onCopy('shown-copy', 'shown-text');
