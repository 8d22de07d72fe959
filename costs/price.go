package costs

// Price is what a model's tokens cost, in pico-dollars per token. A Price that
// came from a Catalogue is shared: it must not be changed.
type Price struct {
	Provider     string `json:"provider"`
	Model        string `json:"model"`
	Input        Amount `json:"input"`
	Output       Amount `json:"output"`
	CacheRead    Amount `json:"cache_read"`
	CacheWrite5m Amount `json:"cache_write_5m"`
	CacheWrite1h Amount `json:"cache_write_1h"`

	// Tiers replace the rates above, on every token, for a request whose total
	// input is larger than Above; the highest that applies counts. Sorted by
	// Above.
	Tiers []ContextTier `json:"tiers,omitempty"`

	// Multipliers scale the whole token cost by the service tier, speed or
	// geography that the response names, as exact fractions. Their keys say
	// which: "tier:batch", "speed:fast", "geo:us". What a response calls
	// standard, default, global or not_available is the listed price.
	Multipliers map[string]Fraction `json:"multipliers,omitempty"`

	// ServerTools is the price of one use of a provider-run tool.
	ServerTools map[string]Amount `json:"server_tools,omitempty"`

	// Ceiling: it is not the price of a model, but the most that one without a
	// price is reckoned to cost; see the function of that name.
	Ceiling bool `json:"ceiling,omitempty"`

	Source string `json:"source"` // where the row was read
	Date   string `json:"date"`   // when, YYYY-MM-DD
}

// Invented is the Source of prices that nobody charges: those of the demonstration.
const Invented = "parley"

// ContextTier is the rates of requests with much input.
type ContextTier struct {
	Above        int64  `json:"above"`
	Input        Amount `json:"input"`
	Output       Amount `json:"output"`
	CacheRead    Amount `json:"cache_read"`
	CacheWrite5m Amount `json:"cache_write_5m"`
	CacheWrite1h Amount `json:"cache_write_1h"`
}

// Fraction is an exact ratio.
type Fraction struct {
	Num int64 `json:"num"`
	Den int64 `json:"den"`
}
