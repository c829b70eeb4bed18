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

// The demo orgs. acme has everything. globex shows that orgs are kept apart. Object
// ids and contents are the same at each start, and secrets are always new.
const (
	acme   = "acme"
	globex = "globex"
)

// startDemo seeds the demo orgs and prints how to use them. Existing data stays.
// Credentials and tokens are new each time, because none can be read back.
func (p *platform) startDemo(ctx context.Context, o options, stdout io.Writer) error {
	var f *facts
	err := p.store.alone(ctx, func() (err error) {
		f, err = p.seed(ctx, o.session)
		return err
	})
	if err != nil {
		return fmt.Errorf("seeding: %w", err)
	}
	return p.tell(f, o, stdout)
}

// tell writes the facts to the file of -demo-json, and prints what to try.
func (p *platform) tell(f *facts, o options, stdout io.Writer) error {
	if o.demoJSON != "" {
		if err := f.write(o.demoJSON); err != nil {
			return err
		}
	}
	f.printTips(stdout, p.guard.Brand.Header, o.db != memoryDB)
	return nil
}

// demo holds the accounts and apps of the demo orgs.
type demo struct {
	admin, mia, theo, rita, gus account
	own, foreign                auth.App // of acme and of globex
}

// demo returns the accounts and apps of the demo orgs.
func (p *platform) demo(ctx context.Context) (d demo, err error) {
	d = demo{
		admin: demoAccount(acme, 1, "Ada Admin", administrator, member),
		mia:   demoAccount(acme, 2, "Mia Member", member),
		theo:  demoAccount(acme, 3, "Theo Second", member),
		rita:  demoAccount(acme, 4, "Rita Reader", readerRole.Name),
		gus:   demoAccount(globex, 1, "Gus Globex", member),
	}
	if d.own, err = p.demoApp(ctx, acme); err != nil {
		return d, err
	}
	d.foreign, err = p.demoApp(ctx, globex)
	return d, err
}

// seed fills an empty store, and returns what a user of the demo must know.
func (p *platform) seed(ctx context.Context, policy auth.SessionPolicy) (*facts, error) {
	d, err := p.demo(ctx)
	if err != nil {
		return nil, err
	}
	seeded, err := p.store.seeded(ctx)
	if err == nil && !seeded {
		err = p.fill(ctx, d, policy)
	}
	if err == nil && seeded {
		// The flags of this start decide, not those of the start that seeded.
		err = p.store.putOrg(ctx, auth.Org{Code: acme, Session: policy})
	}
	if err != nil {
		return nil, err
	}
	return p.issue(ctx, d)
}

// fill makes the records. If one fails, the next start makes it: they are marked as
// seeded only if none has failed.
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

// issue makes new credentials and tokens.
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
	if err := p.seedReader(ctx, d.rita); err != nil {
		return nil, err
	}
	f.NarrowClientKey, err = p.partner(ctx, "Partner, reads messages", signature.Credential{
		Account: d.mia.ID, Scope: []string{"object.read." + messages.Object},
	})
	if err != nil {
		return nil, err
	}
	f.V2ClientKey, err = p.partner(ctx, "Partner, signs bodies", signature.Credential{Account: d.mia.ID, MinVersion: 2})
	if err != nil {
		return nil, err
	}
	for _, to := range []struct {
		password *string
		of       account
	}{{&f.AccountPassword, d.mia}, {&f.AdminPassword, d.admin}, {&f.ReaderPassword, d.rita}, {&f.TOTPPassword, d.theo}} {
		if *to.password, err = p.newPassword(ctx, to.of); err != nil {
			return nil, err
		}
	}
	if f.TOTPSecret, err = p.newFactor(ctx, d.theo); err != nil {
		return nil, err
	}
	for _, to := range []struct {
		secret    *string
		org       auth.OrgKey
		clientKey string
	}{{&f.ClientSecret, auth.OrgKey(f.Org), f.ClientKey}, {&f.OtherClientSecret, auth.OrgKey(f.OtherOrg), f.OtherClientKey}, {&f.NarrowClientSecret, auth.OrgKey(f.Org), f.NarrowClientKey}, {&f.V2ClientSecret, auth.OrgKey(f.Org), f.V2ClientKey}} {
		secret, err := p.stores.credentials.Rotate(ctx, to.org, to.clientKey, rotationGrace)
		if err != nil {
			return nil, err
		}
		*to.secret = string(secret)
	}
	return f, p.seedTokens(ctx, f)
}

// partner returns the client key of an app of acme with a name and a credential. It
// makes the app if there is none.
func (p *platform) partner(ctx context.Context, name string, c signature.Credential) (clientKey string, err error) {
	all, err := p.store.listApps(ctx, acme)
	for _, a := range all {
		if a.Name == name {
			return a.ClientKey, nil
		}
	}
	if err != nil {
		return "", err
	}
	clientKey, _, err = p.stores.credentials.Create(ctx, acme, c)
	if err != nil {
		return "", err
	}
	if err := p.store.putApp(ctx, app{App: auth.App{ClientKey: clientKey, Org: acme, Name: name}}); err != nil {
		return "", err
	}
	return clientKey, p.seedKeyPair(ctx, clientKey)
}

