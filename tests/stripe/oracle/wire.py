"""Two servers that speak Stripe's API: ours, and stripe-mock."""

import json
import urllib.error
import urllib.parse
import urllib.request

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def encode(value, name=""):
    """Writes a form as Stripe's SDKs do: a[b]=…, a[0]=…"""
    if isinstance(value, dict):
        return [p for k, v in value.items() for p in encode(v, f"{name}[{k}]" if name else k)]
    if isinstance(value, list):
        return [p for i, v in enumerate(value) for p in encode(v, f"{name}[{i}]")]
    if isinstance(value, bool):
        value = "true" if value else "false"
    return [(name, str(value))]


class Server:
    def __init__(self, url):
        self.url = url
        self.last = ()

    def call(self, method, path, params=None, body=None, headers=None):
        """Returns status and JSON. `body` is sent as it is; `params` as a query or a form."""
        self.last = (method, path, params, body, headers)
        form = urllib.parse.urlencode(encode(params or {}))
        headers = {"Authorization": "Bearer sk_test_oracle", **(headers or {})}
        url, data = self.url + path, None
        if body is not None:
            data = body.encode()
        elif method == "POST":
            data = form.encode()
        elif form:
            url += ("&" if "?" in path else "?") + form
        if data is not None and "Content-Type" not in headers:
            headers["Content-Type"] = "application/x-www-form-urlencoded"
        request = urllib.request.Request(url, data, headers, method=method)
        try:
            answer = OPENER.open(request, timeout=30)
        except urllib.error.HTTPError as error:
            answer = error
        with answer:
            text = answer.read().decode()
        try:
            return answer.status, json.loads(text) if text else None
        except ValueError:
            return answer.status, {"text": text}

    def made(self, path, **params):
        """Posts, and returns the object."""
        status, answer = self.call("POST", path, params)
        if status != 200:
            raise AssertionError(f"POST {path} {params}: {status} {json.dumps(answer)[:600]}")
        return answer
