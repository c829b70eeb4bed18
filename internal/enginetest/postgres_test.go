package enginetest

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
)

// server is a PostgreSQL that ends with the tests.
type server struct {
	folder  string
	flags   []string // last flags of the command
	env     []string // more of its environment
	process *exec.Cmd
	db      *sql.DB
	source  string       // data source name of db
	again   func() error // starts it again after its end
}

var started struct {
	once   sync.Once
	server *server
	err    error
}

// errNotInstalled means that PostgreSQL is not installed.
var errNotInstalled = errors.New("PostgreSQL is not installed: no initdb in /usr/lib/postgresql/*/bin or the path")

// postgres returns the PostgreSQL that all tests share. The first call starts it. If it is not
// installed, the test is skipped, or fails with REQUIRE_ENGINES=1.
func postgres(t testing.TB) *sql.DB {
	t.Helper()
	started.once.Do(func() { started.server, started.err = startPostgres() })
	skipUninstalled(t, started.err)
	return started.server.db
}

// skipUninstalled ends a test without a server.
func skipUninstalled(t testing.TB, err error) {
	t.Helper()
	if errors.Is(err, errNotInstalled) && os.Getenv("REQUIRE_ENGINES") != "1" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestMain(m *testing.M) {
	// Parallel tests spend more time waiting for engines and clocks than computing.
	flag.Set("test.parallel", "8") // the command line overrides it
	if os.Getenv("TMPDIR") == "" {
		os.Setenv("TMPDIR", memoryFolder()) // stores require durable settings, and tests need not wait for a disk
	}
	code := m.Run()
	os.RemoveAll(built.folder)
	for _, s := range []*server{started.server, durable.server} {
		if s != nil {
			s.stop()
		}
	}
	os.Exit(code)
}

// startPostgres starts a server with additional flags.
func startPostgres(flags ...string) (*server, error) { return startPostgresIn(nil, flags...) }

func startPostgresIn(env []string, flags ...string) (*server, error) {
	bin, err := postgresBin()
	if err != nil {
		return nil, err
	}
	account, err := unprivileged()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "enginetest")
	if err != nil {
		return nil, err
	}
	s := &server{folder: folder, flags: flags, env: env}
	if err := s.start(bin, account); err != nil {
		s.stop()
		return nil, err
	}
	return s, nil
}

// postgresBin returns the folder of the newest PostgreSQL.
func postgresBin() (string, error) {
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil {
		return "", err
	}
	slices.SortFunc(found, func(a, b string) int { return majorOf(b) - majorOf(a) })
	if len(found) > 0 {
		return filepath.Dir(found[0]), nil
	}
	path, err := exec.LookPath("initdb")
	if err != nil {
		return "", errNotInstalled
	}
	return filepath.Dir(path), nil
}

func majorOf(initdb string) int {
	major, _ := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(initdb))))
	return major
}

// unprivileged returns the account that PostgreSQL runs as if this process is root, because
// PostgreSQL refuses root. Otherwise it returns nil.
func unprivileged() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	var account *user.User
	var err error
	for _, name := range []string{"postgres", "nobody"} {
		if account, err = user.Lookup(name); err == nil {
			break
		}
	}
	if err != nil {
		return nil, err
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, err
}

func (s *server) start(bin string, account *syscall.Credential) error {
	if account != nil {
		if err := os.Chown(s.folder, int(account.Uid), int(account.Gid)); err != nil {
			return err
		}
	}
	data := filepath.Join(s.folder, "data")
	// This locale does not sort texts bytewise, to show that the order of the locale does not
	// matter.
	initdb := s.command(account, filepath.Join(bin, "initdb"), "-D", data, "-U", "test", "--auth=trust",
		"--encoding=UTF8", "--locale-provider=icu", "--icu-locale=en", "--no-sync")
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w\n%s", err, out)
	}
	port, err := freePort()
	if err != nil {
		return err
	}
	s.source = "postgres://test@127.0.0.1:" + port + "/postgres?sslmode=disable"
	s.again = func() error {
		return s.launch(s.command(account, filepath.Join(bin, "postgres"), append([]string{"-D", data, "-p", port, "-k", s.folder,
			"-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "timezone=Asia/Kolkata"}, s.flags...)...))
	}
	return s.again()
}

func (s *server) launch(process *exec.Cmd) error {
	s.process = process
	log, err := os.Create(filepath.Join(s.folder, "log"))
	if err != nil {
		return err
	}
	defer log.Close()
	s.process.Stdout, s.process.Stderr = log, log
	if err := s.process.Start(); err != nil {
		return err
	}
	if s.db == nil {
		if s.db, err = sql.Open("pgx", s.source); err != nil {
			return err
		}
	}
	return s.await()
}

// command runs in its own group, so that a Ctrl-C reaches only the tests, which then end it. It
// ends with this process even if that is killed.
func (s *server) command(account *syscall.Credential, name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = s.folder
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C.UTF-8"}, s.env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: account, Setpgid: true}
	endWithUs(cmd.SysProcAttr)
	return cmd
}

// await returns once the server answers.
func (s *server) await() error {
	var err error
	answers := until(func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		err = s.db.PingContext(ctx)
		return err == nil
	})
	if !answers {
		log, _ := os.ReadFile(filepath.Join(s.folder, "log"))
		return fmt.Errorf("PostgreSQL does not answer: %w\n%s", err, log)
	}
	return nil
}

// halt ends the server at once, without keeping its data.
func (s *server) halt() {
	if s.db != nil {
		s.db.Close()
	}
	if s.process != nil && s.process.Process != nil {
		s.process.Process.Signal(syscall.SIGQUIT)
		s.process.Wait()
	}
}

// stop is halt, and removes the server's files.
func (s *server) stop() {
	s.halt()
	if err := os.RemoveAll(s.folder); err != nil && !errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintln(os.Stderr, err)
	}
}

// TestPostgresOrdersTextsItsOwnWay checks a condition of the other tests: without a collation the
// server does not sort texts bytewise.
func TestPostgresOrdersTextsItsOwnWay(t *testing.T) {
	var version string
	var less bool
	if err := postgres(t).QueryRowContext(t.Context(), "SELECT version(), 'a' < 'B'").Scan(&version, &less); err != nil {
		t.Fatal(err)
	}
	t.Log(strings.SplitN(version, " on ", 2)[0])
	if !less {
		t.Error("the server compares texts byte by byte")
	}
}
