package transcript_test

import (
	"fmt"

	"parley/transcript"
)

// A turn was interrupted: one of two calls has no result, and no provider
// accepts the history until it has one.
func ExampleRepair() {
	history := []transcript.Message{
		{Role: transcript.Assistant, Parts: []transcript.Part{
			transcript.ToolCall{ID: "1", Name: "read"},
			transcript.ToolCall{ID: "2", Name: "bash"},
		}},
		{Role: transcript.Tool, Parts: []transcript.Part{transcript.ToolResult{ToolCallID: "1", Name: "read", Content: "ok"}}},
	}
	fmt.Println(transcript.Check(history))
	history = transcript.Repair(history, "interrupted, outcome unknown")
	fmt.Println(transcript.Check(history))
	for _, r := range history[1].Results() {
		fmt.Println(r.Name, r.Content, r.IsError)
	}
	// Output:
	// message 0: a call without a result: id "2": tool calls and results do not pair
	// <nil>
	// read ok false
	// bash interrupted, outcome unknown true
}
