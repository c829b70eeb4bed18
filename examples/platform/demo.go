package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"text/template"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/examples/internal/demofile"
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
		f, err = p.seed(ctx, o)
		return err
	})
	if err != nil {
		return fmt.Errorf("seeding: %w", err)
	}
	if o.demoJSON != "" {
		if err := f.Write(o.demoJSON); err != nil {
			return err
		}
	}
	p.mails.printed = true // whoever reads the output has the passwords anyway
	printTips(f, stdout, p.guard.Brand.Header, o.db != memoryDB)
	return nil
}

//go:embed demo_tips.txt
var tipsText string

// tips are commands to try next. With -g, curl does not read paths[] as a pattern.
var tips = template.Must(template.New("tips").Parse(tipsText))

// printTips ignores an error of the writer: the server runs without the tips.
func printTips(f *facts, w io.Writer, headerPrefix string, kept bool) {
	const command = "/c_messages"
	timestamp := strconv.FormatInt(time.Now().UnixMilli(), 10)
	_ = tips.Execute(w, struct {
		*facts
		HeaderPrefix                         string
		Headers                              signing.Headers
		Command, Timestamp, Nonce, Signature string
		Kept                                 bool // the database outlives the server
	}{f, headerPrefix, signing.HeadersFor(headerPrefix), command, timestamp, rand.Text()[:16],
		signing.Sign(f.ClientKey, signing.Secret(f.ClientSecret), command, http.MethodGet, timestamp), kept})
}

// facts are what a user of the demo orgs must know, as -demo-json writes them.
type facts = demofile.Facts

var (
	ada  = demoAccount(acme, 1, "Ada Admin", administrator, member)
	mia  = demoAccount(acme, 2, "Mia Member", member)
	theo = demoAccount(acme, 3, "Theo Second", member)
	rita = demoAccount(acme, 4, "Rita Reader", readerRole.Name)
	gus  = demoAccount(globex, 1, "Gus Globex", member)
	olga = demoAccount(globex, 3, "Olga Other", administrator, member)

	// pat is a person with an account in each org, under one address and password.
	pat      = ofPat(demoAccount(acme, 5, "Pat Person", member))
	patThere = ofPat(demoAccount(globex, 2, "Pat Person", member))

	// readerRole only has chains. The other roles have none: access_rules.go says what they permit.
	readerRole = auth.Role{Name: "reader", Scope: []string{"object.read." + messages.object}}
)

// demoApp is an app of the demo. Its name in the table platform_demo is not shown.
type demoApp struct {
	key        string
	app        app
	credential signature.Credential
}

var demoApps = []demoApp{
	{"own", app{auth.App{Org: acme, Name: "Integration"}, true}, signature.Credential{Account: ada.ID, Accounts: []string{mia.ID, theo.ID}}},
	{"narrow", app{auth.App{Org: acme, Name: "Partner, reads messages"}, false}, signature.Credential{Account: mia.ID, Scope: readerRole.Scope}},
	{"v2", app{auth.App{Org: acme, Name: "Partner, signs bodies"}, false}, signature.Credential{Account: mia.ID, MinVersion: 2}},
	{"other", app{auth.App{Org: globex, Name: "Integration"}, false}, signature.Credential{Account: gus.ID}},
}

// seed makes the demo orgs, unless they are there, and returns what a user must know.
func (p *platform) seed(ctx context.Context, o options) (*facts, error) {
	keys, err := p.store.demoKeys(ctx)
	switch {
	case auth.IsNotFound(err):
		keys, err = p.fill(ctx, o)
	case err == nil:
		// The flags of this start decide, not those of the start that seeded.
		err = p.store.locked(ctx, acme, func(tx *sql.Tx) error { return putOrg(ctx, tx, auth.Org{Code: acme, Session: open(o.session)}) })
	}
	if err != nil {
		return nil, err
	}
	return p.issue(ctx, keys)
}

// fill makes the records of the demo in one transaction, the library's among them, and
// returns the client keys of the apps. The objects are made before: in memory they are in
// another database. What a start has left that ended here, the next one finds.
func (p *platform) fill(ctx context.Context, o options) (keys map[string]string, err error) {
	err = errors.Join(
		p.store.createAll(ctx, demoObjects(acme, cmp.Or(o.demoMessages, 2500), 40, 60, ada, mia, theo)),
		p.store.createAll(ctx, demoObjects(globex, 20, 2, 3, gus)),
	)
	if err != nil {
		return nil, err
	}
	keys = make(map[string]string)
	pairs := make(map[string]*token.KeyPair) // before the transaction: they take a while
	for _, of := range demoApps {
		of.app.ClientKey, _ = signing.Generate()
		keys[of.key] = of.app.ClientKey
		if of.app.Org != acme {
			continue
		}
		pair, err := demoPair(&of.app)
		if err != nil {
			return nil, err
		}
		pair.Exposed = of.app.listsKeys()
		pairs[of.key] = pair
	}
	return keys, p.stores.together(ctx, acme, func(tx *sql.Tx, in *sqlstore.In) error {
		return errors.Join(
			seedOrg(ctx, tx, auth.Org{Code: acme, Session: open(o.session)}, ada, mia, theo, rita, pat),
			seedOrg(ctx, tx, auth.Org{Code: globex, Session: open(auth.SessionPolicy{})}, gus, patThere, olga),
			putRole(ctx, tx, acme, readerRole),
			seedApps(ctx, tx, in, keys, pairs),
		)
	})
}

