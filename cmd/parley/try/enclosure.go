package try

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"parley/simulators/model"
)

// enclosure is a picture or a voice note that a person sends with a message.
type enclosure struct {
	voice bool // a voice note; otherwise a picture
	name  string
	mime  string
	data  []byte
}

// voiceNote returns a voice note in which the words are said, about as fast as people
// speak.
func voiceNote(words string) *enclosure {
	return &enclosure{voice: true, data: model.Voice(words, time.Second+time.Duration(len(strings.Fields(words)))*400*time.Millisecond)}
}

// maxPicture is what all networks and models take.
const maxPicture = 5 << 20

var (
	errNoPicture = errors.New("not a picture: PNG, JPEG, GIF and WebP are")
	errTooLarge  = errors.New("more than 5 MB, which not every network and model takes")
)

// pictureOf returns the picture in a file of the person, or with "" one that is drawn here.
func pictureOf(file string) (*enclosure, error) {
	if file == "" {
		data, err := drawMeadow()
		return &enclosure{name: "meadow.png", mime: "image/png", data: data}, err
	}
	if rest, ok := strings.CutPrefix(file, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			file = filepath.Join(home, rest)
		}
	}
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return nil, fmt.Errorf("look for the picture: %w", err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: %w", file, errNoPicture)
	case info.Size() > maxPicture:
		return nil, fmt.Errorf("%s: %w", file, errTooLarge)
	}
	data, err := os.ReadFile(file) // the person's own choice
	if err != nil {
		return nil, fmt.Errorf("read the picture: %w", err)
	}
	kind := http.DetectContentType(data)
	if !strings.HasPrefix(kind, "image/") {
		return nil, fmt.Errorf("%s: %w", file, errNoPicture)
	}
	return &enclosure{name: filepath.Base(file), mime: kind, data: data}, nil
}

// drawMeadow draws a meadow below a sky with the sun in it.
func drawMeadow() ([]byte, error) {
	const width, height, horizon = 320, 200, 130
	sky, grass, sun := color.RGBA{120, 180, 240, 255}, color.RGBA{60, 150, 70, 255}, color.RGBA{250, 210, 60, 255}
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			switch dx, dy := x-240, y-50; {
			case y >= horizon:
				m.SetRGBA(x, y, grass)
			case dx*dx+dy*dy < 32*32:
				m.SetRGBA(x, y, sun)
			default:
				m.SetRGBA(x, y, sky)
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		return nil, fmt.Errorf("draw a picture: %w", err)
	}
	return b.Bytes(), nil
}

// pictureArguments takes a picture's file and the words beside it out of what is typed: a
// file is a word that looks like one.
func pictureArguments(typed string) (file, words string) {
	first, rest, _ := strings.Cut(strings.TrimSpace(typed), " ")
	if strings.ContainsAny(first, "/\\") || filepath.Ext(first) != "" && len(filepath.Ext(first)) > 1 {
		file, typed = first, rest
	}
	return file, cmp.Or(strings.TrimSpace(typed), "What do you see?")
}
