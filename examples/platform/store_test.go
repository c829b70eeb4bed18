package main

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/tenantkit/tenantkit/auth"
	"github.com/tenantkit/tenantkit/scope"
)

// The tables are what the lists declare: STRICT in SQLite, and with their indexes.
func TestTablesOfObjects(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for _, of := range schemas {
		if err := of.Check(t.Context(), s.objects, s.dialect, nil); err != nil {
			t.Error(err)
		}
	}
}

// Two writes of different properties at once must not undo each other.
func TestConcurrentUpdates(t *testing.T) {
	t.Parallel()
	s, ctx := newStore(t), t.Context()
	if err := s.create(ctx, &object{ID: "a", Org: acme, Type: messages, Values: newValues()}); err != nil {
		t.Fatal(err)
	}
	writes := []map[string]any{{"c_text": "x"}, {"c_likes": int64(7)}, {"c_pinned": true}, {languagePath: "de"}}
	var all sync.WaitGroup
	for _, changes := range writes {
		all.Go(func() {
			if err := s.update(ctx, acme, messages, "a", changes, anybody); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	o, err := s.object(ctx, acme, messages, "a")
	want := map[string]any{
		authorPath: "ann", sentPath: "2026-01-02T03:04:05.000Z", "c_text": "x", "c_likes": json.Number("7"), "c_pinned": true, languagePath: "de",
	}
	if diff := cmp.Diff(want, o.Values); diff != "" || err != nil {
		t.Errorf("(-want +got):\n%s\n%v", diff, err)
	}
}

func TestAStoreThatDoesNotAnswerIsUnavailable(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, org := s.Org(ctx, acme)
	_, _, password := s.Password(ctx, acme, "ann")
	for _, err := range []error{org, password, s.delete(ctx, acme, messages, "a", anybody), putOrg(ctx, s.db, auth.Org{Code: acme})} {
		if !errors.Is(err, auth.ErrUnavailable) || errors.Is(err, auth.ErrNotFound) {
			t.Errorf("%v", err)
		}
	}
}

func TestAddressesOfDatabasesAreNotShown(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"postgres://ann:hun@ter2@127.0.0.1:x/db",
		"postgres://ann:hunter2%zz@127.0.0.1/db",
		"postgres://127.0.0.1/db?user=ann&password=hunter2&sslmode=bogus",
	} {
		_, err := openStore(t.Context(), address)
		if err == nil || strings.Contains(err.Error(), "ter2") {
			t.Errorf("%s: %v", address, err)
		}
	}
}

func TestADatabaseFileIsPrivate(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "own file?.db")
	s, err := openStore(t.Context(), sqliteDB+file)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if err := putOrg(t.Context(), s.db, auth.Org{Code: acme}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{file, file + "-wal"} {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v", name, info.Mode())
		}
	}
}

// Existing files that others may read become private.
func TestADatabaseFileIsMadePrivate(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "platform.db")
	first, err := openStore(t.Context(), sqliteDB+file)
	if err != nil {
		t.Fatal(err)
	}
	defer first.close() // what it has written stays
	if err := putOrg(t.Context(), first.db, auth.Org{Code: acme}); err != nil {
		t.Fatal(err)
	}
	names := []string{file, file + "-wal", file + "-shm", file + ".lock"}
	for i, name := range names {
		if err := os.Chmod(name, []os.FileMode{0o644, 0o640, 0o604, 0o666}[i]); err != nil {
			t.Fatal(err)
		}
	}
	second, err := openStore(t.Context(), sqliteDB+file)
	if err != nil {
		t.Fatal(err)
	}
	defer second.close()
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v", name, info.Mode())
		}
	}
}

