package auth_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/tenantkit/tenantkit/auth"
)

// A route whose clients expect errors of another form.
func ExampleFailAs() {
	handler := func(w http.ResponseWriter, r *http.Request) {
		auth.FailAs(w, r, &auth.Error{Detail: auth.DetailThrottled}, func(e *auth.Error) {
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			w.WriteHeader(e.Fault().Status)
			fmt.Fprint(w, e.Fault().Message)
		})
	}
	w := httptest.NewRecorder()
	handler(w, httptest.NewRequest("GET", "/", nil))
	fmt.Println(w.Code, w.Body, w.Header().Get("Retry-After"), w.Header().Get("Cache-Control"))
	// Output: 429 Too many requests. 1 no-store
}
