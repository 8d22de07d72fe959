package broker

import (
	"crypto/tls"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"parley/broker/brokertest"
)

// abuse L10: a server whose certificate the system does not trust is trusted when the
// operator says who signed it, and not before.
func TestAServerWithTLS(t *testing.T) {
	t.Parallel()
	certified := httptest.NewTLSServer(nil)
	certified.Close()
	ca := filepath.Join(t.TempDir(), "ca.pem")
	block := &pem.Block{Type: "CERTIFICATE", Bytes: certified.Certificate().Raw}
	if err := os.WriteFile(ca, pem.EncodeToMemory(block), 0o600); err != nil {
		t.Fatal(err)
	}
	url := natsServer(t, func(o *server.Options) {
		o.TLS, o.TLSTimeout = true, brokertest.Patience.Seconds()
		o.TLSConfig = &tls.Config{Certificates: certified.TLS.Certificates} // a test's
	})
	o := Options{URL: strings.Replace(url, "nats://", "tls://", 1), CAFile: ca, Timeout: brokertest.Patience}
	b, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Close(t.Context()); err != nil {
		t.Error(err)
	}
	o.CAFile = ""
	if _, err := Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("a server that nobody vouches for: %v", err)
	}
	o.CAFile = filepath.Join(t.TempDir(), "ca.pem")
	if _, err := Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "ca.pem") {
		t.Errorf("without the file: %v", err)
	}
}
