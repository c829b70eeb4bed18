package storetest

import (
	"context"
	"crypto/rand"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/internal/history"
	"github.com/tenantkit/tenantkit/internal/suite"
)

const historyClients, historyGroups = 8, 20

// History lets eight goroutines call stores at the same time, in random order, and checks that one
// order of all calls explains all results. Each store is at least one of signing.Replays,
// token.Ledger, session.Store, session.Attempts, session.FactorStore, apikey.Store and idempotency.Store. An instance of each in another process
// may be called at the same time: pass what sends half of the calls there. An error that wraps
// auth.ErrUnavailable leaves open what the call has done.
//
// It makes about 600 calls for each store. A race that needs more luck is found by more runs.
func History(t *testing.T, stores ...any) {
	t.Helper()
	all := history.Stores{Run: rand.Text()}
	for _, store := range stores {
		value, known := reflect.ValueOf(store), false
		for _, field := range reflect.ValueOf(&all).Elem().Fields() {
			if field.Kind() == reflect.Interface && field.IsNil() && value.IsValid() && value.Type().Implements(field.Type()) {
				field.Set(value)
				known = true
			}
		}
		if !known {
			t.Fatalf("%T is none of the stores that History knows, or there are two of its kind", store)
		}
	}
	for _, kind := range all.Names() {
		t.Run(kind, func(t *testing.T) {
			for id := range int64(historyGroups) {
				if err := history.Check(historyOf(t, &all, kind, id)); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// historyOf makes the calls of one group.
func historyOf(t *testing.T, stores *history.Stores, kind string, id int64) []history.Op {
	begin := time.Now()
	group := history.NewGroup(kind, id, begin.UnixMilli(), uint64(begin.UnixNano()))
	time.Sleep(2 * time.Millisecond) // in the first millisecond of an epoch all requests are stale
	var calls [historyClients][]history.Op
	suite.AtOnce(historyClients, func(client int) error {
		for o, ok := group.Next(history.MaxOps); ok; o, ok = group.Next(history.MaxOps) {
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			o.Client, o.From = client, int64(time.Since(begin))
			stores.Do(ctx, &o)
			o.To = int64(time.Since(begin))
			cancel()
			calls[client] = append(calls[client], o)
		}
		return nil
	})
	return slices.Concat(calls[:]...)
}
