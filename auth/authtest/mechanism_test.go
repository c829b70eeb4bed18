package authtest_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/scope"
)

// voucher is a mechanism with one credential, for one app of one account. Its fields are what a
// sabotage changes.
type voucher struct {
	uses     atomic.Int64
	broken   atomic.Bool
	inFlight atomic.Int64

	present      func(*http.Request) auth.Presence
	read         func(http.Header) string
	look         func(context.Context) context.Context
	early        func(*voucher)
	unknown      func(value string) error
	mayBeForeign bool
	account, app func(error) error
	store        func(error) error
	principal    func(*auth.Principal, *auth.Account)
	challenge    string
	enter        func(*voucher) error
}

const (
	valid   = "0123456789012345678901234567890123456789"
	another = "9876543210987654321098765432109876543210"
)

var errWrong = &auth.Error{Detail: auth.DetailInvalidCredentials}

// newVoucher returns the mechanism as it should be.
func newVoucher() *voucher {
	refused := func(err error) error {
		if auth.IsNotFound(err) {
			return errWrong
		}
		return err
	}
	return &voucher{
		present: func(r *http.Request) auth.Presence {
			if r.Header["Voucher"] == nil {
				return auth.Absent
			}
			return auth.InHeader
		},
		read: func(h http.Header) string {
			if len(h["Voucher"]) > 1 {
				return ""
			}
			return h.Get("Voucher")
		},
		look:      func(ctx context.Context) context.Context { return ctx },
		early:     func(*voucher) {},
		unknown:   func(string) error { return errWrong },
		account:   refused,
		app:       refused,
		store:     auth.Unavailable,
		principal: func(*auth.Principal, *auth.Account) {},
		challenge: "Voucher",
		enter:     func(*voucher) error { return nil },
	}
}

func (v *voucher) Presented(r *http.Request) auth.Presence { return v.present(r) }
func (v *voucher) Name() string                            { return "voucher" }
func (v *voucher) Challenge(*auth.Tenant, error) string    { return v.challenge }
func (v *voucher) Bind(*auth.Settings) error               { return nil }

func (v *voucher) Authenticate(ctx context.Context, r *http.Request, t *auth.Tenant) (auth.Principal, error) {
	if err := v.enter(v); err != nil {
		return auth.Principal{}, err
	}
	value := v.read(r.Header)
	v.early(v)
	switch {
	case v.broken.Load():
		return auth.Principal{}, v.store(errors.New("the store is broken"))
	case value != valid:
		return auth.Principal{}, v.unknown(value)
	case t.Org.Code != "acme" && !v.mayBeForeign:
		return auth.Principal{}, errWrong
	}
	if _, err := t.App(ctx, "voucher app"); err != nil && t.Org.Code == "acme" {
		if err = v.app(err); err != nil {
			return auth.Principal{}, err
		}
	}
	account, err := t.Account(v.look(ctx), "ann")
	if err != nil {
		if err = v.account(err); err != nil {
			return auth.Principal{}, err
		}
		account = &auth.Account{}
	}
	v.uses.Add(1)
	p := auth.Principal{Org: t.Org.Key(), App: "voucher app", Account: "ann", Caller: "ann", Mechanism: "voucher",
		Roles: append([]string(nil), account.Roles...), Expires: time.Now().Add(time.Hour)}
	v.principal(&p, account)
	return p, nil
}

func (v *voucher) candidate() authtest.Candidate {
	d := directory()
	d.PutApp(auth.App{ClientKey: "voucher app", Org: "acme"})
	with := func(value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set("Voucher", value) }
	}
	return authtest.Candidate{
		Mechanism: v, Directory: d, Org: "acme",
		Present:   with(valid),
		Refused:   map[string]func(*http.Request){"unknown": with(another), "short": with("x")},
		Records:   func() int { return int(v.uses.Load()) },
		Break:     v.broken.Store,
		Ends:      true,
		Configure: func(g *auth.Guard) { g.Timeout = 100 * time.Millisecond },
	}
}

func TestCheckMechanism(t *testing.T) {
	t.Parallel()
	authtest.CheckMechanism(t, newVoucher().candidate())
}

