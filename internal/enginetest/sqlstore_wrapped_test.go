package enginetest

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/internal/testing/printed"
)

// kms wraps keys with AES-GCM under a key of its own.
type kms struct {
	gcm     cipher.AEAD
	unwraps atomic.Int64
	away    atomic.Bool
	keys    sync.Map // the text of each key that was seen
}

var errAway = errors.New("the KMS does not answer")

func newKMS(t testing.TB) *kms {
	t.Helper()
	key := make([]byte, 32)
	rand.Read(key)
	return &kms{gcm: must(cipher.NewGCMWithRandomNonce(must(aes.NewCipher(key))(t)))(t)}
}

func (k *kms) Wrap(ctx context.Context, key sqlstore.DataKey, bound string) ([]byte, error) {
	if k.away.Load() {
		return nil, errAway
	}
	k.keys.Store(string(key), true)
	return k.gcm.Seal(nil, nil, []byte(key), []byte(bound)), ctx.Err()
}

func (k *kms) Unwrap(ctx context.Context, wrapped []byte, bound string) (sqlstore.DataKey, error) {
	if k.away.Load() {
		return "", errAway
	}
	key, err := k.gcm.Open(nil, nil, wrapped, []byte(bound))
	if err != nil {
		return "", err
	}
	k.unwraps.Add(1)
	return sqlstore.DataKey(key), ctx.Err()
}

func (k *kms) sealer(t testing.TB, name string) *sqlstore.Sealer {
	t.Helper()
	return must(sqlstore.NewWrappedSealer(name, k))(t)
}

// with returns the home as an instance with another Sealer has it.
func (h home) with(s *sqlstore.Sealer) home {
	h.sealer = s
	return h
}

// refused opens the home and returns the error.
func (h home) refused(t *testing.T, what string, want error) error {
	t.Helper()
	s, err := sqlstore.Open(t.Context(), h.open(t), h.dialect, h.options())
	if s != nil || !errors.Is(err, want) {
		t.Errorf("%s: Open = %v, want %v", what, err, want)
	}
	return err
}

// dataKeys returns the rows of wrapped keys, by name.
func (h home) dataKeys(t *testing.T) map[string][]byte {
	t.Helper()
	found := map[string][]byte{}
	rows := must(h.open(t).Query("SELECT name, wrapped FROM " + h.prefix + "wrapped"))(t)
	defer rows.Close()
	for rows.Next() {
		var name string
		var wrapped []byte
		expect(t, "Scan", rows.Scan(&name, &wrapped), nil)
		found[name] = wrapped
	}
	expect(t, "rows", rows.Err(), nil)
	return found
}

