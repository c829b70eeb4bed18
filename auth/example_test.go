package auth_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"time"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/authtest"
	"github.com/tenantkit/tenantkit/auth/bearer"
	"github.com/tenantkit/tenantkit/envelope"
	"github.com/tenantkit/tenantkit/scope"
	"github.com/tenantkit/tenantkit/token"
)

// acmeOnly is a Directory of one org.
func acmeOnly() *auth.Memory {
	d := new(auth.Memory)
	d.PutOrg(auth.Org{Code: "acme"})
	d.PutAccount(auth.Account{ID: "ann", Org: "acme", Roles: []string{"member"}})
	return d
}

func exampleGuard() *auth.Guard {
	return &auth.Guard{
		Roles:      auth.RolesLimit,
		BaseURL:    "https://api.example.com",
		Directory:  acmeOnly(),
		Mechanisms: []auth.Mechanism{authtest.As(auth.Principal{Account: "ann", Scope: scope.Unscoped()})},
	}
}

func get(h http.Handler, path string) {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
	fmt.Println(w.Code, w.Body)
}

// A Guard must say whether roles limit people and signed requests.
func ExampleRoles() {
	g := exampleGuard()
	g.Roles = 0
	fmt.Println(g.Validate())
	// Output:
	// auth: Guard.Roles is required: set RolesLimit, and the roles of an account limit its sessions and signed requests, or RolesDoNotLimit, and only your handlers limit them
}

// A proxy at 10.0.0.1 appends to X-Forwarded-For. What its client wrote is not read.
func ExampleParseProxies() {
	g := exampleGuard()
	var err error
	if g.Proxies, err = auth.ParseProxies("X-Forwarded-For", "10.0.0.0/8"); err != nil {
		fmt.Println(err)
	}
	mux := g.Mux()
	mux.HandleFunc("GET /addr", auth.Public, func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(auth.TenantFrom(r.Context()).ClientAddr(r))
	})
	r := httptest.NewRequest("GET", "/acme/v2/addr", nil)
	r.RemoteAddr = "10.0.0.1:5000"
	r.Header.Set("X-Forwarded-For", "203.0.113.9, 198.51.100.7")
	mux.ServeHTTP(httptest.NewRecorder(), r)
	// Output: 198.51.100.7
}

// A server whose routes cannot be registered without a need.
func ExampleGuard_Mux() {
	mux := exampleGuard().Mux()
	mux.HandleFunc("GET /hello", auth.Authenticated, func(w http.ResponseWriter, r *http.Request) {
		auth.Reply(w, r, envelope.Result[string]{Data: "hello, " + auth.From(r.Context()).Account})
	})
	get(mux, "/acme/v2/hello")
	get(mux, "/acme/v2/none")
	// Output:
	// 200 {"object":"result","data":"hello, ann"}
	// 404 {"object":"fault","name":"error","code":"kNotFound","errCode":"service.notFound.unspecified","status":404,"message":"Not found.","faults":[]}
}

// With another router, put Mount outside it and Require on each route.
func ExampleGuard_Mount() {
	guard := exampleGuard()
	router := http.NewServeMux()
	router.Handle("GET /hello", guard.Require(auth.Authenticated)(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "hello from ", auth.TenantFrom(r.Context()).Org.Code)
		})))
	get(guard.Mount(router), "/acme/v2/hello")
	// Output: 200 hello from acme
}

// A status route informs every caller, and never refuses.
func ExampleGuard_Check() {
	guard := exampleGuard()
	mux := guard.Mux()
	mux.HandleFunc("GET /status", auth.Public, func(w http.ResponseWriter, r *http.Request) {
		p, err := guard.Check(r, auth.Authenticated)
		auth.Reply(w, r, envelope.Result[bool]{Data: err == nil && p.Account != ""})
	})
	get(mux, "/acme/v2/status")
	// Output: 200 {"object":"result","data":true}
}

