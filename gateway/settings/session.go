package settings

// SessionConfig is what of a conversation outlives its sessions.
type SessionConfig struct {
	// ProviderPersistence: a model that people chose answers in all later sessions of the
	// conversation, too; false: in the session in which it was chosen. It survives restarts
	// either way. Default true. (docs/decisions/0067)
	ProviderPersistence *bool `yaml:"provider_persistence"`
}

func (c SessionConfig) filled() SessionConfig {
	if c.ProviderPersistence == nil {
		c.ProviderPersistence = new(true)
	}
	return c
}

// ChoicePerSession reports whether a chosen model answers only in the session in which it was
// chosen.
func (c SessionConfig) ChoicePerSession() bool { return !*c.filled().ProviderPersistence }
