package session

import "context"

// Passwords is where the application keeps the passwords of its accounts, as
// the Hasher has encoded them.
type Passwords interface {
	// Password returns the account that logs in under a name, and its encoded
	// password. It returns auth.ErrNotFound for an unknown name, and for an
	// account without a password; any other error means that nothing is known.
	//
	// With Manager.DeviceKey it may be called once more for a login, before the try
	// is counted.
	//
	// Tries are counted by the login without regard to its case and to blanks at
	// its ends: logins that differ in nothing else are to be one account's.
	Password(ctx context.Context, org, login string) (account, encoded string, err error)
}

// Rehasher is a second interface of a Passwords that takes stronger encodings:
// after a login whose encoding the Hasher would not make any more.
type Rehasher interface {
	// Rehash replaces old by encoded if the account's is still old. That it
	// fails does not fail the login.
	Rehash(ctx context.Context, org, account, old, encoded string) error
}
