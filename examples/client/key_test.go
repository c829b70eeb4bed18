package main

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"
)

func TestKeys(t *testing.T) {
	var asked string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		asked = r.Method + " " + r.URL.Path + " " + r.URL.Query().Get("where") + " " + string(text)
		switch r.Method {
		case http.MethodGet:
			io.WriteString(w, `{"object":"list","data":[{"_id":"id1","object":"key","name":"x"}],"hasMore":false}`)
		case http.MethodDelete:
			io.WriteString(w, `{"object":"result","data":true}`)
		default:
			io.WriteString(w, `{"_id":"id1","object":"key","key":"acme_id1secret"}`)
		}
	}))
	defer server.Close()
	env := environment(server.URL)
	own := "/acme/v2/apps/" + key + "/keys"
	const shown, listed, gone = "acme_id1secret\n", `{"_id":"id1","object":"key","name":"x"}` + "\n", "{\n  \"object\": \"result\",\n  \"data\": true\n}\n"
	for _, test := range []struct {
		name      string
		args      []string
		want, out string
	}{
		{"a name alone", []string{"make", "Partner"}, `POST ` + own + `  {"name":"Partner","scope":[]}`, shown},
		{"with everything", []string{"make", "--app", "other", "--for", "ann", "--scope", "object.read", "--scope", "admin", "--network", "192.0.2.0/24", "--uses", "3", "--life", "24h", "Partner"},
			`POST /acme/v2/apps/other/keys  {"name":"Partner","account":"ann","scope":["object.read","admin"],"networks":["192.0.2.0/24"],"uses":3,"expires":"TIME"}`, shown},
		{"its reply", []string{"make", "--json", "Partner"}, `POST ` + own + `  {"name":"Partner","scope":[]}`, "{\n  \"_id\": \"id1\",\n  \"object\": \"key\",\n  \"key\": \"acme_id1secret\"\n}\n"},
		{"replaced at once", []string{"replace", "id1"}, `POST ` + own + `/id1/replace  {"overlap":0}`, shown},
		{"replaced with an overlap", []string{"replace", "--overlap", "24h", "--life", "48h", "id1"}, `POST ` + own + `/id1/replace  {"overlap":86400,"expires":"TIME"}`, shown},
		{"listed", []string{"list"}, `GET ` + own + `  `, listed},
		{"listed that expire", []string{"list", "--expiring", "336h"}, `GET ` + own + ` {"expires":{"$lt":"TIME"}} `, listed},
		{"revoked", []string{"revoke", "id1"}, `DELETE ` + own + `/id1  `, gone},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, _, err := client(t, "", env, append([]string{"key"}, test.args...)...)
			asked := regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+Z`).ReplaceAllString(asked, "TIME")
			if err != nil || out != test.out || asked != test.want {
				t.Errorf("%v, printed %q, asked\n%s, want\n%s", err, out, asked, test.want)
			}
		})
	}
	for _, args := range [][]string{{"make"}, {"make", "--life", "1500ms", "x"}, {"replace", "--overlap", "-1s", "x"}, {"revoke"}, {"list", "x"}, {"other"}} {
		if _, _, err := client(t, "", env, append([]string{"key"}, args...)...); !errors.As(err, new(usageError)) {
			t.Errorf("%v: %v", args, err)
		}
	}
}
