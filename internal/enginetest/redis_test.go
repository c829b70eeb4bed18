package enginetest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tenantkit/tenantkit/auth/redisstore"
)

// redisServer is the Redis of one test, with its own port and its own folder for an append-only
// file.
type redisServer struct {
	binary, folder, port string
	settings, env        []string
	process              *exec.Cmd
	operator             redisstore.Do // of the test that has started it
}

// fit holds the required settings of a server.
var fit = []string{"--appendonly", "yes", "--appendfsync", "everysec", "--maxmemory-policy", "noeviction", "--save", ""}

// startRedis starts a server that ends with the test. Later settings override those of fit. If
// Redis is not installed, the test is skipped, or fails with REQUIRE_ENGINES=1. REDIS_SERVER names
// another binary, for example valkey-server.
func startRedis(t testing.TB, settings ...string) *redisServer {
	t.Helper()
	return startRedisIn(t, nil, settings...)
}

func startRedisIn(t testing.TB, env []string, settings ...string) *redisServer {
	t.Helper()
	name := os.Getenv("REDIS_SERVER")
	if name == "" {
		name = "redis-server"
	}
	binary, err := exec.LookPath(name)
	if err != nil && os.Getenv("REQUIRE_ENGINES") != "1" {
		t.Skip("Redis is not installed: no " + name + " in the path")
	}
	if err != nil {
		t.Fatal(err)
	}
	port, err := freePort()
	if err != nil {
		t.Fatal(err)
	}
	s := &redisServer{binary: binary, folder: t.TempDir(), port: port, settings: append(slices.Clone(fit), settings...), env: env}
	s.operator = dial(t, s.addr())
	s.start(t)
	t.Cleanup(func() {
		s.signal(t, syscall.SIGCONT)
		s.kill(t)
	})
	return s
}

func (s *redisServer) addr() string { return net.JoinHostPort("127.0.0.1", s.port) }

func (s *redisServer) start(t testing.TB) {
	t.Helper()
	log, err := os.OpenFile(filepath.Join(s.folder, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	s.process = exec.Command(s.binary, append([]string{"--port", s.port, "--bind", "127.0.0.1", "--dir", s.folder}, s.settings...)...)
	s.process.Stdout, s.process.Stderr = log, log
	s.process.Env = append(os.Environ(), s.env...)
	s.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithUs(s.process.SysProcAttr)
	if err := s.process.Start(); err != nil {
		t.Fatal(err)
	}
	s.await(t)
}

// await returns once the server answers and has loaded its data.
func (s *redisServer) await(t testing.TB) {
	t.Helper()
	do := dial(t, s.addr())
	var err error
	answers := until(func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err = do(ctx, "PING")
		return err == nil
	})
	if !answers {
		log, _ := os.ReadFile(filepath.Join(s.folder, "log"))
		t.Fatalf("%s does not answer: %v\n%s", s.binary, err, log)
	}
}

// kill ends the server and its children, like kill -9.
func (s *redisServer) kill(t testing.TB) {
	t.Helper()
	if s.process == nil {
		return
	}
	if err := syscall.Kill(-s.process.Process.Pid, syscall.SIGKILL); err != nil {
		t.Error(err)
	}
	s.process.Wait() // returns only that it was killed
	s.process = nil
}

func (s *redisServer) signal(t testing.TB, signal syscall.Signal) {
	t.Helper()
	if s.process == nil {
		return
	}
	if err := s.process.Process.Signal(signal); err != nil {
		t.Error(err)
	}
}

// forget removes the files of a killed server.
func (s *redisServer) forget(t testing.TB) {
	t.Helper()
	for _, name := range []string{"appendonlydir", "appendonly.aof", "dump.rdb"} {
		if err := os.RemoveAll(filepath.Join(s.folder, name)); err != nil {
			t.Error(err)
		}
	}
}

// command runs an operator's command.
func (s *redisServer) command(t testing.TB, args ...any) any {
	t.Helper()
	reply, err := s.operator(t.Context(), args...)
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatalf("%s: %v", args[0], err)
	}
	return reply
}

// dial returns a client whose calls end exactly with their context, and are never repeated.
func dial(t testing.TB, addr string) redisstore.Do {
	t.Helper()
	client := redis.NewClient(&redis.Options{
		Addr:                  addr,
		ContextTimeoutEnabled: true,
		MaxRetries:            -1,
		DialTimeout:           patience,
		ReadTimeout:           -1, // and WriteTimeout, which follows it
		PoolTimeout:           patience,
	})
	t.Cleanup(func() { client.Close() })
	return func(ctx context.Context, args ...any) (any, error) {
		return client.Do(ctx, args...).Result()
	}
}

// open returns the stores of a server with the required settings.
func (s *redisServer) open(t testing.TB) *redisstore.Store {
	t.Helper()
	return openAt(t, s.addr(), redisstore.Options{})
}

func openAt(t testing.TB, addr string, o redisstore.Options) *redisstore.Store {
	t.Helper()
	server, err := redisstore.Open(t.Context(), dial(t, addr), o)
	if err != nil {
		t.Fatal(err)
	}
	afterEpoch()
	return server
}

func TestRedisVersion(t *testing.T) {
	info := fmt.Sprint(startRedis(t).command(t, "INFO", "server"))
	for line := range strings.Lines(info) {
		if strings.Contains(line, "_version:") {
			t.Log(strings.TrimSpace(line))
		}
	}
}
