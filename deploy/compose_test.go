package deploy_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// composeFile is the part of Compose's format that the file uses.
type composeFile struct {
	Name     string
	Services map[string]composeService
	Secrets  map[string]struct{ File string }
	Networks map[string]struct{ Internal bool }
	Volumes  map[string]struct{}
}

type composeService struct {
	Image string
	Build struct {
		Context string
		Args    map[string]string
	}
	Hostname    string
	User        string
	Restart     string
	Profiles    []string
	ReadOnly    bool `yaml:"read_only"`
	Tmpfs       []string
	CapDrop     []string      `yaml:"cap_drop"`
	SecurityOpt []string      `yaml:"security_opt"`
	StopGrace   time.Duration `yaml:"stop_grace_period"`
	Environment map[string]string
	Entrypoint  []string
	Command     []string
	Volumes     []string
	Secrets     []string
	Ports       []string
	Networks    []string
	DependsOn   map[string]struct{ Condition string } `yaml:"depends_on"`
	Healthcheck struct {
		Test              []string
		Interval, Timeout time.Duration
		StartPeriod       time.Duration `yaml:"start_period"`
	}
}

func TestCompose(t *testing.T) {
	t.Parallel()
	var c composeFile
	decode(t, "compose.yaml", read(t, "compose/compose.yaml"), &c)
	usedSecrets, usedVolumes, usedNetworks := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for name, s := range c.Services {
		if s.Image == "" || s.Restart != "unless-stopped" {
			t.Errorf("%s: image %q, restart %q", name, s.Image, s.Restart)
		}
		for _, v := range s.Volumes {
			from, _, _ := strings.Cut(v, ":")
			if !strings.HasPrefix(from, ".") {
				usedVolumes[from] = true
			} else if _, err := os.Stat(filepath.Join("compose", from)); err != nil || !strings.HasSuffix(v, ":ro") {
				t.Errorf("%s mounts %s: %v", name, v, err)
			}
		}
		for _, n := range s.Networks {
			usedNetworks[n] = true
		}
		for _, secret := range s.Secrets {
			usedSecrets[secret] = true
		}
		for needed := range secretsIn(strings.Join(slices.Concat(s.Entrypoint, s.Healthcheck.Test, slices.Collect(maps.Values(s.Environment))), " ")) {
			if !slices.Contains(s.Secrets, needed) {
				t.Errorf("%s reads the secret %s, and does not have it", name, needed)
			}
		}
		for other, d := range s.DependsOn {
			if d.Condition != "service_healthy" || len(c.Services[other].Healthcheck.Test) == 0 {
				t.Errorf("%s waits for %s, whose health nobody checks", name, other)
			}
		}
		for _, port := range s.Ports {
			if !strings.HasPrefix(port, "127.0.0.1:") {
				t.Errorf("%s is open to other machines: %s", name, port)
			}
		}
	}
	for what, sets := range map[string][2][]string{
		"secrets":  {slices.Sorted(maps.Keys(usedSecrets)), slices.Sorted(maps.Keys(c.Secrets))},
		"volumes":  {slices.Sorted(maps.Keys(usedVolumes)), slices.Sorted(maps.Keys(c.Volumes))},
		"networks": {slices.Sorted(maps.Keys(usedNetworks)), slices.Sorted(maps.Keys(c.Networks))},
	} {
		if !slices.Equal(sets[0], sets[1]) {
			t.Errorf("%s: used are %q, declared %q", what, sets[0], sets[1])
		}
	}

	p := c.Services["parley"]
	if p.StopGrace < grace+20*time.Second || !p.ReadOnly || !slices.Equal(p.CapDrop, []string{"ALL"}) || !slices.Contains(p.SecurityOpt, "no-new-privileges:true") {
		t.Errorf("parley has %s to stop, read_only %t, cap_drop %q, security_opt %q", p.StopGrace, p.ReadOnly, p.CapDrop, p.SecurityOpt)
	}
	if !slices.Contains(p.Volumes, "./parley.yaml:"+configFile+":ro") || !slices.Contains(p.Volumes, "state:"+stateFolder) {
		t.Errorf("parley mounts %q", p.Volumes)
	}
	if needed := slices.Sorted(maps.Keys(secretsIn(read(t, "compose/parley.yaml")))); !slices.Equal(needed, slices.Sorted(slices.Values(p.Secrets))) {
		t.Errorf("parley's configuration names the secrets %q, it has %q", needed, p.Secrets)
	}
	if v := p.Build.Args["VERSION"]; v != "${PARLEY_VERSION:-dev}" || !strings.Contains(read(t, "../Dockerfile"), "\nARG VERSION=") {
		t.Errorf("the image is built as version %q", v)
	}
	// Who reaches signal-cli, the message log or the store reads what people write.
	if !c.Networks["inside"].Internal || !slices.Equal(c.Services["signal-cli"].Networks, []string{"outside"}) {
		t.Error("the network inside is open, or signal-cli is in it")
	}
	for name, s := range c.Services {
		if name != "parley" && name != "signal-cli" && slices.Contains(s.Networks, "outside") {
			t.Errorf("%s reaches signal-cli", name)
		}
	}

	// The secrets of an operator come neither into an image nor into a commit.
	for file, line := range map[string]string{"../.dockerignore": "deploy\n", "../.gitignore": "/deploy/compose/secrets/\n"} {
		if !strings.Contains("\n"+read(t, file), "\n"+line) {
			t.Errorf("%s has no %q", file, line)
		}
	}

	cfg := load(t, "compose/parley.yaml", p.Environment)
	if cfg.Broker.URL != "nats://nats:4222" || !strings.HasPrefix(p.Environment["PARLEY_REDIS"], "redis://redis:6379/") || cfg.Ops.Listen != "0.0.0.0:9464" {
		t.Errorf("broker %s, store %s, ops %s", cfg.Broker.URL, p.Environment["PARLEY_REDIS"], cfg.Ops.Listen)
	}
	if !strings.Contains(read(t, "compose/prometheus.yml"), `targets: ["parley:9464"]`) {
		t.Error("Prometheus does not look at parley")
	}
}
