package main

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"
)

// postgres is the server of all tests, if one could be started.
var postgres struct {
	once    sync.Once
	source  string // of its database postgres
	missing string // why there is none
	process *exec.Cmd
	folder  string
}

func TestMain(m *testing.M) {
	code := m.Run()
	if postgres.process != nil {
		postgres.process.Process.Signal(syscall.SIGQUIT)
		postgres.process.Wait()
		os.RemoveAll(postgres.folder)
	}
	os.Exit(code)
}

// postgresSource returns the URL of a new database. It skips the test without PostgreSQL.
func postgresSource(t *testing.T) string {
	t.Helper()
	postgres.once.Do(func() {
		if postgres.source = os.Getenv("DATABASE_URL"); postgres.source != "" {
			return
		}
		if err := startPostgres(); err != nil {
			postgres.missing = err.Error()
		}
	})
	if postgres.missing != "" {
		t.Skip(postgres.missing)
	}
	admin, err := sql.Open("pgx", postgres.source)
	if err != nil {
		t.Fatal(err)
	}
	name := fmt.Sprintf("adopt_%d", time.Now().UnixNano())
	if _, err := admin.ExecContext(t.Context(), "CREATE DATABASE "+name); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		admin.ExecContext(context.Background(), "DROP DATABASE "+name+" WITH (FORCE)")
		admin.Close()
	})
	source, err := url.Parse(postgres.source)
	if err != nil {
		t.Fatal(err)
	}
	source.Path = "/" + name
	return source.String()
}

// startPostgres starts a server with an empty folder. PostgreSQL refuses root.
func startPostgres() error {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // the pattern is well-formed
	if len(found) == 0 {
		return fmt.Errorf("no PostgreSQL: set DATABASE_URL, or install it below /usr/lib/postgresql")
	}
	bin := filepath.Dir(found[len(found)-1])
	var as []string
	folder, err := os.MkdirTemp("", "adopt")
	if err != nil {
		return err
	}
	postgres.folder = folder
	if os.Getuid() == 0 {
		if _, err := user.Lookup("postgres"); err != nil {
			return fmt.Errorf("no account to run PostgreSQL as: %w", err)
		}
		as = []string{"setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", "--pdeathsig=KILL"}
		if out, err := exec.Command("chown", "postgres", folder).CombinedOutput(); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
	}
	command := func(name string, args ...string) *exec.Cmd {
		line := append(append(as, filepath.Join(bin, name)), args...)
		cmd := exec.Command(line[0], line[1:]...)
		cmd.Dir = folder
		return cmd
	}
	if out, err := command("initdb", "-D", folder+"/data", "-U", "test", "--auth=trust", "--no-sync").CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := listener.Addr().(*net.TCPAddr)
	listener.Close()
	server := command("postgres", "-D", folder+"/data", "-k", folder, "-h", "127.0.0.1", "-p", fmt.Sprint(address.Port))
	if err := server.Start(); err != nil {
		return err
	}
	postgres.process = server
	postgres.source = fmt.Sprintf("postgres://test@%s/postgres?sslmode=disable", address)
	db, err := sql.Open("pgx", postgres.source)
	if err != nil {
		return err
	}
	defer db.Close()
	for range 200 {
		if err = db.Ping(); err == nil {
			return nil
		}
		time.Sleep(50 * time.Millisecond)
	}
	return fmt.Errorf("PostgreSQL does not answer: %w", err)
}
