package deploy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"parley/configs"
	"parley/gateway"
)

// credentials is the folder of secrets of the service that packages install.
const credentials = "/etc/parley/credentials"

// packages is what nfpm reads of the file.
type packages struct {
	Name, Arch, Platform, Version, Section, Priority, Maintainer, Description, License string
	Contents                                                                           []struct {
		Src, Dst, Type, Packager string
		FileInfo                 struct {
			Mode int `yaml:"mode"`
		} `yaml:"file_info"`
	}
	Scripts map[string]string
	RPM     struct{ Group string } `yaml:"rpm"`
}

func TestThePackages(t *testing.T) {
	t.Parallel()
	var p packages
	decode(t, "nfpm.yaml", read(t, "packages/nfpm.yaml"), &p)
	modes := map[string]int{}
	for _, c := range p.Contents {
		modes[c.Dst] = c.FileInfo.Mode
		built := strings.HasPrefix(c.Src, ".bin/packages/root/") || c.Type == "dir"
		if found, err := filepath.Glob(filepath.Join("..", c.Src)); !built && (err != nil || len(found) == 0) {
			t.Errorf("there is no %s: %v", c.Src, err)
		}
		if built && c.Type != "dir" && !strings.Contains(read(t, "../scripts/packages.sh"), buildsAs(c.Src)) {
			t.Errorf("packages.sh does not make %s", c.Src)
		}
	}
	for name, want := range map[string]int{
		"/usr/bin/parley": 0o755, "/usr/lib/systemd/system/parley.service": 0o644, "/usr/lib/sysusers.d/parley.conf": 0o644,
		configFile: 0o640, credentials: 0o700,
	} {
		if got, ok := modes[name]; !ok || got != want {
			t.Errorf("%s has mode %o, want %o", name, got, want)
		}
	}
	for name, file := range p.Scripts {
		if info, err := os.Stat(filepath.Join("..", file)); err != nil || info.IsDir() {
			t.Errorf("the script %s: %v", name, err)
		}
	}
	if user := read(t, "packages/sysusers.conf"); !strings.HasPrefix(user, "u parley - ") || !strings.HasSuffix(user, " "+stateFolder+"\n") {
		t.Errorf("the user is %q", user)
	}
}

// buildsAs is how packages.sh names what it builds.
func buildsAs(src string) string {
	name := strings.TrimPrefix(src, ".bin/packages/root/")
	if shell, ok := strings.CutPrefix(name, "parley."); ok {
		return " " + shell
	}
	return "$root/" + strings.TrimSuffix(name, "/*.gz")
}

// The service of the packages has its secrets from systemd, which names each file of the
// folder after the folder and itself.
func TestTheServicesConfiguration(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	for line := range strings.Lines(read(t, "packages/parley.yaml")) {
		if _, file, ok := strings.Cut(line, "_file: "); ok {
			file, _, _ = strings.Cut(strings.TrimSpace(file), " ")
			names[file] = true
		}
	}
	dir := withSecrets(t, names)
	file := filepath.Join(t.TempDir(), "parley.yaml")
	if err := os.WriteFile(file, []byte(read(t, "packages/parley.yaml")), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := configs.Load(file, func(name string) (string, bool) { return dir, name == "CREDENTIALS_DIRECTORY" })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gateway.New(cfg, gateway.Options{}); err != nil {
		t.Error(err)
	}
	if cfg.StateDir != stateFolder {
		t.Errorf("the state is in %s", cfg.StateDir)
	}
	said := read(t, "packages/postinstall.sh") + read(t, "../docs/install.md")
	for name := range names {
		if plain, ok := strings.CutPrefix(name, "parley_"); !ok || strings.Count(said, credentials+"/"+plain) < 2 {
			t.Errorf("%s is no file of %s that postinstall.sh and docs/install.md name", name, credentials)
		}
	}
}
