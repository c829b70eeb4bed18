package enginetest

import (
	"bytes"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/signing"
)

// nemeses are rows in which the disk of an engine is full, or its clock is set.
func nemeses() []historyCase {
	return []historyCase{
		{engine: "SQLite", fault: "the disk is full", set: func(t *testing.T, i *historyInstance) historyFaults {
			folder := t.TempDir()
			smallDisk(t, folder, 32)
			i.At = []string{filepath.Join(folder, "store")}
			return filling(t, folder, func() {})
		}},
		{engine: "PostgreSQL", fault: "the disk is full", long: true, set: func(t *testing.T, i *historyInstance) historyFaults {
			s := postgresOnSmallDisk(t)
			i.At = []string{s.source}
			return filling(t, s.folder, func() { s.revive(t) })
		}},
		// A server that syncs always ends itself if it cannot write, and one that syncs every second refuses.
		{engine: "Redis", fault: "the disk is full, `always`", set: func(t *testing.T, i *historyInstance) historyFaults {
			return redisOnSmallDisk(t, i, "always")
		}},
		{engine: "Redis", fault: "the disk is full, `everysec`", long: true, set: func(t *testing.T, i *historyInstance) historyFaults {
			return redisOnSmallDisk(t, i, "everysec")
		}},
		{engine: "PostgreSQL", fault: "its clock is set back", long: true, set: func(t *testing.T, i *historyInstance) historyFaults {
			return postgresClock(t, i, settingBack)
		}},
		{engine: "Redis", fault: "its clock is set back", long: true, set: func(t *testing.T, i *historyInstance) historyFaults {
			return redisClock(t, i, settingBack)
		}},
		{engine: "PostgreSQL", fault: "its clock goes an hour ahead, and back", long: true, expected: []string{"sessions", "idempotency"},
			because: "what lives for an hour has ended", set: func(t *testing.T, i *historyInstance) historyFaults {
				return postgresClock(t, i, settingForth)
			}},
		{engine: "Redis", fault: "its clock goes an hour ahead, and back", long: true, expected: []string{"sessions", "idempotency"},
			because: "what lives for an hour has ended", set: func(t *testing.T, i *historyInstance) historyFaults {
				return redisClock(t, i, settingForth)
			}},
	}
}

// filling fills a disk again and again, and frees it after a while. What the engine needs then follows.
func filling(t testing.TB, folder string, freed func()) historyFaults {
	return pauses(func(_ *historyDriver, r *rand.Rand) {
		free := fill(t, folder)
		time.Sleep(time.Duration(100+r.IntN(300)) * time.Millisecond)
		free()
		freed()
	})
}

// fill leaves no room on the disk of a folder, until it is freed.
func fill(t testing.TB, folder string) (free func()) {
	t.Helper()
	ballast := filepath.Join(folder, "ballast")
	file, err := os.Create(ballast)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, size := range []int{64 << 10, 4 << 10} {
		for err = nil; err == nil; {
			_, err = file.Write(make([]byte, size))
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Error(err)
	}
	return func() {
		if err := os.Remove(ballast); err != nil {
			t.Error(err)
		}
	}
}

// postgresOnSmallDisk has its data where it can be full.
func postgresOnSmallDisk(t *testing.T) *server {
	bin, err := postgresBin()
	skipUninstalled(t, err)
	account, err := unprivileged()
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("", "enginetest")
	if err != nil {
		t.Fatal(err)
	}
	s := &server{folder: folder, flags: []string{"-c", "fsync=on", "-c", "checkpoint_timeout=1h"}}
	t.Cleanup(s.stop)
	smallDisk(t, folder, 120)
	t.Cleanup(s.halt) // while the disk exists
	if err := s.start(bin, account); err != nil {
		t.Fatal(err)
	}
	return s
}

// hasEnded reports whether a process waits for its parent to take note of its end.
func hasEnded(process *exec.Cmd) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", process.Process.Pid))
	return err == nil && bytes.Contains(text, []byte(") Z "))
}

// revive starts a server again if it has ended because of its disk, and returns once it answers.
func (s *server) revive(t testing.TB) {
	if !until(func() bool {
		if hasEnded(s.process) {
			s.process.Wait()
			s.awaitEnd(t)
			return s.again() == nil
		}
		return s.db.PingContext(t.Context()) == nil
	}) {
		t.Error("PostgreSQL does not answer, although there is room")
	}
}

func redisOnSmallDisk(t *testing.T, i *historyInstance, sync string) historyFaults {
	folder := t.TempDir()
	smallDisk(t, folder, 32)
	s := startRedis(t, "--appendfsync", sync, "--dir", folder)
	i.At = []string{s.addr()}
	return filling(t, folder, func() { s.revive(t) })
}

