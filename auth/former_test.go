package auth_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
)

// renamed is a Directory of orgs that have had other codes.
type renamed struct {
	*auth.Memory
	orgs []auth.Org // a later one wins
}

func (d renamed) Org(_ context.Context, code string) (found *auth.Org, err error) {
	for i := range d.orgs {
		o := &d.orgs[i]
		if o.Code == code {
			return o, nil
		}
		if slices.Contains(o.FormerCodes, code) {
			found = o
		}
	}
	if found == nil {
		return nil, auth.ErrNotFound
	}
	return found, nil
}

// An org goes on under its former code, with the URLs that its clients know, until another
// org takes the code.
func TestFormerCodesAreServed(t *testing.T) {
	roads := auth.Org{Code: "roads", ID: "o-1", FormerCodes: []string{"streets"}}
	taken := auth.Org{Code: "streets", ID: "o-2"}
	disabled := roads
	disabled.Disabled = true
	for _, c := range []struct {
		name   string
		serves bool
		orgs   []auth.Org
		code   string
		want   string // org and URL; "": 404
	}{
		{"the current code", true, []auth.Org{roads}, "roads", `"o-1 https://api.example.test/roads/v2 true true"`},
		{"a former code", true, []auth.Org{roads}, "streets", `"o-1 https://api.example.test/streets/v2 true true"`},
		{"a former code that another org has taken", true, []auth.Org{roads, taken}, "streets", `"o-2 https://api.example.test/streets/v2 true false"`},
		{"another code", true, []auth.Org{roads}, "paths", ""},
		{"a former code of a disabled org", true, []auth.Org{disabled}, "streets", ""},
		{"a former code, unless the Guard serves it", false, []auth.Org{roads}, "streets", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := renamed{new(auth.Memory), c.orgs}
			for _, id := range []string{"o-1", "o-2"} {
				d.PutAccount(auth.Account{ID: "ann", Org: auth.OrgKey(id)})
			}
			g := &auth.Guard{Roles: auth.RolesDoNotLimit, BaseURL: "https://api.example.test", Directory: auth.Cached(d, 0), OrgIDs: true, FormerCodes: c.serves,
				Mechanisms: []auth.Mechanism{inKey{letter{name: "Wax", presence: auth.InHeader}}}}
			mux := g.Mux()
			mux.HandleFunc("GET /all", auth.Authenticated, func(w http.ResponseWriter, r *http.Request) {
				tenant, took := auth.TenantFrom(r.Context()), ""
				for _, code := range []string{"/streets", "/roads"} {
					if tenant.Takes("https://api.example.test" + code + "/v2") {
						took += " true"
					} else {
						took += " false"
					}
				}
				auth.Reply(w, r, string(auth.From(r.Context()).Org)+" "+tenant.URL()+took)
			})
			for range 2 { // also from the cache
				w := do(mux, "GET", "/"+c.code+"/v2/all", "Letter-Wax", "ann")
				if got := strings.TrimSpace(w.Body.String()); c.want != "" && got != c.want || c.want == "" && w.Code != 404 {
					t.Errorf("got %d %s, want %s", w.Code, got, c.want)
				}
			}
			if o := d.orgs[0]; o.Code != "roads" || !slices.Equal(o.FormerCodes, []string{"streets"}) {
				t.Errorf("the Directory's org is changed: %+v", o)
			}
		})
	}
}
