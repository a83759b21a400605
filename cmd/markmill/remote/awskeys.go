package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/aws-sdk-go-v2/credentials/processcreds"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"markmill/notebooks"
)

// awsSettings are what the environment and the files of the AWS command line say.
type awsSettings struct {
	profiles         map[string]map[string]string
	profile          string // its name
	named            bool   // it was asked for
	region, endpoint string
}

// awsKeys are credentials, and in words where they are from.
type awsKeys struct {
	provider aws.CredentialsProvider
	from     string
}

func (c Client) awsSettings() (awsSettings, error) {
	s := awsSettings{profiles: map[string]map[string]string{}, profile: c.env("AWS_PROFILE")}
	if s.profile == "" {
		s.profile = c.env("AWS_DEFAULT_PROFILE")
	}
	if s.named = s.profile != ""; !s.named {
		s.profile = "default"
	}
	for _, file := range []struct{ variable, name string }{{"AWS_CONFIG_FILE", "config"}, {"AWS_SHARED_CREDENTIALS_FILE", "credentials"}} {
		path := c.env(file.variable)
		if path == "" {
			path = filepath.Join(c.Home, ".aws", file.name)
		}
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return s, &notebooks.Error{Kind: notebooks.KindInput, Msg: "cannot be reached: " + err.Error(), Hint: "see that the file of AWS settings can be read", Err: err}
		}
		readProfiles(text, s.profiles)
	}
	if s.named && s.profiles[s.profile] == nil {
		return s, &notebooks.Error{Kind: notebooks.KindInput, Msg: fmt.Sprintf("cannot be reached: there is no profile %q, which AWS_PROFILE names", s.profile), Hint: "see ~/.aws/config and ~/.aws/credentials"}
	}
	own := s.profiles[s.profile]
	s.region = first(c.env("AWS_REGION"), c.env("AWS_DEFAULT_REGION"), own["region"], "us-east-1")
	s.endpoint = first(c.env("AWS_ENDPOINT_URL_S3"), c.env("AWS_ENDPOINT_URL"), c.env("BOTO3_ENDPOINT_URL"), own["endpoint_url"])
	return s, nil
}

func first(list ...string) string {
	for _, s := range list {
		if s != "" {
			return s
		}
	}
	return ""
}

// readProfiles reads sections and keys of an INI file as AWS has it. Indented lines belong to the key above, and none
// of those is needed.
func readProfiles(text []byte, into map[string]map[string]string) {
	var section map[string]string
	for line := range bytes.Lines(text) {
		line := strings.TrimRight(string(line), " \t\r\n")
		if line == "" || strings.ContainsAny(line[:1], "#; \t") {
			continue
		}
		if name, ok := strings.CutPrefix(line, "["); ok {
			name, _, _ = strings.Cut(name, "]")
			name = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(name), "profile "))
			if into[name] == nil {
				into[name] = map[string]string{}
			}
			section = into[name]
			continue
		}
		if key, value, ok := strings.Cut(line, "="); ok && section != nil {
			section[strings.ToLower(strings.TrimSpace(key))] = strings.TrimSpace(value)
		}
	}
}

