package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/examples/internal/private"
	"github.com/tenantkit/tenantkit/signing"
	"github.com/tenantkit/tenantkit/token"
)

// The demo orgs. acme has everything. globex shows that orgs are kept apart. Object
// ids and contents are the same at each start, and secrets are always new.
const (
	acme   = "acme"
	globex = "globex"
)

var (
	errForgets   = errors.New("demo: memory: forgets everything at the end; give the -db of the server")
	errNotSeeded = errors.New("demo: the database has no demo orgs; start the server with -demo to seed them")
)

// printDemo issues fresh credentials of the demo orgs in a database, and prints them as
// the server does when it starts. It changes nothing else, and never seeds: a database
// without the demo orgs may be somebody's own. A server that runs on the database accepts
// the credentials after directoryStale.
func printDemo(ctx context.Context, o options, stdout, stderr io.Writer) error {
	if o.db == memoryDB {
		return errForgets
	}
	if file, ok := strings.CutPrefix(o.db, sqliteDB); ok {
		// To open it would make it, and a key beside it.
		if _, err := os.Stat(file); err != nil {
			return fmt.Errorf("demo: %w", err)
		}
	}
	p, err := newPlatform(ctx, o, cmp.Or(o.baseURL, "http://"+o.addr), o.newLog(stderr))
	if err != nil {
		return err
	}
	seeded, err := p.store.seeded(ctx)
	if err == nil && !seeded {
		err = errNotSeeded
	}
	if err == nil {
		err = p.startDemo(ctx, o, stdout)
	}
	return errors.Join(err, p.close())
}

