package programs_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"parley/tools/programs"
)

// security.md 4.3: who permits a script permits the files that it names as they are, however and
// wherever it names them, and whatever their size.
func TestDigestFiles(t *testing.T) {
	t.Parallel()
	big := strings.Repeat("# padding\n", 200_000) // 2 MB
	for name, c := range map[string]struct{ script, file, dir string }{
		"plain":                    {"sh build.sh", "build.sh", ""},
		"in the folder":            {"sh build.sh", "d/build.sh", "d"},
		"in another folder":        {"cd d && sh build.sh", "d/build.sh", ""},
		"two folders down":         {"cd d; cd e; sh ./build.sh", "d/e/build.sh", ""},
		"back from a folder":       {"cd ..; sh x/build.sh", "x/build.sh", "d"},
		"by the workspace's name":  {"sh /workspace/d/build.sh", "d/build.sh", "e"},
		"with an equals sign":      {"sh a=b.sh", "a=b.sh", ""},
		"behind an equals sign":    {"kubectl apply --file=build.sh", "build.sh", ""},
		"with a comma":             {"sh a,b.sh", "a,b.sh", ""},
		"behind an at sign":        {"curl -d @build.sh example.org", "build.sh", ""},
		"with a blank, in quotes":  {"sh 'my build.sh'", "my build.sh", ""},
		"with a blank, in doubles": {`sh "d/my build.sh"`, "d/my build.sh", ""},
		"with a blank, escaped":    {`sh my\ build.sh`, "my build.sh", ""},
		"half in quotes":           {"sh my' bui'ld.sh", "my build.sh", ""},
		"piped":                    {"sort<build.sh|tee x", "build.sh", ""},
		"with slashes too many":    {"sh /workspace//d/./build.sh", "d/build.sh", "e"},
		"around a corner":          {"sh /workspace/../workspace/build.sh", "build.sh", "e"},
		"out and in again":         {"sh ../workspace/build.sh", "build.sh", ""},
	} {
		ws := t.TempDir()
		digest := func(text string) []string {
			t.Helper()
			path := filepath.Join(ws, c.file)
			for _, folder := range []string{filepath.Dir(path), filepath.Join(ws, c.dir), filepath.Join(ws, "e")} {
				if err := os.MkdirAll(folder, 0o700); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			all, err := programs.DigestFiles(ws, c.dir, "/workspace", c.script)
			if err != nil {
				t.Fatal(err)
			}
			return all
		}
		if !slices.Equal(digest("a"), digest("a")) {
			t.Errorf("%s: the same file is another", name)
		}
		if slices.Equal(digest("a"), digest("b")) {
			t.Errorf("%s: another file is the same", name)
		}
		if slices.Equal(digest(big+"a"), digest(big+"b")) {
			t.Errorf("%s: another large file is the same", name)
		}
	}
}

// A link may name the workspace as the script does, which is another name outside of the sandbox.
func TestDigestFilesBehindLinks(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(ws, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	link := func(to, name string) {
		t.Helper()
		if err := os.Symlink(to, filepath.Join(ws, name)); err != nil {
			t.Fatal(err)
		}
	}
	digest := func(script string) []string {
		t.Helper()
		all, err := programs.DigestFiles(ws, "", "/workspace", script)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	if err := os.Mkdir(filepath.Join(ws, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	link("/workspace/d/build.sh", "absolute")
	link("absolute", "twice")
	link("/workspace/d", "folder")
	link("round", "round")
	for _, script := range []string{"sh absolute", "sh twice", "sh folder/build.sh", "cd folder && sh build.sh"} {
		write("d/build.sh", "a")
		first := digest(script)
		write("d/build.sh", "b")
		if second := digest(script); slices.Equal(first, second) {
			t.Errorf("%s: another file is the same: %q", script, first)
		}
	}
	link("/usr/bin/true", "out")
	first := digest("./out; sh round")
	if err := os.Remove(filepath.Join(ws, "out")); err != nil {
		t.Fatal(err)
	}
	link("/usr/bin/false", "out")
	if second := digest("./out; sh round"); slices.Equal(first, second) {
		t.Errorf("a link that leads elsewhere is the same: %q", first)
	}
}

// An argument is a name as it is, whatever stands in it.
func TestDigestFilesOfArguments(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	for _, c := range []struct{ name, argument string }{{"a b;c.yaml", "a b;c.yaml"}, {"it's.yaml", "--file=it's.yaml"}, {"x.yaml", "@x.yaml"}} {
		var all [2][]string
		for i, text := range []string{"a", "b"} {
			if err := os.WriteFile(filepath.Join(ws, c.name), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			var err error
			if all[i], err = programs.DigestFiles(ws, "", "/workspace", "", c.argument); err != nil {
				t.Fatal(err)
			}
		}
		if slices.Equal(all[0], all[1]) {
			t.Errorf("%s: another file is the same", c.argument)
		}
	}
}

// What cannot be bound cannot be permitted.
func TestDigestFilesHasBounds(t *testing.T) {
	t.Parallel()
	ws := t.TempDir()
	file, err := os.Create(filepath.Join(ws, "huge.sh"))
	if err != nil {
		t.Fatal(err)
	}
	if err := file.Truncate(1 << 40); err != nil { // of which the disk holds nothing
		t.Fatal(err)
	}
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	var folders, words []string
	for i := range 2001 {
		words = append(words, strings.Repeat("w", i%50+1)+"."+strings.Repeat("v", i/50))
	}
	for i := range 17 {
		folders = append(folders, strings.Repeat("f", i+1))
		if err := os.Mkdir(filepath.Join(ws, folders[i]), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for script, want := range map[string]string{
		"sh huge.sh":                       "more than the 64 MiB",
		"ls " + strings.Join(folders, " "): "more than the 16 folders",
		"echo " + strings.Join(words, " "): "more than the 2000 words",
	} {
		if all, err := programs.DigestFiles(ws, "", ws, script); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.20s: %d files, %v, want %q", script, len(all), err, want)
		}
	}
}
