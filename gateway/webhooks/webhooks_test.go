package webhooks_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"parley/gateway/webhooks"
	"parley/runtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var discard = slog.New(slog.DiscardHandler)

func word(text string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) })
}

// run serves until the test ends.
func run(t *testing.T, s *webhooks.Server) {
	t.Helper()
	runtest.Start(t, "the server", func(ctx context.Context) error { return errors.Join(s.Run(ctx), s.Close()) })
}

func get(t *testing.T, c *http.Client, address string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

func client(t *testing.T, pool *x509.CertPool) *http.Client {
	t.Helper()
	tr := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	t.Cleanup(tr.CloseIdleConnections)
	return &http.Client{Transport: tr}
}

func TestOnlyTheHooksAreServedAndOnlyWhileReady(t *testing.T) {
	t.Parallel()
	s, err := webhooks.New(t.Context(), webhooks.Config{Listen: "127.0.0.1:0"}, map[string]http.Handler{
		"/a": word("a"), "/{b}/": word("b"),
	}, discard)
	if err != nil {
		t.Fatal(err)
	}
	run(t, s)
	c, root := client(t, nil), "http://"+s.Addr()
	for _, ready := range []bool{false, true, false} {
		s.SetReady(ready)
		for path, want := range map[string]string{"/a": "200 a", "/%7Bb%7D/": "200 b", "/": "404 ", "/a/": "404 ", "/x/": "404 ", "/metrics": "404 ", "//a": "404 "} {
			if !ready {
				want = "503 "
			}
			status, body := get(t, c, root+path)
			if fmt.Sprint(status, " ", body) != want {
				t.Errorf("ready %v, %s: %d %q, want %s", ready, path, status, body, want)
			}
		}
	}
}

func TestWithoutAHookThereIsNoListener(t *testing.T) {
	t.Parallel()
	s, err := webhooks.New(t.Context(), webhooks.Config{Listen: "127.0.0.1:0"}, nil, discard)
	if err != nil || s.Addr() != "" {
		t.Fatalf("%q, %v", s.Addr(), err)
	}
	run(t, s)
}

func TestAnAddressThatIsTakenIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	hooks := map[string]http.Handler{"/a": word("a")}
	s, err := webhooks.New(t.Context(), webhooks.Config{Listen: "127.0.0.1:0"}, hooks, discard)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	if _, err := webhooks.New(t.Context(), webhooks.Config{Listen: s.Addr()}, hooks, discard); err == nil || !strings.HasPrefix(err.Error(), "webhooks.listen: ") {
		t.Errorf("%v", err)
	}
}

func TestAConfigurationThatCannotWorkIsRefused(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]webhooks.Config{
		"":          {Listen: ":8443", CertFile: "c", KeyFile: "k"},
		"listen":    {Listen: "8443"},
		"key_file":  {Listen: ":8443", CertFile: "c"},
		"cert_file": {Listen: ":8443", KeyFile: "k"},
		"listen: r": {CertFile: "c", KeyFile: "k"},
	} {
		err := c.Validate()
		if want == "" && err != nil || want != "" && (err == nil || !strings.HasPrefix(err.Error(), want)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

// pair writes a certificate for 127.0.0.1 and its key, dated at.
func pair(t *testing.T, dir string, serial int64, at time.Time) (cert []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: "test"}, DNSNames: []string{"bot.example.org"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	cert = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	for name, b := range map[string][]byte{"cert.pem": cert, "key.pem": pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})} {
		write(t, filepath.Join(dir, name), b, at)
	}
	return cert
}

func write(t *testing.T, name string, b []byte, at time.Time) {
	t.Helper()
	if err := os.WriteFile(name, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(name, at, at); err != nil {
		t.Fatal(err)
	}
}

func TestARenewedCertificateIsServedWithoutARestart(t *testing.T) {
	t.Parallel()
	dir, at := t.TempDir(), time.Now().Add(-time.Hour)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pair(t, dir, 1, at))
	c := webhooks.Config{Listen: "127.0.0.1:0", CertFile: filepath.Join(dir, "cert.pem"), KeyFile: filepath.Join(dir, "key.pem")}
	s, err := webhooks.New(t.Context(), c, map[string]http.Handler{"/a": word("a")}, discard)
	if err != nil {
		t.Fatal(err)
	}
	run(t, s)
	s.SetReady(true)
	serial := func() int64 {
		d := tls.Dialer{Config: &tls.Config{RootCAs: pool, ServerName: "bot.example.org", MinVersion: tls.VersionTLS12}}
		conn, err := d.DialContext(t.Context(), "tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		return conn.(*tls.Conn).ConnectionState().PeerCertificates[0].SerialNumber.Int64()
	}
	if got := serial(); got != 1 {
		t.Errorf("certificate %d", got)
	}
	write(t, c.CertFile, []byte("half a renewal"), at.Add(time.Minute))
	if got := serial(); got != 1 {
		t.Errorf("while it is being renewed: certificate %d", got)
	}
	pool.AppendCertsFromPEM(pair(t, dir, 2, at.Add(2*time.Minute)))
	if got := serial(); got != 2 {
		t.Errorf("renewed: certificate %d", got)
	}
	if err := os.Remove(c.KeyFile); err != nil {
		t.Fatal(err)
	}
	if got := serial(); got != 2 {
		t.Errorf("without its file: certificate %d", got)
	}
	web := client(t, pool)
	web.Transport.(*http.Transport).TLSClientConfig.ServerName = "bot.example.org"
	if status, body := get(t, web, "https://"+s.Addr()+"/a"); status != 200 || body != "a" {
		t.Errorf("%d %q", status, body)
	}
	if _, err := webhooks.New(t.Context(), c, map[string]http.Handler{"/a": word("a")}, discard); err == nil || !strings.Contains(err.Error(), "key.pem") {
		t.Errorf("without a key: %v", err)
	}
}
