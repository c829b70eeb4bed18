package signing_test

import (
	"encoding/hex"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/signing"
)

// One signature is sent ten times, each time with a fresh nonce.
func TestSiblings(t *testing.T) {
	account := set(names.Account, "5b0000000000000000000001")
	tests := []struct {
		name    string
		methods []string
		policy  func(*signing.Policy)
		change  func(*http.Request)
		after   time.Duration // between the first and the others
		want    int           // accepted out of 10
	}{
		{"S14 GET and HEAD at once", []string{"GET", "HEAD"}, nil, nil, 0, 8},
		{"S14 within two seconds", []string{"GET", "HEAD"}, nil, nil, 2 * time.Second, 8},
		{"S14 after two seconds", []string{"GET", "HEAD"}, nil, nil, 2*time.Second + 1, 1},
		{"S14 with SingleUse", []string{"GET", "HEAD", "POST"}, func(p *signing.Policy) { p.SingleUse = true }, nil, 0, 1},
		{"S14 with an account header", []string{"GET", "HEAD"}, nil, account, 0, 1},
		{"S14b other methods", []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE"}, nil, nil, 0, 1},
		{"S14b with UnsafeMethodSiblings", []string{"POST", "PUT", "PATCH", "DELETE"},
			func(p *signing.Policy) { p.UnsafeMethodSiblings = true }, nil, 0, 8},
		{"S14b with UnsafeMethodSiblings and an account header", []string{"GET", "POST"},
			func(p *signing.Policy) { p.UnsafeMethodSiblings = true }, account, 0, 1},
		{"S14b with UnsafeMethodSiblings and SingleUse", []string{"GET", "POST"},
			func(p *signing.Policy) { p.UnsafeMethodSiblings, p.SingleUse = true, true }, nil, 0, 1},
	}
	for _, test := range tests {
		for _, method := range test.methods {
			t.Run(test.name+", "+method, func(t *testing.T) {
				s := newServer(t)
				if test.policy != nil {
					test.policy(&s.Policy)
				}
				accepted := 0
				for i := range 10 {
					r := signed(method, "/connections", noon)
					if test.change != nil {
						test.change(r)
					}
					_, err := s.Verify(r.Context(), r, "/connections")
					switch {
					case err == nil:
						accepted++
					case !errors.Is(err, signing.ErrReplayed):
						t.Fatal(err)
					}
					if i == 0 {
						s.now = s.now.Add(test.after)
					}
				}
				if accepted != test.want {
					t.Errorf("%d accepted, want %d", accepted, test.want)
				}
			})
		}
	}
}

func TestAccountCannotBeChangedByReplaying(t *testing.T) {
	account := set(names.Account, "5b0000000000000000000001")
	tests := map[string][2]func(*http.Request){
		"S14 added":    {drop(names.Account), account},
		"S14 dropped":  {account, drop(names.Account)},
		"S14 replaced": {account, set(names.Account, "5b0000000000000000000002")},
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			honest, captured := base(), base()
			change[0](honest)
			change[1](captured)
			if _, err := s.Verify(t.Context(), honest, "/connections"); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Verify(t.Context(), captured, "/connections"); !errors.Is(err, signing.ErrReplayed) {
				t.Errorf("Verify = %v, want ErrReplayed", err)
			}
		})
	}
}

