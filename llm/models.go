package llm

// Where the facts below were read.
const (
	anthropicDocs = "Claude API: models overview, 2026-11"
	openaiDocs    = "OpenAI API: compare models, 2026-11"
	modelsDev     = "models.dev, 2026-10"
	unchecked     = "general knowledge, 2026-11, not held against a page"
)

// known is never changed after its initialisation; Known gives copies.
var known = Models{
	"claude-fable-5-1":  claude(AlwaysThinking, anthropicDocs),
	"claude-fable-5":    claude(AlwaysThinking, anthropicDocs),
	"claude-opus-5-5":   claude(AlwaysThinking, anthropicDocs),
	"claude-opus-5":     claude(AdaptiveThinking, anthropicDocs),
	"claude-sonnet-5-5": claude(AdaptiveThinking, anthropicDocs),
	"claude-sonnet-5":   claude(AdaptiveThinking, anthropicDocs),
	"claude-haiku-5-5":  claude(AdaptiveThinking, anthropicDocs),
	"claude-opus-4-8":   claude(AdaptiveThinking, anthropicDocs),
	"claude-opus-4-7":   claude(AdaptiveThinking, modelsDev),
	"claude-opus-4-6":   withSampling(claude(AdaptiveThinking, unchecked)),
	"claude-sonnet-4-6": {Window: 1_000_000, MaxOutput: 64_000, Vision: true, Picture: claudePicture, Sampling: true, Effort: true, Thinking: AdaptiveThinking, Source: modelsDev},
	"claude-opus-4-5":   {Window: 200_000, MaxOutput: 64_000, Vision: true, Picture: claudePicture, Sampling: true, Effort: true, Thinking: BudgetThinking, Source: unchecked},
	"claude-sonnet-4-5": {Window: 200_000, MaxOutput: 64_000, Vision: true, Picture: claudePicture, Sampling: true, Thinking: BudgetThinking, Source: unchecked},
	"claude-haiku-4-5":  {Window: 200_000, MaxOutput: 64_000, Vision: true, Picture: claudePicture, Sampling: true, Thinking: BudgetThinking, Source: anthropicDocs},
	"claude-opus-4-1":   {Window: 200_000, MaxOutput: 32_000, Vision: true, Picture: claudePicture, Sampling: true, Thinking: BudgetThinking, Source: unchecked},

	"gpt-6.1-sol":   gpt(1_050_000, unchecked),
	"gpt-6.1-terra": gpt(1_050_000, unchecked),
	"gpt-6-astra":   gpt(1_050_000, modelsDev),
	"gpt-6-sol":     gpt(1_050_000, unchecked),
	"gpt-6-luna":    gpt(1_050_000, unchecked),
	"gpt-5.6-sol":   gpt(1_050_000, openaiDocs),
	"gpt-5.6-terra": gpt(1_050_000, openaiDocs),
	"gpt-5.6-luna":  gpt(1_050_000, openaiDocs),
	"gpt-5.6":       gpt(1_050_000, openaiDocs),
	"gpt-5.5":       gpt(1_050_000, openaiDocs),
	"gpt-5.4":       gpt(1_050_000, modelsDev),
	"gpt-5.4-mini":  gpt(400_000, unchecked),
	"gpt-5.4-nano":  gpt(400_000, unchecked),
	"gpt-5.2":       gpt(400_000, unchecked),
	"gpt-5.1":       gpt(400_000, unchecked),
	"gpt-5":         gpt(400_000, unchecked),
	"gpt-5-mini":    gpt(400_000, unchecked),
	"gpt-5-nano":    gpt(400_000, unchecked),
	"gpt-4.1":       {Window: 1_047_576, MaxOutput: 32_768, Vision: true, Sampling: true, Source: unchecked},
	"gpt-4o":        {Window: 128_000, MaxOutput: 16_384, Vision: true, Sampling: true, Source: unchecked},
	"gpt-4-turbo":   {Window: 128_000, MaxOutput: 4096, Vision: true, Sampling: true, Source: unchecked},
	"gpt-4":         {Window: 8192, MaxOutput: 4096, Sampling: true, Source: unchecked},
	"gpt-3.5-turbo": {Window: 16_385, MaxOutput: 4096, Sampling: true, Source: unchecked},
	"o4-mini":       {Window: 200_000, MaxOutput: 100_000, Vision: true, Effort: true, Source: unchecked},
	"o3":            {Window: 200_000, MaxOutput: 100_000, Vision: true, Effort: true, Source: unchecked},
	"o3-mini":       {Window: 200_000, MaxOutput: 100_000, Effort: true, Source: unchecked},
}

// claudePicture is the most that Anthropic charges for a picture, which it scales down
// to 4,784 tokens (Claude API: vision, 2026-11).
const claudePicture = 5000

// claude returns a Claude model with the window of the present generation, which
// takes neither temperature nor top_p.
func claude(t Thinking, source string) Info {
	return Info{Window: 1_000_000, MaxOutput: 128_000, Vision: true, Picture: claudePicture, Effort: true, Thinking: t, Source: source}
}

func withSampling(i Info) Info {
	i.Sampling = true
	return i
}

// gpt returns a reasoning model of OpenAI.
func gpt(window int, source string) Info {
	return Info{Window: window, MaxOutput: 128_000, Vision: true, Effort: true, Source: source}
}
