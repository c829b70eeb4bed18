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
	mux.HandleFunc("POST /keys", auth.Authenticated.Fresh(10*time.Minute), func(w http.ResponseWriter, r *http.Request) {
		key, err := create(r, s)
		if err != nil {
			auth.Fail(w, r, err)
			return
		}
		auth.Reply(w, r, envelope.Result[string]{Data: string(key)}) // the only time that it is shown
	})
}

const longest = 365 * 24 * time.Hour

func create(r *http.Request, s Saver) (Key, error) {
	var ask struct {
		Scope []string `json:"scope"`
		Days  int      `json:"days"`
	}
	if _, err := body.Read(r, 16<<10, &ask); err != nil {
		return "", err
	}
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
	if err := by.MayMake(false, auth.Making{Account: by.Account, Scope: scope, Expires: expires}); err != nil {
		return "", err
	}
	key, record := New(by.Org, by.Account, ask.Scope, expires)
	ctx, cancel := tenant.Bound(r.Context())
	defer cancel()
	return key, auth.Unavailable(s.Save(ctx, record))
}
