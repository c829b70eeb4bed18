package session

import (
	"context"
	"sync"
)

// factorTable is the Factors of a Memory.
type factorTable struct {
	mu      sync.RWMutex
	records map[inOrg]Factor
}

// Factor implements Factors.
func (m *Memory) Factor(ctx context.Context, org, account string) (Factor, error) {
	if err := ctx.Err(); err != nil {
		return Factor{}, err
	}
	t := &m.factors
	t.mu.RLock()
	defer t.mu.RUnlock()
	return t.records[inOrg{org, account}].clone(), nil
}

// Save implements Factors.
func (m *Memory) Save(ctx context.Context, org, account string, f Factor) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	t, key := &m.factors, inOrg{org, account}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.records[key].Version != f.Version {
		return ErrConflict
	}
	f = f.clone()
	f.Version++
	if t.records == nil {
		t.records = map[inOrg]Factor{}
	}
	t.records[key] = f
	return nil
}
