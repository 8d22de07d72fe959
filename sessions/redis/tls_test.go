package redis_test

import (
	"crypto/tls"
	"encoding/pem"
	"io"
	"net"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"parley/sessions/redis"
	"parley/sessions/redis/redistest"
)

// abuse L10: a server whose certificate the system does not trust is trusted when the
// operator says who signed it, and not before.
func TestAServerWithTLS(t *testing.T) {
	t.Parallel()
	plain := redistest.Start(t, redistest.Options{})
	certified := httptest.NewTLSServer(nil)
	certified.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	block := &pem.Block{Type: "CERTIFICATE", Bytes: certified.Certificate().Raw}
	if err := os.WriteFile(ca, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: certified.TLS.Certificates}) // a test's
	if err != nil {
		t.Fatal(err)
	}
	forward(t, l, strings.TrimSuffix(strings.TrimPrefix(plain.URL, "redis://"), "/0"))
	o := redis.Options{URL: "rediss://" + l.Addr().String() + "/0", CAFile: ca}
	s, err := redis.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	o.CAFile = ""
	if _, err := redis.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a server that nobody vouches for: %v", err)
	}
	o.CAFile = filepath.Join(t.TempDir(), "ca.pem")
	if _, err := redis.Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "ca_file") {
		t.Errorf("without the file: %v", err)
	}
	if err := (redis.Options{URL: "redis://127.0.0.1:1/0", CAFile: ca}).Validate(); err == nil || !strings.Contains(err.Error(), "rediss://") {
		t.Errorf("for a line without TLS: %v", err)
	}
}

// forward lets l speak for the server at that address.
func forward(t *testing.T, l net.Listener, to string) {
	t.Helper()
	var all sync.WaitGroup
	t.Cleanup(func() {
		_ = l.Close()
		all.Wait()
	})
	all.Go(func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer func() { _ = from.Close() }()
				server, err := net.Dial("tcp", to) //nolint:noctx // a test's
				if err != nil {
					return
				}
				all.Go(func() {
					_, _ = io.Copy(server, from)
					_ = server.Close()
				})
				_, _ = io.Copy(from, server)
			})
		}
	})
}
