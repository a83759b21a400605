package remote

import (
	"cmp"
	"context"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

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