// A browser's preflight carries no credential, so it is answered outside the Guard. The
// server's time is exposed so that a signing client can read it.
func ExampleGuard_cors() {
	mux := exampleGuard().Mux()
	mux.HandleFunc("GET /hello", auth.Authenticated, func(http.ResponseWriter, *http.Request) {})
	cors := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Access-Control-Allow-Origin", "https://app.example.com")
			w.Header().Set("Access-Control-Expose-Headers", "Service-Server-Time")
			if r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != "" {
				w.Header().Set("Access-Control-Allow-Headers", "Authorization, Content-Type")
				w.WriteHeader(http.StatusNoContent)
				return
			}
			next.ServeHTTP(w, r)
		})
	}
	preflight := httptest.NewRequest("OPTIONS", "/acme/v2/hello", nil)
	preflight.Header.Set("Access-Control-Request-Method", "GET")
	w := httptest.NewRecorder()
	cors(mux).ServeHTTP(w, preflight)
	fmt.Println(w.Code, w.Header().Get("Access-Control-Expose-Headers"))
	get(cors(mux), "/acme/v2/hello")
	// Output:
	// 204 Service-Server-Time
	// 200
}

// Signing clients set their clocks by any reply, also by one from outside the mount.
func ExampleGuard_ServerTime() {
	guard := exampleGuard()
	guard.Now = func() time.Time { return time.UnixMilli(1790000000000) }
	server := http.NewServeMux()
	server.Handle("/acme/", guard.Mux())
	server.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	w := httptest.NewRecorder()
	guard.ServerTime(server).ServeHTTP(w, httptest.NewRequest("GET", "/healthz", nil))
	fmt.Println(w.Code, w.Header().Get("Service-Server-Time"))
	// Output: 200 1790000000000
}

// A deletion needs the whole of an operation. A list needs any part of it, and gets the part that
// the scope permits.
func ExampleSome() {
	mux := exampleGuard().Mux()
	mux.HandleFunc("DELETE /notes/{id}", auth.Allow("object.delete.c_note.{id}"), func(http.ResponseWriter, *http.Request) {})
	mux.Handle("GET /notes", auth.Some("object.read.c_note"), auth.PartHandler(func(w http.ResponseWriter, r *http.Request, part scope.Part) {
		ids, all := part.IDs()
		fmt.Fprint(w, "all: ", all, ", ids: ", ids)
	}))
	get(mux, "/acme/v2/notes")
	// Output: 200 all: true, ids: []
}

func ExampleFail() {
	find := func(context.Context, string) error { return fmt.Errorf("note 7: %w", auth.ErrNotFound) }
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := find(r.Context(), "7"); err != nil {
			auth.Fail(w, r, err) // the text of err stays here
			return
		}
	})
	get(handler, "/")
	// Output: 404 {"object":"fault","name":"error","code":"kNotFound","errCode":"service.notFound.unspecified","status":404,"message":"Not found.","faults":[]}
}

// A Directory over a cluster joins the errors of its shards. One shard says "not found", and
// another did not answer. So nobody knows whether the record exists.
func ExampleIsNotFound() {
	absent := fmt.Errorf("shard 1: %w", auth.ErrNotFound)
	failed := fmt.Errorf("shard 2: %w", auth.ErrUnavailable)
	fmt.Println(auth.IsNotFound(absent))
	fmt.Println(auth.IsNotFound(errors.Join(absent, failed)))
	// Output:
	// true
	// false
}

// An error in a reply is found before anything is sent.
func ExampleReply() {
	mux := exampleGuard().Mux()
	mux.HandleFunc("GET /ratio/{n}", auth.Public, func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.ParseFloat(r.PathValue("n"), 64)
		auth.Reply(w, r, envelope.Result[float64]{Data: 1 / n})
	})
	get(mux, "/acme/v2/ratio/4")
	get(mux, "/acme/v2/ratio/0")
	// Output:
	// 200 {"object":"result","data":0.25}
	// 500 {"object":"fault","name":"error","code":"kError","errCode":"service.error.unspecified","status":500,"message":"Internal error.","faults":[]}
}

