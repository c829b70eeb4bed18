package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/scope"
)

var (
	message1      = demoID(acme, "c_message", 1)
	message2      = demoID(acme, "c_message", 2)
	conversation3 = demoID(acme, "c_conversation", 3) // with four messages
	connection1   = demoID(acme, "connection", 1)
	nobody        = strings.Repeat("0", 24) // an id without an object
)

// scoped is a platform with demo data. Each caller is an administrator of acme,
// with the scope that a test sets.
type scoped struct {
	*server
	platform *platform
}

func startScoped(t *testing.T) *scoped {
	t.Helper()
	p := parts(t, io.Discard)
	if _, err := p.seed(t.Context(), options{demoMessages: fewMessages}); err != nil {
		t.Fatal(err)
	}
	return &scoped{&server{faults: "service"}, p}
}

func (s *scoped) call(t *testing.T, method, path, body string, chains ...string) answer {
	t.Helper()
	set, err := scope.Compile("test", chains...)
	if err != nil {
		t.Fatal(err)
	}
	p := *s.platform
	p.guard = &auth.Guard{
		Roles:     auth.RolesDoNotLimit,
		BaseURL:   "http://127.0.0.1",
		Directory: p.store,
		Mechanisms: []auth.Mechanism{authtest.As(auth.Principal{
			Account: demoID(acme, "account", 1),
			Roles:   []string{administrator, member},
			Scope:   set,
		}), p.signatures, p.tokens.mechanism, p.sessions}, // needs and endpoints name them
	}
	r := httptest.NewRequest(method, "/acme/v2"+path, strings.NewReader(body))
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	p.handler(p.routes()).ServeHTTP(w, r)
	return answer{w.Code, w.Header(), w.Body.String()}
}

func (s *scoped) get(t *testing.T, path string, chains ...string) answer {
	t.Helper()
	return s.call(t, http.MethodGet, path, "", chains...)
}

