package vocabulary

// Choice is the setting of a server that may leave the vocabulary to its data and clients. The zero value is Undecided.
type Choice struct {
	named      bool
	vocabulary Vocabulary
}

// Named returns the choice of a vocabulary.
func Named(v Vocabulary) Choice { return Choice{named: v.Decided(), vocabulary: v} }

// Vocabulary returns the named vocabulary, or Undecided.
func (c Choice) Vocabulary() Vocabulary {
	if !c.named {
		return Undecided
	}
	return c.vocabulary
}

// UnmarshalText parses the setting for package config. An empty one names no vocabulary.
func (c *Choice) UnmarshalText(text []byte) error {
	*c = Choice{}
	if len(text) == 0 {
		return nil
	}
	v, err := Parse(string(text))
	if err != nil {
		return err
	}
	*c = Named(v)
	return nil
}

// MarshalText implements encoding.TextMarshaler.
func (c Choice) MarshalText() ([]byte, error) { return []byte(c.Vocabulary().String()), nil }