func ExampleError() {
	err := &auth.Error{Detail: auth.DetailConflict, Reason: "email", Err: errors.New("duplicate key value")}
	fmt.Println(err)
	fmt.Println(err.Fault())
	// Output:
	// auth: conflict.unspecified (email): duplicate key value
	// fault 409 conflict.unspecified: email
}

// Successful look-ups are cached for 2 s. A change in the directory is seen after that time.
func ExampleCached() {
	directory := auth.Cached(acmeOnly(), 2*time.Second)
	account, err := directory.Account(context.Background(), "acme", "ann")
	fmt.Println(account.Roles, err)
	// Output: [member] <nil>
}

// The process that writes a change calls Invalidate, and its next request sees the change.
// Other processes see it within the time that Cached was given.
func ExampleCachedDirectory_Invalidate() {
	ctx, table := context.Background(), acmeOnly()
	directory := auth.Cached(table, 2*time.Second)
	disabled := func() bool {
		account, err := directory.Account(ctx, "acme", "ann")
		return err == nil && account.Disabled
	}
	fmt.Println(disabled())
	table.PutAccount(auth.Account{ID: "ann", Org: "acme", Disabled: true})
	fmt.Println(disabled())
	directory.Invalidate("acme")
	fmt.Println(disabled())
	// Output:
	// false
	// false
	// true
}

// A view runs with the scope of its caller lifted. It still cannot grant more than the caller
// was granted.
func ExamplePrincipal_WithoutScope() {
	token, err := new(scope.Grammar).Compile("token", "view.execute.report")
	if err != nil {
		fmt.Println(err)
		return
	}
	caller := auth.Principal{Org: "acme", Account: "ann", Scope: token, Granted: token}
	view := auth.From(auth.With(context.Background(), caller.WithoutScope()))
	read := scope.Object(scope.Read, "c_note", "", "")
	fmt.Println(view.Scope.Allows(read), view.Granted.Allows(read))
	// Output: true false
}

// A middleware that recovers from panics is outside the Guard, and answers as the Guard does.
func ExampleGuard_Fail() {
	guard := exampleGuard()
	mux := guard.Mux()
	mux.HandleFunc("GET /broken", auth.Public, func(http.ResponseWriter, *http.Request) { panic("a bug") })
	recovered := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if cause := recover(); cause != nil {
				guard.Fail(w, r, fmt.Errorf("panic: %v", cause))
			}
		}()
		mux.ServeHTTP(w, r)
	})
	get(recovered, "/acme/v2/broken")
	// Output: 500 {"object":"fault","name":"error","code":"kError","errCode":"service.error.unspecified","status":500,"message":"Internal error.","faults":[]}
}

// Writes need the whole of an operation. {id} is the path value of the route.
func ExampleAllow() {
	mux := exampleGuard().Mux()
	mux.HandleFunc("GET /notes/{id}/title", auth.Allow("object.read.c_note.{id}.title"), func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "title of ", r.PathValue("id"))
	})
	get(mux, "/acme/v2/notes/5b0000000000000000000001/title")
	// Output: 200 title of 5b0000000000000000000001
}

// A route that only the principals of one mechanism may call.
func ExampleNeed_By() {
	guard := exampleGuard()
	guard.Mechanisms = append(guard.Mechanisms, &bearer.Mechanism{Keys: new(token.MemoryKeys)})
	mux := guard.Mux()
	mux.HandleFunc("GET /export", auth.Authenticated.By(bearer.Name), func(http.ResponseWriter, *http.Request) {})
	w := httptest.NewRecorder()
	mux.ServeHTTP(w, httptest.NewRequest("GET", "/acme/v2/export", nil))
	fmt.Println(w.Code)
	// Output: 403
}

// Work for a principal, outside a request.
func ExampleWith() {
	ctx := auth.With(context.Background(), auth.Principal{Org: "acme", Account: "ann"})
	fmt.Println(auth.From(ctx).Account)
	// Output: ann
}