func TestNarrowScope(t *testing.T) {
	t.Parallel()
	s := startScoped(t)
	const narrow = "object.read.c_message.*.c_text"
	bare := value{"_id": message1, "object": "c_message"}
	text := value{"_id": message1, "object": "c_message", "c_text": "Good morning (0)"}
	for _, test := range []struct {
		name, paths string
		want        value
	}{
		{"_id and object when nothing is asked", "", bare},
		{"what is asked and readable", "&paths[]=c_text&paths[]=c_author", text},
		{"nothing that is not readable", "&paths[]=c_author&paths[]=c_meta&paths[]=c_secret", bare},
	} {
		t.Run("a list shows "+test.name, func(t *testing.T) {
			got := items(t, s.get(t, "/c_messages?limit=1"+test.paths, narrow).ok(t), true)
			if diff := cmp.Diff([]any{test.want}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for _, test := range []struct {
		name, query string
		want        value
	}{
		{"what is readable", "", text},
		{"no more than what is asked", "?paths[]=c_author", bare},
	} {
		t.Run("one object shows "+test.name, func(t *testing.T) {
			got := s.get(t, "/c_messages/"+message1+test.query, narrow).ok(t)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("the pages stay full", func(t *testing.T) {
		if got := items(t, s.get(t, "/c_messages?limit=100&skip=156", narrow).ok(t), false); len(got) != 100 {
			t.Errorf("%d items", len(got))
		}
	})
	t.Run("a property below another", func(t *testing.T) {
		const chain = "object.read.c_message.*.c_meta"
		got := s.get(t, "/c_messages/"+message1, chain).ok(t)
		want := value{"_id": message1, "object": "c_message", "c_meta": value{"lang": "en"}}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("a chain on what is hidden shows as little as one on what is unknown", func(t *testing.T) {
		for _, path := range []string{"c_secret", "c_unknown"} {
			got := s.get(t, "/c_messages/"+message1, "object.read.c_message.*."+path).ok(t)
			if diff := cmp.Diff(bare, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", path, diff)
			}
		}
	})
	t.Run("routes about the caller need no scope", func(t *testing.T) {
		for _, chains := range [][]string{nil, {narrow}, {"view"}} {
			s.get(t, "/accounts/me", chains...).ok(t)
			s.get(t, "/schemas", chains...).ok(t)
		}
	})
}

func TestScopeOfSingleObjects(t *testing.T) {
	t.Parallel()
	s := startScoped(t)
	chains := []string{
		"object.read.c_message." + message2 + ".c_text",
		"object.read.c_message." + message1,
		"object.read.c_message." + nobody,
	}
	first := value{"_id": message1, "object": "c_message", "c_text": "Good morning (0)", "c_author": demoID(acme, "account", 1)}
	second := value{"_id": message2, "object": "c_message", "c_text": "Is the report ready? (1)"}
	for _, test := range []struct {
		name, query string
		want        []any
		more        bool
	}{
		{"lists these objects, each as far as it is readable", "?limit=2", []any{first, second}, false},
		{"a page that is cut has more", "?limit=1", []any{first}, true},
		{"and the last one has no more", "?limit=1&skip=1", []any{second}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := items(t, s.get(t, "/c_messages"+test.query+"&paths[]=c_text&paths[]=c_author", chains...).ok(t), test.more)
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	t.Run("no other object, whether it exists or not", func(t *testing.T) {
		for _, id := range []string{demoID(acme, "c_message", 3), strings.Repeat("f", 24)} {
			fault := s.refused(t, s.get(t, "/c_messages/"+id, chains...), 403, "accessDenied.scope")
			if fault["reason"] != "object.read.c_message."+id {
				t.Errorf("reason %v", fault["reason"])
			}
		}
	})
	t.Run("a readable id of no object", func(t *testing.T) {
		s.refused(t, s.get(t, "/c_messages/"+nobody, chains...), 404, "notFound.unspecified")
	})
	t.Run("an object of another org", func(t *testing.T) {
		foreign := demoID(globex, "c_message", 1)
		s.refused(t, s.get(t, "/c_messages/"+foreign, "object.read.c_message."+foreign), 404, "notFound.unspecified")
		items(t, s.get(t, "/c_messages", "object.read.c_message."+foreign).ok(t), false)
	})
}

func TestScopeDecisions(t *testing.T) {
	t.Parallel()
	s := startScoped(t)
	const narrow = "object.read.c_message.*.c_text"
	one := "/c_messages/" + message1
	for _, test := range []struct {
		name, method, path, body string
		chains                   []string
		status                   int
		detail                   string
	}{
		{"everything, on the wire", "GET", one, "", []string{""}, 200, ""},
		{"everything, spelled out", "GET", one, "", []string{"*"}, 200, ""},
		{"C01 no chain is nothing", "GET", one, "", nil, 403, "accessDenied.scope"},
		{"no chain lists nothing", "GET", "/c_messages", "", nil, 403, "accessDenied.scope"},
		{"an unknown id", "GET", "/c_messages/" + nobody, "", []string{narrow}, 404, "notFound.unspecified"},
		{"an id outside the grammar", "GET", "/c_messages/x", "", []string{narrow}, 404, "notFound.unspecified"},
		{"an id outside the grammar, before the scope", "GET", "/c_messages/*", "", nil, 404, "notFound.unspecified"},
		{"another type", "GET", "/connections", "", []string{narrow}, 403, "accessDenied.scope"},
		{"an object of another type", "GET", "/connections/" + connection1, "", []string{narrow}, 403, "accessDenied.scope"},
		{"C04 a type whose name begins alike", "GET", "/c_messages", "", []string{"object.read.c_mess"}, 403, "accessDenied.scope"},
		{"C05 a chain on a #type only", "GET", one, "", []string{"object.read.c_message#t"}, 403, "accessDenied.scope"},
		{"a list by a chain on a #type only", "GET", "/c_messages", "", []string{"object.read.c_message#t"}, 403, "accessDenied.scope"},
		{"another verb lists nothing", "GET", "/c_messages", "", []string{"object.update", "object.create", "object.delete"}, 403, "accessDenied.scope"},
		{"HEAD is a read", "HEAD", "/c_messages", "", []string{narrow}, 200, ""},

		{"creating by reading", "POST", "/c_messages", `{}`, []string{"object.read"}, 403, "accessDenied.scope"},
		{"creating nothing by chains on properties", "POST", "/c_messages", `{}`, []string{"object.create.c_message.*.c_text"}, 403, "accessDenied.scope"},
		{"creating", "POST", "/c_messages", `{}`, []string{"object.create.c_message"}, 200, ""},
		{"updating by reading", "PATCH", one, `{}`, []string{"object.read"}, 403, "accessDenied.scope"},
		{"updating one property", "PATCH", one, `{"c_text":"x"}`, []string{"object.update.c_message.*.c_text"}, 200, ""},
		{"updating another object", "PATCH", one, `{}`, []string{"object.update.c_message." + message2}, 403, "accessDenied.scope"},
		{"updating this object", "PATCH", one, `{}`, []string{"object.update.c_message." + message1}, 200, ""},
		{"deleting by updating", "DELETE", one, "", []string{"object.update"}, 403, "accessDenied.scope"},
		{"deleting a property", "DELETE", one, "", []string{"object.delete.c_message." + message1 + ".c_text"}, 403, "accessDenied.scope"},
		{"deleting", "DELETE", one, "", []string{"object.delete.*." + message1}, 200, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := s.call(t, test.method, test.path, test.body, test.chains...)
			if test.status != 200 {
				s.refused(t, got, test.status, test.detail)
			} else if got.status != 200 {
				t.Errorf("status %d: %s", got.status, got.text)
			}
		})
	}
}

func TestWritesShowWhatMayBeRead(t *testing.T) {
	t.Parallel()
	s := startScoped(t)
	const body = `{"c_text":"new","c_likes":3}`
	one := "/c_messages/" + message1
	for _, test := range []struct {
		name, method, path string
		chains             []string
		want               value
	}{
		{"nothing, after POST", "POST", "/c_messages", []string{"object.create"}, value{}},
		{"nothing, although asked", "POST", "/c_messages?paths[]=c_text", []string{"object.create"}, value{}},
		{"a property, after POST", "POST", "/c_messages", []string{"object.create", "object.read.c_message.*.c_likes"}, value{"c_likes": 3.0}},
		{"nothing, after PATCH", "PATCH", one, []string{"object.update"}, value{}},
		{"a property, after PATCH", "PATCH", one, []string{"object.update", "object.read.c_message." + message1 + ".c_text"}, value{"c_text": "new"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := s.call(t, test.method, test.path, body, test.chains...).ok(t)
			if got["_id"] == nil || got["object"] != "c_message" {
				t.Errorf("%v", got)
			}
			delete(got, "_id")
			delete(got, "object")
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestProperty(t *testing.T) {
	t.Parallel()
	s := startScoped(t)
	one := "/c_messages/" + message1
	for _, test := range []struct {
		name, path string
		chains     []string
		want       any
	}{
		{"a text", one + "/c_text", []string{"*"}, "Good morning (0)"},
		{"an integer", one + "/c_likes", []string{"*"}, 0.0},
		{"an object", one + "/c_meta", []string{"*"}, value{"lang": "en"}},
		{"a property below another", one + "/c_meta/lang", []string{"*"}, "en"},
		{"null", "/c_messages/" + demoID(acme, "c_message", 11) + "/c_meta/lang", []string{"*"}, nil},
		{"no value", "/c_messages/" + demoID(acme, "c_message", 7) + "/c_likes", []string{"*"}, nil},
		{"within the scope", one + "/c_text", []string{"object.read.c_message." + message1 + ".c_text"}, "Good morning (0)"},
		{"in part within the scope", one + "/c_meta", []string{"object.read.c_message.*.c_meta.lang"}, value{"lang": "en"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := s.get(t, test.path, test.chains...).ok(t)
			if diff := cmp.Diff(value{"object": "result", "data": test.want}, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	for _, test := range []struct {
		name, path string
		chain      string
		status     int
		detail     string
	}{
		{"an unknown property", one + "/c_unknown", "*", 404, "notFound.unspecified"},
		{"a hidden one", one + "/c_secret", "*", 404, "notFound.unspecified"},
		{"a hidden one that a chain names", one + "/c_secret", "object.read.c_message.*.c_secret", 404, "notFound.unspecified"},
		{"below a text", one + "/c_text/x", "*", 404, "notFound.unspecified"},
		{"below a list", "/c_conversations/" + conversation3 + "/c_messages/c_text", "*", 404, "notFound.unspecified"},
		{"outside the grammar", one + "/c%20text", "*", 404, "notFound.unspecified"},
		{"a dot", one + "/c_meta.lang", "*", 404, "notFound.unspecified"},
		{"a star", one + "/*", "*", 404, "notFound.unspecified"},
		{"of no object", "/c_messages/" + nobody + "/c_text", "*", 404, "notFound.unspecified"},
		{"outside the scope", one + "/c_author", "object.read.c_message.*.c_text", 403, "accessDenied.scope"},
		{"below which a chain names nothing known", one + "/c_meta", "object.read.c_message.*.c_meta.x", 403, "accessDenied.scope"},
		{"malformed arguments", one + "/c_text?limit=x", "*", 400, "invalidArgument.query"},
		{"malformed arguments of a list", "/c_conversations/" + conversation3 + "/c_messages?limit=x", "*", 400, "invalidArgument.query"},
	} {
		t.Run(test.name, func(t *testing.T) {
			s.refused(t, s.get(t, test.path, test.chain), test.status, test.detail)
		})
	}
}

func TestListProperty(t *testing.T) {
	t.Parallel()
	s := startScoped(t)
	one := "/c_conversations/" + conversation3
	item := func(n int, texts ...string) value {
		v := value{"_id": demoID(acme, "c_message", n), "object": "c_message"}
		for _, text := range texts {
			v["c_text"] = text
		}
		return v
	}
	const of = "object.read.c_conversation.*."
	first := item(251, "Lunch at noon (250)")
	for _, test := range []struct {
		name, chain string
		want        value // the first item; nil: no list
	}{
		{"everything", "*", first},
		{"the whole conversation", "object.read.c_conversation", first},
		{"the list", of + "c_messages", first},
		{"a property of its items", of + "c_messages.c_text", first},
		{"another property of its items", of + "c_messages.c_likes", item(251)},
		{"the ids of its items", of + "c_messages._id", item(251)},
		{"a hidden property of its items", of + "c_messages.c_secret", nil},
		{"an unknown property of its items", of + "c_messages.c_unknown", nil},
		{"another property", of + "c_title", nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			nested := s.get(t, one+"?paths[]=c_messages.c_text&c_messages.limit=1", test.chain)
			direct := s.get(t, one+"/c_messages?paths[]=c_text&limit=1", test.chain)
			if test.want == nil {
				// paths[] leaves the list out, and an argument for it has no
				// meaning.
				if got := s.get(t, one+"?paths[]=c_messages.c_text", test.chain).ok(t); got["c_messages"] != nil {
					t.Errorf("got %v", got)
				}
				s.refused(t, nested, 400, "invalidArgument.query")
				s.refused(t, direct, 403, "accessDenied.scope")
				return
			}
			got := nested.ok(t)
			want := value{"object": "list", "data": []any{test.want}, "hasMore": true}
			if diff := cmp.Diff(want, got["c_messages"]); diff != "" {
				t.Errorf("nested (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(want, direct.ok(t)); diff != "" {
				t.Errorf("as a route of its own (-want +got):\n%s", diff)
			}
		})
	}
	t.Run("chains on messages show no list of a conversation", func(t *testing.T) {
		s.refused(t, s.get(t, one+"/c_messages", "object.read.c_message"), 403, "accessDenied.scope")
	})
	t.Run("skip and limit", func(t *testing.T) {
		got := items(t, s.get(t, one+"/c_messages?skip=3", "*").ok(t), false)
		if diff := cmp.Diff([]any{item(254)}, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("without items", func(t *testing.T) {
		empty := "/c_conversations/" + demoID(acme, "c_conversation", 1)
		got := s.get(t, empty+"/c_messages", of+"c_messages.c_text")
		if want := `{"object":"list","data":[],"hasMore":false}`; got.text != want {
			t.Error(got.text)
		}
	})
}
