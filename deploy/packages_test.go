package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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

// The manual of the packages has what its pages link to.
func TestThePackagesHaveTheWholeManual(t *testing.T) {
	t.Parallel()
	var p packages
	decode(t, "nfpm.yaml", read(t, "packages/nfpm.yaml"), &p)
	const manual = "/usr/share/doc/parley"
	packaged := map[string]bool{}
	for _, c := range p.Contents {
		found, err := filepath.Glob(filepath.Join("..", c.Src))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range found {
			if strings.HasSuffix(c.Dst, "/") {
				packaged[c.Dst+filepath.Base(file)] = true
			}
		}
	}
	pages, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	links := 0
	for _, page := range pages {
		for _, m := range regexp.MustCompile(`\]\(([\w./-]+)[#)]`).FindAllStringSubmatch(read(t, page), -1) {
			links++
			if !packaged[filepath.Join(manual, m[1])] {
				t.Errorf("%s links to %s, which no package has", page, m[1])
			}
		}
	}
	if links < 20 {
		t.Errorf("only %d links were found", links)
	}
}

// dpkg takes a package for half configured when this script fails, as a service would make it that
// refuses the configuration.
func TestAServiceThatDoesNotStartLeavesThePackageInstalled(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for name, text := range map[string]string{"getent": "exit 0", "systemctl": `[ "$1" != restart ]`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil { // a program
			t.Fatal(err)
		}
	}
	script := strings.NewReplacer("/run/systemd/system", dir, "/etc/parley/parley.yaml ]", filepath.Join(dir, "none")+" ]").Replace(read(t, "packages/postinstall.sh"))
	cmd := exec.CommandContext(t.Context(), "sh", "-c", script)
	cmd.Env = []string{"PATH=" + dir + ":" + os.Getenv("PATH")}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "does not run") || !strings.Contains(string(out), "journalctl -u parley") {
		t.Errorf("%v: %s", err, out)
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
