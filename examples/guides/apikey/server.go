package apikey

import (
	"context"
	"net/http"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/envelope/body"
)

// Saver stores the record of a new key.
type Saver interface {
	Save(ctx context.Context, r Record) error
}

// Register adds the route on which accounts make keys for themselves.
func Register(mux *auth.Mux, s Saver) {
	mux.Handle("POST /keys", auth.Authenticated.Fresh(10*time.Minute), body.Handle(func(_ http.ResponseWriter, r *http.Request, ask newKey) (envelope.Result[string], error) {
		key, err := create(r, s, ask)
		return envelope.Result[string]{Data: string(key)}, err // the only time that it is shown
	}))
}

const longest = 365 * 24 * time.Hour

type newKey struct {
	Scope []string `json:"scope"`
	Days  int      `json:"days"`
}

func create(r *http.Request, s Saver, ask newKey) (Key, error) {
	by, tenant := auth.From(r.Context()), auth.TenantFrom(r.Context())
	life := time.Duration(ask.Days) * 24 * time.Hour
	if ask.Days < 1 || life > longest {
		return "", &auth.Error{Detail: auth.DetailBody, Path: "days", Reason: "must be 1 to 365"}
	}
	if err := tenant.Vet("scope", ask.Scope); err != nil {
		return "", err
	}
	scope, err := tenant.Compile("api key", ask.Scope)
	if err != nil {
		return "", err
	}
	expires := tenant.Now().Add(life)
	// Nobody makes a key that can do more than the caller, or lasts longer.
	if err := by.MayMake(auth.Making{Account: by.Account, Scope: scope, Expires: expires}); err != nil {
		return "", err
	}
	key, record := New(by.Org, by.Account, ask.Scope, expires)
	ctx, cancel := tenant.Bound(r.Context())
	defer cancel()
	return key, auth.Unavailable(s.Save(ctx, record))
}
