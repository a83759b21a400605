package alerts

import (
	"crypto/rand"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"markmill/cmd/internal/program"
	"markmill/engine"
	"markmill/engine/queue"
	"markmill/engine/queue/notify"
)

func alertsTest(a *program.App) *cobra.Command {
	return &cobra.Command{
		Use: "test TARGET…", Short: "Send a test message to a target", Args: program.Args(1, -1),
		Long: `Sends one message to each target of markmill.yaml that is named, now and once, with the event "test". Nothing is
stored: a message that fails is not retried.

Exit codes: 0 every target has accepted it, 1 one has not, 2 usage, or there is no such target.`,
		Example: "  markmill health alerts test ops team",
		RunE: func(c *cobra.Command, names []string) error {
			root, _, err := a.Served(a.Repo)
			if err != nil {
				return err
			}
			config, err := engine.LoadConfig(root)
			if err != nil {
				return err
			}
			for _, name := range names {
				if _, known := config.Alerts[name]; !known {
					return program.Usagef("markmill.yaml has no target %q; it has %s", name,
						strings.Join(slices.Sorted(maps.Keys(config.Alerts)), ", "))
				}
			}
			sender, failed := notify.Sender{Getenv: os.LookupEnv}, false
			for _, name := range names {
				message := queue.Alert{ID: strings.ToLower(rand.Text()), Project: filepath.Base(root),
					Notebook: filepath.Base(root), Time: time.Now().UTC(), About: queue.AboutTest,
					Event: queue.AboutTest, State: queue.AboutTest, Message: "markmill health alerts test " + name}
				switch err := sender.Send(c.Context(), config.Alerts[name], &message); {
				case c.Context().Err() != nil:
					return errors.Join(err, c.Context().Err())
				case err != nil:
					failed = true
					a.Tell("markmill: %s: %s\n", name, err)
				default:
					if err := program.Say(a.Stdout, "%s has accepted the test message\n", name); err != nil {
						return err
					}
				}
			}
			if failed {
				return program.EndWith(program.ExitFail)
			}
			return nil
		},
	}
}