func TestReplays(t *testing.T) {
	t.Run("N02 an exact replay", func(t *testing.T) {
		s := newServer(t)
		r := base()
		if _, err := s.Verify(r.Context(), r, "/connections"); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Verify(r.Context(), r, "/connections"); !errors.Is(err, signing.ErrReplayed) {
			t.Errorf("Verify = %v, want ErrReplayed", err)
		}
	})
	t.Run("N02 100 goroutines with one request", func(t *testing.T) {
		s := newServer(t)
		r := base()
		var accepted, replayed atomic.Int64
		var wg sync.WaitGroup
		for range 100 {
			wg.Go(func() {
				switch _, err := s.Verify(r.Context(), r, "/connections"); {
				case err == nil:
					accepted.Add(1)
				case errors.Is(err, signing.ErrReplayed):
					replayed.Add(1)
				}
			})
		}
		wg.Wait()
		if accepted.Load() != 1 || replayed.Load() != 99 {
			t.Errorf("%d accepted, %d replayed", accepted.Load(), replayed.Load())
		}
	})
	t.Run("N02b the nonce under a new timestamp", func(t *testing.T) {
		s := newServer(t)
		r := base()
		if _, err := s.Verify(r.Context(), r, "/connections"); err != nil {
			t.Fatal(err)
		}
		s.now = s.now.Add(time.Minute)
		at(strconv.FormatInt(s.now.UnixMilli(), 10))(r)
		if _, err := s.Verify(r.Context(), r, "/connections"); !errors.Is(err, signing.ErrReplayed) {
			t.Errorf("Verify = %v, want ErrReplayed", err)
		}
	})
	t.Run("N03 one nonce under two client keys", func(t *testing.T) {
		s := newServer(t)
		s.Keys = keyring{clientKey: newKey(t, clientKey, secret), "other": newKey(t, "other", "another secret")}
		r := base()
		other := r.Clone(t.Context())
		other.Header.Set(names.ClientKey, "other")
		resign(other, "other", "another secret", "/connections", "GET")
		for _, r := range []*http.Request{r, other} {
			if _, err := s.Verify(r.Context(), r, "/connections"); err != nil {
				t.Error(err)
			}
		}
	})
	t.Run("N04 a bad MAC with a victim's nonce, then the victim", func(t *testing.T) {
		s := newServer(t)
		victim := base()
		forged := victim.Clone(t.Context())
		forged.Header.Set(names.Signature, strings.Repeat("0", 64))
		if _, err := s.Verify(t.Context(), forged, "/connections"); !errors.Is(err, signing.ErrMismatch) {
			t.Errorf("forged: %v, want ErrMismatch", err)
		}
		if _, err := s.Verify(t.Context(), victim, "/connections"); err != nil {
			t.Errorf("victim: %v", err)
		}
	})
	t.Run("N08 signed ahead, replayed at the far end of the window", func(t *testing.T) {
		s := newServer(t)
		r := signed("GET", "/connections", noon.Add(time.Minute))
		if _, err := s.Verify(r.Context(), r, "/connections"); err != nil {
			t.Fatal(err)
		}
		s.now = noon.Add(6 * time.Minute)
		if _, err := s.Verify(r.Context(), r, "/connections"); !errors.Is(err, signing.ErrReplayed) {
			t.Errorf("Verify = %v, want ErrReplayed", err)
		}
		s.now = s.now.Add(time.Millisecond)
		if _, err := s.Verify(r.Context(), r, "/connections"); !errors.Is(err, signing.ErrStale) {
			t.Errorf("past it: %v, want ErrStale", err)
		}
	})
	t.Run("N08 each request is remembered longer than it can be accepted", func(t *testing.T) {
		for _, policy := range []signing.Policy{
			{},
			{Tolerance: time.Hour, FutureTolerance: 2 * time.Hour},
			{Tolerance: 1500 * time.Microsecond, FutureTolerance: 1<<63 - 1},
			{Tolerance: 1<<63 - 1},
		} {
			s := newServer(t)
			s.Policy = policy
			r := signed("GET", "/connections", noon)
			if _, err := s.Verify(r.Context(), r, "/connections"); err != nil {
				t.Fatalf("%+v: %v", policy, err)
			}
			tolerance := policy.Tolerance
			if tolerance == 0 {
				tolerance = 5 * time.Minute
			}
			if u := s.replays.claimed()[0]; !u.Keep.After(u.Signed.Add(tolerance)) {
				t.Errorf("tolerance %v: signed %v, remembered until %v", tolerance, u.Signed, u.Keep)
			}
		}
	})
}

// A Policy that no server can mean accepts nothing.
func TestPolicyRefusesValues(t *testing.T) {
	for name, policy := range map[string]signing.Policy{
		"Version 3": {Version: 3}, "Version -1": {Version: -1}, "Tolerance": {Tolerance: -1}, "FutureTolerance": {FutureTolerance: -1},
		"MaxBody": {MaxBody: -1},
	} {
		s := newServer(t)
		s.Policy = policy
		if _, err := s.Verify(t.Context(), signed("GET", "/connections", noon), "/connections"); err == nil || policy.Validate() == nil {
			t.Errorf("%s: %v, %v", name, err, policy.Validate())
		}
	}
	if err := new(signing.Policy).Validate(); err != nil {
		t.Error(err)
	}
}

func TestWindow(t *testing.T) {
	tests := map[string]struct {
		policy signing.Policy
		off    time.Duration
		want   error
	}{
		"N05 at Tolerance":                    {signing.Policy{}, -5 * time.Minute, nil},
		"N05 at FutureTolerance":              {signing.Policy{}, time.Minute, nil},
		"N05 at a Tolerance of its own":       {signing.Policy{Tolerance: time.Second}, -time.Second, nil},
		"N05 beyond it":                       {signing.Policy{Tolerance: time.Second}, -time.Second - time.Millisecond, signing.ErrStale},
		"N05 at a FutureTolerance of its own": {signing.Policy{FutureTolerance: time.Second}, time.Second, nil},
		"N05 beyond that":                     {signing.Policy{FutureTolerance: time.Second}, time.Second + time.Millisecond, signing.ErrStale},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.Policy = test.policy
			if _, err := s.Verify(t.Context(), signed("GET", "/connections", noon.Add(test.off)), "/connections"); !errors.Is(err, test.want) {
				t.Errorf("Verify = %v, want %v", err, test.want)
			}
		})
	}
}

func TestWhatIsClaimed(t *testing.T) {
	s := newServer(t)
	s.now = noon.Add(3*time.Second + 123456)
	get := base()
	acting := base()
	acting.Header.Set(names.Account, "a")
	post := signed(http.MethodPost, "/connections", noon)
	var want []signing.Use
	for r, siblings := range map[*http.Request]int{get: 8, acting: 1, post: 1} {
		s.replays = new(mapReplays)
		s.Replays = s.replays
		if _, err := s.Verify(r.Context(), r, "/connections"); err != nil {
			t.Fatal(err)
		}
		sum, err := hex.DecodeString(r.Header.Get(names.Signature))
		if err != nil {
			t.Fatal(err)
		}
		want = []signing.Use{{
			ClientKey: clientKey,
			Nonce:     r.Header.Get(names.Nonce),
			Signature: [32]byte(sum),
			Signed:    noon,
			Seen:      s.now,
			Keep:      noon.Add(5*time.Minute + 30*time.Second),
			Siblings:  siblings,
			Window:    2 * time.Second,
		}}
		if diff := cmp.Diff(want, s.replays.claimed()); diff != "" {
			t.Errorf("claimed (-want +got):\n%s", diff)
		}
	}
}
