package broker

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func TestOptionsAreCheckedAllAtOnceAndWithoutSecrets(t *testing.T) {
	t.Parallel()
	cases := []struct {
		o    Options
		want []string // none: valid
	}{
		{Options{Dir: "d"}, nil},
		{Options{URL: "nats://a:1, tls://b:2", Replicas: 3, CredentialsFile: "c", CAFile: "ca"}, nil},
		{Options{Dir: "d", Listen: "127.0.0.1:4222", Relaxed: time.Second, MaxBytes: 1 << 20}, nil},
		{Options{Dir: "d", Listen: "0.0.0.0:4222", TokenFile: "t"}, nil},
		{Options{}, []string{"dir:"}},
		{Options{URL: "nats://a:1", Dir: "d"}, []string{"dir:"}},
		{Options{URL: "nats://a:1", Listen: ":1"}, []string{"listen:"}},
		{Options{URL: "nats://a:1", Relaxed: time.Second}, []string{"relaxed:"}},
		{Options{URL: "nats://u:hunter2@a:b:c%"}, []string{"url:"}},
		{Options{URL: "http://a"}, []string{"url:"}},
		{Options{URL: "nats://a:1,"}, []string{"url:"}},
		{Options{Dir: "d", Listen: "0.0.0.0:4222"}, []string{"listen:"}},
		{Options{Dir: "d", Listen: "localhost:4222"}, []string{"listen:"}}, // a name may be anybody
		{Options{Dir: "d", Listen: "4222"}, []string{"listen:"}},
		{Options{Dir: "d", Listen: "127.0.0.1:99999"}, []string{"listen:"}},
		{Options{Dir: "d", CAFile: "c"}, []string{"ca_file:"}},
		{Options{Dir: "d", CredentialsFile: "c"}, []string{"credentials_file"}},
		{Options{URL: "nats://a:1", CredentialsFile: "c", TokenFile: "t"}, []string{"token_file"}},
		{
			Options{Dir: "d", Relaxed: time.Hour, MaxBytes: 1, MaxBody: -1, Replicas: 9, Handlers: -1},
			[]string{"relaxed:", "max_bytes:", "max_body:", "replicas:", "handlers"},
		},
	}
	for _, c := range cases {
		err := c.o.Validate()
		if (err == nil) != (len(c.want) == 0) {
			t.Errorf("%+v: %v", c.o, err)
		}
		for _, w := range c.want {
			if err != nil && (!strings.Contains(err.Error(), w) || strings.Contains(err.Error(), "hunter2")) {
				t.Errorf("%+v: %v", c.o, err)
			}
		}
	}
}

func TestAServerThatWillNotDoIsRefusedClearly(t *testing.T) {
	t.Parallel()
	plain := natsServer(t, func(o *server.Options) { o.JetStream = false })
	small := natsServer(t, func(o *server.Options) { o.MaxPayload = 200 << 10 })
	secret := natsServer(t, func(o *server.Options) { o.Authorization = "s3cret" })
	wrong := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(wrong, []byte("guess"), 0o600); err != nil {
		t.Fatal(err)
	}
	cases := []struct {
		name string
		o    Options
		want string
	}{
		{"without JetStream", Options{URL: plain}, "JetStream switched off"},
		{"takes less than asked", Options{URL: small, MaxBody: 1 << 20}, "max_payload"},
		{"wants a token", Options{URL: secret}, "Authorization"},
		{"wants another token", Options{URL: secret, TokenFile: wrong}, "Authorization"},
		{"is not there", Options{URL: "nats://127.0.0.1:1"}, "connect to the message server"},
		{"token file is missing", Options{URL: secret, TokenFile: wrong + "x"}, "token"},
	}
	for _, c := range cases {
		c.o.Timeout = time.Second
		b, err := Open(t.Context(), c.o)
		if err == nil {
			_ = b.Close(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "guess") {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	// Without a wish for MaxBody, what the server takes is taken.
	if b := open(t, func(o *Options) { o.URL = small }); b.MaxBody() >= 200<<10 || b.MaxBody() < 100<<10 {
		t.Errorf("a body of %d", b.MaxBody())
	}
}

func TestAStreamThatConfirmsWhatIsNotStoredIsRefused(t *testing.T) {
	t.Parallel()
	url := natsServer(t)
	nc, err := nats.Connect(url, nats.Timeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	cfg := Options{}.withDefaults().streamConfigs()[0]
	cfg.PersistMode = jetstream.AsyncPersistMode
	if _, err := js.CreateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{URL: url}); err == nil || !strings.Contains(err.Error(), "persist mode async") {
		t.Errorf("opened: %v", err)
	}
}

func TestVersionsWithKnownFaultsAreTold(t *testing.T) {
	t.Parallel()
	for version, want := range map[string]bool{
		"2.15.2": true, "2.15.3": true, "2.16.0": true, "3.0.0": true, "2.15.2-RC.1": true,
		"2.15.1": false, "2.12.9": false, "1.99.99": false, "": false, "dev": false,
	} {
		if got := syncsSafely(version); got != want {
			t.Errorf("%q: %v", version, got)
		}
	}
}

func TestADirectoryThatCannotBeUsedIsAnError(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), Options{Dir: file, Log: slog.New(slog.DiscardHandler)}); err == nil {
		t.Error("a file was taken for a directory")
	}
	if _, err := Open(t.Context(), Options{Dir: filepath.Join(file, "below")}); err == nil || errors.Is(err, ErrInUse) {
		t.Errorf("%v", err)
	}
}
