package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// jobServer answers what the jobs ask, and remembers their requests.
func jobServer(t *testing.T) (environmentLines string, requests *[]string) {
	requests = new([]string)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		path := strings.TrimPrefix(r.URL.Path, "/acme/v2")
		*requests = append(*requests, strings.TrimSpace(r.Method+" "+path+" "+string(body)))
		switch {
		case path == "/schemas":
			fmt.Fprint(w, `{"object":"list","hasMore":false,"data":[{"plural":"c_notes","properties":[{"fqpp":"c_text"},{"fqpp":"c_likes","sortable":true}]}]}`)
		case strings.HasSuffix(path, "/secret"):
			fmt.Fprint(w, `{"object":"result","data":{"secret":"another"}}`)
		case r.Method == http.MethodDelete:
			fmt.Fprint(w, `{"object":"result","data":2}`)
		case path == "/admin/accounts/ann":
			fmt.Fprint(w, `{"_id":"ann","object":"account","email":"ann@acme.example","big":9007199254740993}`)
		default:
			fmt.Fprint(w, `{"object":"list","hasMore":false,"data":[{"_id":"a","object":"x"}]}`)
		}
	}))
	t.Cleanup(server.Close)
	return environment(server.URL), requests
}

func TestJobs(t *testing.T) {
	env, requests := jobServer(t)
	item := `{"_id":"a","object":"x"}` + "\n"
	for _, test := range []struct{ line, request, out string }{
		{"rotate app", `POST /apps/app/secret {"grace":86400}`, "another\n"},
		{"rotate --overlap 1h", `POST /apps/` + key + `/secret {"grace":3600}`, "another\n"},
		{"rotate --overlap 0s app", `POST /apps/app/secret {"grace":0}`, "another\n"},
		{"tokens app", "GET /apps/app/tokens", item},
		{"tokens --of ann app", "GET /apps/app/subjects/ann/tokens", item},
		{"tokens --revoke j app -q .data", "DELETE /apps/app/tokens/j", "2\n"},
		{"tokens --of ann --revoke all app -q .data", "DELETE /apps/app/subjects/ann/tokens", "2\n"},
		{"keys --app app", "GET /apps/app/keys", item},
		{"accounts", "GET /admin/accounts", item},
		{"accounts ann -q .email", "GET /admin/accounts/ann", "ann@acme.example\n"},
		{"accounts ann -q .big", "GET /admin/accounts/ann", "9007199254740993\n"},
		{"accounts ann -q {email,n:(1,2)}", "GET /admin/accounts/ann", `{"email":"ann@acme.example","n":1}` + "\n" + `{"email":"ann@acme.example","n":2}` + "\n"},
		{"sessions ann", "GET /admin/accounts/ann/sessions", item},
		{"sessions --end s ann -q .data", "DELETE /admin/accounts/ann/sessions/s", "2\n"},
		{"sessions --end all ann -q .data", "DELETE /admin/accounts/ann/sessions", "2\n"},
	} {
		*requests = nil
		out, _, err := client(t, "", env, strings.Fields(test.line)...)
		if err != nil || out != test.out || !slices.Equal(*requests, []string{test.request}) {
			t.Errorf("%s: %v\n%q\n%q", test.line, err, *requests, out)
		}
	}
	for _, line := range []string{"rotate --overlap 1500ms app", "accounts -q .[", "sessions"} {
		_, _, err := client(t, "", env, strings.Fields(line)...)
		if status := (cli{errs: io.Discard}).status(err); status != statusUsage {
			t.Errorf("%s: status %d, %v", line, status, err)
		}
	}
	if _, _, err := client(t, "", env, "accounts", "ann", "-q", ".email | keys"); err == nil || !strings.Contains(err.Error(), "--query: ") {
		t.Errorf("a query that fails: %v", err)
	}
}

func TestPathsAndPropertiesAreCompleted(t *testing.T) {
	env, _ := jobServer(t)
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"get", ""}, "/c_notes"},
		{[]string{"list", "--paths", ""}, ""},
		{[]string{"list", "/c_notes", "--paths", "c_text,"}, "c_text,c_text c_text,c_likes"},
		{[]string{"list", "/c_notes", "--sort", ""}, "c_likes"},
	} {
		out, _, err := client(t, "", env, append([]string{"__completeNoDesc"}, test.args...)...)
		offered, _, _ := strings.Cut(out, ":")
		if diff := cmp.Diff(test.want, strings.Join(strings.Fields(offered), " ")); err != nil || diff != "" {
			t.Errorf("%q: %v (-want +got):\n%s", test.args, err, diff)
		}
	}
}

func TestAServerThatIsNotThereHasAStatusOfItsOwn(t *testing.T) {
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, line := range []string{"get /a", "list /a", "accounts", "tail"} {
		_, _, err := client(t, "", environment(gone.URL), strings.Fields(line)...)
		if status := (cli{errs: new(bytes.Buffer)}).status(err); status != statusUnreachable {
			t.Errorf("%s: status %d, %v", line, status, err)
		}
	}
}
