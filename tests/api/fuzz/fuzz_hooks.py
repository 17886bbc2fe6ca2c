"""What the fuzzer must not do: take away the key that it holds, wait for what does not come, or send to strangers."""

import schemathesis

OWN_KEY = "k1"
LONGEST_WAIT = 0.1  # seconds


@schemathesis.hook
def filter_case(_context, case):
    path = case.path_parameters or {}
    return not (case.operation.label == "DELETE /v1/keys/{id}" and path.get("id") == OWN_KEY)


@schemathesis.hook
def before_call(_context, case, _kwargs):
    wait = case.body.get("wait") if isinstance(case.body, dict) else None
    if isinstance(wait, int | float) and LONGEST_WAIT < wait <= 30:
        case.body = {**case.body, "wait": LONGEST_WAIT}
    if (case.query or {}).get("follow") == "true":
        case.query = {**case.query, "follow": "false"}
    if case.operation.path == "/v1/channels/{name}/test":
        case.path_parameters = {
            **case.path_parameters,
            "name": "nobody",
        }  # it would call whatever was made up
    if case.operation.path == "/v1/events":
        case.headers = {**(case.headers or {}), "Accept": "application/json"}  # the stream does not end
