// Package session lets a Guard authenticate browsers by a cookie (section 5.2
// of the interface): logins with a password, a second factor, step-up, and the
// ends of sessions.
//
//   - Manager is the mechanism, and has the verbs that handlers call.
//   - Store, Attempts and Factors are what it keeps: Memory is all three.
//   - Passwords is where the application keeps its passwords, as a Hasher
//     encodes them.
//
// What an org asks of its sessions is its auth.SessionPolicy, which is read with
// each request. A second factor is asked for at login: where it becomes required,
// RevokeOrg ends the sessions that were opened without one.
//
// The routes, the forms and the mails are left to the application, and so are its
// accounts: registering them, and letting somebody in who has lost a password or
// a device.
//
// # Choosing
//
// Login is for passwords. Start is for accounts that were proven elsewhere, at
// registration, by single sign-on or with a passkey. Both go on to the second
// factor if the account has one or the org requires one: then they return
// ErrSecondFactor, leave a ticket, and Verify (or Enrol and Confirm) completes
// the login.
//
// These verbs, and Logout, stand on routes that are auth.Public, with POST.
// Reauthenticate, ChangePassword and Remove stand behind auth.Authenticated. Enrol and Confirm
// serve sessions and tickets: auth.Optional admits both. What must not be done
// with a session that was left open takes auth.Need.Fresh: Enrol, Remove, a
// change of the password, the end of other sessions.
//
// Memory is for one process that may forget. Several processes share a store.
//
// # Device cookies
//
// Tries at a name are spaced out wherever they come from, so that whoever guesses at
// it keeps its owner waiting. Manager.DeviceKey ends that for the devices that the
// owner has used: each login that is complete leaves a cookie there, for 180 days.
// Wrong passwords for its account's names that come with such a cookie are counted
// together for all devices of the account, and for nothing else: they neither delay
// the name nor the address, nor are delayed by them. From the fifth on these cookies
// are worth nothing until that delay is over: tries with them count as those of any
// other device.
//
// Nothing is stored for a cookie. It holds no name, opens nothing, and is no second
// factor. Whoever steals one has as many guesses more, and can keep the owner's other
// devices from being known by wasting them. It ends when Account.Changed moves, and all
// of them end with another DeviceKey. A device keeps the cookie of the account that
// logged in last.
//
// # What waits for a hash
//
// Hashing a password takes a core for a while. As many run at once as the program may
// use of the CPUs, and 16 wait for each of them. Tries at passwords, right or wrong, and
// Hash stand in this one line. These rules keep it fair; who finds no place is answered
// auth.DetailThrottled, and nothing is counted:
//
//   - A name has 5 places, whether there is such an account or not, and the sixth at once
//     is auth.DetailLocked. The known devices of an account have 5 of their own.
//   - An address, or a /64 of IPv6, has half of all places, and its known devices as many.
//     This bounds how many log in at once, not how often: right logins are free. Of an
//     office behind one address only those beyond that number, within the second or two
//     that the line takes, have to try again.
//   - Orgs take turns, and within an org its addresses.
//   - When all places are taken, the latest of the address with the most places, in the
//     org with the most, loses its own. So an org that has nobody in the line finds room,
//     as long as fewer orgs are there than may wait.
//
// Places are held in memory, for each process, and only while somebody is in them.
//
// # Ending sessions
//
// When a password was changed or an account disabled, set auth.Account.Changed
// or Disabled: each request looks at them, within the staleness of the Directory.
// RevokeAll beside it is immediate, and spares the session it is told to. A login
// that is under way with the old password outlives RevokeAll but not Changed: its
// session is dated from before the password was looked up. So do both.
//
// For somebody who is signed in and knows the password, ChangePassword does both: what
// it is given sets Changed. It keeps the session that asks, which Changed would end as
// well. A request's token is renewed once: a Reauthenticate behind it finds no session.
//
// # What is not checked
//
// The quality of passwords, when they are chosen, is the application's, and so is
// who may list and end whose sessions: List, Revoke, RevokeAll and RevokeOrg ask
// nobody.
//
// Requests by GET and HEAD may come from other origins, as links do. They must not
// change anything, and no verb of a Manager may be mounted there; but for Start at
// the end of a single sign-on, once the application has checked that this browser
// began it.
//
// A request with neither Sec-Fetch-Site nor Origin passes as no browser's. All
// browsers of today send one or the other with what is not GET or HEAD.
//
// The answers to Enrol hold a secret and those to Confirm hold codes, which no
// cache may keep: auth.Reply sets Cache-Control: no-store, and an application
// that sends them in another way sets it itself.
//
// # Compatibility
//
// From v0.1 on, fields are only added to structs, so that composite literals name
// theirs; which errors wrap which is part of the API, and their texts are not.
// Store, Attempts, Factors, Passwords and Hasher do not grow.
package session
