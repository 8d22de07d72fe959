package tools_test

import (
	"context"
	"fmt"
	"strings"

	"parley/tools"
)

// A tool is a typed function. What the model sends is checked against the
// struct before the function sees it.
func ExampleNew() {
	type shout struct {
		Text string `json:"text" jsonschema:"what to shout" minLength:"1"`
	}
	tool, err := tools.New("shout", "Say it louder.",
		func(shout) tools.Category { return tools.Read },
		func(_ context.Context, in shout, _ tools.Call) (tools.Result, error) {
			return tools.Result{Content: strings.ToUpper(in.Text)}, nil
		})
	if err != nil {
		panic(err)
	}
	set, err := tools.NewSet(tool)
	if err != nil {
		panic(err)
	}
	for _, raw := range []string{`{"text":"hello"}`, `{"txt":"hello"}`} {
		args, err := tools.DecodeArguments(raw)
		if err == nil {
			err = set.Check("shout", args)
		}
		if err != nil {
			fmt.Println("Error:", err)
			continue
		}
		found, _ := set.Lookup("shout")
		res, err := found.Run(context.Background(), tools.Call{Name: "shout", Arguments: args.JSON()})
		fmt.Println(res.Content, err)
	}
	// Output:
	// HELLO <nil>
	// Error: there is no parameter "txt"; did you mean "text"?
}
