package model

import (
	"bytes"
	"cmp"
	"image"
	_ "image/gif"  // what people send
	_ "image/jpeg" // likewise
	_ "image/png"  // likewise
	"slices"
	"strings"
)

// demoColours are the colours that the demonstration has a word for.
var demoColours = []struct {
	name    string
	r, g, b int
}{
	{"black", 0, 0, 0},
	{"white", 255, 255, 255},
	{"grey", 128, 128, 128},
	{"red", 210, 40, 40},
	{"orange", 240, 140, 40},
	{"yellow", 250, 210, 60},
	{"green", 60, 150, 70},
	{"blue", 40, 70, 180},
	{"light blue", 120, 180, 240},
	{"violet", 130, 60, 160},
	{"pink", 240, 160, 190},
	{"brown", 120, 80, 50},
}

// demoLook describes the pictures of the message that is to be answered; nil: it has none.
func demoLook(p *Prompt) []Block {
	if len(p.Messages) == 0 {
		return nil
	}
	m := p.Messages[len(p.Messages)-1]
	var seen []string
	for _, picture := range m.Pictures {
		seen = append(seen, demoSee(picture))
	}
	if seen == nil {
		return nil
	}
	return []Block{Say(strings.Join(seen, " "))}
}

// demoSee says which colours a picture has, and how large it is.
func demoSee(picture Picture) string {
	m, form, err := image.Decode(bytes.NewReader(picture.Data))
	if err != nil {
		return "I see a picture, and cannot make out anything in it: my script knows PNG, JPEG and GIF."
	}
	const grid = 48 // as many points are looked at each way
	b := m.Bounds()
	counts := make([]int, len(demoColours))
	points := 0
	for y := range min(grid, b.Dy()) {
		for x := range min(grid, b.Dx()) {
			r, g, bl, _ := m.At(b.Min.X+x*b.Dx()/min(grid, b.Dx()), b.Min.Y+y*b.Dy()/min(grid, b.Dy())).RGBA()
			counts[nearestColour(int(r>>8), int(g>>8), int(bl>>8))]++ // eight bits
			points++
		}
	}
	order := make([]int, len(demoColours))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(counts[j], counts[i]) })
	var words []string
	for _, i := range order[:3] {
		switch share := counts[i] * 100 / max(points, 1); {
		case share >= 50:
			words = append(words, "mostly "+demoColours[i].name)
		case share >= 10:
			words = append(words, "some "+demoColours[i].name)
		case share >= 1:
			words = append(words, "a little "+demoColours[i].name)
		}
	}
	return pathf("I see a picture of %d × %d points (%s): %s. A real model would tell you what it shows.", b.Dx(), b.Dy(), strings.ToUpper(form), strings.Join(words, ", "))
}

// nearestColour returns which of the colours is closest.
func nearestColour(r, g, b int) int {
	best, least := 0, -1
	for i, c := range demoColours {
		dr, dg, db := r-c.r, g-c.g, b-c.b
		if d := dr*dr + dg*dg + db*db; least < 0 || d < least {
			best, least = i, d
		}
	}
	return best
}
