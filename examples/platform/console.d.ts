// The types by which the compiler checks the console's scripts (internal/interop/run types). The
// server does not serve this file.

// The interface: the replies of the routes that the page calls.

interface Item { _id: string; object: string }
interface Result<T> { object: 'result'; data: T }
interface List<T> { object: 'list'; data: T[]; hasMore: boolean; total?: number }

interface Fault { object: 'fault'; message: string; path?: string; reason?: string; errCode: string; status: number; faults: Fault[] }

interface Account extends Item { email: string; name: string; roles: string[]; disabled?: boolean; tokensFrom?: string }
type Me = Account & { actor?: string }; // actor acts for the account
type WholeAccount = Account & { secondFactor: FactorState }; // by itself, and not in a list
interface App extends Item { name: string; disabled: boolean; exposeKeys: boolean; kid: string; credential?: SigningKey; secret?: string }
interface SigningKey {
  account: string | null; accounts: string[]; scope: string[] | null; notBefore: string | null; notAfter: string | null;
  networks: string[] | null; minVersion: number; publicKey: string | null; secrets: number; secretEnds: string[];
  name?: string; maker?: string; created: string | null; lastUsed?: string; lastAddress?: string;
}
interface Token extends Item {
  subject: string; kind: string; issued: string; expires?: string; uses: number; maxUses?: number; maker?: string; makerApp?: string; parent?: string;
  name?: string; lastUsed?: string; lastAddress?: string; scope?: string[]; roles?: string[];
}
interface APIKey extends Item {
  name: string; app: string; account: string; maker?: string; scope: string[]; networks: string[] | null; created: string; expires?: string;
  uses: number; maxUses?: number; lastUsed?: string; lastAddress?: string; successor?: string; key?: string;
}
interface Role extends Item { scope: string[] }
interface Settings extends Item { idle: number; maxSession: number; requireSecondFactor: boolean; sessionsPerAccount: number; rememberDevices: number }
interface Session extends Item { created: string; seen: string; address: string; agent: string; current: boolean; reason?: string }
interface Ending extends Item { kind: string; app: string; account?: string; name?: string; maker?: string; lastUsed?: string; lastAddress?: string; ends: string }
interface Device extends Item { name: string; created: string; seen: string; expires: string; current: boolean }
interface Org extends Item { name: string; account: string }
interface Invitation extends Item { email: string; roles: string[]; maker: string; expires: string }
interface FactorState { active: boolean; pending: boolean; recoveryCodesLeft: number }
interface Schema extends Item { plural: string; properties: Property[] }
interface Property { name: string; fqpp: string; type: string; filterable: boolean; sortable: boolean; list?: string }
type Status = { loggedin: true; account: Me; fault?: undefined } | { loggedin: false; account?: undefined; fault?: Fault };
interface Happening {
  object: 'event'; at: string; requestId: string; verb?: string; reason?: string; count?: number; route?: string; mechanism?: string; app?: string;
  account?: string; actor?: string; by?: string; credential?: string; token?: string; session?: string; allowed?: boolean; handler?: boolean; fault?: string;
  status?: number; claimed?: string; address?: string; agent?: string; need?: string; chain?: string; source?: string; took?: number;
}
interface Entry extends Item {
  n: number; time: string; verb: string; actor?: string; account?: string; app?: string; credential?: string; token?: string; session?: string; by?: string;
  address?: string; agent?: string; mail?: string; detail?: string; reason?: string; count?: number; route?: string; request?: string; salt?: string;
  commitment?: string; hash: string;
}
type Stored = Item & Record<string, unknown>; // an object of the org, or an item of a list within one

// Step takes what GET /events sends, by name: an 'event' is a Happening: a decision, or a verb, and 'dropped' has a count. A comment has the name ''.
type Step = (name: string, data: any) => void;

interface Verdict {
  allowed: boolean; part: boolean; need: string; chain?: string; source?: string; segment?: number; why: string;
  warnings: { source: string; text: string }[];
}

// Acting is the credential of the sections. Without a bearer token, it is the session of the account.
interface Acting { org: string; account: Me | null; bearer: string; held: string[] | null }

// Call sends a request and returns the JSON of the reply, which the caller gives a type.
type Call = (method: string, path: string, body?: unknown) => Promise<any>;
type Send = (...call: [...Parameters<Call>, bearer?: string, unheard?: boolean]) => ReturnType<Call>;
type Options = RequestInit & { headers: Record<string, string> };

interface Hooks { heard(request: Requested): void; lost(): void; sessionOver(error: Refused): void; stepUp(): Promise<boolean> }

// The calls that need no credential.

interface Site {
  brand(): Promise<{ header: string; claims: string }>;
  scope(grants: string[], need: string): Promise<Verdict>;
  qr(text: string): Promise<string>;
}

// The page.

// Section is what the page does with a section: open it, end what it does by itself, and remove from it what was entered and shown.
interface Section { open?: () => unknown; close?: () => void; forget: () => void }

type Refused = import('./console_api.js').Refused;

