package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/tenantkit/tenantkit/auth"
)

// memory keeps the platform's records in this process. Records are not altered
// once they are in it, only replaced, so that readers may hold on to them.
type memory struct {
	mu       sync.RWMutex
	orgs     map[string]*auth.Org
	apps     map[string]*app
	accounts map[inOrg]*account
	roles    map[inOrg]*auth.Role
	objects  map[inOrg][]*object // by org and type, in the order of their ids
}

func newMemory() *memory {
	return &memory{
		orgs:     make(map[string]*auth.Org),
		apps:     make(map[string]*app),
		accounts: make(map[inOrg]*account),
		roles:    make(map[inOrg]*auth.Role),
		objects:  make(map[inOrg][]*object),
	}
}

// ping tells whether the store answers.
func (m *memory) ping(ctx context.Context) error { return ctx.Err() }

// find looks a record up. Each of the maps is made once and never replaced.
func find[K comparable, V any](ctx context.Context, m *memory, in map[K]*V, key K) (*V, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if v, ok := in[key]; ok {
		return v, nil
	}
	return nil, auth.ErrNotFound
}

// put adds or replaces a record.
func put[K comparable, V any](ctx context.Context, m *memory, in map[K]*V, key K, v V) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	in[key] = &v
	return nil
}

// list returns the objects of a type, in the order of their ids.
func (m *memory) list(ctx context.Context, org, name string) ([]*object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return slices.Clone(m.objects[inOrg{org, name}]), nil
}

// object returns one object of a type, or auth.ErrNotFound.
func (m *memory) object(ctx context.Context, org, name, id string) (*object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if at, ok := m.position(org, name, id); ok {
		return m.objects[inOrg{org, name}][at], nil
	}
	return nil, auth.ErrNotFound
}

// create adds an object, whose id must be new.
func (m *memory) create(ctx context.Context, o *object) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at, found := m.position(o.Org, o.Type, o.ID)
	if found {
		return fmt.Errorf("object %s exists", o.ID)
	}
	in := inOrg{o.Org, o.Type}
	m.objects[in] = slices.Insert(m.objects[in], at, o)
	return nil
}

// update sets some properties of an object and returns it as it is then.
func (m *memory) update(ctx context.Context, org, name, id string, changes map[string]any) (*object, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at, found := m.position(org, name, id)
	if !found {
		return nil, auth.ErrNotFound
	}
	all := m.objects[inOrg{org, name}]
	changed := *all[at]
	changed.Values = maps.Clone(changed.Values)
	maps.Copy(changed.Values, changes)
	all[at] = &changed
	return &changed, nil
}

// delete removes an object.
func (m *memory) delete(ctx context.Context, org, name, id string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	at, found := m.position(org, name, id)
	if !found {
		return auth.ErrNotFound
	}
	in := inOrg{org, name}
	m.objects[in] = slices.Delete(m.objects[in], at, at+1)
	return nil
}

// position returns where an object is, or where it would be. m.mu is held.
func (m *memory) position(org, name, id string) (at int, found bool) {
	return slices.BinarySearchFunc(m.objects[inOrg{org, name}], id, func(o *object, id string) int {
		return strings.Compare(o.ID, id)
	})
}
