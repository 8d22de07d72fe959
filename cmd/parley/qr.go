package main

import (
	"fmt"
	"strings"

	"rsc.io/qr"
)

// quiet is how many light modules stand around a code, so that it can be found.
const quiet = 4

// drawQR draws text as a QR code for a terminal, two modules in one character. In
// colours it is black on white whatever the terminal's own are; without, light is drawn,
// as for letters that are light on dark.
func drawQR(text string, colours bool) (string, error) {
	code, err := qr.Encode(text, qr.L)
	if err != nil {
		return "", fmt.Errorf("make a QR code: %w", err)
	}
	begin, end := "", ""
	if colours {
		begin, end = "\x1b[97;40m", "\x1b[0m"
	}
	var b strings.Builder
	for y := -quiet; y < code.Size+quiet; y += 2 {
		b.WriteString(begin)
		for x := -quiet; x < code.Size+quiet; x++ {
			upper, lower := !code.Black(x, y), !code.Black(x, y+1)
			switch {
			case upper && lower:
				b.WriteRune('█')
			case upper:
				b.WriteRune('▀')
			case lower:
				b.WriteRune('▄')
			default:
				b.WriteByte(' ')
			}
		}
		b.WriteString(end + "\n")
	}
	return b.String(), nil
}