// Elements has the type of each element that is more than an HTMLElement, by id.
interface Elements extends
  Record<'people-form' | 'again-form' | 'app-form' | 'app-one-form' | 'audit-form' | 'code-form' | 'credential-form' | 'data-form' | 'enrol-form' | 'factor-form' |
    'held-form' | 'invite-form' | 'join-form' | 'keys-form' | 'keys-list-form' | 'lab-form' | 'live-form' | 'mint-form' | 'password-form' | 'people-new-form' |
    'reset-form' | 'role-form' | 'role-one-form' | 'scope-form' | 'settings-form' | 'sign-in-form', HTMLFormElement>,
  Record<'again-email' | 'again-password' | 'app-one-name' | 'audit-value' | 'code-input' | 'data-limit' | 'email' | 'enrol-code' | 'lab-key' | 'lab-path' | 'lab-secret' |
    'lab-see' | 'lab-timestamp' | 'live-words' | 'mint-maxUses' | 'mint-seconds' | 'org' | 'password' | 'password-now' | 'password-see' | 'people-name' |
    'scope-need' | 'settings-devices' | 'settings-factor' | 'settings-idle' | 'settings-maxSession' | 'settings-most', HTMLInputElement>,
  Record<'audit-field' | 'data-list' | 'held-app' | 'held-ends' | 'held-sub' | 'keys-app' | 'keys-of' | 'keys-within' | 'lab-method' | 'lab-version' |
    'live-only' | 'mint-app' | 'mint-expiresIn' | 'mint-sub' | 'settings-idle-unit' | 'settings-maxSession-unit' | 'shown-form' | 'shown-request', HTMLSelectElement>,
  Record<'credential-token' | 'lab-body' | 'role-one-scope' | 'scope-grants', HTMLTextAreaElement>,
  Record<'again' | 'keep' | 'sure', HTMLDialogElement>,
  Record<'credential-more' | 'shown-more', HTMLDetailsElement>,
  Record<'key-fields', HTMLTemplateElement>,
  Record<'enrol-link' | 'try-scope', HTMLAnchorElement> {}

interface ByID {
  <K extends keyof Elements>(id: K): Elements[K];
  (id: string): HTMLElement;
}

type Child = Node | string | false | null | undefined; // of an element; the last three are left out

type Make = <K extends keyof HTMLElementTagNameMap>(name: K, properties?: Partial<HTMLElementTagNameMap[K]>, ...children: Child[]) =>
  HTMLElementTagNameMap[K];

type FormID = { [K in keyof Elements]: Elements[K] extends HTMLFormElement ? K : never }[keyof Elements];

// Submitted is the step of a form. The button is the one that was pressed, if any.
type Submitted = (form: FormData, button: Button) => unknown;
type Button = HTMLButtonElement | null;
type ControlOf = (fault: Fault) => HTMLElement | null | undefined;

// Unsigned is what the signature lab signs, Signed what becomes of it, and Sent the whole request.
interface Unsigned {
  prefix: string; mount: string; clientKey: string; secret: string; method: string; url: URL; body: string; timestamp: number;
}
interface Signed { message: string; key: string; signature: string; headers: Record<string, string> }
interface Sent extends Signed { clientKey: string; timestamp: number; method: string; url: URL; body: string; serverTime: string }
type Sign = (request: Unsigned) => Promise<Signed>;

// Requested is a request that the page sends. Coded is one to be shown: its mount is '' outside of the orgs, its path is below the
// mount, and its body is JSON in ASCII, or ''.
interface Requested { method: string; path: string; body?: unknown }
interface Coded { method: string; mount: string; path: string; session: boolean; stream: boolean; json: string }

// Asked is a page that the section for data asks for. Its cursor is empty, or the condition for the items after the page before.
// A page that is shown has its last item, if it has any.
interface Asked {
  list: string; schema: Schema; sort: string; limit: string; conditions: string[]; cursor: string[]; number: number; before?: Asked; last?: Stored;
}

// Row is a token in a list, with its depth in their tree.
type Row = Token & { app: string; depth: number };

// Claims are those of a token that nobody has verified.
type Claims = Record<string, unknown>;

// The libraries of the compiler allow for more than this page has, or for less than it may rely on.

// All elements of the page are HTML.
interface ParentNode {
  querySelector<K extends keyof HTMLElementTagNameMap>(selectors: K): HTMLElementTagNameMap[K] | null;
  querySelector(selectors: string): HTMLElement | null;
  querySelectorAll(selectors: 'nav a'): NodeListOf<HTMLAnchorElement>;
  querySelectorAll(selectors: string): NodeListOf<HTMLElement>;
}

interface Array<T> { filter(keep: BooleanConstructor): Exclude<T, false | 0 | '' | null | undefined>[] }

// No form of the page has files. An empty box is missing from its form.
interface FormData {
  get(name: 'everything' | 'exposeKeys' | 'maxUses' | 'remember' | 'seconds'): string | null;
  get(name: string): string;
  getAll(name: string): string[];
}
