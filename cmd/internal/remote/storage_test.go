package remote

import (
	"encoding/base64"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func s3Says(status int, code, text string) http.HandlerFunc {
	return says(status, "<Error><Code>"+code+"</Code><Message>"+text+"</Message></Error>")
}

// S3 gets the request, signed with the credentials found.
func TestS3Requests(t *testing.T) {
	s, seen := script(t, says(200, "hello"))
	static := []string{"AWS_ACCESS_KEY_ID=AKID", "AWS_SECRET_ACCESS_KEY=hush", "AWS_SESSION_TOKEN=token"}
	c := client(t, append(static, "AWS_ENDPOINT_URL=http://127.0.0.1:1", "AWS_ENDPOINT_URL_S3="+s.URL,
		"AWS_REGION=eu-west-9")...)
	if got, err := c.Read(t.Context(), "s3://bucket/a b/ü#?{x}.md", 5); err != nil || string(got) != "hello" {
		t.Fatalf("%q, %v", got, err)
	}
	if err := c.Write(t.Context(), "s3://bucket/n.ipynb", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	if err := c.Check(t.Context(), "s3://bucket/n.ipynb"); err != nil {
		t.Fatal(err)
	}
	get, put, head := (*seen)[0], (*seen)[1], (*seen)[2]
	if get.Method != "GET" || get.URL.Path != "/bucket/a b/ü#?{x}.md" {
		t.Errorf("%s %q", get.Method, get.URL.Path)
	}
	auth := get.Header.Get("Authorization")
	if !strings.HasPrefix(auth, "AWS4-HMAC-SHA256 Credential=AKID/") ||
		!strings.Contains(auth, "/eu-west-9/s3/aws4_request") || get.Header.Get("X-Amz-Security-Token") != "token" {
		t.Errorf("%q", auth)
	}
	body, _ := io.ReadAll(put.Body)
	if put.Method != "PUT" || put.URL.Path != "/bucket/n.ipynb" || string(body) != "{}" ||
		put.Header.Get("Content-Type") != "application/x-ipynb+json" {
		t.Errorf("%s %s %q %v", put.Method, put.URL, body, put.Header)
	}
	if head.Method != "HEAD" || strings.Trim(head.URL.Path, "/") != "bucket" {
		t.Errorf("%s %s", head.Method, head.URL)
	}
}

// Credentials come from the same places as in AWS's tools, in the same order.
func TestS3Credentials(t *testing.T) {
	s, seen := script(t, says(200, ""))
	const files = `# of the command line
[default]
aws_access_key_id = DEFAULT
aws_secret_access_key = hush
s3 =
    addressing_style = path

[profile  work]
aws_access_key_id=WORK
aws_secret_access_key=hush=
region = us-work-1
[profile tool]
credential_process = printf '{"Version":1,"AccessKeyId":"TOOL","SecretAccessKey":"hush"}'
[profile sso]
sso_session = x
[profile role]
role_arn = arn:aws:iam::1:role/x
[empty]
output = json
`
	for _, x := range []struct {
		env  []string
		want string
	}{
		{[]string{"AWS_ACCESS_KEY_ID=ENV", "AWS_SECRET_ACCESS_KEY=hush"}, "Credential=ENV/"},
		{nil, "Credential=DEFAULT/"},
		{[]string{"AWS_PROFILE=work"}, "Credential=WORK/"},
		{[]string{"AWS_PROFILE=work"}, "/us-work-1/"},
		{[]string{"AWS_PROFILE=work", "AWS_ACCESS_KEY_ID=ENV", "AWS_SECRET_ACCESS_KEY=hush"}, "Credential=WORK/"},
		{[]string{"AWS_PROFILE=empty", "AWS_ACCESS_KEY_ID=ENV", "AWS_SECRET_ACCESS_KEY=hush"}, "Credential=ENV/"},
		{[]string{"AWS_PROFILE=tool"}, "Credential=TOOL/"},
		{[]string{"AWS_PROFILE=empty"}, ""}, // nothing is signed
	} {
		c := client(t, append(x.env, "BOTO3_ENDPOINT_URL="+s.URL)...)
		file(t, c.Home+"/.aws/config", files)
		if _, err := c.Read(t.Context(), "s3://b/k", 5); err != nil {
			t.Errorf("%v: %v", x.env, err)
			continue
		}
		last := (*seen)[len(*seen)-1].Header.Get("Authorization")
		if x.want == "" && last != "" || !strings.Contains(last, x.want) {
			t.Errorf("%v: %q has no %q", x.env, last, x.want)
		}
	}
	for profile, want := range map[string]string{
		"nosuch": `there is no profile "nosuch", which AWS_PROFILE names`, "sso": "aws configure export-credentials",
		"role": "role_arn needs a source_profile with keys",
	} {
		c := client(t, "AWS_PROFILE="+profile)
		file(t, c.Home+"/.aws/credentials", files)
		_, err := c.Read(t.Context(), "s3://b/k", 5)
		wants(t, err, "s3://b/k: cannot be reached: ", want)
	}
}

func TestS3Fails(t *testing.T) {
	keys := []string{"AWS_ACCESS_KEY_ID=AKID", "AWS_SECRET_ACCESS_KEY=hush"}
	for _, x := range []struct {
		answer http.HandlerFunc
		env    []string
		want   string
	}{
		{s3Says(404, "NoSuchBucket", "none"), keys, `there is no bucket "b" (404 NoSuchBucket: none)`},
		{s3Says(404, "NoSuchKey", "none"), keys, `there is no "k.md" in the bucket "b" (404 NoSuchKey: none)`},
		{s3Says(403, "AccessDenied", "no"), keys,
			"access is refused (403 AccessDenied: no) with AWS_ACCESS_KEY_ID; set "},
		{s3Says(403, "AccessDenied", "no"), nil,
			"with no credentials: none are in the environment or in ~/.aws; set AWS_ACCESS_KEY_ID"},
		{s3Says(503, "SlowDown", "wait"), keys, "the service failed (503 SlowDown: wait), also after 4 tries"},
		{says(200, strings.Repeat("a", 6)), keys, "has more than 5 bytes"},
	} {
		s, _ := script(t, x.answer)
		c := client(t, append(x.env, "AWS_ENDPOINT_URL="+s.URL)...)
		_, err := c.Read(t.Context(), "s3://b/k.md", 5)
		wants(t, err, x.want)
	}
	// Check reports only what would certainly fail.
	for _, x := range []struct {
		status int
		env    []string
		fails  string
	}{{404, keys, "there is no bucket"}, {403, keys, ""}, {403, nil, "no credentials"}, {400, keys, ""}} {
		s, _ := script(t, says(x.status, ""))
		err := client(t, append(x.env, "AWS_ENDPOINT_URL="+s.URL)...).Check(t.Context(), "s3://b/k.md")
		if x.fails == "" && err != nil {
			t.Errorf("%d: %v", x.status, err)
		} else if x.fails != "" {
			wants(t, err, x.fails)
		}
	}
}

// A request for a bucket in another region goes to that region.
func TestS3Region(t *testing.T) {
	s, seen := script(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("x-amz-bucket-region", "eu-north-7")
		s3Says(301, "PermanentRedirect", "elsewhere")(w, r)
	}, says(200, "hello"))
	c := client(t, "AWS_ACCESS_KEY_ID=AKID", "AWS_SECRET_ACCESS_KEY=hush", "AWS_ENDPOINT_URL="+s.URL)
	if got, err := c.Read(t.Context(), "s3://b/k", 5); err != nil || string(got) != "hello" {
		t.Fatalf("%q, %v", got, err)
	}
	if auth := (*seen)[1].Header.Get("Authorization"); !strings.Contains(auth, "/eu-north-7/") {
		t.Error(auth)
	}
}

func TestGoogle(t *testing.T) {
	s, seen := script(t, says(503, ""), says(200, "hello"), says(200, "{}"),
		says(404, `{"error":{"message":"The specified bucket does not exist."}}`))
	c := client(t, "STORAGE_EMULATOR_HOST="+strings.TrimPrefix(s.URL, "http://"))
	if got, err := c.Read(t.Context(), "gs://bucket/a b/ü?#.md", 5); err != nil || string(got) != "hello" {
		t.Fatalf("%q, %v", got, err)
	}
	if err := c.Write(t.Context(), "gs://bucket/d/n b.ipynb", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	wants(t, c.Check(t.Context(), "gs://bucket/n.md"), `there is no bucket "bucket"`)
	_, err := c.Read(t.Context(), "gs://bucket/n.md", 5)
	wants(t, err, `there is no bucket "bucket" (404 NoSuchBucket: The specified bucket does not exist.)`)
	get, put := (*seen)[1], (*seen)[2]
	if want := "/storage/v1/b/bucket/o/" + url.PathEscape("a b/ü?#.md"); get.URL.EscapedPath() != want ||
		get.URL.RawQuery != "alt=media" || get.Header.Get("Authorization") != "" {
		t.Errorf("%s", get.URL)
	}
	body, _ := io.ReadAll(put.Body)
	if put.Method != "POST" || put.URL.Path != "/upload/storage/v1/b/bucket/o" ||
		put.URL.Query().Get("name") != "d/n b.ipynb" || put.URL.Query().Get("uploadType") != "media" ||
		string(body) != "{}" {
		t.Errorf("%s %s %q", put.Method, put.URL, body)
	}
}

func TestGoogleCredentials(t *testing.T) {
	tokens, seen := script(t, says(400, `{"error":"invalid_grant","error_description":"it has expired"}`))
	c := client(t)
	c.Getenv = func(name string) (string, bool) {
		if name == "GOOGLE_APPLICATION_CREDENTIALS" {
			return c.Home + "/key.json", true
		}
		return "", false
	}
	_, err := c.Read(t.Context(), "gs://b/n.md", 5)
	wants(t, err, "GOOGLE_APPLICATION_CREDENTIALS: ", "no such file", "name a file of credentials")
	for _, text := range []string{"hush", "{}", `{"type":"hush"}`} {
		file(t, c.Home+"/key.json", text)
		_, err = c.Read(t.Context(), "gs://b/n.md", 5)
		wants(t, err, "the file has no credentials of Google's")
	}
	// A login whose token request is refused.
	file(t, c.Home+"/key.json",
		`{"type":"external_account","audience":"a","subject_token_type":"urn:ietf:params:oauth:token-type:jwt","token_url":"`+tokens.URL+`","credential_source":{"file":"`+c.Home+`/token"}}`)
	file(t, c.Home+"/token", "hush")
	_, err = c.Read(t.Context(), "gs://b/n.md", 5)
	wants(t, err, "gs://b/n.md: cannot be read: ")
	if len(*seen) == 0 {
		t.Error("no token was asked for")
	}
}

func TestAzure(t *testing.T) {
	key := base64.StdEncoding.EncodeToString([]byte("hush"))
	s, seen := script(t, says(503, ""), says(200, "hello"), says(201, ""),
		func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("x-ms-error-code", "ContainerNotFound")
			w.WriteHeader(404)
		})
	c := client(t, "AZURE_STORAGE_CONNECTION_STRING=DefaultEndpointsProtocol=http;AccountName=acc;AccountKey="+key+
		";BlobEndpoint="+s.URL+"/acc")
	if got, err := c.Read(t.Context(), "az://box/a b/n.md", 5); err != nil || string(got) != "hello" {
		t.Fatalf("%q, %v", got, err)
	}
	if err := c.Write(t.Context(), "az://box/d/n.md", []byte("# n")); err != nil {
		t.Fatal(err)
	}
	wants(t, c.Check(t.Context(), "az://box/n.md"), `there is no container "box" (404 ContainerNotFound)`)
	_, err := c.Read(t.Context(), "az://box/n.md", 5)
	wants(t, err, `there is no container "box"`)
	get, put := (*seen)[1], (*seen)[2]
	if get.URL.Path != "/acc/box/a b/n.md" || !strings.HasPrefix(get.Header.Get("Authorization"), "SharedKey acc:") {
		t.Errorf("%s %v", get.URL, get.Header)
	}
	body, _ := io.ReadAll(put.Body)
	if put.Method != "PUT" || put.URL.Path != "/acc/box/d/n.md" || string(body) != "# n" ||
		!strings.HasPrefix(put.Header.Get("x-ms-blob-content-type"), "text/markdown") {
		t.Errorf("%s %s %q %v", put.Method, put.URL, body, put.Header)
	}
	s, seen = script(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("x-ms-error-code", "AuthenticationFailed")
		w.WriteHeader(403)
	})
	c = client(t, "AZURE_STORAGE_ACCOUNT=acc", "AZURE_STORAGE_BLOB_ENDPOINT="+s.URL+"/acc",
		"AZURE_STORAGE_SAS_TOKEN=?sv=1&sig=hush")
	_, err = c.Read(t.Context(), "az://box/n.md", 5)
	wants(t, err,
		"access is refused (403 AuthenticationFailed) with a shared access signature; set "+
			"AZURE_STORAGE_CONNECTION_STRING")
	if q := (*seen)[0].URL.Query(); q.Get("sig") != "hush" || (*seen)[0].URL.Path != "/acc/box/n.md" {
		t.Errorf("%s", (*seen)[0].URL)
	}
	_, err = client(t, "AZURE_STORAGE_CONNECTION_STRING=hush").Read(t.Context(), "az://box/n.md", 5)
	wants(t, err, "the value of AZURE_STORAGE_CONNECTION_STRING is not valid")
}
