package remote

import (
	"bytes"
	"cmp"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/credentials/ec2rolecreds"
	"github.com/aws/aws-sdk-go-v2/credentials/endpointcreds"
	"github.com/aws/aws-sdk-go-v2/credentials/processcreds"
)

// The settings of AWS are read here, and not by the package config of its SDK: that adds 1.3 MB and 2 ms to every start
// of the program (measured 2026-11-22, config 1.33.15), reads the environment of the process instead of the one that is
// given, and asks the network for the role of a machine on every machine.

// awsSettings holds the settings in the environment and in the AWS CLI's files.
type awsSettings struct {
	profiles         map[string]map[string]string
	profile          string // its name
	named            bool   // by AWS_PROFILE
	region, endpoint string
}

// awsKeys holds credentials and a description of their source. provider is nil if there are none.
type awsKeys struct {
	provider aws.CredentialsProvider
	from     string
}

func (c Client) awsSettings() (awsSettings, error) {
	s := awsSettings{profiles: map[string]map[string]string{}}
	s.profile = cmp.Or(c.env("AWS_PROFILE"), c.env("AWS_DEFAULT_PROFILE"))
	if s.named = s.profile != ""; !s.named {
		s.profile = "default"
	}
	for _, path := range []string{
		cmp.Or(c.env("AWS_CONFIG_FILE"), filepath.Join(c.Home, ".aws", "config")),
		cmp.Or(c.env("AWS_SHARED_CREDENTIALS_FILE"), filepath.Join(c.Home, ".aws", "credentials")),
	} {
		text, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return s, unreachable("make the file of AWS settings readable", err, "%v", err)
		}
		readProfiles(text, s.profiles)
	}
	if s.named && s.profiles[s.profile] == nil {
		return s, unreachable("see ~/.aws/config and ~/.aws/credentials", nil,
			"there is no profile %q, which AWS_PROFILE names", s.profile)
	}
	own := s.profiles[s.profile]
	s.region = cmp.Or(c.env("AWS_REGION"), c.env("AWS_DEFAULT_REGION"), own["region"], "us-east-1")
	s.endpoint = cmp.Or(c.env("AWS_ENDPOINT_URL_S3"), c.env("AWS_ENDPOINT_URL"), c.env("BOTO3_ENDPOINT_URL"),
		own["endpoint_url"])
	return s, nil
}

// readProfiles reads the sections and keys of an INI file of AWS. It skips indented lines: they belong to the key
// above, and none is needed.
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