// TestK52DataKeys: one data key for each store and name, which only the KMS can unwrap, and there only.
func TestK52DataKeys(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	for _, h := range homes(t) {
		t.Run("K52 "+h.name, func(t *testing.T) {
			k := newKMS(t)
			h := h.with(k.sealer(t, "2026"))
			s := h.store(t)
			kept := keepSecrets(t, s)
			before := k.unwraps.Load()
			again := h.store(t)
			kept.expect(t, "in another instance", again, nil)
			if n := k.unwraps.Load() - before; n != 1 {
				t.Errorf("unwrapped %d times by one Open", n)
			}
			k.away.Store(true)
			kept.expect(t, "while the KMS is away", again, nil)
			k.away.Store(false)

			all := content(t, h.open(t), h.prefix)
			for name, wrapped := range h.dataKeys(t) {
				all = append(append(all, name...), wrapped...)
			}
			k.keys.Range(func(key, _ any) bool {
				if bytes.Contains(all, []byte(key.(string))) {
					t.Error("a data key can be read in the tables")
				}
				dataKey := sqlstore.DataKey(key.(string))
				for _, text := range []string{printed.All(dataKey), printed.All(h.options()), fmt.Sprintf("%+v %#v", dataKey, &dataKey)} {
					if strings.Contains(text, key.(string)) || strings.Contains(text, fmt.Sprintf("%x", key)) {
						t.Errorf("printed %s", text)
					}
				}
				return true
			})
			for i, plain := range kept.plain {
				if bytes.Contains(all, plain) {
					t.Errorf("secret %d can be read in the tables", i)
				}
			}

			// Another store with the same Sealer has a data key of its own, which opens nowhere else.
			other := homeLike(t, h).with(h.sealer)
			other.prefix = tablesOf("other_" + prefixOf(other.prefix))
			other.store(t)
			own := other.dataKeys(t)["2026"]
			set := "UPDATE " + other.prefix + "wrapped SET wrapped = $1"
			run(t, other.open(t), set, h.dataKeys(t)["2026"])
			other.refused(t, "with the data key of another store", auth.ErrUnavailable)
			run(t, other.open(t), set, own)
			other.store(t)

			static := h.with(sealer(t))
			static.refused(t, "with a key that no KMS guards", sqlstore.ErrSealingKey)
			static.sealer, static.unsealed = nil, true
			static.refused(t, "without sealing", sqlstore.ErrSealingKey)
			h.with(newKMS(t).sealer(t, "2026")).refused(t, "with another KMS", auth.ErrUnavailable)
			h.with(k.sealer(t, "2027")).refused(t, "with another name alone", sqlstore.ErrSealingKey)

			run(t, h.open(t), "DELETE FROM "+h.prefix+"wrapped")
			h.refused(t, "without the row of the data key", sqlstore.ErrSealingKey)
			if rows := h.dataKeys(t); len(rows) != 0 {
				t.Errorf("a lost data key was hidden by %d new ones", len(rows))
			}
		})
	}
}

// TestK52TheKMSIsAway opens with a KMS that fails, and then with one that answers.
func TestK52TheKMSIsAway(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	for _, h := range homes(t) {
		t.Run("K52 "+h.name, func(t *testing.T) {
			k := newKMS(t)
			h := h.with(k.sealer(t, "2026"))
			awayFrom := func(what string) {
				t.Helper()
				k.away.Store(true)
				err := h.refused(t, what, auth.ErrUnavailable)
				if !errors.Is(err, errAway) || !strings.Contains(err.Error(), `data key "2026": `) || !strings.Contains(err.Error(), "Wrapper") {
					t.Errorf("%s: the error does not say so: %v", what, err)
				}
				k.away.Store(false)
			}
			awayFrom("a fresh store")
			var probe []byte
			row := h.open(t).QueryRow("SELECT probe FROM " + prefixOf(h.prefix) + "schema")
			if err := row.Scan(&probe); err != nil || probe != nil || len(h.dataKeys(t)) != 0 {
				t.Errorf("something was sealed: probe %x, %v, %d data keys", probe, err, len(h.dataKeys(t)))
			}
			kept := keepSecrets(t, h.store(t))
			awayFrom("a store with secrets")
			kept.expect(t, "after it", h.store(t), nil)
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if s, err := sqlstore.Open(ctx, h.open(t), h.dialect, h.options()); s != nil || !errors.Is(err, context.Canceled) {
				t.Errorf("in a context that has ended: %v", err)
			}
		})
	}
}

// TestK52FirstOpenAtOnce opens fresh tables by instances of one KMS, some of them with old keys. What
// each seals, all open.
func TestK52FirstOpenAtOnce(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	for _, h := range homes(t) {
		t.Run("K52 "+h.name, func(t *testing.T) {
			k := newKMS(t)
			stores, keep := make([]*sqlstore.Store, 8), make([]secrets, 8)
			dbs := make([]*sql.DB, len(stores))
			for i := range dbs {
				dbs[i] = h.open(t)
			}
			succeed(t, len(stores), func(i int) (err error) {
				o := h.with(k.sealer(t, "2026")).options()
				if i%2 == 1 {
					o.Sealer = o.Sealer.WithOld(k.sealer(t, "2025"))
				}
				stores[i], err = sqlstore.Open(t.Context(), dbs[i], h.dialect, o)
				return err
			})
			for i, s := range stores {
				keep[i] = keepSecrets(t, s)
			}
			for _, s := range append(stores, h.with(k.sealer(t, "2026")).store(t)) {
				for _, kept := range keep {
					kept.expect(t, "sealed by another instance", s, nil)
				}
			}
		})
	}
}