// An attacker who may write to the folder of a database can put links there, to a
// file that others should read. That file must not change, and nothing must be
// created where a link leads.
func TestADatabaseFileIsNoLink(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"", "-wal", "-shm", "-journal", ".lock", ".lock-journal"} {
		t.Run("K13 platform.db"+end, func(t *testing.T) {
			folder := t.TempDir()
			file, public, nowhere := filepath.Join(folder, "platform.db"), filepath.Join(folder, "public"), filepath.Join(folder, "nowhere")
			if err := os.WriteFile(public, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			for _, target := range []string{public, nowhere, folder} {
				if err := os.Symlink(target, file+end); err != nil {
					t.Skip(err)
				}
				s, err := openStore(t.Context(), sqliteDB+file)
				if err == nil {
					s.close()
				}
				if err == nil || !strings.Contains(err.Error(), "symbolic link") {
					t.Errorf("to %s: %v", target, err)
				}
				if err := os.Remove(file + end); err != nil {
					t.Fatal(err)
				}
			}
			if info, err := os.Stat(public); err != nil || info.Mode().Perm() != 0o644 {
				t.Errorf("the other file: %v, %v", info.Mode(), err)
			}
			if _, err := os.Stat(nowhere); err == nil {
				t.Error("a file was made where a link leads")
			}
		})
	}
}

// A wait for another instance lasts as long as the context.
func TestOneInstanceIsAlone(t *testing.T) {
	t.Parallel()
	file := sqliteDB + filepath.Join(t.TempDir(), "platform.db")
	var instances [2]*store
	for i := range instances {
		s, err := openStore(t.Context(), file)
		if err != nil {
			t.Fatal(err)
		}
		defer s.close()
		instances[i] = s
	}
	entered := errors.New("entered")
	enter := func() error { return entered }
	err := instances[0].alone(t.Context(), func() error {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		defer cancel()
		return instances[1].alone(ctx, enter)
	})
	if !errors.Is(err, auth.ErrUnavailable) || errors.Is(err, entered) {
		t.Errorf("while another one is in it: %v", err)
	}
	if err := instances[1].alone(t.Context(), enter); !errors.Is(err, entered) {
		t.Errorf("afterwards: %v", err)
	}
}

func anybody(*object) error { return nil }

// TestAnObjectThatMovesAllTheTime has another writer change the object before each
// try.
func TestAnObjectThatMovesAllTheTime(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	if err := s.create(t.Context(), &object{ID: "a", Org: acme, Type: messages, Values: newValues()}); err != nil {
		t.Fatal(err)
	}
	tried := 0
	moves := func(*object) error { tried++; return errChanged }
	if err := s.write(t.Context(), acme, messages, "a", anybody, moves); !errors.Is(err, auth.ErrUnavailable) || tried != maxWrites {
		t.Errorf("%v after %d attempts", err, tried)
	}
	ctx, cancel := context.WithCancel(t.Context())
	tried = 0
	ends := func(*object) error { tried++; cancel(); return errChanged }
	if err := s.write(ctx, acme, messages, "a", anybody, ends); !errors.Is(err, auth.ErrUnavailable) || tried != 1 {
		t.Errorf("its context has ended: %v after %d attempts", err, tried)
	}
}

// TestAccessIsDecidedOnWhatIsWrittenOver gives an object to another author between
// the check of a write and the write.
func TestAccessIsDecidedOnWhatIsWrittenOver(t *testing.T) {
	t.Parallel()
	s, ctx := newStore(t), t.Context()
	ann := auth.Principal{Org: acme, Account: "ann"}
	for name, write := range map[string]func(access) error{
		"update": func(allowed access) error {
			return s.update(ctx, acme, messages, "update", map[string]any{"c_text": "ann's"}, allowed)
		},
		"delete": func(allowed access) error { return s.delete(ctx, acme, messages, "delete", allowed) },
	} {
		t.Run(name, func(t *testing.T) {
			o := &object{ID: name, Org: acme, Type: messages, Owner: "root", Values: newValues()}
			if err := s.create(ctx, o); err != nil {
				t.Fatal(err)
			}
			asked := 0
			err := write(func(now *object) error {
				decided := mayChange(ann, now, scope.LevelDelete)
				if asked++; asked == 1 {
					if err := s.update(ctx, acme, messages, name, map[string]any{authorPath: "ben"}, anybody); err != nil {
						t.Fatal(err)
					}
				}
				return decided
			})
			if !errors.Is(err, auth.ErrForbidden) || asked != 2 {
				t.Errorf("%v after %d decisions", err, asked)
			}
			if now, err := s.object(ctx, acme, messages, name); err != nil || now.Values["c_text"] != nil {
				t.Errorf("%v, %v", now, err)
			}
		})
	}
}

func newValues() map[string]any {
	return map[string]any{authorPath: "ann", sentPath: "2026-01-02T03:04:05.000Z"}
}