// revive starts a server again if it has ended because of its disk, and returns once it writes.
func (s *redisServer) revive(t testing.TB) {
	if !until(func() bool {
		if hasEnded(s.process) {
			s.process.Wait()
			s.start(t)
		}
		_, err := s.operator(t.Context(), "SET", "room", "")
		return err == nil
	}) {
		t.Error("Redis does not write, although there is room")
	}
}

// clock is a wall clock that a test sets, for servers that are started with its environment.
type clock struct {
	env  []string
	file string
}

//go:embed testdata/clock.c
var clockSource string

// newClock skips a test without a C compiler, or fails it with REQUIRE_ENGINES=1.
func newClock(t testing.TB) *clock {
	t.Helper()
	compiler, err := exec.LookPath("gcc")
	if err != nil && os.Getenv("REQUIRE_ENGINES") != "1" {
		t.Skip("no clock that can be set: no gcc in the path")
	}
	if err != nil {
		t.Fatal(err)
	}
	folder, err := os.MkdirTemp("", "clock")
	if err == nil {
		t.Cleanup(func() { os.RemoveAll(folder) })
		err = os.Chmod(folder, 0o755) // the server is another user
	}
	if err != nil {
		t.Fatal(err)
	}
	library, c := filepath.Join(folder, "clock.so"), &clock{file: filepath.Join(folder, "shift")}
	build := exec.Command(compiler, "-shared", "-fPIC", "-O1", "-o", library, "-x", "c", "-")
	build.Stdin = strings.NewReader(clockSource)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c.env = []string{"LD_PRELOAD=" + library, "CLOCK_FILE=" + c.file}
	c.set(t, 0)
	return c
}

