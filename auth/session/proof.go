package session

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/tenantkit/tenantkit/auth"
)

// Proof says how and when a person proved who they are. auth.SessionPolicy judges it, the session
// keeps it, and auth.Need.Fresh reads its time.
type Proof struct {
	// At is when the person proved it, by the clock of the server: the auth_time of an ID token, say.
	// It is required. A time in the future counts as now.
	At time.Time `json:"-"`

	// Methods are how: Method constants, or the values of an issuer (amr, RFC 8176), such as "mfa" for
	// several factors. "uv" beside MethodPasskey says that the authenticator has stated user
	// verification. At most 8, each of at most 64 bytes.
	Methods []string `json:"m,omitempty"`

	// Issuer is who checked it, such as the iss of an ID token; "": this server. At most 512 bytes.
	Issuer string `json:"i,omitempty"`

	// Text is kept with the session and returned in its SessionInfo, for the application. At most 256
	// bytes.
	Text string `json:"t,omitempty"`
}

// Methods of a Proof.
const (
	MethodPassword = "pwd"
	MethodCode     = "otp"     // a code of the second factor, or a recovery code
	MethodPasskey  = "passkey" // the application has verified a WebAuthn assertion

	methodVerified = "uv"     // beside MethodPasskey: the authenticator has verified the user
	methodMultiple = "mfa"    // an issuer has checked more than one factor
	methodDevice   = "device" // a remembered device in place of a code
)

// ErrProof means that the org's policy does not accept how, by whom or when the person proved who they
// are.
var ErrProof = errors.New("session: the org does not accept this proof")

func (p Proof) has(method string) bool { return slices.Contains(p.Methods, method) }

// with returns the proof with one more method.
func (p Proof) with(method string) Proof {
	p.Methods = append(slices.Clip(p.Methods), method)
	return p
}

// validate returns an error for a proof that no session can keep.
func (p Proof) validate() error {
	long := func(method string) bool { return len(method) > 64 }
	if p.At.IsZero() || len(p.Methods) > 8 || slices.ContainsFunc(p.Methods, long) || len(p.Issuer) > 512 || len(p.Text) > 256 {
		return errors.New("session: a Proof needs the time At, and has a limit for each of its other fields")
	}
	return nil
}

// judge returns an error unless the org accepts the proof as the first step of a login.
func (p Proof) judge(org *auth.Org, now time.Time) error {
	policy := org.Session
	accepted := func(method string) bool { return slices.Contains(policy.Methods, method) }
	switch {
	case policy.Methods != nil && !slices.ContainsFunc(p.Methods, accepted),
		policy.Issuers != nil && !slices.Contains(policy.Issuers, p.Issuer):
		return &auth.Error{Detail: auth.DetailForbidden, Reason: "the org requires another way to sign in", Err: ErrProof}
	case policy.ProofAge > 0 && now.Sub(p.At) > policy.ProofAge, now.Sub(p.At) >= policy.Effective().Max:
		return &auth.Error{Detail: auth.DetailReauthenticate, Err: fmt.Errorf("%w: it is too old", ErrProof)}
	}
	return nil
}

// isTwoFactors reports whether the proof counts as two factors. A passkey does only if its
// authenticator has verified the user: possession alone is one factor. Another issuer's word
// counts only if the org names the issuer.
func (p Proof) isTwoFactors(org *auth.Org) bool {
	if p.Issuer == "" {
		return p.has(MethodCode) || p.has(MethodPasskey) && (p.has(methodVerified) || p.has(MethodPassword))
	}
	return p.has(methodMultiple) && slices.Contains(org.Session.Issuers, p.Issuer)
}

// textOf returns a Proof or an origin as a record has it.
func textOf[T Proof | origin](of T) string {
	text, _ := json.Marshal(of) // strings only
	return string(text)
}

func parseProof(text string, at time.Time) Proof {
	var p Proof
	json.Unmarshal([]byte(text), &p) // what is not understood proves nothing
	p.At = at
	return p
}

// Start creates a session for an account that was authenticated elsewhere: at registration, by single
// sign-on, or with a passkey. The application has checked the proof. Start does what Login does after
// the right password, and returns the same errors from there on. The error wraps ErrProof if the
// org's auth.SessionPolicy does not accept the proof. ErrCredentials means that the account is
// unknown, disabled, empty, or was changed after the proof.
//
// The session is as fresh as the proof (auth.Need.Fresh), and its life begins with it. So pass the time
// of the proof and never the present one: a session that continues another one has the time of that
// one, auth.Principal.Authenticated. A proof that counts as two factors requires no code: MethodPasskey
// with "uv", or "mfa" from an issuer that auth.SessionPolicy.Issuers names. So does
// MethodPasskey in a request with the ticket of a Login of the account: it is then the second factor.
//
// Start ends the session that the request carries, also if the new one still waits for a second factor.
// Some single sign-on ends with a POST from another origin. CrossOrigin must allow that one. The
// session is not remembered: see auth.SessionPolicy.RememberIdle.
//
// Start creates no session for a request that was admitted with another credential than
// a session, such as a token. The session could do more than that credential, and for
// longer. A session that its roles limit (auth.RolesLimit) starts one of its own account
// only. The error then has auth.DetailDelegation. Otherwise the application decides which
// session may start one of another account: Start checks no permission.
func (m *Manager) Start(w http.ResponseWriter, r *http.Request, account string, p Proof) (auth.Principal, error) {
	t, err := m.sameOriginTenant(r)
	if err = cmp.Or(err, p.validate(), mayStartAs(r, account)); err != nil {
		return auth.Principal{}, err
	}
	p.At = earlier(m.stamp(), wholeMillis(p.At))
	by, err := m.joined(r, t, authentication{account: account, Proof: p})
	if err != nil {
		return auth.Principal{}, err
	}
	return m.proceed(w, r, t, by, "")
}

// joined continues a login whose ticket the request carries, if a passkey completes it. It uses the
// ticket up. What vouched for the first step, and where that comes from, stay those of the login.
func (m *Manager) joined(r *http.Request, t *auth.Tenant, p authentication) (authentication, error) {
	if p.Issuer != "" || !p.has(MethodPasskey) {
		return p, nil
	}
	s, err := m.ticket(r, t, ticketCode, ticketEnrol)
	if errors.Is(err, ErrCode) || err == nil && s.Account != p.account {
		return p, nil
	}
	if err == nil {
		err = m.redeem(r, s)
	}
	login := s.authentication()
	login.completed = !login.has(MethodPasskey) // one passkey twice is one factor
	login.At, login.Methods, login.Text = earlier(p.At, login.At), slices.Concat(login.Methods, p.Methods), p.Text
	return login, err
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
