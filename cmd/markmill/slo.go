package main

import "github.com/spf13/cobra"

func (a *app) sloCommand() *cobra.Command { return &cobra.Command{Use: "slo"} }
func (a *app) digestCommand() *cobra.Command { return &cobra.Command{Use: "digest"} }
