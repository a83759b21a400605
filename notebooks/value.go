package notebooks

// Type is the type of a parameter's value.
type Type string

const (
	TypeNull     Type = "null"
	TypeInt      Type = "int"      // any size: kept as decimal text
	TypeFloat    Type = "float"    // IEEE 754 double, NaN and infinities included
	TypeBool     Type = "bool"     //
	TypeString   Type = "string"   //
	TypeList     Type = "list"     //
	TypeMap      Type = "map"      // ordered; keys are values of any scalar type
	TypePath     Type = "path"     // a string that names a file
	TypeDuration Type = "duration" // Text as typed ("1h30m"); Seconds in Float
	TypeDate     Type = "date"     // ISO 8601 date or date-time, as typed
	TypeBytes    Type = "bytes"    // YAML !!binary
	TypeSecret   Type = "secret"   // a string that is masked wherever it would be shown
	TypeAny      Type = "any"      // declared without a type or default
)

// Value is one parameter value. It is immutable; only the fields of its Type are set.
type Value struct {
	Type    Type
	Text    string  // int (decimal), string, path, duration, date, bytes (raw), secret
	Float   float64 // float; duration in seconds
	Bool    bool
	List    []Value
	Entries []Entry // map
}

// Entry is one pair of a map.
type Entry struct{ Key, Value Value }

// Param is one declared parameter.
type Param struct {
	Name       string
	Type       Type
	Declared   string // type as written in a code-language block ("List[str]"), else ""
	Default    Value
	HasDefault bool
	DefaultSrc string // default as written, for inspect
	Required   bool
	Help       string
	Enum       []Value
	Min, Max   *Value
	Env        string // environment variable that gives the value when nothing else does
	Line, Col  int    // where it is declared, from 1
	// Code is true for an assignment of a code-language parameters block: its default is the
	// interpreter's business (Default may be unknown: HasDefault false, DefaultSrc set).
	Code bool
}

// Bound is a parameter with the value that a run uses.
type Bound struct {
	Param Param
	Value Value
	From  string // "default", "-p", "-f params.yaml", "env API_TOKEN", …
	Given bool   // not from the notebook's default
}