// awsCredentials finds credentials in the order of AWS's own tools. Without any, requests are not signed, which public
// files do not ask for.
func (c Client) awsCredentials(ctx context.Context, s awsSettings, retries func() aws.Retryer) (awsKeys, error) {
	own := s.profiles[s.profile]
	role := func(base aws.CredentialsProvider) *sts.Client {
		o := sts.Options{Region: s.region, Credentials: base, Retryer: retries()}
		if url := first(c.env("AWS_ENDPOINT_URL_STS"), c.env("AWS_ENDPOINT_URL")); url != "" {
			o.BaseEndpoint = &url
		}
		return sts.New(o)
	}
	switch {
	case !s.named && c.env("AWS_ACCESS_KEY_ID") != "":
		return awsKeys{credentials.NewStaticCredentialsProvider(c.env("AWS_ACCESS_KEY_ID"), c.env("AWS_SECRET_ACCESS_KEY"), c.env("AWS_SESSION_TOKEN")), "AWS_ACCESS_KEY_ID"}, nil
	case !s.named && c.env("AWS_WEB_IDENTITY_TOKEN_FILE") != "":
		p := stscreds.NewWebIdentityRoleProvider(role(aws.AnonymousCredentials{}), c.env("AWS_ROLE_ARN"), stscreds.IdentityTokenFile(c.env("AWS_WEB_IDENTITY_TOKEN_FILE")))
		return awsKeys{aws.NewCredentialsCache(p), "AWS_WEB_IDENTITY_TOKEN_FILE"}, nil
	case len(own) > 0:
		if keys, err := c.profileKeys(s, s.profile, role); err != nil || keys.provider != nil {
			return keys, err
		}
	}
	if c.env("AWS_ACCESS_KEY_ID") != "" { // of a profile that says other things only
		return awsKeys{credentials.NewStaticCredentialsProvider(c.env("AWS_ACCESS_KEY_ID"), c.env("AWS_SECRET_ACCESS_KEY"), c.env("AWS_SESSION_TOKEN")), "AWS_ACCESS_KEY_ID"}, nil
	}
	url := c.env("AWS_CONTAINER_CREDENTIALS_FULL_URI")
	if path := c.env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"); path != "" {
		url = "http://169.254.170.2" + path
	}
	if url != "" {
		p := endpointcreds.New(url, func(o *endpointcreds.Options) {
			o.AuthorizationToken = c.env("AWS_CONTAINER_AUTHORIZATION_TOKEN")
			if file := c.env("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"); file != "" {
				o.AuthorizationTokenProvider = endpointcreds.TokenProviderFunc(func() (string, error) {
					b, err := os.ReadFile(file)
					return strings.TrimSpace(string(b)), err
				})
			}
		})
		return awsKeys{aws.NewCredentialsCache(p), "those of the container"}, nil
	}
	if !strings.EqualFold(c.env("AWS_EC2_METADATA_DISABLED"), "true") && onEC2() {
		return awsKeys{aws.NewCredentialsCache(ec2rolecreds.New()), "those of the machine's role"}, nil
	}
	return awsKeys{aws.AnonymousCredentials{}, noCredentials + "none are in the environment or in ~/.aws"}, nil
}

// profileKeys are those of a profile; none where it has none.
func (c Client) profileKeys(s awsSettings, name string, role func(aws.CredentialsProvider) *sts.Client) (awsKeys, error) {
	p := s.profiles[name]
	keys := awsKeys{from: fmt.Sprintf("the profile %q of ~/.aws", name)}
	wrong := func(hint, format string, args ...any) (awsKeys, error) {
		return keys, &notebooks.Error{Kind: notebooks.KindInput, Msg: fmt.Sprintf("cannot be reached: the profile %q of ~/.aws: ", name) + fmt.Sprintf(format, args...), Hint: hint}
	}
	switch {
	case p["role_arn"] != "" && p["web_identity_token_file"] != "":
		keys.provider = aws.NewCredentialsCache(stscreds.NewWebIdentityRoleProvider(role(aws.AnonymousCredentials{}), p["role_arn"], stscreds.IdentityTokenFile(p["web_identity_token_file"])))
	case p["role_arn"] != "":
		base := p["source_profile"]
		from := s.profiles[base]
		if from["aws_access_key_id"] == "" {
			return wrong("give source_profile a profile with aws_access_key_id, or put credentials into the environment: aws configure export-credentials --format env", "role_arn needs a source_profile with keys")
		}
		keys.provider = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(role(profileStatic(from)), p["role_arn"], func(o *stscreds.AssumeRoleOptions) {
			if id := p["external_id"]; id != "" {
				o.ExternalID = &id
			}
			o.RoleSessionName = first(p["role_session_name"], "markmill")
		}))
	case p["aws_access_key_id"] != "":
		keys.provider = profileStatic(p)
	case p["credential_process"] != "":
		keys.provider = aws.NewCredentialsCache(processcreds.NewProvider(p["credential_process"]))
	case p["sso_session"] != "" || p["sso_start_url"] != "":
		return wrong(`put its credentials into the environment: eval "$(aws configure export-credentials --format env)"`, "its credentials come from a sign-in (sso), which Markmill does not do")
	}
	return keys, nil
}

func profileStatic(p map[string]string) aws.CredentialsProvider {
	return credentials.NewStaticCredentialsProvider(p["aws_access_key_id"], p["aws_secret_access_key"], p["aws_session_token"])
}

// onEC2 says whether the machine is one of Amazon's, by its firmware: elsewhere nobody is asked for a role.
func onEC2() bool {
	for _, name := range []string{"sys_vendor", "bios_vendor", "product_version"} {
		text, err := os.ReadFile(filepath.Join("/sys/class/dmi/id", name))
		if err == nil && strings.Contains(strings.ToLower(string(text)), "amazon") {
			return true
		}
	}
	return false
}
