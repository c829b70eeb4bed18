package enginetest

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
)

// Administrators give up their role concurrently, each through another instance of the reference
// server. All but one succeed, so an org keeps an administrator.
func TestFleetKeepsAnAdministrator(t *testing.T) {
	t.Parallel()
	for name, home := range homesOfFleets {
		if name != "SQLite" && name != "PostgreSQL" {
			continue // Redis stores no accounts
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, 3, home(t))
			made := func(path, body string) map[string]any {
				t.Helper()
				got := f.send(t, 0, f.signed("POST", path, body))
				var reply map[string]any
				if err := json.Unmarshal(got.body, &reply); err != nil || got.status != 200 {
					t.Fatalf("%s: %d %s", path, got.status, got.body)
				}
				return reply
			}
			type admin struct{ account, key, secret string }
			admins := []admin{{f.facts["admin_account_id"], f.facts["client_key"], f.facts["client_secret"]}}
			for i := range 5 {
				account := made("/admin/accounts", fmt.Sprintf(`{"email":"admin%d@acme.example","roles":["administrator"]}`, i))["_id"].(string)
				app := made("/apps", `{"name":"x","credential":{"account":"`+account+`"}}`)
				admins = append(admins, admin{account, app["_id"].(string), app["secret"].(string)})
			}
			ends := []func(account string) (method, path, body string){
				func(account string) (string, string, string) {
					return "PATCH", "/admin/accounts/" + account, `{"roles":["member"]}`
				},
				func(account string) (string, string, string) {
					return "PATCH", "/admin/accounts/" + account, `{"disabled":true}`
				},
				func(account string) (string, string, string) {
					return "POST", "/admin/accounts/" + account + "/deactivate", ""
				},
			}
			outcomes := make([]outcome, len(admins))
			var all sync.WaitGroup
			for i, a := range admins {
				all.Go(func() {
					method, path, body := ends[i/2%len(ends)](a.account)
					outcomes[i] = f.send(t, i, f.signedBy(a.key, a.secret, method, path, body))
				})
			}
			all.Wait()
			kept := 0
			for i, got := range outcomes {
				switch {
				case got.status == 409 && got.detail == "conflict.unspecified":
					kept++
					reply := f.send(t, i+1, f.signedBy(admins[i].key, admins[i].secret, "GET", "/admin/accounts", ""))
					if reply.status != 200 {
						t.Errorf("the one that is left: %d %s", reply.status, reply.body)
					}
				case got.status != 200:
					t.Errorf("administrator %d: %d %s", i, got.status, got.body)
				}
			}
			if kept != 1 {
				t.Errorf("%d administrators are left, want 1", kept)
			}
		})
	}
}