// awsCredentials finds credentials in the order of AWS's own tools. Without any, requests are not signed, which is
// enough for public files.
func (c Client) awsCredentials(s awsSettings) (awsKeys, error) {
	own := s.profiles[s.profile]
	role := stsRole{Client: c, endpoint: cmp.Or(c.env("AWS_ENDPOINT_URL_STS"), c.env("AWS_ENDPOINT_URL")),
		region: s.region}
	static := awsKeys{from: "AWS_ACCESS_KEY_ID", provider: credentials.NewStaticCredentialsProvider(
		c.env("AWS_ACCESS_KEY_ID"), c.env("AWS_SECRET_ACCESS_KEY"), c.env("AWS_SESSION_TOKEN"))}
	switch token := c.env("AWS_WEB_IDENTITY_TOKEN_FILE"); {
	case !s.named && c.env("AWS_ACCESS_KEY_ID") != "":
		return static, nil
	case !s.named && token != "":
		role.arn, role.tokenFile = c.env("AWS_ROLE_ARN"), token
		return awsKeys{aws.NewCredentialsCache(&role), "AWS_WEB_IDENTITY_TOKEN_FILE"}, nil
	case len(own) > 0:
		if keys, err := profileKeys(s, s.profile, role); err != nil || keys.provider != nil {
			return keys, err
		}
	}
	if c.env("AWS_ACCESS_KEY_ID") != "" { // the profile has no credentials
		return static, nil
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
	return awsKeys{nil, noCredentials + "none are in the environment or in ~/.aws"}, nil
}

// profileKeys returns the credentials of a profile, without a provider if it has none.
func profileKeys(s awsSettings, name string, role stsRole) (awsKeys, error) {
	p := s.profiles[name]
	keys := awsKeys{from: fmt.Sprintf("the profile %q of ~/.aws", name)}
	wrong := func(hint, why string) (awsKeys, error) {
		return keys, unreachable(hint, nil, "the profile %q of ~/.aws: %s", name, why)
	}
	switch {
	case p["role_arn"] != "" && p["web_identity_token_file"] != "":
		role.arn, role.tokenFile = p["role_arn"], p["web_identity_token_file"]
		keys.provider = aws.NewCredentialsCache(&role)
	case p["role_arn"] != "":
		from := s.profiles[p["source_profile"]]
		if from["aws_access_key_id"] == "" {
			return wrong(
				"give source_profile a profile with aws_access_key_id, or put credentials into the environment: "+
					"aws configure export-credentials --format env", "role_arn needs a source_profile with keys")
		}
		role.arn, role.session, role.external = p["role_arn"], p["role_session_name"], p["external_id"]
		role.base.provider = profileStatic(from)
		keys.provider = aws.NewCredentialsCache(&role)
	case p["aws_access_key_id"] != "":
		keys.provider = profileStatic(p)
	case p["credential_process"] != "":
		keys.provider = aws.NewCredentialsCache(processcreds.NewProvider(p["credential_process"]))
	case p["sso_session"] != "" || p["sso_start_url"] != "":
		return wrong(
			`put its credentials into the environment: eval "$(aws configure export-credentials --format env)"`,
			"its credentials come from a sign-in (sso), which Markmill does not do")
	}
	return keys, nil
}

func profileStatic(p map[string]string) aws.CredentialsProvider {
	return credentials.NewStaticCredentialsProvider(
		p["aws_access_key_id"], p["aws_secret_access_key"], p["aws_session_token"])
}

// onEC2 reports, from the firmware, whether this is an Amazon machine. Only those can have a role.
func onEC2() bool {
	for _, name := range []string{"sys_vendor", "bios_vendor", "product_version"} {
		text, err := os.ReadFile(filepath.Join("/sys/class/dmi/id", name))
		if err == nil && strings.Contains(strings.ToLower(string(text)), "amazon") {
			return true
		}
	}
	return false
}

// stsRole is an AWS role. AWS's token service exchanges other credentials or a token for its credentials. See
// AssumeRole and AssumeRoleWithWebIdentity in the AWS Security Token Service API Reference.
type stsRole struct {
	Client
	endpoint, region string
	arn, session     string
	external         string  // an id that the role may ask for
	base             awsKeys // without tokenFile
	tokenFile        string
}

func (r *stsRole) Retrieve(ctx context.Context) (aws.Credentials, error) {
	form := url.Values{"Version": {"2011-06-15"}, "Action": {"AssumeRole"}, "RoleArn": {r.arn},
		"RoleSessionName": {cmp.Or(r.session, "markmill")}}
	if r.tokenFile != "" {
		token, err := os.ReadFile(r.tokenFile)
		if err != nil {
			return aws.Credentials{}, fmt.Errorf("AWS_WEB_IDENTITY_TOKEN_FILE: %w", err)
		}
		form.Set("Action", "AssumeRoleWithWebIdentity")
		form.Set("WebIdentityToken", string(token))
	}
	if r.external != "" {
		form.Set("ExternalId", r.external)
	}
	at := cmp.Or(r.endpoint, "https://sts."+r.region+"."+awsDomain(r.region))
	body := []byte(form.Encode())
	req, err := newRequest(ctx, http.MethodPost, strings.TrimSuffix(at, "/")+"/", body)
	if err != nil {
		return aws.Credentials{}, err
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if err := r.base.sign(ctx, req, body, "sts", r.region); err != nil {
		return aws.Credentials{}, err
	}
	res, err := send(r.http(), req)
	if err != nil {
		return aws.Credentials{}, err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return aws.Credentials{}, err
	}
	type keys struct {
		AccessKeyID     string `xml:"AccessKeyId"`
		SecretAccessKey string
		SessionToken    string
		Expiration      time.Time
	}
	var said struct {
		Role keys `xml:"AssumeRoleResult>Credentials"`
		Web  keys `xml:"AssumeRoleWithWebIdentityResult>Credentials"`
	}
	if err := xml.Unmarshal(text, &said); err != nil {
		return aws.Credentials{}, fmt.Errorf("AWS's token service: %w", err)
	}
	k := said.Role
	if r.tokenFile != "" {
		k = said.Web
	}
	if k.AccessKeyID == "" {
		return aws.Credentials{}, fmt.Errorf("AWS's token service gave no credentials for %s", r.arn)
	}
	return aws.Credentials{AccessKeyID: k.AccessKeyID, SecretAccessKey: k.SecretAccessKey, SessionToken: k.SessionToken,
		CanExpire: true, Expires: k.Expiration}, nil
}
