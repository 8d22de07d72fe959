package page_test

import (
	"bytes"
	"cmp"
	"flag"
	"image"
	"image/color"
	"image/png"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

var update = flag.Bool("update", false, "write the pictures of docs/operator-page.md")

// keep writes a screenshot into the manual, if that is wanted, with few colours.
func keep(t *testing.T, name string, shot []byte) {
	t.Helper()
	full, err := png.Decode(bytes.NewReader(shot))
	if err != nil {
		t.Fatal(err)
	}
	if !*update {
		return
	}
	bounds := full.Bounds()
	counts := map[color.RGBA]int{}
	at := func(x, y int) color.RGBA { return color.RGBAModel.Convert(full.At(x, y)).(color.RGBA) } // what the model gives
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[at(x, y)]++
		}
	}
	often := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int { return cmp.Compare(counts[b], counts[a]) })
	var palette color.Palette
	for _, c := range often[:min(len(often), 128)] {
		palette = append(palette, c)
	}
	few := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			few.Set(x, y, at(x, y))
		}
	}
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, few); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join("..", "..", "docs", "pictures", name+".png"), out.Bytes(), 0o644); err != nil { // it is part of the manual
		t.Fatal(err)
	}
}

// All colours of text stand out from what is behind them, in both schemes, as WCAG 2.2 asks for.
func TestColoursCanBeRead(t *testing.T) {
	t.Parallel()
	css, err := os.ReadFile(filepath.Join("static", "page.css"))
	if err != nil {
		t.Fatal(err)
	}
	light, dark, ok := bytes.Cut(css, []byte("prefers-color-scheme: dark"))
	if !ok {
		t.Fatal("there is no dark scheme")
	}
	dark, _, _ = bytes.Cut(dark, []byte("box-sizing"))
	for scheme, text := range map[string][]byte{"light": light, "dark": dark} {
		colours := map[string]float64{}
		for _, m := range regexp.MustCompile(`--([a-z-]+): #([0-9a-f]{6})`).FindAllSubmatch(text, -1) {
			n, err := strconv.ParseUint(string(m[2]), 16, 32)
			if err != nil {
				t.Fatal(err)
			}
			colours[string(m[1])] = luminance(n)
		}
		for _, pair := range [][2]string{
			{"ink", "ground"},
			{"ink", "card"},
			{"ink", "note"},
			{"soft", "ground"},
			{"soft", "card"},
			{"soft", "note"},
			{"accent", "ground"},
			{"accent", "card"},
			{"accent", "note"},
			{"on-accent", "accent"},
			{"bad", "card"},
			{"bad", "ground"},
			{"bad", "bad-ground"},
			{"fine", "card"},
			{"fine", "fine-ground"},
		} {
			a, known := colours[pair[0]]
			b, knownToo := colours[pair[1]]
			if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); !known || !knownToo || ratio < 4.5 {
				t.Errorf("%s: %s on %s has a contrast of %.1f", scheme, pair[0], pair[1], ratio)
			}
		}
	}
}

// luminance is how bright a colour is, as WCAG defines it.
func luminance(rgb uint64) float64 {
	channel := func(shift uint) float64 {
		c := float64(rgb>>shift&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*channel(16) + 0.7152*channel(8) + 0.0722*channel(0)
}
