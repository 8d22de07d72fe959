package main

import (
	"bytes"
	"context"
	"debug/buildinfo"
	"debug/elf"
	"go/parser"
	gotoken "go/token"
	goversion "go/version"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// dockerfile is the instructions of the Dockerfile, each on one line.
func dockerfile(t *testing.T) []string {
	t.Helper()
	return instructions(t, "../../Dockerfile")
}

// instructions are those of a Dockerfile, each on one line.
func instructions(t *testing.T, file string) []string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	text := regexp.MustCompile(`(?m)^#.*\n`).ReplaceAllString(string(data), "")
	text = strings.ReplaceAll(text, "\\\n", " ")
	var lines []string
	for line := range strings.Lines(text) {
		if line = strings.Join(strings.Fields(line), " "); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// lastStage are the instructions of what becomes the image.
func lastStage(lines []string) []string {
	last := 0
	for i, line := range lines {
		if strings.HasPrefix(line, "FROM ") {
			last = i
		}
	}
	return lines[last:]
}

// runsAs is how both images run the program.
var runsAs = []string{
	"ENV STATE_DIRECTORY=/var/lib/parley",
	"USER 65532:65532",
	"STOPSIGNAL SIGTERM",
	`HEALTHCHECK --interval=30s --timeout=5s --start-period=60s --retries=3 CMD ["/parley", "healthcheck", "--config", "/etc/parley/parley.yaml"]`,
	`ENTRYPOINT ["/parley"]`,
	`CMD ["run", "--config", "/etc/parley/parley.yaml"]`,
}

func TestTheImageWithToolsRunsTheSameProgramInTheSameWay(t *testing.T) {
	t.Parallel()
	lines := instructions(t, "../../Dockerfile.tools")
	final := lastStage(lines)
	for _, want := range append([]string{
		"FROM ${BASE}",
		"COPY --from=parley /parley /parley",
		"COPY --from=parley /licenses/ /licenses/",
		"COPY --from=parley --chown=65532:65532 /var/lib/parley /var/lib/parley",
	}, runsAs...) {
		if !slices.Contains(final, want) {
			t.Errorf("the final stage has no %q", want)
		}
	}
	// An argument of FROM stands in front of all stages.
	if !slices.Equal(lines[:3], []string{"ARG PARLEY=parley", "ARG BASE=debian:bookworm-slim", "FROM ${PARLEY} AS parley"}) {
		t.Errorf("it begins with %q", lines[:3])
	}
}

func TestTheImageIsOneStaticProgramOfAnOrdinaryUser(t *testing.T) {
	t.Parallel()
	lines := dockerfile(t)
	for _, line := range lines {
		if strings.HasPrefix(line, "EXPOSE") || strings.HasPrefix(line, "ADD ") {
			t.Errorf("the Dockerfile has %q", line)
		}
	}
	final := lastStage(lines)
	for _, want := range append([]string{
		"FROM scratch",
		"COPY --from=build /out/parley /parley",
		"COPY --from=build /THIRD-PARTY-LICENSES /src/LICENSE /licenses/",
		"COPY --from=build --chown=65532:65532 /out/root/ /",
	}, runsAs...) {
		if !slices.Contains(final, want) {
			t.Errorf("the final stage has no %q", want)
		}
	}
	// abuse L11: by a digest, which nobody can move to another image.
	builder := regexp.MustCompile(`^FROM --platform=\$BUILDPLATFORM golang:(1\.\d+\.\d+)-bookworm@sha256:[0-9a-f]{64} AS build$`).FindStringSubmatch(lines[0])
	if builder == nil {
		t.Fatalf("it is built by %q", lines[0])
	}
	mod, err := os.ReadFile("../../go.mod")
	if err != nil {
		t.Fatal(err)
	}
	wants := regexp.MustCompile(`(?m)^go (\S+)$`).FindStringSubmatch(string(mod))
	if goversion.Compare("go"+builder[1], "go"+wants[1]) < 0 {
		t.Errorf("it is built by Go %s, and go.mod wants %s", builder[1], wants[1])
	}
	if all := strings.Join(lines, "\n"); strings.Count(all, "--mount=type=cache,target=/go/pkg/mod") != 2 || !strings.Contains(all, "mkdir -m 0700 /out/root/var/lib/parley && mkdir -m 1777 /out/root/tmp") {
		t.Error("the builder does not keep its modules, or makes no folders to write to")
	}
}

// buildCommand is the environment and the arguments of the Dockerfile's go
// build, for the file out.
func buildCommand(t *testing.T, out string) (env, args []string) {
	t.Helper()
	for _, line := range dockerfile(t) {
		before, after, ok := strings.Cut(line, " go build ")
		if !ok {
			continue
		}
		for word := range strings.FieldsSeq(before) {
			if strings.HasPrefix(word, "CGO_ENABLED=") {
				env = append(env, word)
			}
		}
		flags, ldflags, ok := strings.Cut(after, `-ldflags "`)
		ldflags, rest, closed := strings.Cut(ldflags, `"`)
		if !ok || !closed {
			t.Fatalf("the Dockerfile builds with %q", line)
		}
		ldflags = strings.NewReplacer("${VERSION}", "v9.9.9", "${REVISION}", "0123abc").Replace(ldflags)
		rest = strings.NewReplacer("/out/parley", out, "./cmd/parley", ".").Replace(rest)
		args = append([]string{"build"}, strings.Fields(flags)...)
		return env, append(append(args, "-ldflags", ldflags), strings.Fields(rest)...)
	}
	t.Fatal("the Dockerfile builds nothing")
	panic("unreachable")
}

// TestTheImagesProgramRunsInAnEmptyFolder builds the program as the Dockerfile
// does, and runs it as the container would: an ordinary user, and a root with
// nothing in it but the program and what it may write to.
func TestTheImagesProgramRunsInAnEmptyFolder(t *testing.T) {
	t.Parallel()
	// Not below t.TempDir, whose folders are closed to other users.
	root, err := os.MkdirTemp("", "parley-root-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	binary := filepath.Join(root, "parley")
	env, args := buildCommand(t, binary)
	build := exec.CommandContext(t.Context(), "go", args...)
	build.Env = append(os.Environ(), env...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go %q: %v\n%s", args, err, out)
	}
	t.Run("it is static", func(t *testing.T) { static(t, binary) })

	open := func(dir string) {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir, 0o755|os.ModeSticky); err != nil {
			t.Fatal(err)
		}
	}
	open(root)
	// The image has it too: the database writes scratch files there.
	scratch := filepath.Join(root, "tmp")
	if err := os.Mkdir(scratch, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(scratch, 0o777|os.ModeSticky); err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(root, "state")
	if err := os.Mkdir(state, 0o700); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(state, nobody, nobody); err != nil {
			t.Fatal(err)
		}
	}
	const config = `state_dir: /state
channels: {telegram: {main: {token: "${TELEGRAM_TOKEN}", access: {people: ["1"]}}}}
providers: {anthropic: {api_key: "${ANTHROPIC_API_KEY}"}}
agents: {main: {model: anthropic/claude-haiku-5-5}}
`
	// another user must read it, and it holds no secret
	if err := os.WriteFile(filepath.Join(root, "parley.yaml"), []byte(config), 0o644); err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct {
		name, in string
		args     []string
		want     []string
	}{
		{"version", "", []string{"version"}, []string{"parley v9.9.9 (revision 0123abc, go1."}},
		{"check-config", "", []string{"check-config", "--config", "/parley.yaml"}, []string{"/parley.yaml: ok\n"}},
		{"try", "what is 6*7\nlist files\n", []string{"try", "--pace", "0s", "--state", "/state"}, []string{"6 * 7 = 42", "welcome.txt"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			cmd := exec.CommandContext(ctx, "/parley", c.args...)
			cmd.Err = nil // /parley is looked for inside the new root
			cmd.Dir = "/"
			cmd.Env = []string{"TELEGRAM_TOKEN=4200000001:AAemptyAAemptyAAemptyAAemptyAAempty", "ANTHROPIC_API_KEY=none"}
			if c.name == "try" {
				cmd.Env = nil
			}
			cmd.Env = append(cmd.Env, "STATE_DIRECTORY=/state")
			cmd.SysProcAttr = confined(root)
			cmd.Stdin = strings.NewReader(c.in)
			var out, errs bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &errs
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v\n%s%s", err, out.String(), errs.String())
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in:\n%s%s", want, out.String(), errs.String())
				}
			}
		})
	}
}