func ExampleTenantFrom() {
	mux := exampleGuard().Mux()
	mux.HandleFunc("GET /where", auth.Public, func(w http.ResponseWriter, r *http.Request) {
		tenant := auth.TenantFrom(r.Context())
		fmt.Fprint(w, tenant.Org.Code, " ", tenant.Command, " ", tenant.URL())
	})
	get(mux, "/acme/v2/where")
	// Output: 200 acme /where https://api.example.com/acme/v2
}

// A directory of a few fixed orgs. Other applications implement auth.Directory over their own
// tables.
func ExampleMemory() {
	directory := new(auth.Memory)
	directory.PutOrg(auth.Org{Code: "acme"})
	_, err := directory.Org(context.Background(), "globex")
	fmt.Println(errors.Is(err, auth.ErrNotFound))
	// Output: true
}

// A failure of the application's own store is answered with 503. It never reads as an absence,
// whatever the store's error wraps.
func ExampleUnavailable() {
	err := auth.Unavailable(fmt.Errorf("notes: %w", auth.ErrNotFound))
	fmt.Println(errors.Is(err, auth.ErrUnavailable), errors.Is(err, auth.ErrNotFound))
	// Output: true false
}

// A route that a forgotten open session must not use.
func ExampleNeed_Fresh() {
	guard := exampleGuard()
	left := auth.Principal{Account: "ann", Scope: scope.Unscoped(), Authenticated: time.Now().Add(-time.Hour)}
	guard.Mechanisms = []auth.Mechanism{authtest.As(left)}
	mux := guard.Mux()
	mux.HandleFunc("GET /password", auth.Authenticated.Fresh(10*time.Minute), func(http.ResponseWriter, *http.Request) {})
	get(mux, "/acme/v2/password")
	// Output:
	// 403 {"object":"fault","name":"error","code":"kAccessDenied","errCode":"service.accessDenied.reauthenticationRequired","status":403,"message":"Authenticate again to continue.","faults":[]}
}

// badge is a mechanism that counts the requests it admitted. It does not count those that
// their need refused.
type badge struct{ admitted int }

func (*badge) Name() string { return "badge" }

func (*badge) Bind(*auth.Settings) error { return nil }

func (b *badge) Presented(*http.Request) auth.Presence { return auth.InHeader }

func (b *badge) Authenticate(ctx context.Context, _ *http.Request, t *auth.Tenant) (auth.Principal, error) {
	p := auth.Principal{Org: auth.OrgKey(t.Org.Code), Account: "ann", Mechanism: "badge"}
	return p.OnAdmit(func(context.Context, *http.Request) error {
		b.admitted++
		return nil
	}), nil
}

func (b *badge) Challenge(*auth.Tenant, error) string { return "Badge" }

func ExamplePrincipal_OnAdmit() {
	guard, mechanism := exampleGuard(), &badge{}
	guard.Mechanisms = []auth.Mechanism{mechanism}
	mux := guard.Mux()
	handler := func(http.ResponseWriter, *http.Request) {}
	mux.HandleFunc("GET /hello", auth.Authenticated, handler)
	mux.HandleFunc("GET /admin", auth.Allow("admin.read"), handler)
	for _, path := range []string{"/acme/v2/hello", "/acme/v2/admin"} {
		mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", path, nil))
		fmt.Println(path, mechanism.admitted)
	}
	// Output:
	// /acme/v2/hello 1
	// /acme/v2/admin 1
}

// A handler that passes its request on to another org. There, the request has no principal yet.
func ExampleEnclosing() {
	g := exampleGuard()
	inner := g.Mount(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		fmt.Printf("%q %q\n", auth.From(r.Context()).Account, auth.Enclosing(r.Context()).Account)
	}))
	mux := g.Mux()
	mux.HandleFunc("GET /switch", auth.Authenticated, func(w http.ResponseWriter, r *http.Request) {
		other := r.Clone(r.Context())
		other.URL = &url.URL{Path: "/acme/v2/switched"}
		inner.ServeHTTP(w, other)
	})
	mux.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("GET", "/acme/v2/switch", nil))
	// Output: "" "ann"
}
