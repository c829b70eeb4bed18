package signature_test

import (
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/signature"
	"github.com/tenantkit/tenantkit/internal/testing/rawhttp"
	"github.com/tenantkit/tenantkit/signing"
)

// attacks is the file of requests that other implementations refuse, too. The README beside it
// describes its members.
type attacks struct {
	Version     int
	Now         int64
	BaseURL     string
	Credentials []struct {
		ClientKey    string
		ClientSecret signing.Secret
		Org, Account string
		Accounts     []string
	}
	Accounts []auth.Account
	Rows     []struct {
		Name     string
		Requests []struct {
			Method, Target string
			Headers        [][2]string
			Status         int // of all but the last one; 0: 200
		}
		Status         int
		Fault, Account string
	}
}

func readAttacks(t *testing.T) (file attacks) {
	t.Helper()
	text, err := os.ReadFile("../../internal/interop/conformance/v1/attacks.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &file); err != nil {
		t.Fatal(err)
	}
	if file.Version != 1 || len(file.Rows) < 62 {
		t.Fatalf("version %d with %d rows", file.Version, len(file.Rows))
	}
	return file
}

// world is a server with the orgs and credentials of the file.
func (file attacks) world(t *testing.T) *world {
	return newWorld(t, func(w *world) {
		w.guard.BaseURL, w.directory, w.credentials = file.BaseURL, new(auth.Memory), signature.Memory{}
		for _, a := range file.Accounts {
			w.directory.PutOrg(auth.Org{Code: string(a.Org)})
			w.directory.PutAccount(a)
		}
		for _, c := range file.Credentials {
			w.directory.PutApp(auth.App{ClientKey: c.ClientKey, Org: auth.OrgKey(c.Org)})
			w.credentials[c.ClientKey] = &signature.Credential{Key: mustKey(t, c.ClientKey, c.ClientSecret), Account: c.Account, Accounts: c.Accounts}
		}
		w.guard.Directory, w.mechanism.Credentials = w.directory, w.credentials
		w.guard.Now = func() time.Time { return time.UnixMilli(file.Now) }
	})
}

func TestAttacksOfTheConformanceFile(t *testing.T) {
	file := readAttacks(t)
	for _, row := range file.Rows {
		t.Run(row.Name, func(t *testing.T) {
			w := file.world(t)
			var reply rawhttp.Reply
			for i, r := range row.Requests {
				lines := []string{r.Method + " " + r.Target + " HTTP/1.1"}
				for _, h := range r.Headers {
					lines = append(lines, h[0]+": "+h[1])
				}
				reply = rawhttp.Send(t, w.Server, lines...)
				if last := i == len(row.Requests)-1; !last && reply.StatusCode != max(r.Status, 200) {
					t.Fatalf("request %d: %d %s", i, reply.StatusCode, reply.Text)
				}
			}
			want(t, reply, row.Status, row.Fault+row.Account)
		})
	}
}