// startDemo seeds the demo orgs and prints how to use them. Existing data stays.
// Credentials and tokens are new each time, because none can be read back.
func (p *platform) startDemo(ctx context.Context, o options, stdout io.Writer) error {
	var f *facts
	err := p.store.alone(ctx, func() (err error) {
		f, err = p.seed(ctx, o)
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
	f.printTips(stdout, p.guard.Brand.Header, o.db != memoryDB)
	return nil
}

// facts are what a user of the demo orgs must know, as -demo-json writes them.
type facts struct {
	BaseURL            string `json:"base_url"`
	Org                string `json:"org"`
	ClientKey          string `json:"client_key"`
	ClientSecret       string `json:"client_secret"`
	AccountID          string `json:"account_id"`
	AccountEmail       string `json:"account_email"`
	AccountPassword    string `json:"account_password"`
	TOTPAccountID      string `json:"totp_account_id"`
	TOTPAccountEmail   string `json:"totp_account_email"`
	TOTPPassword       string `json:"totp_account_password"`
	TOTPSecret         string `json:"totp_secret"` // base32
	AdminAccountID     string `json:"admin_account_id"`
	NarrowClientKey    string `json:"narrow_client_key"` // its scope is object.read.c_message
	NarrowClientSecret string `json:"narrow_client_secret"`
	V2ClientKey        string `json:"v2_client_key"` // it must sign by version 2
	V2ClientSecret     string `json:"v2_client_secret"`
	AdminEmail         string `json:"admin_email"`
	AdminPassword      string `json:"admin_password"`
	ReaderAccountID    string `json:"reader_account_id"` // its role has the scope object.read.c_message
	ReaderEmail        string `json:"reader_email"`
	ReaderPassword     string `json:"reader_password"`
	OtherOrg           string `json:"other_org"`
	OtherClientKey     string `json:"other_client_key"`
	OtherClientSecret  string `json:"other_client_secret"`
	OtherAccountID     string `json:"other_account_id"`
	AdminToken         string `json:"admin_token"`
	EphemeralToken     string `json:"ephemeral_token"`
	LimitedToken       string `json:"limited_token"`
	NarrowToken        string `json:"narrow_token"`
}

// write writes the facts to a file that only its owner can read.
func (f *facts) write(file string) error {
	body, err := json.MarshalIndent(f, "", "  ")
	if err != nil {
		return err
	}
	return private.Write(file, append(body, '\n'), os.Rename)
}

var (
	ada  = demoAccount(acme, 1, "Ada Admin", administrator, member)
	mia  = demoAccount(acme, 2, "Mia Member", member)
	theo = demoAccount(acme, 3, "Theo Second", member)
	rita = demoAccount(acme, 4, "Rita Reader", readerRole.Name)
	gus  = demoAccount(globex, 1, "Gus Globex", member)

	// readerRole only has chains. The other roles have none: access_rules.go says what
	// they permit.
	readerRole = auth.Role{Name: "reader", Scope: []string{"object.read." + messages.object}}
)

// seed fills the store with what it lacks of the demo, and returns what a user must know.
func (p *platform) seed(ctx context.Context, o options) (*facts, error) {
	own, ownErr := p.demoApp(ctx, acme)
	foreign, err := p.demoApp(ctx, globex)
	if err = errors.Join(ownErr, err); err != nil {
		return nil, err
	}
	seeded, err := p.store.seeded(ctx)
	switch {
	case err != nil:
	case !seeded:
		err = p.fill(ctx, own, foreign, o)
	case !o.demoOnly:
		// The flags of this start decide, not those of the start that seeded.
		err = p.store.putOrg(ctx, auth.Org{Code: acme, Session: o.session})
	}
	if err != nil {
		return nil, err
	}
	return p.issue(ctx, own, foreign)
}

// fill makes the records. If one fails, the next start makes it: they are marked as
// seeded only if none has failed.
func (p *platform) fill(ctx context.Context, own, foreign auth.App, o options) error {
	err := errors.Join(
		p.seedOrg(ctx, auth.Org{Code: acme, Session: o.session}, ada, mia, theo),
		p.seedApp(ctx, own, ada.ID, mia.ID, theo.ID),
		p.seedKeyPair(ctx, own.ClientKey),
		p.seedObjects(ctx, demoObjects{acme, cmp.Or(o.demoMessages, 2500), 40, 60, []string{ada.ID, mia.ID, theo.ID}}),

		p.seedOrg(ctx, auth.Org{Code: globex}, gus),
		p.seedApp(ctx, foreign, gus.ID),
		p.seedObjects(ctx, demoObjects{globex, 20, 2, 3, []string{gus.ID}}),
	)
	if err != nil {
		return err
	}
	return p.store.markSeeded(ctx)
}

// issue makes new credentials and tokens.
func (p *platform) issue(ctx context.Context, own, foreign auth.App) (*facts, error) {
	f := &facts{
		BaseURL: p.guard.BaseURL, Org: acme, OtherOrg: globex, ClientKey: own.ClientKey, OtherClientKey: foreign.ClientKey, OtherAccountID: gus.ID,
	}
	// The reader came with a later release than the others.
	err := errors.Join(unlessConflict(p.store.addRole(ctx, acme, readerRole)), unlessConflict(p.store.addAccount(ctx, rita, "")))
	for _, to := range []struct {
		id, email, password *string
		of                  account
	}{
		{&f.AccountID, &f.AccountEmail, &f.AccountPassword, mia},
		{&f.AdminAccountID, &f.AdminEmail, &f.AdminPassword, ada},
		{&f.ReaderAccountID, &f.ReaderEmail, &f.ReaderPassword, rita},
		{&f.TOTPAccountID, &f.TOTPAccountEmail, &f.TOTPPassword, theo},
	} {
		*to.id, *to.email = to.of.ID, to.of.Email
		err = errors.Join(err, p.newPassword(ctx, to.of, to.password))
	}
	err = errors.Join(err, p.newFactor(ctx, theo, &f.TOTPSecret),
		p.partner(ctx, &f.NarrowClientKey, "Partner, reads messages", signature.Credential{Account: mia.ID, Scope: readerRole.Scope}),
		p.partner(ctx, &f.V2ClientKey, "Partner, signs bodies", signature.Credential{Account: mia.ID, MinVersion: 2}))
	for key, secret := range map[*string]*string{
		&f.ClientKey: &f.ClientSecret, &f.OtherClientKey: &f.OtherClientSecret, &f.NarrowClientKey: &f.NarrowClientSecret, &f.V2ClientKey: &f.V2ClientSecret,
	} {
		org := auth.OrgKey(acme)
		if secret == &f.OtherClientSecret {
			org = globex
		}
		rotated, failed := p.stores.credentials.Rotate(ctx, org, *key, rotationGrace)
		*secret, err = string(rotated), errors.Join(err, failed)
	}
	if err != nil {
		return nil, err
	}
	return f, p.seedTokens(ctx, f)
}

// partner finds the client key of an app of acme with a name, or makes the app.
func (p *platform) partner(ctx context.Context, clientKey *string, name string, c signature.Credential) error {
	all, err := p.store.listApps(ctx, acme)
	for _, a := range all {
		if a.Name == name {
			*clientKey = a.ClientKey
			return nil
		}
	}
	if err == nil {
		*clientKey, _, err = p.stores.credentials.Create(ctx, acme, c)
	}
	if err == nil {
		err = p.store.putApp(ctx, app{App: auth.App{ClientKey: *clientKey, Org: acme, Name: name}})
	}
	if err != nil {
		return err
	}
	return p.seedKeyPair(ctx, *clientKey)
}

// demoApp returns the app of a demo org. It is the same at each start.
func (p *platform) demoApp(ctx context.Context, org auth.OrgKey) (auth.App, error) {
	clientKey, _ := signing.Generate()
	clientKey, err := p.store.demoKey(ctx, org, clientKey)
	return auth.App{ClientKey: clientKey, Org: org, Name: "Integration"}, err
}

func (p *platform) seedOrg(ctx context.Context, org auth.Org, accounts ...account) error {
	key := auth.OrgKey(org.Code)
	err := errors.Join(
		p.store.putOrg(ctx, org),
		p.store.putRole(ctx, key, auth.Role{Name: administrator}),
		p.store.putRole(ctx, key, auth.Role{Name: member}),
	)
	for _, a := range accounts {
		err = errors.Join(err, unlessConflict(p.store.addAccount(ctx, a, "")))
	}
	return err
}

// unlessConflict returns err, or nil if it says that the record exists already.
func unlessConflict(err error) error {
	if e, ok := errors.AsType[*auth.Error](err); ok && e.Detail == auth.DetailConflict {
		return nil
	}
	return err
}

// newPassword gives an account a new password, and resets its record.
func (p *platform) newPassword(ctx context.Context, a account, password *string) error {
	*password = rand.Text()
	encoded, err := p.sessions.Hash(ctx, *password)
	if err != nil {
		return err
	}
	_, err = p.store.changeAccount(ctx, a.Org, a.ID, func(stored *account) error {
		*stored = a
		stored.Changed = time.Now()
		return nil
	})
	return errors.Join(err, p.store.setPassword(ctx, a.Org, a.ID, encoded))
}

// newFactor gives an account a second factor, with a secret in base32.
func (p *platform) newFactor(ctx context.Context, a account, to *string) error {
	f, err := p.stores.factors.Factor(ctx, a.Org, a.ID)
	if err != nil {
		return err
	}
	random := make([]byte, 20)
	rand.Read(random)
	secret := session.NewFactorSecret(random)
	*to = secret.Base32()
	return p.stores.factors.Save(ctx, a.Org, a.ID, session.Factor{Version: f.Version, Secret: secret})
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
		secretPath:   fmt.Sprintf("hidden from everybody (%d)", n),
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
	o := d.object(conversations, n)
	o.Values = map[string]any{"c_title": fmt.Sprintf("Conversation %d", n)}
	for _, message := range of {
		message.Values[parentPath] = o.ID
	}
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

func (d demoObjects) object(s schema, n int) *object {
	return &object{
		ID:    demoID(d.org, s.object, n+1),
		Org:   auth.OrgKey(d.org),
		Type:  s.object,
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
