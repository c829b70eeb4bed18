package signature_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/signing"
)

// counted counts what is claimed, and can fail.
type counted struct {
	signing.Replays
	claims atomic.Int64
	broken atomic.Bool
}

func (c *counted) Claim(ctx context.Context, u signing.Use) error {
	if c.broken.Load() {
		return errors.New("broken")
	}
	err := c.Replays.Claim(ctx, u)
	if err == nil {
		c.claims.Add(1)
	}
	return err
}

func TestMechanismKeepsTheContract(t *testing.T) {
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutOrg(auth.Org{Code: "globex"})
	directory.PutAccount(auth.Account{ID: "ann", Org: "acme"})
	directory.PutApp(auth.App{ClientKey: acmeKey, Org: "acme"})
	replays := &counted{Replays: newMap()}
	var ms atomic.Int64
	ms.Store(time.Now().UnixMilli())
	signed := func(clientKey string, secret signing.Secret) func(*http.Request) {
		return func(r *http.Request) {
			_, command, _ := strings.Cut(r.URL.Path, "/v2")
			timestamp := strconv.FormatInt(ms.Add(1), 10) // each request has its own signature
			r.Header.Set("Acme-Client-Key", clientKey)
			r.Header.Set("Acme-Client-Timestamp", timestamp)
			r.Header.Set("Acme-Client-Nonce", rand.Text()[:16])
			r.Header.Set("Acme-Client-Signature", signing.Sign(clientKey, secret, command, r.Method, timestamp))
		}
	}
	authtest.CheckMechanism(t, authtest.Candidate{
		Mechanism: &signature.Mechanism{Replays: replays,
			Credentials: signature.Memory{acmeKey: {Key: mustKey(t, acmeKey, acmeSecret), Account: "ann"}}},
		Directory: directory, Org: "acme",
		Present: signed(acmeKey, acmeSecret),
		Refused: map[string]func(*http.Request){
			"an unknown key": signed(globexKey, globexSecret),
			"another secret": signed(acmeKey, olderSecret),
		},
		Records:   func() int { return int(replays.claims.Load()) },
		Break:     replays.broken.Store,
		Proof:     true,
		Configure: func(g *auth.Guard) { g.Brand.Header = "Acme-" },
	})
}
