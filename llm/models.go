package llm

// Where the facts below were read.
const (
	anthropicDocs = "Claude API: models overview, troubleshooting thinking, effort, preserved thinking, 2026-11"
	openaiDocs    = "OpenAI API: compare models, 2026-11"
	modelsDev     = "models.dev, 2026-10"
	unchecked     = "general knowledge, 2026-11, not held against a page"
)

// known is never changed after its initialisation; Known gives copies.
var known = Models{
	"claude-fable-5-1":  claude(allEfforts, alwaysBound),
	"claude-fable-5":    claude(allEfforts, Thoughts{Adaptive: true, Unasked: true}),
	"claude-opus-5-5":   claude(allEfforts, alwaysBound),
	"claude-opus-5":     claude(allEfforts, Thoughts{Adaptive: true, Unasked: true, Off: disabled, OffHigh: true}),
	"claude-sonnet-5-5": claude(allEfforts, Thoughts{Adaptive: true, Unasked: true, Off: betweenTools, OffHigh: true, Bound: true}),
	"claude-sonnet-5":   claude(allEfforts, Thoughts{Adaptive: true, Unasked: true, Off: disabled}),
	"claude-haiku-5-5":  claude(allEfforts, Thoughts{Adaptive: true, Unasked: true, Off: disabled, OffHigh: true, Bound: true}),
	"claude-opus-4-8":   claude(allEfforts, Thoughts{Adaptive: true, Off: disabled}),
	"claude-opus-4-7":   claude(allEfforts, Thoughts{Adaptive: true, Off: disabled}),
	"claude-opus-4-6":   withSampling(claude(effortsUpToMax, eitherWay)),
	"claude-sonnet-4-6": {Window: 1_000_000, MaxOutput: 64_000, Vision: true, Picture: claudePicture, Sampling: true, Efforts: effortsUpToMax, Thinking: eitherWay, Source: modelsDev},
	"claude-opus-4-5":   olderClaude(64_000, effortsUpToHigh, unchecked),
	"claude-sonnet-4-5": olderClaude(64_000, nil, unchecked),
	"claude-haiku-4-5":  olderClaude(64_000, nil, anthropicDocs),
	"claude-opus-4-1":   olderClaude(32_000, nil, unchecked),

	"gpt-6.1-sol":   gpt(1_050_000, efforts6, cached, unchecked),
	"gpt-6.1-terra": gpt(1_050_000, efforts6, cached, unchecked),
	"gpt-6-astra":   gpt(1_050_000, efforts6, cached, modelsDev),
	"gpt-6-sol":     gpt(1_050_000, efforts6, cached, unchecked),
	"gpt-6-luna":    gpt(1_050_000, efforts6, cached, unchecked),
	"gpt-5.6-sol":   gpt(1_050_000, efforts56, cached, openaiDocs),
	"gpt-5.6-terra": gpt(1_050_000, efforts56, cached, openaiDocs),
	"gpt-5.6-luna":  gpt(1_050_000, efforts56, cached, openaiDocs),
	"gpt-5.6":       gpt(1_050_000, efforts56, cached, openaiDocs),
	"gpt-5.5":       gpt(1_050_000, efforts52, newest, openaiDocs),
	"gpt-5.4":       gpt(1_050_000, efforts52, toolsInResponses, modelsDev),
	"gpt-5.4-mini":  gpt(400_000, efforts52, toolsInResponses, unchecked),
	"gpt-5.4-nano":  gpt(400_000, efforts52, toolsInResponses, unchecked),
	"gpt-5.2":       gpt(400_000, efforts52, nil, unchecked),
	"gpt-5.1":       gpt(400_000, efforts51, nil, unchecked),
	"gpt-5":         gpt(400_000, efforts5, reasonsUnasked, unchecked),
	"gpt-5-mini":    gpt(400_000, efforts5, reasonsUnasked, unchecked),
	"gpt-5-nano":    gpt(400_000, efforts5, reasonsUnasked, unchecked),
	"gpt-4.1":       {Window: 1_047_576, MaxOutput: 32_768, Vision: true, Sampling: true, Source: unchecked},
	"gpt-4o":        {Window: 128_000, MaxOutput: 16_384, Vision: true, Sampling: true, Source: unchecked},
	"gpt-4-turbo":   {Window: 128_000, MaxOutput: 4096, Vision: true, Sampling: true, Source: unchecked},
	"gpt-4":         {Window: 8192, MaxOutput: 4096, Sampling: true, Source: unchecked},
	"gpt-3.5-turbo": {Window: 16_385, MaxOutput: 4096, Sampling: true, Source: unchecked},
	"o4-mini":       {Window: 200_000, MaxOutput: 100_000, Vision: true, Efforts: effortsUpToHigh, Thinking: Thoughts{Unasked: true}, Source: unchecked},
	"o3":            {Window: 200_000, MaxOutput: 100_000, Vision: true, Efforts: effortsUpToHigh, Thinking: Thoughts{Unasked: true}, Source: unchecked},
	"o3-mini":       {Window: 200_000, MaxOutput: 100_000, Efforts: effortsUpToHigh, Thinking: Thoughts{Unasked: true}, Source: unchecked},
}

