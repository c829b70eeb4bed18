package idempotency

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/tenantkit/tenantkit/auth"
)

// keptHeaders are the only headers that are kept. No cookie is ever sent to whoever repeats a request.
var keptHeaders = []string{"Content-Type", "Location", "Etag"}

// reply is a response that is kept. In storage it is JSON, and the body follows the first line break.
type reply struct {
	Status    int
	Header    map[string][]string
	Reference bool // the body is not kept
	body      []byte
}

// replyOf returns what is kept of a response.
func replyOf(status int, h http.Header, body []byte, whole bool) *reply {
	kept := &reply{Status: status, Header: map[string][]string{}, Reference: !whole}
	for _, name := range keptHeaders {
		if values := h[name]; values != nil {
			kept.Header[name] = values
		}
	}
	if whole {
		kept.body = body
	}
	return kept
}

// replayed is the header that tells a response that was kept.
const replayed = "Idempotent-Replayed"

// serve answers a repetition.
func (k *reply) serve(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set(replayed, "true")
	if k.Reference {
		if location := k.Header["Location"]; location != nil {
			h["Location"] = location
		}
		auth.Fail(w, r, &auth.Error{Detail: auth.DetailIdempotencyReply, Reason: "it was executed, and its response is not kept"})
		return
	}
	for name, values := range k.Header {
		h[name] = values
	}
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(k.Status)
	w.Write(k.body) // a failed write is the client's loss
}

// seal returns what the store keeps of a request, and of its response if there is one.
func (k *Keys) seal(e *Entry, p prints, r *reply) []byte {
	secret := append(append([]byte(nil), p.request[:]...), p.authority[:]...)
	if r != nil {
		head, _ := json.Marshal(r) // its types can be encoded
		secret = append(append(append(secret, head...), '\n'), r.body...)
	}
	return k.options.Sealer.Seal(secret, bound(e))
}

// bound is the identity of an entry. What was sealed for it opens in no other row.
func bound(e *Entry) []byte { return append([]byte("idempotency "), e.ID[:]...) }

var errMalformed = errors.New("idempotency: an entry is malformed")

func (k *Keys) open(e *Entry) (p prints, r *reply, err error) {
	secret, err := k.options.Sealer.Open(e.Sealed, bound(e))
	if err != nil {
		return p, nil, err
	}
	if len(secret) < 2*sha256.Size {
		return p, nil, errMalformed
	}
	p = prints{[sha256.Size]byte(secret), [sha256.Size]byte(secret[sha256.Size:])}
	head, body, complete := bytes.Cut(secret[2*sha256.Size:], []byte("\n"))
	if complete == (e.Fence != "") { // a response exactly if it is complete
		return p, nil, errMalformed
	}
	if complete {
		r = &reply{body: body}
		err = json.Unmarshal(head, r)
	}
	return p, r, err
}
