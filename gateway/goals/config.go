// Package goals remembers what a conversation is to reach, as people say it with /goal, and
// notices when the agent says that it has.
//
//	Idle ── /goal, or a first message ──► Active ── words of completion, or /done ──► Completed
//	  ▲                                    │  ▲                                          │
//	  └────────────── /new ────────────────┘  └──── /goal, or the next message ──────────┘
//
// A goal is one record of its session, so a new session has none, and one that is resumed has
// its own again. It is written in the commit of a command or of a turn's end. It never acts
// on a turn: at most its text, and only where the operator says so, is in the system message.
// (AD01–AD05; docs/decisions/0074)
package goals

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"parley/problems"
)

// Config is what an operator says about goals.
type Config struct {
	// Off: /goal and /done do nothing, and nothing is noticed.
	Off bool `yaml:"off" json:"off,omitempty"`
	// FromMessages makes a goal of a message where none is active. Default false: only /goal
	// sets one.
	FromMessages bool `yaml:"from_messages" json:"from_messages,omitempty"`
	// TrackInSystemPrompt shows the active goal's text to the model. Default false.
	TrackInSystemPrompt bool `yaml:"track_in_system_prompt" json:"track_in_system_prompt,omitempty"`
	// CompletionPhrases are words by which an agent says that it has reached the goal.
	CompletionPhrases []string `yaml:"completion_phrases" json:"completion_phrases,omitempty"`
}

// maxPhrases is far more than anybody needs.
const maxPhrases = 50

// Defaults fills in what is not said.
func (c Config) Defaults() Config {
	if c.CompletionPhrases == nil {
		c.CompletionPhrases = []string{"task complete", "done", "finished", "completed"}
	}
	return c
}

// Validate reports what cannot work, all of it. It is asked after Defaults.
func (c Config) Validate() error {
	var ps problems.List
	if c.Off && c.TrackInSystemPrompt {
		ps.Add("track_in_system_prompt", "has no effect: off is true")
	}
	if c.Off && c.FromMessages {
		ps.Add("from_messages", "has no effect: off is true")
	}
	if n := len(c.CompletionPhrases); n > maxPhrases {
		ps.Add("completion_phrases", "%d phrases are more than %d", n, maxPhrases)
	}
	for i, p := range c.CompletionPhrases {
		at := fmt.Sprintf("completion_phrases[%d]", i)
		switch {
		case !strings.ContainsFunc(p, unicode.IsLetter):
			ps.Add(at, "%q has no letter", p)
		case slices.Contains(c.CompletionPhrases[:i], p):
			ps.Add(at, "%q stands here a second time", p)
		}
	}
	return ps.Err()
}
