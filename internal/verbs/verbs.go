// Package verbs holds the closed vocabulary of what an auth.Event and a row of an audit log can say
// was done. The part before the dot is the kind of thing.
package verbs

import "time"

// One constant for each verb. Names are on the wire and in audit logs: they never change.
const (
	LoginAccepted = "login.accepted" // with all steps that it needs
	LoginWrong    = "login.wrong"    // the name or the password
	LoginDelayed  = "login.delayed"  // too many wrong ones before it
	LoginPending  = "login.pending"  // the second factor is wanted

	CodeAccepted   = "code.accepted"
	CodeRefused    = "code.refused"
	RecoveryUsed   = "recovery.used" // a recovery code in place of the second factor
	FactorEnrolled = "factor.enrolled"
	FactorRemoved  = "factor.removed"

	SessionOpened  = "session.opened"
	SessionEntered = "session.entered" // opened from one of the person's sessions at another org
	SessionRenewed = "session.renewed" // a step-up
	SessionEnded   = "session.ended"
	ActingBegan    = "acting.began" // a session for another account

	DeviceRemembered = "device.remembered"
	DeviceForgotten  = "device.forgotten"

	PasswordChanged = "password.changed"
	PasswordReset   = "password.reset" // by a mailed ticket

	TokenMade    = "token.made"
	TokenRenewed = "token.renewed"
	TokenSpent   = "token.spent" // the last use; as an event, an attempt after it
	TokenRevoked = "token.revoked"
	TokenReused  = "token.reused" // a previous token of a family, which is then revoked

	KeyPairMade    = "keypair.made"
	KeyPairRotated = "keypair.rotated" // the previous key may verify for a while
	KeyPairDeleted = "keypair.deleted"
	KeyPairExposed = "keypair.exposed" // its public keys are listed, or no longer

	CredentialMade       = "credential.made" // a secret that signs requests
	CredentialRestricted = "credential.restricted"
	CredentialReplaced   = "credential.replaced" // its secret
	CredentialEnded      = "credential.ended"

	APIKeyMade       = "apikey.made"
	APIKeyRestricted = "apikey.restricted"
	APIKeyReplaced   = "apikey.replaced"
	APIKeyEnded      = "apikey.ended"

	InvitationMade     = "invitation.made"
	InvitationResent   = "invitation.resent"
	InvitationEnded    = "invitation.ended"
	InvitationAccepted = "invitation.accepted"

	AccountMade    = "account.made"
	AccountChanged = "account.changed" // roles, name, disabled
	AccountRevoked = "account.revoked" // all that it has open ended
	AccountDeleted = "account.deleted"
	OrgChanged     = "org.changed" // its settings
	OrgDeleted     = "org.deleted"
	RoleChanged    = "role.changed" // created, changed or deleted; Reason is its name
	AppChanged     = "app.changed"  // name, disabled

	RepeatAnswered = "repeat.answered" // an Idempotency-Key came again
	RequestRefused = "request.refused" // a summary: so many in a minute
	EndsSoon       = "ends.soon"       // a credential

	AuditErased = "audit.erased" // personal fields of rows
	AuditSealed = "audit.sealed" // a summary in place of older rows
)

// Soon reports whether what ends at a time ends within 14 days. The zero time is no end.
func Soon(now, end time.Time) bool { return !end.IsZero() && end.Sub(now) < 14*24*time.Hour }

// All returns every verb.
func All() []string {
	return []string{
		LoginAccepted, LoginWrong, LoginDelayed, LoginPending,
		CodeAccepted, CodeRefused, RecoveryUsed, FactorEnrolled, FactorRemoved,
		SessionOpened, SessionEntered, SessionRenewed, SessionEnded, ActingBegan,
		DeviceRemembered, DeviceForgotten, PasswordChanged, PasswordReset,
		TokenMade, TokenRenewed, TokenSpent, TokenRevoked, TokenReused,
		KeyPairMade, KeyPairRotated, KeyPairDeleted, KeyPairExposed,
		CredentialMade, CredentialRestricted, CredentialReplaced, CredentialEnded,
		APIKeyMade, APIKeyRestricted, APIKeyReplaced, APIKeyEnded,
		InvitationMade, InvitationResent, InvitationEnded, InvitationAccepted,
		AccountMade, AccountChanged, AccountRevoked, AccountDeleted, OrgChanged, OrgDeleted, RoleChanged, AppChanged,
		RepeatAnswered, RequestRefused, EndsSoon, AuditErased, AuditSealed,
	}
}
