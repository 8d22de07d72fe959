package tracing_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"parley/channels"
	"parley/gateway/tracing"
)

func TestConfigValidate(t *testing.T) {
	t.Parallel()
	header := func(name, value string) tracing.Config {
		return tracing.Config{Endpoint: "https://x.example", Headers: map[string]channels.Secret{name: channels.NewSecret(value)}}
	}
	for says, c := range map[string]tracing.Config{
		"": {}, "endpoint: the address begins with http": {Endpoint: "collector:4318"}, "endpoint: the address begins": {Endpoint: "grpc://x"},
		"endpoint: that is no URL":         {Endpoint: "http://x\x7f"},
		"endpoint: the address names no":   {Endpoint: "http://:4318"},
		"endpoint: name and password":      {Endpoint: "http://secret@x"},
		"endpoint: the address ends with":  {Endpoint: "http://x/?key=secret"},
		"sampling: -1 is not a share":      {Sampling: -1},
		"sampling: 1.5 is not a share":     {Sampling: 1.5},
		"sampling: NaN is not a share":     {Sampling: math.NaN()},
		"headers.a b: that is no name":     header("a b", "secret"),
		"headers.HOST: parley sets":        header("HOST", "secret"),
		"headers.content-type: parley":     header("content-type", "secret"),
		"headers.x-key: the value holds":   header("x-key", "secret\r\nx: y"),
		"headers.x-key: required: the val": header("x-key", ""),
	} {
		err := c.Defaults().Validate()
		switch {
		case says == "" && err != nil, says != "" && (err == nil || !strings.HasPrefix(err.Error(), says)):
			t.Errorf("%v, want %q", err, says)
		case err != nil && strings.Contains(err.Error(), "secret"):
			t.Errorf("the mistake shows a secret: %v", err)
		}
	}
}

func TestConfigWarnings(t *testing.T) {
	t.Parallel()
	local := func(host string) bool { return host == "127.0.0.1" }
	for endpoint, says := range map[string]string{
		"http://127.0.0.1:4318": "", "https://x.example": "", "http://x.example:4318": "by http whoever", "https://x.example:4317": "4317 is the port",
	} {
		ws := tracing.Config{Endpoint: endpoint}.Defaults().Warnings(local)
		if says == "" && len(ws) > 0 || says != "" && (len(ws) != 1 || !strings.Contains(ws.Error(), says)) {
			t.Errorf("%s: %v", endpoint, ws)
		}
	}
	unused := tracing.Config{Sampling: 0.1}.Defaults().Warnings(local)
	if d := cmp.Diff(1, len(unused)); d != "" {
		t.Errorf("what has no effect: %v", unused)
	}
	if ws := (tracing.Config{}).Defaults().Warnings(local); len(ws) > 0 {
		t.Errorf("no traces: %v", ws)
	}
}