// open returns the policy of an org that is entered from other orgs with their password and code.
func open(s auth.SessionPolicy) auth.SessionPolicy {
	s.EnterWith = []string{session.MethodPassword, session.MethodCode}
	return s
}

func seedOrg(ctx context.Context, tx *sql.Tx, org auth.Org, accounts ...account) error {
	key := auth.OrgKey(org.Code)
	err := errors.Join(
		putOrg(ctx, tx, org),
		putRole(ctx, tx, key, auth.Role{Name: administrator}),
		putRole(ctx, tx, key, auth.Role{Name: member}),
	)
	for _, a := range accounts {
		err = errors.Join(err, addAccount(ctx, tx, a, ""))
	}
	return err
}

// seedApps makes the apps. Nobody knows their first secrets.
func seedApps(ctx context.Context, tx *sql.Tx, in *sqlstore.In, keys map[string]string, pairs map[string]*token.KeyPair) error {
	kept, err := in.Keys()
	for _, of := range demoApps {
		if err != nil {
			return err
		}
		_, secret := signing.Generate()
		of.app.ClientKey = keys[of.key]
		err = errors.Join(
			addApp(ctx, tx, in, of.app, secret, of.credential, nil),
			execIn(ctx, tx, nil, "INSERT INTO platform_demo (name, client_key) VALUES ($1, $2)", of.key, of.app.ClientKey),
		)
		if pair := pairs[of.key]; pair != nil && err == nil {
			err = kept.Put(ctx, pair)
		}
	}
	return err
}

func (p *platform) issue(ctx context.Context, keys map[string]string) (*facts, error) {
	f := &facts{BaseURL: p.guard.BaseURL, Org: acme, OtherOrg: globex, OtherAccountID: gus.ID}
	var err error
	for _, to := range []struct {
		id, email, password *string
		of                  account
	}{
		{&f.AccountID, &f.AccountEmail, &f.AccountPassword, mia},
		{&f.AdminAccountID, &f.AdminEmail, &f.AdminPassword, ada},
		{&f.ReaderAccountID, &f.ReaderEmail, &f.ReaderPassword, rita},
		{&f.TOTPAccountID, &f.TOTPAccountEmail, &f.TOTPPassword, theo},
		{&f.PersonID, &f.PersonEmail, &f.PersonPassword, pat},
		{&f.PersonOtherID, &f.PersonEmail, &f.PersonPassword, patThere},
		{new(string), &f.OtherAdminEmail, &f.OtherAdminPassword, olga},
	} {
		*to.id, *to.email = to.of.ID, to.of.Email
		err = errors.Join(err, p.newPassword(ctx, to.of, to.password))
	}
	err = errors.Join(err, p.newFactor(ctx, theo, &f.TOTPSecret))
	to := map[string][2]*string{
		"own": {&f.ClientKey, &f.ClientSecret}, "other": {&f.OtherClientKey, &f.OtherClientSecret},
		"narrow": {&f.NarrowClientKey, &f.NarrowClientSecret}, "v2": {&f.V2ClientKey, &f.V2ClientSecret},
	}
	for _, of := range demoApps {
		secret, failed := p.stores.credentials.Rotate(ctx, of.app.Org, keys[of.key], rotationGrace)
		*to[of.key][0], *to[of.key][1], err = keys[of.key], string(secret), errors.Join(err, failed)
	}
	if err != nil {
		return nil, err
	}
	return f, errors.Join(p.seedTokens(ctx, f), p.seedKey(ctx, f))
}

func (p *platform) newPassword(ctx context.Context, a account, password *string) error {
	*password = cmp.Or(*password, rand.Text())
	encoded, err := p.sessions.Passwords().Hash(ctx, *password)
	if err != nil {
		return err
	}
	return p.store.changePassword(ctx, "password.changed", a.Org, a.ID, encoded, func(stored *account) {
		*stored = a
		stored.Changed = time.Now()
	})
}

func (p *platform) newFactor(ctx context.Context, a account, to *string) error {
	f, err := p.stores.factors.Factor(ctx, a.Org, a.ID)
	if err != nil {
		return err
	}
	random := make([]byte, 20)
	rand.Read(random)
	secret := session.FactorSecret(random)
	*to = session.Enrolment{Secret: secret}.Base32()
	return p.stores.factors.Save(ctx, a.Org, a.ID, session.Factor{Version: f.Version, Secret: secret})
}

