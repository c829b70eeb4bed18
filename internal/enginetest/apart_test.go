package enginetest

import (
	"crypto/ed25519"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/signing"
)

// TestVerbsOfOneOrgLeaveOthersAlone looks at what is easily forgotten when rows of one org end.
func TestVerbsOfOneOrgLeaveOthersAlone(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			ctx, db := t.Context(), h.open(t)
			s := h.storeIn(t, db)
			keys, credentials := must(s.Keys())(t), must(s.Credentials())(t)

			// The former keys of another org are not exposed.
			ours, theirs := newClientKey(), newClientKey()
			for app, org := range map[string]auth.OrgKey{ours: "acme", theirs: "globex"} {
				must(keys.Generate(ctx, org, app))(t)
				expect(t, "Expose", keys.Expose(ctx, org, app, true), nil)
				must(keys.Rotate(ctx, org, app, time.Hour))(t)
			}
			exposed := must(keys.Exposed(ctx, "acme"))(t)
			for _, key := range exposed {
				if key.ClientKey != ours {
					t.Errorf("a key of %s", key.Org)
				}
			}
			if len(exposed) != 2 {
				t.Errorf("%d exposed keys, want the present one and the former one", len(exposed))
			}

			// RevokeAccount ends the former secrets of the account's credentials, and no others.
			anns, bobs := "", ""
			for account, clientKey := range map[string]*string{"ann": &anns, "bob": &bobs} {
				made, _, err := credentials.Create(ctx, "acme", signature.Credential{Account: account})
				expect(t, "Create", err, nil)
				must(credentials.Rotate(ctx, "acme", made, time.Hour))(t)
				*clientKey = made
			}
			expect(t, "RevokeAccount", s.RevokeAccount(ctx, "acme", "ann"), nil)
			_, secret := signing.Generate()
			expect(t, "the client key again", credentials.Put(ctx, "acme", anns, secret, signature.Credential{Account: "bob"}), nil)
			for clientKey, formers := range map[string]int{anns: 0, bobs: 1} {
				var n int
				expect(t, "count", db.QueryRow("SELECT count(*) FROM "+h.prefix+"formers WHERE client_key = $1", clientKey).Scan(&n), nil)
				if n != formers {
					t.Errorf("%d former secrets, want %d", n, formers)
				}
			}

			// Restrict replaces public keys.
			first, _, _ := ed25519.GenerateKey(nil)
			second, private, _ := ed25519.GenerateKey(nil)
			public := newClientKey()
			expect(t, "PutPublicKey", credentials.PutPublicKey(ctx, "acme", public, signature.Credential{Account: "bob"}, first), nil)
			expect(t, "Restrict", credentials.Restrict(ctx, "acme", public, func(c *signature.Credential) (err error) {
				c.Key, err = signing.NewPublicKey(public, second)
				return err
			}), nil)
			now := must(credentials.Credential(ctx, public))(t).Key.PublicKeys()
			if len(now) != 1 || !now[0].Equal(private.Public()) {
				t.Errorf("the public keys are %v", now)
			}

			// DeleteOrg deletes the counts of its own attempts.
			for _, org := range []auth.OrgKey{"acme", "globex"} {
				must(s.Attempts().Swap(ctx, org, "login ann", "", "one"))(t)
			}
			expect(t, "DeleteOrg", s.DeleteOrg(ctx, "acme"), nil)
			for org, want := range map[auth.OrgKey]string{"acme": "", "globex": "one"} {
				if record := must(s.Attempts().Load(ctx, org, "login ann"))(t); record != want {
					t.Errorf("attempts of %s: %q, want %q", org, record, want)
				}
			}
		})
	}
}
