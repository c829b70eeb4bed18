package enginetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tenantkit/tenantkit/auth/sqlstore"
	"github.com/tenantkit/tenantkit/token"
)

// mintJob is a burst of minting in several processes over one database. They mint for one subject
// after the other, at the same times.
type mintJob struct {
	Dialect        sqlstore.Dialect
	Source, Prefix string // of the database
	Redis          string // address of the ledger; "": in the database
	App            string
	Start          time.Time // when they mint for the first subject
}

const (
	burst         = 600 * time.Millisecond // for each subject
	burstSubjects = 6
	burstLimit    = 30
)

// minted has the tokens that a process got, by subject.
type minted map[string][]string

var inAcme = token.Expect{Org: "acme", Audience: "https://api.example.test/acme/v2"}

func (j mintJob) open(t *testing.T) (*sqlstore.Keys, token.Ledger) {
	t.Helper()
	h := home{dialect: j.Dialect, prefix: j.Prefix, unsealed: true}
	db := openDB(t, "pgx", j.Source)
	if j.Dialect == sqlstore.SQLite {
		db = openSQLite(t, j.Source, "")
	}
	store := h.storeIn(t, db)
	if j.Redis != "" {
		return must(store.Keys())(t), storesAt(t, j.Redis).ledger
	}
	return must(store.Keys())(t), store.Ledger()
}

// slowLedger waits before the first Issue until a time, so that the Minter's pair is old by then.
type slowLedger struct {
	token.Ledger
	once  *sync.Once
	until time.Time
}

func (l slowLedger) Issue(ctx context.Context, r token.Record, verifying []string, limit int) error {
	l.once.Do(func() { time.Sleep(time.Until(l.until)) })
	return l.Ledger.Issue(ctx, r, verifying, limit)
}

func subjectOf(i int) string { return fmt.Sprint("subject ", i) }

// work mints for each subject until the limit is reached, in parallel goroutines. Half of them look
// for the pair at the beginning of the burst, and issue at its end. The others mint from its middle
// on, when the pair was rotated.
func (j mintJob) work(t *testing.T) minted {
	keys, ledger := j.open(t)
	got, mu := minted{}, sync.Mutex{}
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for i := range burstSubjects {
				begin := j.Start.Add(time.Duration(i) * burst)
				minter := &token.Minter{Signers: keys, Ledger: ledger, PerSubject: burstLimit}
				if worker%2 == 0 {
					minter.Ledger = slowLedger{ledger, new(sync.Once), begin.Add(burst * 9 / 10)}
				} else {
					begin = begin.Add(burst / 2)
				}
				time.Sleep(time.Until(begin))
				for {
					raw, _, err := minter.Permanent(t.Context(), token.Claims{Issuer: j.App, Subject: subjectOf(i), Audience: inAcme.Audience})
					if errors.Is(err, token.ErrTooMany) {
						break
					}
					if err != nil && strings.Contains(err.Error(), "changes with each attempt") {
						continue // the machine is so busy that this call has met three rotations
					}
					if err != nil {
						t.Error(err)
						return
					}
					verifier := token.Verifier{Keys: keys, Ledger: ledger}
					if _, err := verifier.Verify(t.Context(), string(raw), inAcme); err != nil {
						t.Errorf("dead at birth: %v", err)
					}
					mu.Lock()
					got[subjectOf(i)] = append(got[subjectOf(i)], string(raw))
					mu.Unlock()
				}
			}
		})
	}
	wg.Wait()
	return got
}

// TestT33RotationDuringABurst rotates the pair of an app while three processes mint with it.
func TestT33RotationDuringABurst(t *testing.T) {
	leftToTheGate(t)
	t.Parallel()
	path := filepath.Join(t.TempDir(), "store")
	for name, job := range map[string]func(t *testing.T) mintJob{
		"SQLite": func(*testing.T) mintJob { return mintJob{Dialect: sqlstore.SQLite, Source: path, Prefix: "tenantkit_"} },
		"PostgreSQL": func(t *testing.T) mintJob {
			return mintJob{Dialect: sqlstore.PostgreSQL, Source: durablePostgres(t), Prefix: prefixOf(newPostgresHome(t).prefix)}
		},
		"Redis": func(t *testing.T) mintJob {
			return mintJob{Dialect: sqlstore.SQLite, Source: filepath.Join(t.TempDir(), "store"), Prefix: "tenantkit_", Redis: startRedis(t).addr()}
		},
	} {
		t.Run(name, func(t *testing.T) {
			if engine := os.Getenv("ENGINE"); engine != "" && engine != name {
				t.Skip("another engine")
			}
			j := job(t)
			keys, ledger := j.open(t)
			j.App, j.Start = "app", time.Now().Add(2*time.Second)
			must(keys.Generate(t.Context(), "acme", j.App))(t)
			all := j.runProcesses(t, func() {
				for i := range burstSubjects {
					time.Sleep(time.Until(j.Start.Add(time.Duration(i)*burst + burst/20)))
					must(keys.Rotate(t.Context(), "acme", j.App, time.Hour))(t)
				}
			})
			verifier := token.Verifier{Keys: keys, Ledger: ledger}
			for i := range burstSubjects {
				tokens := all[subjectOf(i)]
				records := listed(t, ledger, heldBy(j.App, subjectOf(i)))
				if len(records) != len(tokens) || len(records) > burstLimit || len(records) < burstLimit/2 {
					t.Errorf("%s: %d records of %d tokens, at a limit of %d", subjectOf(i), len(records), len(tokens), burstLimit)
				}
				for _, raw := range tokens {
					_, err := verifier.Verify(t.Context(), raw, inAcme)
					expect(t, "a token of any key", err, nil)
				}
			}
			must(keys.Generate(t.Context(), "acme", j.App))(t)
			for _, tokens := range all {
				for _, raw := range tokens {
					_, err := verifier.Verify(t.Context(), raw, inAcme)
					expect(t, "K18 after Generate", err, token.ErrInvalid)
				}
			}
		})
	}
}

// runProcesses starts this test binary several times, as TestMintingProcess, and calls meanwhile.
func (j mintJob) runProcesses(t *testing.T, meanwhile func()) minted {
	t.Helper()
	text := string(must(json.Marshal(j))(t))
	all, reports := minted{}, make([]minted, processes)
	var wg sync.WaitGroup
	for i := range reports {
		file := filepath.Join(t.TempDir(), "minted")
		wg.Go(func() {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestMintingProcess$")
			cmd.Env = append(os.Environ(), "ENGINETEST_MINT="+text, "ENGINETEST_DONE="+file)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("process %d: %v\n%s", i, err, out)
				return
			}
			report, err := os.ReadFile(file)
			if err == nil {
				err = json.Unmarshal(report, &reports[i])
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	meanwhile()
	wg.Wait()
	for _, report := range reports {
		for subject, tokens := range report {
			all[subject] = append(all[subject], tokens...)
		}
	}
	return all
}

// TestMintingProcess is one of the processes.
func TestMintingProcess(t *testing.T) {
	text := os.Getenv("ENGINETEST_MINT")
	if text == "" {
		t.Skip("not one of several processes")
	}
	var j mintJob
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		t.Fatal(err)
	}
	report := must(json.Marshal(j.work(t)))(t)
	if err := os.WriteFile(os.Getenv("ENGINETEST_DONE"), report, 0o600); err != nil {
		t.Fatal(err)
	}
}