const nobody = 65534

// confined runs a process with root as its whole world, as an ordinary user.
// Who is no root needs a namespace in which to change the root.
func confined(root string) *syscall.SysProcAttr {
	if os.Geteuid() == 0 {
		return &syscall.SysProcAttr{Chroot: root, Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return &syscall.SysProcAttr{
		Chroot: root, Cloneflags: syscall.CLONE_NEWUSER,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Geteuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getegid(), Size: 1}},
	}
}

// static wants a program that needs nothing else.
func static(t *testing.T, binary string) {
	t.Helper()
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if settings["CGO_ENABLED"] != "0" || settings["-trimpath"] != "true" {
		t.Errorf("it is built with %v", settings)
	}
	f, err := elf.Open(binary)
	if err != nil {
		t.Fatal(err)
	}
	defer discard(f)
	for _, p := range f.Progs {
		if p.Type == elf.PT_DYNAMIC || p.Type == elf.PT_INTERP {
			t.Errorf("it has a part %s", p.Type)
		}
	}
	if f.Section(".symtab") != nil {
		t.Error("it is not stripped")
	}
}

// Without it no certificate is trusted where the system has none.
func TestTheProgramBringsCertificateRoots(t *testing.T) {
	t.Parallel()
	f, err := parser.ParseFile(gotoken.NewFileSet(), "main.go", nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range f.Imports {
		if i.Path.Value == `"golang.org/x/crypto/x509roots/fallback"` {
			return
		}
	}
	t.Error("main.go does not import them")
}
