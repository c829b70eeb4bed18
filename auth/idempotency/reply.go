package idempotency

import (
	"encoding/json"
	"maps"
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
)

// keptHeaders are the only headers that are kept. No cookie is ever sent to whoever repeats a request.
var keptHeaders = []string{"Content-Type", "Content-Encoding", "Location", "Etag"}

// reply is a response that is kept.
type reply struct {
	Status    int
	Header    map[string][]string
	Body      []byte
	Reference bool // the body is not kept
}

// serve answers a repetition.
func (k *reply) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Idempotent-Replayed", "true")
	maps.Copy(h, k.Header)
	if k.Reference {
		auth.Fail(w, r, &auth.Error{Detail: auth.DetailIdempotencyReply, Reason: "it was executed, and its response is not kept"})
		return
	}
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(k.Status)
	w.Write(k.Body) // a failed write is the client's loss
}

// record is what is sealed of a request, and of its response once it is complete.
type record struct {
	prints
	Reply *reply
}

func (k *Keys) seal(e *Entry, r record) []byte {
	secret, _ := json.Marshal(r) // its types can be encoded
	return k.options.Sealer.Seal(secret, bound(e))
}

func (k *Keys) open(e *Entry) (r record, err error) {
	secret, err := k.options.Sealer.Open(e.Sealed, bound(e))
	if err == nil {
		err = json.Unmarshal(secret, &r)
	}
	return r, err
}

// bound is the identity of an entry. What was sealed for it opens in no other row.
func bound(e *Entry) []byte { return append([]byte("idempotency "), e.ID[:]...) }