// set sets the clock to the time of the machine and a difference.
func (c *clock) set(t testing.TB, by time.Duration) {
	t.Helper()
	file, err := os.OpenFile(c.file, os.O_CREATE|os.O_WRONLY, 0o644)
	if err == nil {
		_, err = file.Write(binary.NativeEndian.AppendUint64(nil, uint64(by)))
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// settingBack sets the clock back by 9, 11 and 60 s.
func settingBack(t testing.TB, c *clock) historyFaults {
	return func(_ *historyDriver, _ *rand.Rand, end time.Time) {
		pause := time.Until(end) / 4
		for _, sum := range []time.Duration{9, 20, 80} {
			time.Sleep(pause)
			c.set(t, -sum*time.Second)
		}
		time.Sleep(time.Until(end))
	}
}

// settingForth sets the clock an hour ahead, and back.
func settingForth(t testing.TB, c *clock) historyFaults {
	return func(_ *historyDriver, _ *rand.Rand, end time.Time) {
		pause := time.Until(end) / 3
		time.Sleep(pause)
		c.set(t, time.Hour+time.Minute)
		time.Sleep(min(pause, time.Second))
		c.set(t, 0)
	}
}

func postgresClock(t testing.TB, i *historyInstance, faults func(testing.TB, *clock) historyFaults) historyFaults {
	c := newClock(t)
	s := postgresWithClock(t, c)
	i.At = []string{s.source}
	return faults(t, c)
}

func postgresWithClock(t testing.TB, c *clock) *server {
	t.Helper()
	s, err := startPostgresIn(c.env, "-c", "fsync=on")
	skipUninstalled(t, err)
	t.Cleanup(s.stop)
	return s
}

func redisClock(t testing.TB, i *historyInstance, faults func(testing.TB, *clock) historyFaults) historyFaults {
	c := newClock(t)
	s := startRedisIn(t, c.env, "--appendfsync", "always")
	i.At = []string{s.addr()}
	return faults(t, c)
}

// TestN10ClockOfAnEngine has requests whose time is over, and sets the clock of the engine back. None of
// them is accepted again, although all expired records were deleted before.
func TestN10ClockOfAnEngine(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	expiring := func() signing.Use {
		u := aUse()
		u.Keep = time.Now().Add(3 * time.Second)
		return u
	}
	only := func(t *testing.T, engine string) {
		if asked := os.Getenv("ENGINE"); asked != "" && asked != engine {
			t.Skip("ENGINE is " + asked)
		}
	}
	afterwards := func(t *testing.T, replays signing.Replays, c *clock, used []signing.Use) {
		for _, back := range []time.Duration{9, 11, 60} {
			c.set(t, -back*time.Second)
			for _, u := range used {
				if err := replays.Claim(t.Context(), u); !errors.Is(err, signing.ErrReplayed) && !errors.Is(err, signing.ErrStale) {
					t.Errorf("N10 back by %d s, and claimed again: %v", back, err)
				}
			}
			c.set(t, 0)
		}
	}
	t.Run("N10 PostgreSQL", func(t *testing.T) {
		only(t, "PostgreSQL")
		c := newClock(t)
		s := must(sqlstore.Open(t.Context(), openDB(t, "pgx", postgresWithClock(t, c).source), sqlstore.PostgreSQL, sqlstore.Options{}))(t)
		time.Sleep(5 * time.Millisecond)
		var used []signing.Use
		for range 20 {
			used = append(used, expiring())
			claims(t, "first", s, used[len(used)-1], nil)
		}
		time.Sleep(time.Until(used[len(used)-1].Keep) + 100*time.Millisecond)
		expect(t, "Sweep", s.Sweep(t.Context()), nil)
		afterwards(t, s.Replays(), c, used)

		lasting := aUse()
		claims(t, "before", s, lasting, nil)
		c.set(t, time.Hour)
		expect(t, "Sweep", s.Sweep(t.Context()), nil)
		c.set(t, 0)
		claims(t, "N10 after an hour ahead, and back", s, lasting, signing.ErrStale)
		time.Sleep(5 * time.Millisecond)
		lasting = aUse()
		claims(t, "signed anew", s, lasting, nil)
		claims(t, "replayed", s, lasting, signing.ErrReplayed)
	})
	t.Run("N10 Redis", func(t *testing.T) {
		only(t, "Redis")
		c := newClock(t)
		s := startRedisIn(t, c.env).open(t)
		var used []signing.Use
		for range 20 {
			used = append(used, expiring())
			expect(t, "first", s.Replays().Claim(t.Context(), used[len(used)-1]), nil)
		}
		time.Sleep(time.Until(used[len(used)-1].Keep) + 100*time.Millisecond)
		afterwards(t, s.Replays(), c, used)
	})
}

// TestN10RowsDeletedByAClockThatWasAhead has the epoch's row say that the clock was an hour ahead when claims
// were deleted. One new epoch begins, also for an instance that has not claimed yet.
func TestN10RowsDeletedByAClockThatWasAhead(t *testing.T) {
	for _, h := range homes(t) {
		t.Run("N10 "+h.name, func(t *testing.T) {
			db := h.open(t)
			s, other := h.storeIn(t, db), h.storeIn(t, db)
			time.Sleep(5 * time.Millisecond)
			before, deleted := aUse(), aUse()
			claims(t, "before", s, before, nil)
			claims(t, "before", s, deleted, nil)
			run(t, db, "DELETE FROM "+h.prefix+"replays WHERE uses > 0 AND keep < 9223372036854775807")
			must(db.Exec("UPDATE "+h.prefix+"replays SET uses = $1 WHERE keep = 9223372036854775807", time.Now().Add(time.Hour).UnixMilli()))(t)
			time.Sleep(5 * time.Millisecond)
			claims(t, "deleted", other, deleted, signing.ErrStale)
			claims(t, "deleted", s, before, signing.ErrStale)
			time.Sleep(5 * time.Millisecond)
			u := aUse()
			claims(t, "signed anew", other, u, nil)
			claims(t, "replayed", s, u, signing.ErrReplayed)
			claims(t, "signed before, still", s, before, signing.ErrStale)
		})
	}
}

// TestN10EpochOfAClockThatWasAhead: requests are stale until its time, or until somebody deletes its row.
func TestN10EpochOfAClockThatWasAhead(t *testing.T) {
	for _, h := range homes(t) {
		t.Run("N10 "+h.name, func(t *testing.T) {
			db := h.open(t)
			s := h.storeIn(t, db)
			time.Sleep(5 * time.Millisecond)
			claims(t, "before", s, aUse(), nil)
			must(db.Exec("UPDATE "+h.prefix+"replays SET began = $1 WHERE keep = 9223372036854775807", time.Now().Add(time.Hour).UnixMilli()))(t)
			claims(t, "signed before the epoch", s, aUse(), signing.ErrStale)
			claims(t, "the same after a restart", h.storeIn(t, db), aUse(), signing.ErrStale)
			run(t, db, "DELETE FROM "+h.prefix+"replays WHERE keep = 9223372036854775807")
			claims(t, "signed before its row was deleted", s, aUse(), signing.ErrStale)
			time.Sleep(5 * time.Millisecond)
			claims(t, "signed anew", s, aUse(), nil)
		})
	}
}
