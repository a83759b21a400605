//go:build unix

package api_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"

	"markmill/cmd/internal/watch"
)

// Watch a notebook until its second run, which a save begins at the step that has read the file.
func Example_watch() {
	dir, err := os.MkdirTemp("", "markmill-example-")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			log.Fatal(err)
		}
	}
	write("task.md", "```sh {#prepare}\necho ready\n```\n\n```sh {#test .test}\ntest $(cat size) -lt 20\n```\n")
	write("size", "10\n")
	history := "git init -q; git add .; git -c user.name=Ann -c user.email=ann@localhost commit -qm base"
	if out, err := exec.Command("sh", "-c", "cd "+dir+"; "+history).CombinedOutput(); err != nil {
		log.Fatal(err, string(out))
	}

	ctx, stop := context.WithCancel(context.Background())
	err = watch.Notebook(ctx, watch.Options{Notebook: filepath.Join(dir, "task.md"), Tell: func(s watch.State) {
		switch {
		case s.Err != nil:
			log.Fatal(s.Err) // nothing ran
		case !s.Ended:
			fmt.Println("running", len(s.Saved), "saved, at", string(s.At)+";")
		case s.From == nil:
			fmt.Println(s.Result.Run.Status())
			write("size", "30\n")
		default:
			fmt.Println(s.Result.Run.Status(), "carried:", s.Result.Run.Carried()[0].Steps)
			stop()
		}
	}})
	if err != nil {
		log.Fatal(err)
	}
	// Output:
	// running 0 saved, at ;
	// pass
	// running 1 saved, at test;
	// fail carried: [prepare]
}