// demoApp returns the app of a demo org. It is the same at each start.
func (p *platform) demoApp(ctx context.Context, org auth.OrgKey) (auth.App, error) {
	clientKey, _ := signing.Generate()
	clientKey, err := p.store.demoKey(ctx, org, clientKey)
	return auth.App{ClientKey: clientKey, Org: org, Name: "Integration"}, err
}

// seedOrg makes an org with its accounts. Its roles have no scope chains;
// access_rules.go says what they permit.
func (p *platform) seedOrg(ctx context.Context, org auth.Org, accounts ...account) error {
	err := errors.Join(
		p.store.putOrg(ctx, org),
		p.store.putRole(ctx, auth.OrgKey(org.Code), auth.Role{Name: administrator}),
		p.store.putRole(ctx, auth.OrgKey(org.Code), auth.Role{Name: member}),
	)
	for _, a := range accounts {
		err = errors.Join(err, unlessConflict(p.store.addAccount(ctx, a, "")))
	}
	return err
}

// readerRole is a role that only has chains.
var readerRole = auth.Role{Name: "reader", Scope: []string{"object.read." + messages.Object}}

// seedReader makes the account whose role has a scope, and the role, if they do not
// exist.
func (p *platform) seedReader(ctx context.Context, a account) error {
	return errors.Join(
		unlessConflict(p.store.addRole(ctx, a.Org, readerRole)),
		unlessConflict(p.store.addAccount(ctx, a, "")),
	)
}

// unlessConflict returns err, or nil if it says that the record exists already.
func unlessConflict(err error) error {
	if isConflict(err) {
		return nil
	}
	return err
}

func isConflict(err error) bool {
	e, ok := errors.AsType[*auth.Error](err)
	return ok && e.Detail == auth.DetailConflict
}

// newPassword gives an account a new password, and resets its record.
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
// others. Nobody knows its first secret.
func (p *platform) seedApp(ctx context.Context, of auth.App, own string, others ...string) error {
	_, secret := signing.Generate()
	return errors.Join(
		p.stores.credentials.Put(ctx, of.Org, of.ClientKey, secret, signature.Credential{Account: own, Accounts: others}),
		p.store.putApp(ctx, app{App: of, ExposeKeys: of.Org == acme}),
	)
}

// demoPair makes the pairs of the demo's apps.
var demoPair = newPair

// seedKeyPair gives an app of acme a key pair whose public key is listed.
func (p *platform) seedKeyPair(ctx context.Context, clientKey string) error {
	a, err := p.store.app(ctx, acme, clientKey)
	if err != nil {
		return err
	}
	pair, err := demoPair(a)
	if err != nil {
		return err
	}
	return p.keys.replace(ctx, a, pair)
}

// seedTokens mints tokens of the Integration app for an hour. The server mints them
// itself, without the checks for a caller.
func (p *platform) seedTokens(ctx context.Context, f *facts) (err error) {
	minter := p.tokens.mechanism.Minter(p.guard)
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

// demoObjects is how many objects an org gets, and their owners.
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

// conversationSize returns how many messages a conversation has: one has 0 and one
// has 250.
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

// demoEpoch is the creation time of the first demo object.
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
		Org:   auth.OrgKey(d.org),
		Type:  s.Object,
		Owner: d.accounts[n%len(d.accounts)],
	}
}

func demoAccount(org auth.OrgKey, n int, name string, roles ...string) account {
	first, _, _ := strings.Cut(strings.ToLower(name), " ")
	return account{
		Account: auth.Account{ID: demoID(string(org), "account", n), Org: org, Roles: roles},
		Email:   first + "@" + string(org) + ".example",
		Name:    name,
	}
}

// demoID returns an id that depends only on its arguments. It is the time of the
// first object, a hash of org and type, and a number. So ids sort by the number.
func demoID(org, object string, n int) string {
	kind := sha256.Sum256([]byte(org + "/" + object))
	return fmt.Sprintf("%08x%x%08x", demoEpoch.Unix(), kind[:4], n)
}

// demoKey returns the client key of the demo app of an org. It stores the given one
// if there is none yet.
func (s *store) demoKey(ctx context.Context, org auth.OrgKey, clientKey string) (string, error) {
	err := execIn(ctx, s.db, nil, "INSERT INTO platform_demo (org, client_key) VALUES ($1, $2) ON CONFLICT DO NOTHING", org, clientKey)
	if err != nil {
		return "", err
	}
	err = s.db.QueryRowContext(ctx, "SELECT client_key FROM platform_demo WHERE org = $1", org).Scan(&clientKey)
	return clientKey, storeFailed(err)
}

// seeded reports whether the demo orgs are complete.
func (s *store) seeded(ctx context.Context) (yes bool, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT count(*) > 0 FROM platform_demo WHERE seeded <> 0").Scan(&yes)
	return yes, storeFailed(err)
}

func (s *store) markSeeded(ctx context.Context) error {
	return execIn(ctx, s.db, nil, "UPDATE platform_demo SET seeded = 1")
}

// isEmpty reports whether there is no org at all.
func (s *store) isEmpty(ctx context.Context) (yes bool, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT count(*) = 0 FROM platform_orgs").Scan(&yes)
	return yes, storeFailed(err)
}
