package apikey_test

import (
	"bytes"
	"crypto/rand"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	lib "github.com/tenantkit/tenantkit/auth/apikey"
	"github.com/tenantkit/tenantkit/examples/guides/apikey"
	"github.com/tenantkit/tenantkit/scope"
)

// made returns n keys of each format.
func made(t *testing.T, n int) (keys []string) {
	t.Helper()
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	directory.PutAccount(auth.Account{ID: "root", Org: "acme"})
	mechanism := &lib.Mechanism{Formats: apikey.Formats, Store: lib.NewMemory(), PerAccount: n * len(apikey.Formats)}
	guard := &auth.Guard{BaseURL: "https://api.example.com", Directory: directory, Mechanisms: []auth.Mechanism{mechanism}, Roles: auth.RolesDoNotLimit}
	by := auth.Principal{Org: "acme", Account: "root", Caller: "root", Scope: scope.Unscoped(), Granted: scope.Unscoped(), Authenticated: time.Now()}
	mux := guard.Mux()
	mux.HandleFunc("GET /keys", auth.Public, func(_ http.ResponseWriter, r *http.Request) {
		for i := range n * len(apikey.Formats) {
			grant := lib.Grant{Prefix: apikey.Formats[i%len(apikey.Formats)].Prefix}
			key, _, err := mechanism.Keys().Make(r.Context(), by, auth.TenantFrom(r.Context()), grant)
			if err != nil {
				t.Error(err)
				return
			}
			keys = append(keys, string(key))
		}
	})
	mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/acme/v2/keys", nil))
	return keys
}

// lookPath returns a program, or skips the test.
func lookPath(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skip(err)
	}
	return path
}

// TestGitleaks runs gitleaks with the rules of the guide over files that have 2,000 keys, and over random
// base32 of three alphabets.
func TestGitleaks(t *testing.T) {
	gitleaks, folder := lookPath(t, "gitleaks"), t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	around := []string{"export ACME_KEY=%\n", "{\"key\": \"%\"}\n", "Authorization: Bearer %\n", "see %.\n", "curl 'https://api.example.com/?k=%&a=b'\n"}
	keys := made(t, 1000)
	var text strings.Builder
	for i, key := range keys { // in small files: gitleaks reads a large one in parts, and may cut a key
		text.WriteString(strings.Replace(around[i%len(around)], "%", key, 1))
		if i%100 == 99 {
			write(fmt.Sprintf("keys%d.txt", i), text.String())
			text.Reset()
		}
	}
	random := make([]byte, 1<<18)
	for i, alphabet := range []string{"0123456789abcdefghjkmnpqrstvwxyz", "abcdefghijklmnopqrstuvwxyz234567", "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"} {
		rand.Read(random)
		encoded := base32.NewEncoding(alphabet).EncodeToString(random)
		text.Reset()
		for begin := 0; begin+60 < len(encoded); begin += 60 { // alone, and behind what comes near a prefix
			fmt.Fprintf(&text, "%s acme_live%[1]s acme_dev_%[2]s acme_live_%[1]s\n", encoded[begin:begin+60], encoded[begin:begin+52])
		}
		write(fmt.Sprintf("random%d.txt", i), text.String())
	}
	report := filepath.Join(t.TempDir(), "report.json")
	out, err := exec.CommandContext(t.Context(), gitleaks, "dir", "--config", "gitleaks.toml", "--report-path", report, "--exit-code", "0", "--no-banner", folder).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var found []struct{ Secret, File string }
	if text, err := os.ReadFile(report); err != nil || json.Unmarshal(text, &found) != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	left := map[string]bool{}
	for _, key := range keys {
		left[key] = true
	}
	for _, f := range found {
		if !left[f.Secret] {
			t.Errorf("an alarm for %q in %s", f.Secret, filepath.Base(f.File))
		}
		delete(left, f.Secret)
	}
	if len(left) != 0 {
		t.Errorf("%d of %d keys are not found: %v", len(left), len(keys), left)
	}
}

// The checksum as others compute it. Each program reads keys, and prints how many are right.
var checkers = map[string]string{
	"python3": `
import sys, zlib
A = "0123456789abcdefghjkmnpqrstvwxyz"
def right(key):
    c = zlib.crc32(key[:-7].encode())
    return key[-7:] == "".join(A[c >> 5*i & 31] for i in range(6, -1, -1))
print(sum(right(line.strip()) for line in sys.stdin))
`,
	"node": `
const { crc32 } = require('node:zlib');
const A = '0123456789abcdefghjkmnpqrstvwxyz';
const right = (key) => {
  const c = crc32(key.slice(0, -7));
  return key.slice(-7) === [6, 5, 4, 3, 2, 1, 0].map((i) => A[Math.floor(c / 32 ** i) % 32]).join('');
};
console.log(require('node:fs').readFileSync(0, 'utf8').trim().split('\n').filter(right).length);
`,
}

func TestOthersComputeTheChecksum(t *testing.T) {
	keys := made(t, 500)
	for name, program := range checkers {
		t.Run(name, func(t *testing.T) {
			flag := map[string]string{"python3": "-c", "node": "-e"}[name]
			for what, c := range map[string]struct {
				change func(string) string
				want   int
			}{
				"right": {func(key string) string { return key }, len(keys)},
				"wrong": {func(key string) string { return key[:30] + strings.ToUpper(key[30:31]) + "x" + key[32:] }, 0},
			} {
				var text bytes.Buffer
				for _, key := range keys {
					if changed := c.change(key); c.want > 0 || changed != key {
						fmt.Fprintln(&text, changed)
					}
				}
				cmd := exec.CommandContext(t.Context(), lookPath(t, name), flag, program)
				cmd.Stdin = &text
				out, err := cmd.CombinedOutput()
				if got := strings.TrimSpace(string(out)); err != nil || got != fmt.Sprint(c.want) {
					t.Errorf("%s: %s of %d, %v", what, got, len(keys), err)
				}
			}
		})
	}
}
