// Package mobile keeps people signed in on their phones: a long token for each device, which
// renews itself, and a list of the devices by name.
package mobile

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/auth/session"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/envelope/body"
	"github.com/tenantkit/tenantkit/token"
)

// Table is the application's table of devices, in the database of the Store.
const Table = `CREATE TABLE IF NOT EXISTS devices (token_id TEXT PRIMARY KEY, name TEXT NOT NULL)`

// Devices are the routes. Tokens must have the ledger of Store, and App a key pair in it.
type Devices struct {
	DB     *sql.DB
	Store  *sqlstore.Store
	Tokens *bearer.Mechanism
	App    string // client key that signs the tokens of the phones
}

// Lasts is how long a phone stays signed in. Renewing does not prolong it.
const Lasts = 90 * 24 * time.Hour

// Register adds the routes to a server.
func (d *Devices) Register(mux *auth.Mux) {
	fresh := auth.Authenticated.By(session.Name).Fresh(10*time.Minute, session.Name)
	mux.Handle("POST /devices", fresh, body.Handle(d.add))
	mux.Handle("POST /devices/renew", auth.Public, body.None(d.renew))
	mux.Handle("GET /devices", auth.Authenticated, body.None(d.list))
	mux.Handle("DELETE /devices/{id}", auth.Authenticated, body.None(d.remove))
}

type newDevice struct {
	Name string `json:"name"`
}

type signedIn struct {
	Token   string    `json:"token"`
	Expires time.Time `json:"expires"`
}

// add signs a phone in. The token and its name are committed together.
func (d *Devices) add(_ http.ResponseWriter, r *http.Request, ask newDevice) (s signedIn, err error) {
	if ask.Name == "" || len(ask.Name) > 100 {
		return s, &auth.Error{Detail: auth.DetailBody, Path: "name"}
	}
	by, tenant := auth.From(r.Context()), auth.TenantFrom(r.Context())
	wish := bearer.Wish{Permanent: true, Claims: token.Claims{
		Issuer: d.App, Subject: by.Account, Scope: []string{"object"}, Expires: tenant.Now().Add(Lasts),
	}}
	made := auth.Event{Verb: "token.made", Reason: "permanent", App: d.App, Account: by.Account}
	err = d.together(r.Context(), func(tx *sql.Tx, in *sqlstore.In) error {
		keys, err := in.Keys()
		if err != nil {
			return err
		}
		signed, claims, err := d.Tokens.MintIn(r.Context(), in.Ledger(), keys, by, tenant, wish)
		if err != nil {
			return err
		}
		s, made.Token = signedIn{string(signed), claims.Expires}, claims.RecordID()
		_, err = tx.ExecContext(r.Context(), "INSERT INTO devices (token_id, name) VALUES ($1, $2)", claims.RecordID(), ask.Name)
		return auth.Unavailable(err)
	})
	if err == nil {
		auth.Emit(r.Context(), made) // only now: before the commit there is no token
	}
	return s, err
}

// renew gives the phone that asks a successor of its token, with the same record.
func (d *Devices) renew(_ http.ResponseWriter, r *http.Request) (signedIn, error) {
	signed, claims, err := d.Tokens.Renew(r, bearer.Less{})
	return signedIn{string(signed), claims.Expires}, err
}

type device struct {
	ID      string    `json:"id"`
	Name    string    `json:"name"`
	Renewed time.Time `json:"renewed"`
	This    bool      `json:"this"`
}

// list returns the devices that are signed in. Which they are only the ledger knows.
func (d *Devices) list(_ http.ResponseWriter, r *http.Request) (list []device, err error) {
	by := auth.From(r.Context())
	list = []device{}
	for record, err := range token.Records(r.Context(), d.Tokens.Ledger, d.holder(by)) {
		if err != nil {
			return nil, auth.Unavailable(err)
		}
		one := device{ID: record.ID, Renewed: record.Issued, This: record.ID == by.TokenID}
		err := d.DB.QueryRowContext(r.Context(), "SELECT name FROM devices WHERE token_id = $1", record.ID).Scan(&one.Name)
		if errors.Is(err, sql.ErrNoRows) {
			continue // a token that is no device's
		}
		if err != nil {
			return nil, auth.Unavailable(err)
		}
		list = append(list, one)
	}
	return list, nil
}

// remove signs a device of the account out, whichever successor it holds.
func (d *Devices) remove(_ http.ResponseWriter, r *http.Request) (string, error) {
	by, id := auth.From(r.Context()), r.PathValue("id")
	return id, d.together(r.Context(), func(tx *sql.Tx, in *sqlstore.In) error {
		err := in.Ledger().Revoke(r.Context(), d.holder(by), id)
		if errors.Is(err, token.ErrNotFound) {
			return auth.ErrNotFound
		}
		if err == nil {
			_, err = tx.ExecContext(r.Context(), "DELETE FROM devices WHERE token_id = $1", id)
		}
		return auth.Unavailable(err)
	})
}

func (d *Devices) holder(by auth.Principal) token.Holder {
	return token.Holder{Org: by.Org, ClientKey: d.App, Subject: by.Account}
}

// together commits the application's rows and the library's, or none.
func (d *Devices) together(ctx context.Context, do func(*sql.Tx, *sqlstore.In) error) error {
	tx, err := d.DB.BeginTx(ctx, nil)
	if err != nil {
		return auth.Unavailable(err)
	}
	defer tx.Rollback()
	in, err := d.Store.In(ctx, tx)
	if err != nil {
		return err
	}
	if err := do(tx, in); err != nil {
		return err
	}
	return auth.Unavailable(tx.Commit())
}

// Stolen calls tell for each token of which two have a copy. The family of the token has ended: both
// must sign in again. Set it as auth.Guard.Observe, or call it there.
func Stolen(tell func(ctx context.Context, org auth.OrgKey, account string)) func(context.Context, auth.Event) {
	return func(ctx context.Context, e auth.Event) {
		if e.Verb == "token.reused" {
			tell(ctx, e.Org, e.Account)
		}
	}
}
