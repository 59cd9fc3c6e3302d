package lease

// Levels of a Finding.
const (
	LevelOK    = "ok"
	LevelNote  = "note"  // worth knowing
	LevelFault = "fault" // must be fixed
)

// A Finding is the result of one check of a store, and a remedy. Extras.Examine returns findings;
// "snowlease doctor" prints them.
type Finding struct {
	Level  string `json:"level"`
	Check  string `json:"check"` // one word: clock, rights
	Seen   string `json:"seen"`  // may include strings of the server verbatim
	Advice string `json:"advice,omitempty"`
}
