// Package verbs holds the closed vocabulary of what an auth.Event and a row of an audit log can say
// was done. The part before the dot is the kind of thing.
package verbs

import (
	"slices"
	"time"
)

// Names are on the wire and in audit logs: they never change.
var (
	LoginAccepted = verb("login.accepted") // with all steps that it needs
	LoginWrong    = verb("login.wrong")    // the name or the password
	LoginDelayed  = verb("login.delayed")  // too many wrong ones before it
	LoginPending  = verb("login.pending")  // the second factor is wanted

	CodeAccepted   = verb("code.accepted")
	CodeRefused    = verb("code.refused")
	RecoveryUsed   = verb("recovery.used") // a recovery code in place of the second factor
	FactorEnrolled = verb("factor.enrolled")
	FactorRemoved  = verb("factor.removed")

	SessionOpened  = verb("session.opened")
	SessionEntered = verb("session.entered") // opened from one of the person's sessions at another org
	SessionRenewed = verb("session.renewed") // a step-up
	SessionEnded   = verb("session.ended")
	ActingBegan    = verb("acting.began") // a session for another account

	DeviceRemembered = verb("device.remembered")
	DeviceForgotten  = verb("device.forgotten")

	PasswordChanged = verb("password.changed")
	PasswordReset   = verb("password.reset") // by a mailed ticket

	TokenMade    = verb("token.made")
	TokenRenewed = verb("token.renewed")
	TokenSpent   = verb("token.spent") // the last use; as an event, an attempt after it
	TokenRevoked = verb("token.revoked")
	TokenReused  = verb("token.reused") // a previous token of a family, which is then revoked

	KeyPairMade    = verb("keypair.made")
	KeyPairRotated = verb("keypair.rotated") // the previous key may verify for a while
	KeyPairDeleted = verb("keypair.deleted")
	KeyPairExposed = verb("keypair.exposed") // its public keys are listed, or no longer

	CredentialMade       = verb("credential.made") // a secret that signs requests
	CredentialRestricted = verb("credential.restricted")
	CredentialReplaced   = verb("credential.replaced") // its secret
	CredentialEnded      = verb("credential.ended")

	APIKeyMade       = verb("apikey.made")
	APIKeyRestricted = verb("apikey.restricted")
	APIKeyReplaced   = verb("apikey.replaced")
	APIKeyEnded      = verb("apikey.ended")

	InvitationMade     = verb("invitation.made")
	InvitationResent   = verb("invitation.resent")
	InvitationEnded    = verb("invitation.ended")
	InvitationAccepted = verb("invitation.accepted")

	AccountMade    = verb("account.made")
	AccountChanged = verb("account.changed") // roles, name, disabled
	AccountRevoked = verb("account.revoked") // all that it has open ended
	AccountDeleted = verb("account.deleted")
	OrgChanged     = verb("org.changed") // its settings
	OrgDeleted     = verb("org.deleted")
	RoleChanged    = verb("role.changed") // created, changed or deleted; Reason is its name
	AppChanged     = verb("app.changed")  // name, disabled

	RepeatAnswered = verb("repeat.answered") // an Idempotency-Key came again
	RequestRefused = verb("request.refused") // a summary: so many in a minute
	EndsSoon       = verb("ends.soon")       // a credential

	AuditErased = verb("audit.erased") // personal fields of rows
	AuditSealed = verb("audit.sealed") // a summary in place of older rows
)

// all has the verbs in the order of their declarations.
var all []string

func verb(name string) string {
	all = append(all, name)
	return name
}

// All returns every verb.
func All() []string { return slices.Clone(all) }

// Is reports whether there is a verb of this name.
func Is(name string) bool { return slices.Contains(all, name) }

// Soon reports whether what ends at a time ends within 14 days. The zero time is no end.
func Soon(now, end time.Time) bool { return !end.IsZero() && end.Sub(now) < 14*24*time.Hour }
