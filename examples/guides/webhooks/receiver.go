package webhooks

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"net/http"

	"github.com/tenantkit/tenantkit/signing"
)

// Inbox takes the events of a receiver.
//
// Take does what an event asks for, once. It records the event's ID in the same
// transaction as the effect, and returns nil for an ID that is recorded already. If it
// fails, nothing is recorded, and the sender tries again.
type Inbox interface {
	Take(ctx context.Context, e Event) error
}

// Receiver returns a handler for the deliveries to one server. baseURL is the URL that
// the server is known by, without the path of the route. platform is the public key
// that the platform publishes.
func Receiver(baseURL string, platform ed25519.PublicKey, inbox Inbox) (http.Handler, error) {
	key, err := signing.NewPublicKey(KeyID, platform)
	if err != nil {
		return nil, err
	}
	verifier := &signing.Verifier{
		Keys:    oneKey{key},
		Replays: signing.NewMemory(100_000), // of one process; several share a store
		Policy:  signing.Policy{Version: 2},
		BaseURL: baseURL,
	}
	return verifier.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var e Event
		if err := json.NewDecoder(r.Body).Decode(&e); err != nil || e.ID == "" {
			http.Error(w, "not an event", http.StatusBadRequest)
			return
		}
		if err := inbox.Take(r.Context(), e); err != nil {
			http.Error(w, "try again", http.StatusServiceUnavailable)
		}
	})), nil
}

// oneKey is a signing.Keys with the key of one sender.
type oneKey struct{ key *signing.Key }

func (k oneKey) Key(_ context.Context, id string) (*signing.Key, error) {
	if id != k.key.ClientKey() {
		return nil, signing.ErrUnknownKey
	}
	return k.key, nil
}
