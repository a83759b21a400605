package markdown

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"go.yaml.in/yaml/v4"

	"markmill/notebooks"
)

// declaredInputs reads the key inputs: a list of patterns of paths in the worktree, and of mappings with one of the
// keys file, env and program.
func declaredInputs(f *notebooks.Front, n *yaml.Node) error {
	if n.Kind != yaml.SequenceNode {
		return errors.New("expected a list of inputs")
	}
	for _, item := range n.Content {
		in := notebooks.DeclaredInput{Kind: notebooks.InputPath}
		switch {
		case item.Kind == yaml.ScalarNode:
			in.Name = item.Value
		case item.Kind == yaml.MappingNode && len(item.Content) == 2:
			in.Kind, in.Name = item.Content[0].Value, item.Content[1].Value
		default:
			return errors.New("expected a list of patterns, and of file: PATH, env: NAME, program: NAME")
		}
		if err := checkInput(in); err != nil {
			return err
		}
		f.Inputs = append(f.Inputs, in)
	}
	return nil
}

func checkInput(in notebooks.DeclaredInput) error {
	switch in.Kind {
	case notebooks.InputPath, notebooks.InputFile:
	case notebooks.InputEnv, notebooks.InputProgram:
		if strings.ContainsAny(in.Name, "=/ \t\n") {
			return fmt.Errorf("%s: %q is no name", in.Kind, in.Name)
		}
	default:
		return fmt.Errorf("unknown kind of input %q; known are file, env and program", in.Kind)
	}
	switch {
	case in.Name == "" || strings.ContainsRune(in.Name, 0):
		return fmt.Errorf("%s: expected a name", in.Kind)
	case in.Kind == notebooks.InputPath && (path.IsAbs(in.Name) || strings.HasPrefix(path.Clean(in.Name), "..")):
		return fmt.Errorf("%q is outside the worktree: write file: %s", in.Name, in.Name)
	case in.Kind == notebooks.InputFile && !path.IsAbs(in.Name) && !strings.HasPrefix(in.Name, "~/"):
		return fmt.Errorf("file: %q is relative: for a file of the repository, write the path alone", in.Name)
	}
	return nil
}
