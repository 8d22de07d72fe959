package agent_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"parley/agent"
	"parley/transcript"
)

// picture saves a picture and is the part of a message that names it.
func picture(t *testing.T, workspace, name string, data []byte) transcript.Binary {
	t.Helper()
	if err := os.WriteFile(filepath.Join(workspace, name), data, 0o600); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	return transcript.Binary{Path: name, MIMEType: "image/png", Sum: hex.EncodeToString(sum[:])}
}

// firstday A1: a model that sees is shown the pictures of the history, as far as they
// are what they were, the newest before others.
func TestPicturesAreShownToAModelThatSees(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		blind bool
		add   func(t *testing.T, workspace string) []transcript.Part
		want  []string // what is shown, by its first byte
	}{
		"one": {add: func(t *testing.T, w string) []transcript.Part {
			t.Helper()
			return []transcript.Part{picture(t, w, "a.png", []byte("a"))}
		}, want: []string{"a"}},
		"one to a model that does not see": {blind: true, add: func(t *testing.T, w string) []transcript.Part {
			t.Helper()
			return []transcript.Part{picture(t, w, "a.png", []byte("a"))}
		}, want: []string{""}},
		"one that is gone, is another, leads outside, is a folder, or too large": {add: func(t *testing.T, w string) (ps []transcript.Part) {
			t.Helper()
			gone, other, link := picture(t, w, "gone.png", []byte("a")), picture(t, w, "other.png", []byte("b")), picture(t, w, "link.png", []byte("c"))
			folder := picture(t, w, "folder.png", []byte("d"))
			outside := filepath.Join(t.TempDir(), "c")
			for _, err := range []error{
				os.Remove(filepath.Join(w, "gone.png")), os.WriteFile(filepath.Join(w, "other.png"), []byte("x"), 0o600),
				os.Remove(filepath.Join(w, "link.png")), os.WriteFile(outside, []byte("c"), 0o600), os.Symlink(outside, filepath.Join(w, "link.png")),
				os.Remove(filepath.Join(w, "folder.png")), os.Mkdir(filepath.Join(w, "folder.png"), 0o700),
			} {
				if err != nil {
					t.Fatal(err)
				}
			}
			return []transcript.Part{gone, other, link, folder, picture(t, w, "large.png", make([]byte, agent.MaxPicture+1))}
		}, want: []string{"", "", "", "", ""}},
		"twelve": {add: func(t *testing.T, w string) (ps []transcript.Part) {
			t.Helper()
			for i := range 12 {
				ps = append(ps, picture(t, w, fmt.Sprint(i), []byte{byte('a' + i)}))
			}
			return ps
		}, want: []string{"", "", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"}},
		"four large ones": {add: func(t *testing.T, w string) (ps []transcript.Part) {
			t.Helper()
			for i := range 4 {
				ps = append(ps, picture(t, w, fmt.Sprint(i), bytes.Repeat([]byte{byte('a' + i)}, agent.MaxPicture)))
			}
			return ps
		}, want: []string{"", "b", "c", "d"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, nil, text("hi"))
			r.turn.Workspace, r.turn.Vision = t.TempDir(), !c.blind
			stored := c.add(t, r.turn.Workspace)
			r.journal.messages[0].Parts = append(r.journal.messages[0].Parts, stored...)
			r.run(t, t.Context())
			var shown []string
			for _, p := range r.lastRequest().Messages[0].Parts {
				if b, ok := p.(transcript.Binary); ok {
					shown = append(shown, string(b.Data[:min(1, len(b.Data))]))
				}
			}
			if fmt.Sprint(shown) != fmt.Sprint(c.want) {
				t.Errorf("shown %q, want %q", shown, c.want)
			}
			for _, p := range r.journal.messages[0].Parts {
				if b, ok := p.(transcript.Binary); ok && len(b.Data) > 0 {
					t.Errorf("%s is stored with its content", b.Path)
				}
			}
		})
	}
}
