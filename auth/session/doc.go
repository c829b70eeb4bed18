// Package session lets a Guard authenticate browsers by a cookie (section 5.2
// of the interface). It has logins with a password, second factors, step-up,
// and the verbs that end sessions.
//
//   - Manager is the mechanism. It has the verbs that handlers call: those of a login itself, and
//     those of its Sessions, Passwords, Factors and Mail.
//   - Store, Attempts and Factors are its storage. Memory implements all three.
//   - Passwords is the application's storage of passwords. A Hasher encodes them.
//
// The auth.SessionPolicy of an org is read with each request. A second factor is
// checked only at login. When an org begins to require one, call Sessions.RevokeOrg: it
// ends the sessions that were created without it.
//
// The application provides the routes, the forms and the mails. It also registers
// accounts, and makes sure who has lost a device before it calls Factors.Reset.
//
// # Choosing
//
// Login is for passwords. Start is for accounts that were authenticated elsewhere:
// at registration, by single sign-on or with a passkey. It takes the Proof of that, which the
// org's policy judges. Both require the second
// factor if the account has one or the org requires one. They then return
// ErrSecondFactor and send a ticket. VerifyCode, or Factors.Enrol and Factors.Confirm, completes the
// login.
//
// Memory is for one process that may lose its data. Several processes share a
// store.
//
// Mount these verbs and Logout on routes that are auth.Public, with POST; so also Mail.SendReset
// and Mail.ResetPassword. Mount Reauthenticate, Passwords.Change, Factors.Remove,
// Factors.RenewRecovery and Mail.VerifyAddress behind auth.Authenticated. Factors.Enrol and
// Factors.Confirm serve sessions and tickets: auth.Optional admits both.
//
// Somebody else may use a session that was left signed in. Factors.Enrol, Factors.Confirm,
// Factors.Remove, Factors.RenewRecovery and Mail.AddressTicket refuse a session that has not
// authenticated within the last ten minutes, and Passwords.Change asks for the password. Other
// routes that such a session must not reach require auth.Need.Fresh: those that end other
// sessions, say.
//
// # Mailed tickets
//
// A password that was forgotten is replaced by Mail.SendReset and Mail.ResetPassword.
// Mail.AddressTicket and Mail.VerifyAddress prove that an account reads a mail address. The
// application sends the mail. Whoever reads the mails of an account can so replace its password,
// but not its second factor: a reset opens no session.
//
// # Invitations
//
// Mail.Invite makes a ticket for a mail to an address, and Mail.Accept redeems it once, in
// the transaction in which the application makes the account. Whoever accepts has proved that they read
// the mails to the address: give the account that address, and none that a request names. To invite is
// to make an account with its roles: Manager.Administrator says who may, and Accept asks again.
//
// # Acting for somebody
//
// Manager.Act lets an administrator act for an account for an hour, such as support that looks at what a
// customer sees. Principals and events then have both names, Account and Actor. Show the Actor on each
// page.
//
// # Device cookies
//
// Attempts at a name are delayed wherever they come from, so an attacker who guesses
// at a name also delays its owner. Manager.DeviceKey prevents that on devices that
// the owner has used: each complete login leaves a cookie there, for 180 days.
//
// Wrong passwords that come with such a cookie have one count for all devices of the
// account. They do not delay the name or the address, and the delays of name and
// address do not apply to them. The fifth wrong password and each later one set a delay.
// Until it is over, the cookies have no effect: attempts count like those of any other
// device.
//
// The server stores nothing for a cookie, unless the device is remembered. It holds no name and
// authenticates nobody. A thief of one gets that many more guesses, and can waste them
// so that no device of the owner is recognized. A change of Account.Changed
// invalidates the account's cookies, and a new DeviceKey invalidates all. A device
// keeps only the cookie of the account that logged in last.
//
// # Remembered devices
//
// A login with a right code and LoginForm.RememberDevice remembers the device, by its device cookie
// and a record of the Store. Later logins of the account there need no code, until
// auth.SessionPolicy.RememberDevice is over, a new factor or password, Sessions.RevokeAll, or
// Sessions.Revoke with an ID of Sessions.Devices. Orgs that require a second factor remember no device
// unless they say so. A remembered device is no proof for other orgs, and makes no session fresh.
//
// # People with several accounts
//
// An account belongs to one org. Several accounts may be one person's: auth.Account.Person says so, and a
// Directory that is auth.People finds them. Wrong passwords and codes then have one count for the person,
// and a right password takes back only the attempts at its own account. The second factor is the
// person's, and Passwords.Change, Mail.ResetPassword and a new factor end the
// person's sessions everywhere. Sessions.RevokeAll with auth.PersonKey does so alone. Remembered
// devices are those of one account.
//
// Manager.Enter opens a session at another org of the person, if that org's policy accepts the proof.
// With many orgs on one host, leave {org} out of Cookies.Device: with 30 orgs the cookies then have
// less than 4 KB, and without that about 7. The device is then known to the org of the latest login.
//
// # Queue for password hashes
//
// Hashing a password occupies a core for some time. As many hashes run at once as the program
// may use CPUs. For each of them the queue has 32 first slots of addresses, and 32 further ones
// with those that run. All attempts at passwords and Passwords.Hash share this queue. A call that
// gets no slot returns auth.DetailThrottled, and nothing is counted. These rules keep it fair:
//
//   - A name has 5 slots, whether its account exists or not. One more at the same time
//     returns auth.DetailLocked. The known devices of an account have 5 slots of their own.
//   - An address, or a /64 of IPv6, has a quarter as many as there are further slots. Known
//     devices at that address have as many again. This limits logins at once, not over time: right
//     passwords leave no count. In an office behind one address, only the logins beyond
//     that number must be repeated, after a second or two.
//   - An org has as many slots as it leaves free, among the first ones of addresses and among the
//     further ones. An org without a slot gets an additional one. So a few addresses with many
//     names or orgs cannot take the first slots of the others.
//   - Orgs take turns, and so do the addresses within an org.
//
// The queue is in memory, one for each process. It keeps nothing about calls that have
// returned.
//
// # Ending sessions
//
// After a change of a password set auth.Account.Changed, and to disable an account set
// Disabled. Each request checks both, within the staleness of the Directory. Sessions.RevokeAll
// takes effect at once, and can except one session. A login with the old password that
// is in progress survives Sessions.RevokeAll but not Changed: its session is dated before the
// password was looked up. So do both.
//
// Passwords.Change does both for an account that is signed in and knows its password: its
// callback gets the time for Changed. It keeps the session of the request, which Changed alone
// would end. It renews the token, so Reauthenticate fails later in the same request.
//
// # What is not checked
//
// The application checks the quality of new passwords. It also decides who may list and
// end which sessions: those of Sessions check no permission.
//
// Requests by GET and HEAD may come from other origins, as links do. They must not
// change anything, so mount no verb of a Manager there. One exception is Start at the
// end of a single sign-on, after the application has checked that this browser began it.
//
// A request with neither Sec-Fetch-Site nor Origin is taken for one that no browser
// sent. Current browsers send at least one of them with methods other than GET and HEAD.
//
// No cache may keep the replies to Factors.Enrol, which hold a secret, and to Factors.Confirm,
// which hold codes. auth.Reply sets Cache-Control: no-store. An application that replies in
// another way must set it.
//
// # FIPS 140
//
// A program that runs with GODEBUG=fips140=only refuses SHA-1. Validate then refuses
// Factors without SHA256Codes. Set SHA256Codes before the first enrolment, because it is
// for all factors of the Manager. Factors enrolled before it match no code any more:
// their owners log in with a recovery code and enrol again.
//
// An authenticator that does not support HMAC-SHA-256 shows other codes. Factors.Confirm refuses
// them, and the factor does not become active. In FIPS mode a secret of fewer than 14
// bytes, made elsewhere, matches no code.
//
// # Compatibility
//
// From v0.1 on, structs only gain fields: write composite literals with field names.
// Which errors wrap which is part of the API, and their texts are not. Store, Attempts,
// Factors, Passwords and Hasher do not grow.
package session
