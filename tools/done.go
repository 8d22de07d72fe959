package tools

import (
	"context"
	_ "embed"
	"strings"
)

// DoneName names the tool of [NewDone].
const DoneName = "done"

//go:embed done.md
var aboutDone string

type doneInput struct {
	Message string `json:"message,omitempty" jsonschema:"the whole answer, for who asked; default: the text beside this call"`
}

// NewDone makes the tool by which a model says that the request is done: its message, or
// the text beside the call, is the answer, and the turn ends. (F25, F26; docs/decisions/0064)
func NewDone() (Tool, error) {
	return New(DoneName, aboutDone, nil, func(_ context.Context, in doneInput, _ Call) (Result, error) {
		return Result{Content: strings.TrimSpace(in.Message), Done: true}, nil
	}, Announcement{Doing: "Finishing"})
}
