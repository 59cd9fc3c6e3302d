package lease

// Levels of a Finding.
const (
	LevelOK    = "ok"
	LevelNote  = "note"  // is to be known
	LevelFault = "fault" // must be put right
)

// A Finding is what one check of a store saw, and what to do about it. The centers of
// this module return some from their method Examine, which "snowlease doctor" prints.
type Finding struct {
	Level  string `json:"level"`
	Check  string `json:"check"` // one word: clock, rights
	Seen   string `json:"seen"`  // may have texts of the server, as they are
	Advice string `json:"advice,omitempty"`
}
