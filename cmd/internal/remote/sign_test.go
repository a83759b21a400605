package remote

import (
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
)

// azblob 1.7.0 made these signatures for the same requests.
func TestAzureSignature(t *testing.T) {
	acc := azureAccount{name: "acc", key: []byte("hush")}
	const date = "x-ms-date:Mon, 23 Nov 2026 04:50:57 GMT"
	for _, x := range []struct {
		method, address, mediaType string
		length                     int
		headers                    []string
		want                       string
	}{
		{"GET", "http://127.0.0.1/acc/box/a%20b%2F%C3%BC%23%3F%7Bx%7D+&=.md", "", 0, nil,
			"xPDGJrYhq6P1eOBfP7AfnUgOIWLLOWmHI0z516oSdg8="},
		{"PUT", "http://127.0.0.1/acc/box/a%20b.md", "application/octet-stream", 3,
			[]string{"x-ms-blob-content-type:text/markdown; charset=utf-8", "x-ms-blob-type:BlockBlob"},
			"3m/9JkDK0dXPmK4PpC+j+wn3MiTlhmQxSEPfIFTABjw="},
		{"GET", "http://127.0.0.1/acc/box?restype=container", "", 0, nil,
			"1odGmGcFngKl8yB/ygc1AVVz12oJLbgiC0gEScPOp88="},
	} {
		req, err := http.NewRequest(x.method, x.address, nil)
		if err != nil {
			t.Fatal(err)
		}
		if x.mediaType != "" {
			req.Header.Set("Content-Type", x.mediaType)
		}
		got := acc.sign(req, x.length, slices.Concat(x.headers, []string{date, "x-ms-version:2026-04-06"}))
		if want := "SharedKey acc:" + x.want; got != want {
			t.Errorf("%s %s: %s, not %s", x.method, x.address, got, want)
		}
	}
}

// A bucket name that can be part of a host name is; others, and those on other servers, are in the path.
func TestS3Bucket(t *testing.T) {
	for _, x := range []struct{ endpoint, region, bucket, want string }{
		{"", "eu-west-1", "data-1", "https://data-1.s3.eu-west-1.amazonaws.com"},
		{"", "cn-north-1", "data", "https://data.s3.cn-north-1.amazonaws.com.cn"},
		{"", "us-east-1", "data.example.org", "https://s3.us-east-1.amazonaws.com/data.example.org"},
		{"", "us-east-1", "Data", "https://s3.us-east-1.amazonaws.com/Data"},
		{"http://127.0.0.1:9000/", "us-east-1", "data", "http://127.0.0.1:9000/data"},
	} {
		if got := s3Bucket(x.endpoint, x.region, x.bucket); got != x.want {
			t.Errorf("%v: %s", x, got)
		}
	}
	for _, bucket := range []string{"arn:aws:s3:us-east-1:1:accesspoint:x", "data--use1-az4--x-s3"} {
		_, err := client(t).Read(t.Context(), "s3://"+bucket+"/k", 5)
		wants(t, err, "not supported")
	}
}

// A role's credentials come from AWS's token service, for the keys of another profile or for a token.
func TestS3Role(t *testing.T) {
	gives := func(result string) http.HandlerFunc {
		return says(200, "<R><"+result+
			"><Credentials><AccessKeyId>ROLE</AccessKeyId><SecretAccessKey>hush</SecretAccessKey>"+
			"<SessionToken>session</SessionToken><Expiration>2099-01-01T00:00:00Z</Expiration></Credentials></"+result+
			"></R>")
	}
	const files = `
[base]
aws_access_key_id = BASE
aws_secret_access_key = hush
[profile role]
role_arn = arn:aws:iam::1:role/x
source_profile = base
external_id = outer
`
	for _, x := range []struct {
		env    []string
		result string
		form   url.Values
		signed string
	}{
		{[]string{"AWS_PROFILE=role"}, "AssumeRoleResult", url.Values{"Action": {"AssumeRole"}, "ExternalId": {"outer"},
			"RoleArn": {"arn:aws:iam::1:role/x"}, "RoleSessionName": {"markmill"}, "Version": {"2011-06-15"}},
			"Credential=BASE/"},
		{[]string{"AWS_ROLE_ARN=arn:y"}, "AssumeRoleWithWebIdentityResult", url.Values{"Version": {"2011-06-15"},
			"Action": {"AssumeRoleWithWebIdentity"}, "RoleArn": {"arn:y"}, "RoleSessionName": {"markmill"},
			"WebIdentityToken": {"hush"}}, ""},
	} {
		sts, asked := script(t, gives(x.result))
		s, seen := script(t, says(200, "hello"))
		env := append(x.env, "AWS_ENDPOINT_URL_STS="+sts.URL, "AWS_ENDPOINT_URL_S3="+s.URL)
		c := client(t, env...)
		if x.signed == "" {
			file(t, c.Home+"/token", "hush")
			c = client(t, append(env, "AWS_WEB_IDENTITY_TOKEN_FILE="+c.Home+"/token")...)
		}
		file(t, c.Home+"/.aws/config", files)
		if got, err := c.Read(t.Context(), "s3://b/k", 5); err != nil || string(got) != "hello" {
			t.Fatalf("%v: %q, %v", x.env, got, err)
		}
		body, _ := io.ReadAll((*asked)[0].Body)
		if string(body) != x.form.Encode() {
			t.Errorf("%v: %s", x.env, body)
		}
		if auth := (*asked)[0].Header.Get("Authorization"); !strings.Contains(auth, x.signed) ||
			(x.signed == "") != (auth == "") {
			t.Errorf("%v: %q", x.env, auth)
		}
		last := (*seen)[0].Header
		if !strings.Contains(last.Get("Authorization"), "Credential=ROLE/") ||
			last.Get("X-Amz-Security-Token") != "session" {
			t.Errorf("%v: %v", x.env, last)
		}
	}
	refuses,
		_ := script(t,
		says(403, "<ErrorResponse><Error><Code>AccessDenied</Code><Message>no</Message></Error></ErrorResponse>"))
	c := client(t, "AWS_PROFILE=role", "AWS_ENDPOINT_URL="+refuses.URL)
	file(t, c.Home+"/.aws/config", files)
	_, err := c.Read(t.Context(), "s3://b/k", 5)
	wants(t, err, `access is refused (403 AccessDenied: no) with the profile "role" of ~/.aws`)
}
