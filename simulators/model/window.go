package model

import "fmt"

// judgeWindow refuses a prompt that does not fit into the window of [Options], in the words
// of each provider, as people report them: github.com/docker/docker-agent/issues/569 and
// github.com/dimagi/open-chat-studio/issues/463, github.com/conghaonet/hao_chatgpt/issues/4.
func (p *Prompt) judgeWindow(window int) *Refusal {
	size := p.inputTokens()
	if window == 0 || size+p.MaxTokens <= window {
		return nil
	}
	switch {
	case p.Protocol == Anthropic && size > window:
		return invalid(fmt.Sprintf("prompt is too long: %d tokens > %d maximum", size, window))
	case p.Protocol == Anthropic:
		return invalid(fmt.Sprintf("input length and `max_tokens` exceed context limit: %d + %d > %d, decrease input length or `max_tokens` and try again", size, p.MaxTokens, window))
	case p.Protocol == OpenAI:
		asked := fmt.Sprintf("your messages resulted in %d tokens. Please reduce the length of the messages.", size)
		if size <= window {
			asked = fmt.Sprintf("you requested %d tokens (%d in the messages, %d in the completion). Please reduce the length of the messages or completion.",
				size+p.MaxTokens, size, p.MaxTokens)
		}
		return invalidParam("messages", "context_length_exceeded", fmt.Sprintf("This model's maximum context length is %d tokens. However, %s", window, asked))
	case size > window: // Responses leaves out of the answer what has no room
		return invalidParam("input", "context_length_exceeded", "Your input exceeds the context window of this model. Please adjust your input and try again.")
	}
	return nil
}
