package gateway

import (
	"bytes"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"parley/gateway/redaction"
	"parley/gateway/settings"
)

// abuse L2: the redactor did not know what is configured besides tokens and keys.
func TestEverySecretOfAConfigurationIsKnown(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	creds := "-----BEGIN NATS USER JWT-----\ncanary-jwt-0001\n------END NATS USER JWT------\n\n" +
		"************************* IMPORTANT *************************\nNKEY Seed printed below can be used to sign\n" +
		"-----BEGIN USER NKEY SEED-----\ncanary-seed-0002\n------END USER NKEY SEED------\n"
	c := settings.Config{
		Channels: settings.ChannelsConfig{
			Telegram: map[string]settings.TelegramConfig{"tg": {Token: settings.NewSecret("1:canary-telegram-0003")}},
			Slack: map[string]settings.SlackConfig{"sl": {
				BotToken: settings.NewSecret("canary-bot-0004"), AppToken: settings.NewSecret("canary-app-0005"), SigningSecret: settings.NewSecret("canary-signing-0006"),
			}},
		},
		Providers: map[string]settings.ProviderConfig{"p": {APIKey: settings.NewSecret("canary-key-0007"), BaseURL: "http://u:canary-base-0008@h"}},
		Store:     settings.StoreConfig{Redis: settings.RedisConfig{URL: settings.NewSecret("redis://u:canary%2Fredis-0009@h:1/0"), PasswordFile: write("redis", "canary pass-0010\n")}},
		Broker: settings.BrokerConfig{
			URL: "nats://u:canary-nats-0011@a:1, tls://canary-token-0012@b:2", TokenFile: write("token", "canary-file-0013\n"), CredentialsFile: write("creds", creds),
		},
	}
	r := redaction.New(secretsOf(c)...)
	for _, s := range []string{
		"canary-jwt-0001", "canary-seed-0002", "1:canary-telegram-0003", "canary-bot-0004", "canary-app-0005", "canary-signing-0006", "canary-key-0007",
		"canary-base-0008", "canary/redis-0009", "canary%2Fredis-0009", "canary pass-0010", "canary-nats-0011", "canary-token-0012", "canary-file-0013",
	} {
		if got := r.Clean("x " + s + " y"); got != "x [redacted] y" {
			t.Errorf("%q became %q", s, got)
		}
	}
	if got := r.Clean("NKEY Seed printed below can be used to sign"); strings.Contains(got, redaction.Mark) {
		t.Errorf("words of a credentials file are taken for a secret: %q", got)
	}
}

// Every key of the configuration that is a secret is known, and so is who asks in every URL
// of it, in whatever part it stands: one that is new, too.
func TestEverySecretKeyIsKnown(t *testing.T) {
	t.Parallel()
	n := 0
	var c settings.Config
	secrets := fillTexts(reflect.ValueOf(&c).Elem(), &n)
	known := secretsOf(c)
	if len(secrets) < 30 {
		t.Errorf("only %d keys have been filled", len(secrets))
	}
	for _, s := range secrets {
		if !slices.Contains(known, s) {
			t.Errorf("%q is not known", s)
		}
	}
}

// fillTexts gives each map and slice below v an entry, each secret a value, and each text one
// that is a URL with a password and a key. It returns what of that is secret.
func fillTexts(v reflect.Value, n *int) (secrets []string) {
	canary := func() string {
		*n++
		secrets = append(secrets, fmt.Sprintf("canary-%04d", *n))
		return secrets[len(secrets)-1]
	}
	switch v.Kind() {
	case reflect.String:
		if v.Type() == reflect.TypeFor[string]() {
			v.SetString("https://user:" + canary() + "@h/?api_key=" + canary())
		}
	case reflect.Struct:
		if v.Type() == secretType {
			v.Set(reflect.ValueOf(settings.NewSecret(canary())))
			return secrets
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				secrets = append(secrets, fillTexts(v.Field(i), n)...)
			}
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		if key.Kind() == reflect.String {
			key.SetString("main")
		}
		secrets = append(secrets, fillTexts(value, n)...)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Slice:
		one := reflect.New(v.Type().Elem()).Elem()
		secrets = append(secrets, fillTexts(one, n)...)
		v.Set(reflect.Append(v, one))
	default: // no text
	}
	return secrets
}

// A private key is known line by line, as hexdumps and base64 of it have them; certificates
// beside it are everybody's.
func TestTheLinesOfAPrivateKeyAreKnown(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "key.pem")
	text := "-----BEGIN CERTIFICATE-----\nMIIpublic0001\n-----END CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\nMIIcanary0001\nMIIcanary0002\n-----END PRIVATE KEY-----\n"
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var c settings.Config
	c.Webhooks.KeyFile = path
	if known := secretsOf(c); !slices.Contains(known, "MIIcanary0001") || !slices.Contains(known, "MIIcanary0002") || slices.Contains(known, "MIIpublic0001") {
		t.Errorf("known are %q", known)
	}
}

// What goes to the log goes through the redactor, whoever logs.
func TestTheGatewaysLogIsRedacted(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	g, err := New(settings.Config{
		StateDir: t.TempDir(),
		Channels: settings.ChannelsConfig{Telegram: map[string]settings.TelegramConfig{"tg": {
			Common: settings.Common{Agent: "main"}, Token: settings.NewSecret("123456:canary-canary-canary-canary-canary-"),
		}}},
		Providers: map[string]settings.ProviderConfig{"anthropic": {APIKey: settings.NewSecret("canary-key-0007")}},
		Agents:    map[string]settings.AgentConfig{"main": {Model: "anthropic/m"}},
	}, Options{Logger: slog.New(slog.NewTextHandler(&out, nil))})
	if err != nil {
		t.Fatal(err)
	}
	g.o.Logger.Info("the key is canary-key-0007", "key", "canary-key-0007")
	if strings.Contains(out.String(), "canary") || strings.Count(out.String(), redaction.Mark) < 2 {
		t.Errorf("the log says %s", out.String())
	}
}
