package markup

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestNamesOfFilesAreSound(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"report.csv":                     "report.csv",
		"Übersicht 2026 – 日本.pdf":        "Übersicht 2026 – 日本.pdf",
		".gitignore":                     ".gitignore",
		"":                               "file",
		".":                              "file",
		"..":                             "file",
		"../../etc/passwd":               "passwd",
		`C:\Users\ann\report.csv`:        "report.csv",
		"folder/":                        "file",
		"a\x00b\r\nc\td.txt":             "ab c d.txt",
		"invoice\u202Efdp.exe":           "invoicefdp.exe",
		"\u200b\u200b":                   "file",
		"<!channel> \"x\"|y?*.txt":       "_!channel_ _x__y__.txt",
		"trailing. . ":                   "trailing",
		"\xff\xfe.bin":                   "\uFFFD.bin",
		"???":                            "file",
		strings.Repeat("x", 300) + ".go": strings.Repeat("x", 197) + ".go",
	} {
		if got := FileName(in); got != want {
			t.Errorf("FileName(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzFileName(f *testing.F) {
	for _, s := range []string{"a.txt", "..", "a/../b", strings.Repeat("ä", 150) + ".tar.gz", "x." + strings.Repeat("😀", 90), "\xf0\x9f"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := FileName(s)
		switch {
		case got == "", got == ".", got == "..", len(got) > 255, !utf8.ValidString(got):
			t.Errorf("FileName(%q) = %q", s, got)
		case strings.ContainsAny(got, `/\<>:"|?*`), strings.ContainsFunc(got, unicode.IsControl):
			t.Errorf("FileName(%q) = %q", s, got)
		case FileName(got) != got:
			t.Errorf("FileName(%q) = %q, and again %q", s, got, FileName(got))
		}
	})
}
