package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/paging"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// The demo orgs: acme, which has everything, and globex, which is there so that
// something can be kept apart from it. Object ids and contents are the same
// each time, secrets never are.
const (
	acme   = "acme"
	globex = "globex"
)

// startDemo seeds the demo orgs and tells of them.
func (p *platform) startDemo(ctx context.Context, o options, stdout io.Writer) error {
	f, err := p.seed(ctx)
	if err != nil {
		return fmt.Errorf("seeding: %w", err)
	}
	if o.demoJSON != "" {
		if err := f.write(o.demoJSON); err != nil {
			return err
		}
	}
	f.printTips(stdout, p.guard.Brand.Header)
	return nil
}

// seed fills the store and returns what one needs to know to use it.
func (p *platform) seed(ctx context.Context) (*facts, error) {
	admin := demoAccount(acme, 1, "Ada Admin", administrator, member)
	mia := demoAccount(acme, 2, "Mia Member", member)
	theo := demoAccount(acme, 3, "Theo Second", member)
	gus := demoAccount(globex, 1, "Gus Globex", member)

	integration, ownSecret := signing.Generate()
	foreign, foreignSecret := signing.Generate()
	err := errors.Join(
		p.seedOrg(ctx, acme, admin, mia, theo),
		p.seedApp(ctx, auth.App{ClientKey: integration, Org: acme, Name: "Integration"}, ownSecret, admin.ID, mia.ID, theo.ID),
		p.seedKeyPair(ctx, integration),
		p.seedObjects(ctx, demoObjects{acme, 2500, 40, 60, []string{admin.ID, mia.ID, theo.ID}}),

		p.seedOrg(ctx, globex, gus),
		p.seedApp(ctx, auth.App{ClientKey: foreign, Org: globex, Name: "Integration"}, foreignSecret, gus.ID),
		p.seedObjects(ctx, demoObjects{globex, 20, 2, 3, []string{gus.ID}}),
	)
	f := &facts{
		BaseURL:           p.guard.BaseURL,
		Org:               acme,
		ClientKey:         integration,
		ClientSecret:      string(ownSecret),
		AccountID:         mia.ID,
		AccountEmail:      mia.Email,
		AccountPassword:   rand.Text(), // opens nothing until there are sessions
		TOTPAccountID:     theo.ID,
		TOTPAccountEmail:  theo.Email,
		AdminAccountID:    admin.ID,
		OtherOrg:          globex,
		OtherClientKey:    foreign,
		OtherClientSecret: string(foreignSecret),
		OtherAccountID:    gus.ID,
	}
	if err != nil {
		return nil, err
	}
	return f, p.seedTokens(ctx, f)
}

// seedOrg makes an org with its accounts. The roles carry no scope chains: what
// they are good for is in access.go.
func (p *platform) seedOrg(ctx context.Context, org string, accounts ...account) error {
	err := errors.Join(
		p.store.putOrg(ctx, auth.Org{Code: org}),
		p.store.putRole(ctx, org, auth.Role{Name: administrator}),
		p.store.putRole(ctx, org, auth.Role{Name: member}),
	)
	for _, a := range accounts {
		err = errors.Join(err, p.store.putAccount(ctx, a))
	}
	return err
}

// seedApp makes an app whose signing key acts as one account, and may act as
// others.
func (p *platform) seedApp(ctx context.Context, of auth.App, secret signing.Secret, own string, others ...string) error {
	return errors.Join(
		p.credentials.put(of.ClientKey, secret, signature.Credential{Account: own, Accounts: others}),
		p.store.putApp(ctx, app{App: of}),
	)
}

// seedKeyPair gives an app a key pair that others can verify with.
func (p *platform) seedKeyPair(ctx context.Context, clientKey string) error {
	a, err := p.store.app(ctx, acme, clientKey)
	if err != nil {
		return err
	}
	pair, err := newPair(a)
	if err != nil {
		return err
	}
	exposed := *a
	exposed.ExposeKeys = true
	return errors.Join(p.store.putApp(ctx, exposed), p.keys.replace(ctx, &exposed, pair))
}