// demoPair makes the pairs of the demo's apps.
var demoPair = newPair

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
	limited.Expires, limited.MaxUses = time.Now().Add(time.Hour), 3
	t, minted, failed := minter.Limited(ctx, limited)
	f.LimitedToken = string(t)
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	return p.tokens.remember(ctx, acme, minted)
}

// seedKey makes an API key of the Integration app that ends with the secrets of this start. It is
// not counted among those that its account may have.
func (p *platform) seedKey(ctx context.Context, f *facts) error {
	key, record := p.apiKeys.mechanism.Formats[0].Generate()
	record.Grant = apikey.Grant{Prefix: record.Prefix, Account: f.AccountID, App: f.ClientKey, Name: "Demo", Scope: readerRole.Scope}
	record.Org, record.Created = acme, time.Now()
	record.Expires = record.Created.Add(rotationGrace)
	f.APIKey, f.APIKeyID = string(key), record.ID
	return p.stores.apiKeys.Add(ctx, record, math.MaxInt)
}

var demoTexts = []string{
	"Good morning", "Is the report ready?", "Nearly: one table is missing", "Thank you",
	"Who takes the next shift?", "I do", "The door is open again", "Lunch at noon", "See you tomorrow",
}

var demoLanguages = []string{"en", "de", "fr", "pt"}

var demoEpoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// demoObjects returns the objects of an org, which belong to its accounts in turn.
func demoObjects(org string, texts, threads, links int, accounts ...account) (all []*object) {
	add := func(of schema, n int, values map[string]any) *object {
		o := &object{ID: demoID(org, of.object, n+1), Org: auth.OrgKey(org), Type: of, Owner: accounts[n%len(accounts)].ID, Values: values}
		all = append(all, o)
		return o
	}
	for n := range texts {
		o := add(messages, n, map[string]any{
			"c_text":     fmt.Sprintf("%s (%d)", demoTexts[n%len(demoTexts)], n),
			sentPath:     demoEpoch.Add(time.Duration(n) * time.Minute).Format(dateLayout),
			"c_pinned":   n%10 == 0,
			languagePath: demoLanguages[n%len(demoLanguages)],
			secretPath:   fmt.Sprintf("hidden from everybody (%d)", n),
		})
		o.Values[authorPath] = o.Owner
		if n%7 != 6 {
			o.Values["c_likes"] = int64(n * 13 % 50)
		}
		if n%11 == 10 {
			o.Values[languagePath] = nil
		}
	}
	unfiled := all
	for n := range threads {
		o := add(conversations, n, map[string]any{"c_title": fmt.Sprintf("Conversation %d", n)})
		size := 2 * n // so one has none
		if n == 1 {
			size = 250 // more than a page
		}
		size = min(size, len(unfiled))
		for _, message := range unfiled[:size] {
			message.Values[parentPath] = o.ID
		}
		unfiled = unfiled[size:]
	}
	for n := range links {
		add(connections, n, map[string]any{"target": accounts[(n+1)%len(accounts)].ID, "access": int64(n%8 + 1)})
	}
	return all
}

func demoAccount(org auth.OrgKey, n int, name string, roles ...string) account {
	first, _, _ := strings.Cut(strings.ToLower(name), " ")
	return account{
		Account: auth.Account{ID: demoID(string(org), "account", n), Org: org, Roles: roles},
		Email:   first + "@" + string(org) + ".example",
		Name:    name,
	}
}

// ofPat makes an account one of the person who has several.
func ofPat(a account) account {
	a.Person, a.Email = demoID("", "person", 1), "pat@people.example"
	return a
}

// demoID returns an id that depends only on its arguments. It is the time of the
// first object, a hash of org and type, and a number. So ids sort by the number.
func demoID(org, object string, n int) string {
	kind := sha256.Sum256([]byte(org + "/" + object))
	return fmt.Sprintf("%08x%x%08x", demoEpoch.Unix(), kind[:4], n)
}

// demoKeys returns the client keys of the demo's apps by their keys in demoApps. They are not found
// before the demo orgs are complete.
func (s *store) demoKeys(ctx context.Context) (map[string]string, error) {
	keys := make(map[string]string)
	for _, of := range demoApps {
		var clientKey string
		err := s.db.QueryRowContext(ctx, "SELECT client_key FROM platform_demo WHERE name = $1", of.key).Scan(&clientKey)
		if err != nil {
			return nil, storeFailed(err)
		}
		keys[of.key] = clientKey
	}
	return keys, nil
}

func (s *store) isEmpty(ctx context.Context) (yes bool, err error) {
	err = s.db.QueryRowContext(ctx, "SELECT count(*) = 0 FROM platform_orgs").Scan(&yes)
	return yes, storeFailed(err)
}