// TestCheckMechanismFinds has mechanisms that are wrong in one way. Each fails the row that is
// about it, and no other.
func TestCheckMechanismFinds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, row string
		sabotage  func(*voucher)
	}{
		{"A01 it takes every request for its own", "a request without the credential",
			func(v *voucher) { v.present = func(*http.Request) auth.Presence { return auth.InHeader } }},
		{"A01 it looks at the method", "Presented reads headers only", func(v *voucher) {
			headers := v.present
			v.present = func(r *http.Request) auth.Presence {
				if r.Method == http.MethodPost {
					return auth.Absent
				}
				return headers(r)
			}
		}},
		{"A01 it reads the body", "Presented reads headers only", func(v *voucher) {
			headers := v.present
			v.present = func(r *http.Request) auth.Presence {
				r.Body.Read(make([]byte, 1))
				return headers(r)
			}
		}},
		{"A01 Presented records", "Presented reads headers only", func(v *voucher) {
			headers := v.present
			v.present = func(r *http.Request) auth.Presence {
				if r.URL.Path == "/inside" && r.Header.Get("Voucher") == another {
					v.uses.Add(1)
				}
				return headers(r)
			}
		}},
		{"A02 no caller", "the principal of a valid credential",
			func(v *voucher) { v.principal = func(p *auth.Principal, _ *auth.Account) { p.Caller = "" } }},
		{"A02 an account that does not exist", "the principal of a valid credential",
			func(v *voucher) { v.principal = func(p *auth.Principal, _ *auth.Account) { p.Account = "nobody" } }},
		{"A03 one reason is told from another", "a wrong credential is 401, whatever is wrong", func(v *voucher) {
			v.unknown = func(value string) error {
				if value == "x" {
					return &auth.Error{Detail: auth.DetailInvalidToken}
				}
				return errWrong
			}
		}},
		{"A03 an error of another type", "a wrong credential is 401, whatever is wrong",
			func(v *voucher) {
				v.unknown = func(value string) error {
					if value == "" {
						return errWrong
					}
					return errors.New("wrong")
				}
			}},
		{"A03 an unknown credential is not found", "a wrong credential is 401, whatever is wrong",
			func(v *voucher) { v.unknown = func(string) error { return auth.ErrNotFound } }},
		{"A03 no challenge", "a wrong credential is 401, whatever is wrong", func(v *voucher) { v.challenge = "" }},
		{"A04 the org is not compared", "a credential of another org", func(v *voucher) { v.mayBeForeign = true }},
		{"A05 the account may be disabled", "a disabled or deleted account", func(v *voucher) {
			v.account = func(err error) error {
				if auth.IsNotFound(err) {
					return nil
				}
				return err
			}
		}},
		{"A05 a disabled account has a body of its own", "a disabled or deleted account", func(v *voucher) {
			v.account = func(err error) error {
				if auth.IsNotFound(err) {
					return &auth.Error{Detail: auth.DetailSessionExpired}
				}
				return err
			}
		}},
		{"A05 the app may be disabled", "a disabled or deleted app", func(v *voucher) {
			v.app = func(err error) error {
				if auth.IsNotFound(err) {
					return nil
				}
				return err
			}
		}},
		{"A06 an outage reads as a wrong credential", "a directory that fails", func(v *voucher) {
			v.app = func(err error) error {
				if auth.IsNotFound(err) || strings.Contains(err.Error(), "down") {
					return errWrong
				}
				return err
			}
		}},
		{"A06 an outage of one look-up reads as a deleted account", "a directory that fails", func(v *voucher) {
			v.account = func(err error) error {
				if auth.IsNotFound(err) || strings.Contains(err.Error(), "down") {
					return errWrong
				}
				return err
			}
		}},
		{"A06 a broken store reads as a wrong credential", "a store that fails",
			func(v *voucher) { v.store = func(error) error { return errWrong } }},
		{"A06 the look-ups have a context of their own", "a context that ends",
			func(v *voucher) { v.look = func(context.Context) context.Context { return context.Background() } }},
		{"A07 it records first", "a refusal records nothing", func(v *voucher) {
			v.early = func(v *voucher) { v.uses.Add(1) }
		}},
		{"A08 the error quotes the credential", "a refusal tells no secret", func(v *voucher) {
			v.unknown = func(value string) error {
				return &auth.Error{Detail: auth.DetailInvalidCredentials, Err: fmt.Errorf("no voucher %s", value)}
			}
		}},
		{"A09 it yields to another header", "the credential of another mechanism beside it", func(v *voucher) {
			headers := v.present
			v.present = func(r *http.Request) auth.Presence {
				if len(r.Header) > 1 && r.Header["X-Unrelated"] == nil {
					return auth.Absent
				}
				return headers(r)
			}
		}},
		{"A09 it takes the first of two", "the credential given twice",
			func(v *voucher) { v.read = func(h http.Header) string { return h.Get("Voucher") } }},
		{"A10 what is no proof says when it was proven", "what the principal may make",
			func(v *voucher) {
				v.principal = func(p *auth.Principal, _ *auth.Account) { p.Authenticated = time.Now() }
			}},
		{"A10 the end is not told", "what the principal may make",
			func(v *voucher) { v.principal = func(p *auth.Principal, _ *auth.Account) { p.Expires = time.Time{} } }},
		{"A10 it may grant more than it may do", "what the principal may make",
			func(v *voucher) {
				v.principal = func(p *auth.Principal, _ *auth.Account) { p.Granted = scope.Unscoped() }
			}},
		{"A11 the roles are the directory's own", "the principal is that of one request",
			func(v *voucher) { v.principal = func(p *auth.Principal, a *auth.Account) { p.Roles = a.Roles } }},
		{"A11 one request at a time", "many requests at once", func(v *voucher) {
			v.enter = func(v *voucher) error {
				defer v.inFlight.Add(-1)
				if v.inFlight.Add(1) > 1 {
					return auth.Unavailable(errors.New("busy"))
				}
				time.Sleep(time.Millisecond)
				return nil
			}
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := newVoucher()
			c.sabotage(v)
			if diff := cmp.Diff([]string{c.row}, authtest.FailingRows(t, v.candidate())); diff != "" {
				t.Errorf("rows that fail (-want +got):\n%s", diff)
			}
		})
	}
}