// TestDataKeysAreReplaced takes the steps from a key without a KMS to one with it, to the next data key,
// and to another KMS.
func TestDataKeysAreReplaced(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	for _, h := range homes(t) {
		t.Run(h.name, func(t *testing.T) {
			first, second := newKMS(t), newKMS(t)
			from := sealer(t)
			kept := keepSecrets(t, h.with(from).store(t))
			for _, to := range []*sqlstore.Sealer{first.sealer(t, "2026"), first.sealer(t, "2027"), second.sealer(t, "2028")} {
				running := h.with(from.WithOld(to)).store(t)
				both := h.with(to.WithOld(from)).store(t)
				made := keepSecrets(t, both)
				made.expect(t, "sealed with the new key", running, nil)
				kept.expect(t, "sealed with the old key", both, nil)

				// A call that ends in the middle is continued by the next.
				ctx, cancel := context.WithCancel(t.Context())
				cancel()
				if err := both.Reseal(ctx); !errors.Is(err, context.Canceled) {
					t.Errorf("Reseal in a context that has ended: %v", err)
				}
				expect(t, "Reseal", both.Reseal(t.Context()), nil)
				h.with(from).refused(t, "with the old key alone", sqlstore.ErrSealingKey)
				kept.expect(t, "sealed anew", h.with(to).store(t), nil)
				made.expect(t, "sealed anew", h.with(to).store(t), nil)
				from = to
			}
			first.away.Store(true)
			kept.expect(t, "without the first KMS", h.with(second.sealer(t, "2028")).store(t), nil)
		})
	}
}

// lax is a KMS with a fault.
type lax struct {
	*kms
	unbound bool
	bytes   []byte // what it unwraps, if not nil
}

func (l lax) Wrap(ctx context.Context, key sqlstore.DataKey, bound string) ([]byte, error) {
	if l.unbound {
		return []byte(key), nil
	}
	return l.kms.Wrap(ctx, key, bound)
}

func (l lax) Unwrap(ctx context.Context, wrapped []byte, bound string) (sqlstore.DataKey, error) {
	if l.unbound {
		return sqlstore.DataKey(wrapped), nil
	}
	_, err := l.kms.Unwrap(ctx, wrapped, bound)
	return sqlstore.DataKey(l.bytes), err
}

func TestK52WrappersOfNoUse(t *testing.T) {
	for _, h := range homes(t) {
		for name, w := range map[string]lax{
			"one that binds nothing":       {unbound: true},
			"one that returns no key":      {},
			"one that returns a short key": {bytes: []byte("short")},
			"one that returns zeros":       {bytes: make([]byte, 32)},
		} {
			t.Run("K52 "+h.name+" "+name, func(t *testing.T) {
				h, w := homeLike(t, h), w
				w.kms = newKMS(t)
				s, err := sqlstore.Open(t.Context(), h.open(t), h.dialect, h.with(must(sqlstore.NewWrappedSealer("2026", w))(t)).options())
				if s != nil || err == nil {
					t.Errorf("Open = %v", err)
				}
				if w.unbound && len(h.dataKeys(t)) != 0 {
					t.Error("a key that is bound to nothing was kept")
				}
			})
		}
	}
	for name, ok := range map[string]bool{"2026": true, "a.B_c-9": true, strings.Repeat("a", 64): true,
		"": false, strings.Repeat("a", 65): false, "a b": false, "a\n": false, "é": false} {
		if _, err := sqlstore.NewWrappedSealer(name, newKMS(t)); (err == nil) != ok {
			t.Errorf("the name %q: %v", name, err)
		}
	}
	if _, err := sqlstore.NewWrappedSealer("2026", nil); err == nil {
		t.Error("no Wrapper is accepted")
	}
}
