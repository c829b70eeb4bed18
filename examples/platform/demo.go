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
	"github.com/tenantkit/tenantkit/auth/session"
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

// startDemo seeds the demo orgs and tells of them. What is there already stays;
// credentials and tokens are fresh each time, for none can be read back.
func (p *platform) startDemo(ctx context.Context, o options, stdout io.Writer) error {
	var f *facts
	err := p.store.alone(ctx, func() (err error) {
		f, err = p.seed(ctx, o.session)
		return err
	})
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

// demo is who lives in the demo orgs.
type demo struct {
	admin, mia, theo, rita, gus account
	own, foreign                auth.App // of acme and of globex
}

// seed fills the store where it is empty and returns what one needs to know to
// use it.
func (p *platform) seed(ctx context.Context, policy auth.SessionPolicy) (*facts, error) {
	d := demo{
		admin: demoAccount(acme, 1, "Ada Admin", administrator, member),
		mia:   demoAccount(acme, 2, "Mia Member", member),
		theo:  demoAccount(acme, 3, "Theo Second", member),
		rita:  demoAccount(acme, 4, "Rita Reader", readerRole.Name),
		gus:   demoAccount(globex, 1, "Gus Globex", member),
	}
	var err error
	if d.own, err = p.demoApp(ctx, acme); err != nil {
		return nil, err
	}
	if d.foreign, err = p.demoApp(ctx, globex); err != nil {
		return nil, err
	}
	seeded, err := p.store.seeded(ctx)
	if err == nil && !seeded {
		err = p.fill(ctx, d, policy)
	}
	if err == nil && seeded {
		// The flags are those of this start, not of the one that seeded.
		err = p.store.putOrg(ctx, auth.Org{Code: acme, Session: policy})
	}
	if err != nil {
		return nil, err
	}
	return p.issue(ctx, d)
}

// fill makes the records. What fails is made by the next start: only when
// nothing did are they said to be there.
func (p *platform) fill(ctx context.Context, d demo, policy auth.SessionPolicy) error {
	err := errors.Join(
		p.seedOrg(ctx, auth.Org{Code: acme, Session: policy}, d.admin, d.mia, d.theo),
		p.seedApp(ctx, d.own, d.admin.ID, d.mia.ID, d.theo.ID),
		p.seedKeyPair(ctx, d.own.ClientKey),
		p.seedObjects(ctx, demoObjects{acme, 2500, 40, 60, []string{d.admin.ID, d.mia.ID, d.theo.ID}}),

		p.seedOrg(ctx, auth.Org{Code: globex}, d.gus),
		p.seedApp(ctx, d.foreign, d.gus.ID),
		p.seedObjects(ctx, demoObjects{globex, 20, 2, 3, []string{d.gus.ID}}),
	)
	if err != nil {
		return err
	}
	return p.store.markSeeded(ctx)
}

// issue makes fresh credentials and tokens.
func (p *platform) issue(ctx context.Context, d demo) (f *facts, err error) {
	f = &facts{
		BaseURL:          p.guard.BaseURL,
		Org:              acme,
		ClientKey:        d.own.ClientKey,
		AccountID:        d.mia.ID,
		AccountEmail:     d.mia.Email,
		TOTPAccountID:    d.theo.ID,
		TOTPAccountEmail: d.theo.Email,
		AdminAccountID:   d.admin.ID,
		AdminEmail:       d.admin.Email,
		ReaderAccountID:  d.rita.ID,
		ReaderEmail:      d.rita.Email,
		OtherOrg:         globex,
		OtherClientKey:   d.foreign.ClientKey,
		OtherAccountID:   d.gus.ID,
	}
	if f.AccountPassword, err = p.newPassword(ctx, d.mia); err != nil {
		return nil, err
	}
	if f.AdminPassword, err = p.newPassword(ctx, d.admin); err != nil {
		return nil, err
	}
	if err := p.seedReader(ctx, d.rita); err != nil {
		return nil, err
	}
	if f.ReaderPassword, err = p.newPassword(ctx, d.rita); err != nil {
		return nil, err
	}
	if f.TOTPPassword, err = p.newPassword(ctx, d.theo); err != nil {
		return nil, err
	}
	if f.TOTPSecret, err = p.newFactor(ctx, d.theo); err != nil {
		return nil, err
	}
	own, err := p.stores.credentials.Rotate(ctx, d.own.ClientKey, rotationGrace)
	if err != nil {
		return nil, err
	}
	foreign, err := p.stores.credentials.Rotate(ctx, d.foreign.ClientKey, rotationGrace)
	if err != nil {
		return nil, err
	}
	f.ClientSecret, f.OtherClientSecret = string(own), string(foreign)
	if f.NarrowClientKey, err = p.partner(ctx, d.mia.ID); err != nil {
		return nil, err
	}
	narrow, err := p.stores.credentials.Rotate(ctx, f.NarrowClientKey, rotationGrace)
	if err != nil {
		return nil, err
	}
	f.NarrowClientSecret = string(narrow)
	return f, p.seedTokens(ctx, f)
}

// partner returns the client key of an app of acme that acts as an account and may
// read messages only. It makes the app unless it is there.
func (p *platform) partner(ctx context.Context, account string) (clientKey string, err error) {
	const name = "Partner, reads messages"
	all, err := p.store.listApps(ctx, acme)
	for _, a := range all {
		if a.Name == name {
			return a.ClientKey, nil
		}
	}
	if err != nil {
		return "", err
	}
	clientKey, _, err = p.stores.credentials.Create(ctx, acme, signature.Credential{
		Account: account, Scope: []string{"object.read." + messages.Object},
	})
	if err != nil {
		return "", err
	}
	return clientKey, p.store.putApp(ctx, app{App: auth.App{ClientKey: clientKey, Org: acme, Name: name}})
}

// demoApp returns the app of a demo org, the same each time.
func (p *platform) demoApp(ctx context.Context, org string) (auth.App, error) {
	clientKey, _ := signing.Generate()
	clientKey, err := p.store.demoKey(ctx, org, clientKey)
	return auth.App{ClientKey: clientKey, Org: org, Name: "Integration"}, err
}

// seedOrg makes an org with its accounts. The roles carry no scope chains: what
// they are good for is in access.go.
func (p *platform) seedOrg(ctx context.Context, org auth.Org, accounts ...account) error {
	err := errors.Join(
		p.store.putOrg(ctx, org),
		p.store.putRole(ctx, org.Code, auth.Role{Name: administrator}),
		p.store.putRole(ctx, org.Code, auth.Role{Name: member}),
	)
	for _, a := range accounts {
		if failed := p.store.addAccount(ctx, a, ""); !isConflict(failed) {
			err = errors.Join(err, failed)
		}
	}
	return err
}

// readerRole is a role that is good for its chains alone.
var readerRole = auth.Role{Name: "reader", Scope: []string{"object.read." + messages.Object}}

// seedReader makes the account whose role has a scope, and the role, unless they are
// there.
func (p *platform) seedReader(ctx context.Context, a account) error {
	err := p.store.addRole(ctx, a.Org, readerRole)
	if err != nil && !isConflict(err) {
		return err
	}
	err = p.store.addAccount(ctx, a, "")
	if err != nil && !isConflict(err) {
		return err
	}
	return nil
}

// isConflict tells of another instance that has made the same.
func isConflict(err error) bool {
	e, ok := errors.AsType[*auth.Error](err)
	return ok && e.Detail == auth.DetailConflict
}

// newPassword gives an account a password, and the state it began in.
func (p *platform) newPassword(ctx context.Context, a account) (string, error) {
	password := rand.Text()
	encoded, err := p.sessions.Hash(ctx, password)
	if err != nil {
		return "", err
	}
	_, err = p.store.changeAccount(ctx, a.Org, a.ID, func(stored *account) error {
		*stored = a
		stored.Changed = time.Now()
		return nil
	})
	return password, errors.Join(err, p.store.setPassword(ctx, a.Org, a.ID, encoded))
}

// newFactor gives an account a second factor, and returns its secret in base32.
func (p *platform) newFactor(ctx context.Context, a account) (string, error) {
	f, err := p.stores.factors.Factor(ctx, a.Org, a.ID)
	if err != nil {
		return "", err
	}
	secret := make(session.FactorSecret, 20)
	rand.Read(secret)
	return secret.Base32(), p.stores.factors.Save(ctx, a.Org, a.ID, session.Factor{Version: f.Version, Secret: secret})
}

// seedApp makes an app whose signing key acts as one account, and may act as
// others. Its first secret is known to nobody.
func (p *platform) seedApp(ctx context.Context, of auth.App, own string, others ...string) error {
	_, secret := signing.Generate()
	return errors.Join(
		p.stores.credentials.Put(ctx, of.Org, of.ClientKey, secret, signature.Credential{Account: own, Accounts: others}),
		p.store.putApp(ctx, app{App: of, ExposeKeys: of.Org == acme}),
	)
}

// seedKeyPair gives an app of acme a key pair that others can verify with.
func (p *platform) seedKeyPair(ctx context.Context, clientKey string) error {
	a, err := p.store.app(ctx, acme, clientKey)
	if err != nil {
		return err
	}
	pair, err := newPair(a)
	if err != nil {
		return err
	}
	return p.keys.replace(ctx, a, pair)
}

// seedTokens mints tokens of the integration for an hour. The server itself is
// their maker.
func (p *platform) seedTokens(ctx context.Context, f *facts) (err error) {
	minter := &p.tokens.minter
	claims := func(subject string, chains ...string) token.Claims {
		return token.Claims{Issuer: f.ClientKey, Audience: f.BaseURL + "/" + f.Org + "/v2", Subject: subject, Scope: chains}
	}
	ephemeral := func(to *string, c token.Claims) {
		t, _, failed := minter.Ephemeral(ctx, c, time.Hour)
		*to, err = string(t), errors.Join(err, failed)
	}
	ephemeral(&f.AdminToken, claims(f.AdminAccountID, ""))
	ephemeral(&f.EphemeralToken, claims(f.AccountID, ""))
	ephemeral(&f.NarrowToken, claims(f.AccountID, "object.read.c_message.*.c_text"))
	limited := claims(f.AccountID, "")
	limited.Expires = time.Now().Add(time.Hour)
	t, _, failed := minter.Limited(ctx, limited, 3)
	f.LimitedToken = string(t)
	return errors.Join(err, failed)
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
	return p.store.createAll(ctx, all)
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

// demoKey returns the client key of the demo app of an org: the one given, if
// there is none yet.
func (s *store) demoKey(ctx context.Context, org, clientKey string) (string, error) {
	err := execIn(ctx, s.db, nil, "INSERT INTO platform_demo (org, client_key) VALUES ($1, $2) ON CONFLICT DO NOTHING", org, clientKey)
	if err != nil {
		return "", err
	}
	err = s.db.QueryRowContext(ctx, "SELECT client_key FROM platform_demo WHERE org = $1", org).Scan(&clientKey)
	return clientKey, storeFailed(err)
}

// seeded tells whether the demo orgs are all there.
func (s *store) seeded(ctx context.Context) (yes bool, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT count(*) > 0 FROM platform_demo WHERE seeded <> 0").Scan(&yes)
	return yes, storeFailed(err)
}

func (s *store) markSeeded(ctx context.Context) error {
	return execIn(ctx, s.db, nil, "UPDATE platform_demo SET seeded = 1")
}

// isEmpty tells whether there is no org at all.
func (s *store) isEmpty(ctx context.Context) (yes bool, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT count(*) = 0 FROM platform_orgs").Scan(&yes)
	return yes, storeFailed(err)
}
