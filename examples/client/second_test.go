package main

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

var memberOf = regexp.MustCompile(`^sig=(\(([^)]*)\);created=\d+;nonce="[^"]{16,128}";keyid="` + key + `";alg="hmac-sha256";tag="service-v2")$`)

// secondService is a server that echoes the query, the account and the body of a request
// if its signature of version 2 is correct. It checks the signature with the standard
// library only.
func secondService(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if !secondMatches(r, body) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, `{"query":%q,"account":%q,"body":%s}`,
			r.URL.RawQuery, r.Header.Get("Service-Client-Account"), cmp.Or(string(body), "null"))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// secondMatches rebuilds the signature base of RFC 9421, section 2.5.
func secondMatches(r *http.Request, body []byte) bool {
	member := memberOf.FindStringSubmatch(r.Header.Get("Signature-Input"))
	if member == nil {
		return false
	}
	sum := sha256.Sum256(body)
	digest := "sha-256=:" + base64.StdEncoding.EncodeToString(sum[:]) + ":"
	if len(body) > 0 && (r.Header.Get("Content-Digest") != digest || !strings.Contains(member[2], `"content-digest"`)) {
		return false
	}
	values := map[string]string{
		"@method": r.Method, "@authority": r.Host, "@path": r.URL.EscapedPath(), "@query": "?" + r.URL.RawQuery,
		"content-digest": digest, "service-client-account": r.Header.Get("Service-Client-Account"),
	}
	base := ""
	for component := range strings.FieldsSeq(member[2]) {
		base += component + ": " + values[strings.Trim(component, `"`)] + "\n"
	}
	mac := hmac.New(sha256.New, []byte(key+secret))
	io.WriteString(mac, base+`"@signature-params": `+member[1])
	return r.Header.Get("Signature") == "sig=:"+base64.StdEncoding.EncodeToString(mac.Sum(nil))+":"
}

func TestSignatureVersion2(t *testing.T) {
	url := secondService(t)
	env := environment(url)
	for name, test := range map[string]struct {
		environment string
		args        []string
		want        string
	}{
		"get":  {env, []string{"get", "--signature", "2", "/echo?limit=3&paths[]=c_text"}, `"query": "limit=3&paths[]=c_text"`},
		"post": {env, []string{"post", "--signature", "2", "/echo", `{"a":1}`}, `"a": 1`},
		"by the environment, as another account": {
			env + "\nTENANTKIT_SIGNATURE=2", []string{"get", "--account", "ann", "/echo"}, `"account": "ann"`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			out, _, err := client(t, "", test.environment, test.args...)
			if err != nil || !strings.Contains(out, test.want) {
				t.Errorf("%v, want %s in %s", err, test.want, out)
			}
		})
	}
	t.Run("a curl command", func(t *testing.T) {
		if _, err := exec.LookPath("curl"); err != nil {
			t.Skip(err)
		}
		out, _, err := client(t, "", env, "sign", "--curl", "--signature", "2", "--account", "ann", "--data", `{"it's":"$HOME"}`, "POST", "/echo?paths[]=a'b")
		if err != nil {
			t.Fatal(err)
		}
		reply, err := exec.Command("sh", "-c", out).Output()
		if want := `{"query":"paths[]=a'b","account":"ann","body":{"it's":"$HOME"}}`; err != nil || string(reply) != want {
			t.Errorf("%v %s, want %s\n%s", err, reply, want, out)
		}
		changed := strings.Replace(out, "HOME", "ROOT", 1)
		if reply, err := exec.Command("sh", "-c", changed).Output(); err != nil || len(reply) > 0 {
			t.Errorf("another body: %v %s", err, reply)
		}
	})
}