// Efforts of the generations of models, never changed. (Claude API: effort, 2026-11; OpenAI:
// the pages of the models, 2026-11, and enricoros/big-AGI #1159, where each was tried out.)
var (
	effortsUpToHigh = []string{"low", "medium", "high"}
	effortsUpToMax  = []string{"low", "medium", "high", "max"}
	allEfforts      = []string{"low", "medium", "high", "xhigh", "max"}

	efforts5  = []string{"minimal", "low", "medium", "high"}
	efforts51 = []string{NoEffort, "low", "medium", "high"}
	efforts52 = []string{NoEffort, "low", "medium", "high", "xhigh"}
	efforts56 = []string{NoEffort, "low", "medium", "high", "xhigh", "max"}
	efforts6  = []string{"low", "medium", "high", "xhigh", "max"}
)

// Anthropic's words for not thinking.
const (
	disabled     = "disabled"
	betweenTools = "between_tools" // but for notes between calls
)

// How generations of Claude think.
var (
	alwaysBound = Thoughts{Adaptive: true, Unasked: true, Bound: true}
	eitherWay   = Thoughts{Adaptive: true, Budget: true, Off: disabled}
)

// claudePicture is the most that Anthropic charges for a picture, which it scales down
// to 4,784 tokens (Claude API: vision, 2026-11).
const claudePicture = 5000

// claude returns a Claude model with the window of the present generation, which
// takes neither temperature nor top_p.
func claude(efforts []string, t Thoughts) Info {
	return Info{Window: 1_000_000, MaxOutput: 128_000, Vision: true, Picture: claudePicture, Efforts: efforts, Thinking: t, Source: anthropicDocs}
}

// olderClaude returns a Claude model that thinks as many tokens as it is told.
func olderClaude(maxOutput int, efforts []string, source string) Info {
	return Info{
		Window: 200_000, MaxOutput: maxOutput, Vision: true, Picture: claudePicture, Sampling: true,
		Efforts: efforts, Thinking: Thoughts{Budget: true, Off: disabled}, Source: source,
	}
}

func withSampling(i Info) Info {
	i.Sampling = true
	return i
}

// gpt returns a reasoning model of OpenAI; more says what else holds for it.
func gpt(window int, efforts []string, more func(*Info), source string) Info {
	i := Info{Window: window, MaxOutput: 128_000, Vision: true, Efforts: efforts, Source: source}
	if more != nil {
		more(&i)
	}
	return i
}

func reasonsUnasked(i *Info) { i.Thinking.Unasked = true }

func toolsInResponses(i *Info) { i.ResponsesOnly = true }

func newest(i *Info) {
	reasonsUnasked(i)
	toolsInResponses(i)
}

// cached are those from GPT-5.6 on (OpenAI: prompt caching, 2026-11).
func cached(i *Info) {
	newest(i)
	i.CacheTTL = true
}