// seedTokens mints tokens of the integration for an hour.
func (p *platform) seedTokens(ctx context.Context, f *facts) (err error) {
	mint := func(to *string, c token.Claims) {
		c.Issuer, c.Audience = f.ClientKey, f.BaseURL+"/"+f.Org+"/v2"
		w := tokenWish{claims: c, limited: c.MaxUses > 0, lasts: time.Hour}
		m, failed := p.tokens.mint(ctx, w, time.Now())
		*to, err = string(m.Token), errors.Join(err, failed)
	}
	everything := []string{""}
	mint(&f.AdminToken, token.Claims{Subject: f.AdminAccountID, Scope: everything})
	mint(&f.EphemeralToken, token.Claims{Subject: f.AccountID, Scope: everything})
	mint(&f.LimitedToken, token.Claims{Subject: f.AccountID, Scope: everything, MaxUses: 3})
	mint(&f.NarrowToken, token.Claims{Subject: f.AccountID, Scope: []string{"object.read.c_message.*.c_text"}})
	return err
}

// demoObjects says what an org gets.
type demoObjects struct {
	org                                  string
	messages, conversations, connections int
	accounts                             []string
}

func (p *platform) seedObjects(ctx context.Context, d demoObjects) error {
	var all []*object
	for n := range d.messages {
		all = append(all, d.message(n))
	}
	filed := 0
	for n := range d.conversations {
		size := min(conversationSize(n), d.messages-filed)
		all = append(all, d.conversation(n, all[filed:filed+size]))
		filed += size
	}
	for n := range d.connections {
		all = append(all, d.connection(n))
	}
	for _, o := range all {
		if err := p.store.create(ctx, o); err != nil {
			return err
		}
	}
	return nil
}

// conversationSize is 0 once, 250 once, and otherwise in between.
func conversationSize(n int) int {
	if n == 1 {
		return 250
	}
	return 2 * n
}

var demoTexts = []string{
	"Good morning", "Is the report ready?", "Nearly: one table is missing", "Thank you",
	"Who takes the next shift?", "I do", "The door is open again", "Lunch at noon", "See you tomorrow",
}

var demoLanguages = []string{"en", "de", "fr", "pt"}

// demoEpoch is when the first demo object was made.
var demoEpoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func (d demoObjects) message(n int) *object {
	o := d.object(messages, n)
	o.Values = map[string]any{
		"c_text":     fmt.Sprintf("%s (%d)", demoTexts[n%len(demoTexts)], n),
		authorPath:   o.Owner,
		sentPath:     demoEpoch.Add(time.Duration(n) * time.Minute).Format(dateLayout),
		"c_pinned":   n%10 == 0,
		languagePath: demoLanguages[n%len(demoLanguages)],
		"c_secret":   fmt.Sprintf("hidden from everybody (%d)", n),
	}
	if n%7 != 6 {
		o.Values["c_likes"] = int64(n * 13 % 50)
	}
	if n%11 == 10 {
		o.Values[languagePath] = nil
	}
	return o
}

func (d demoObjects) conversation(n int, of []*object) *object {
	ids := make([]string, 0, len(of))
	for _, message := range of {
		ids = append(ids, message.ID)
	}
	o := d.object(conversations, n)
	o.Values = map[string]any{"c_title": fmt.Sprintf("Conversation %d", n), "c_messages": ids}
	return o
}

func (d demoObjects) connection(n int) *object {
	o := d.object(connections, n)
	o.Values = map[string]any{
		"target": d.accounts[(n+1)%len(d.accounts)],
		"access": int64(n%8 + 1),
	}
	return o
}

func (d demoObjects) object(s *paging.Schema, n int) *object {
	return &object{
		ID:    demoID(d.org, s.Object, n+1),
		Org:   d.org,
		Type:  s.Object,
		Owner: d.accounts[n%len(d.accounts)],
	}
}

func demoAccount(org string, n int, name string, roles ...string) account {
	first, _, _ := strings.Cut(strings.ToLower(name), " ")
	return account{
		Account: auth.Account{ID: demoID(org, "account", n), Org: org, Roles: roles},
		Email:   first + "@" + org + ".example",
		Name:    name,
	}
}

// demoID returns an id that depends on its arguments alone: the time of the
// first object, what the type and the org hash to, and a number, so that ids
// sort by it.
func demoID(org, object string, n int) string {
	kind := sha256.Sum256([]byte(org + "/" + object))
	return fmt.Sprintf("%08x%x%08x", demoEpoch.Unix(), kind[:4], n)
}
