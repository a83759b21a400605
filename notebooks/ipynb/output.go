package ipynb

// outputs reads the outputs of a cell.
func (r *reader) outputs(cell *Cell) error {
	cell.Outputs = nil
	if r.c.Kind() == 'n' {
		v, err := r.value()
		cell.OutputsAt = v
		return err
	}
	v, err := r.list("the outputs of a cell", func() error {
		out, err := r.output()
		cell.Outputs = append(cell.Outputs, out)
		return err
	})
	cell.OutputsAt = v
	return err
}

func (r *reader) output() (out Output, err error) {
	var old []Datum // nbformat 3 has the forms of a result beside its other names
	out.Value, err = r.members("an output", func(name string) (err error) {
		switch name {
		case "output_type":
			out.Type, err = r.string("output_type")
		case "name", "stream": // the latter in nbformat 3
			out.Name, err = r.string("the name of a stream")
		case "text":
			out.TextAt, err = r.value()
		case "data":
			err = r.data(&out)
		case "metadata":
			out.Metadata, err = r.value()
		case "execution_count", "prompt_number":
			out.Count, err = r.value()
		case "ename":
			out.Ename, err = r.either()
		case "evalue":
			out.Evalue, err = r.either()
		case "traceback":
			err = r.traceback(&out)
		default:
			mime, known := oldForms[name]
			var v Value
			if v, err = r.value(); known {
				old = append(old, Datum{mime, v})
			}
		}
		return err
	})
	if err == nil {
		upgradeOutput(&out, old)
	}
	return out, err
}

// data reads the forms of a result.
func (r *reader) data(out *Output) error {
	out.Data = nil
	_, err := r.object("the data of an output", func(mime string) error {
		v, err := r.value()
		out.Data = append(out.Data, Datum{mime, v})
		return err
	})
	return err
}

func (r *reader) traceback(out *Output) error {
	out.Traceback = nil
	if r.c.Kind() != '[' {
		_, err := r.c.Skip()
		return err
	}
	_, err := r.c.Array(func() error {
		line, err := r.either()
		out.Traceback = append(out.Traceback, line)
		return err
	})
	return err
}

// either reads a text, and skips anything else: kernels put numbers and null where the format wants a text.
func (r *reader) either() (string, error) {
	if r.c.Kind() == '"' {
		return r.c.String()
	}
	v, err := r.value()
	if !v.Given() {
		return "", err
	}
	return string(v.Raw), err
}
