package telegram

// parseMarkup reads a text in one of the parse modes.
func parseMarkup(mode, text string) (string, []Entity, *refusal) {
	switch mode {
	case "html":
		return parseHTML(text)
	case "markdown", "markdownv2":
		return parseMarkdown(text, mode == "markdownv2")
	}
	return "", nil, badRequest("unsupported parse_mode")
}
