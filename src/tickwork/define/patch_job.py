"""Applies a JSON merge patch (RFC 7396) to the definition of a job."""

from typing import Any

import msgspec

from tickwork.model.encode_job_target import COMMAND_FIELDS, with_stored_headers, with_stored_variables
from tickwork.model.errors import Invalid
from tickwork.model.job import BUILT_IN, JobRequest
from tickwork.model.parsed_schedule_and_preview import KINDS
from tickwork.model.retry_policy import RetryPolicy


def with_defaults(document: dict[str, Any]) -> dict[str, Any]:
    """Adds Tickwork's own defaults, so that the task's defaults apply only to fields that the patch removes."""
    retry = msgspec.to_builtins(RetryPolicy()) | document.get("retry", {})
    return BUILT_IN | document | {"retry": retry}


def schedule_to_patch(shown: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """A patch applies to the schedule as it is shown, in whatever notation it was written. A schedule has only one
    kind, so a patch that names a kind replaces the current one."""
    names_kind = any(patch.get(kind) is not None for kind in KINDS)
    return {name: value for name, value in shown.items() if not (names_kind and name in KINDS)}


def patched(document: dict[str, Any], patch: dict[str, Any]) -> JobRequest:
    if patch.get("ref") is not None:
        raise Invalid.field("ref", "names a job only in the batch that it is created in")
    merged = _merge(document, patch)
    if merged.get("http") and "url" not in merged["http"]:
        # The patch was validated field by field, so only this can be missing.
        raise Invalid.field("http.url", "is required")
    return _with_stored_secrets(msgspec.convert(merged, JobRequest), document, patch)


def _with_stored_secrets(request: JobRequest, document: dict[str, Any], patch: dict[str, Any]) -> JobRequest:
    """A patch may repeat what was shown, where a mark replaces each secret. Puts the stored secrets back."""
    stored = msgspec.convert(document, JobRequest)
    if "http" in patch:
        request = with_stored_headers(request, stored, (patch["http"] or {}).get("headers") or {})
    if any(name in patch for name in COMMAND_FIELDS):
        request = with_stored_variables(request, stored, patch.get("env") or {})
    return request


def _merge(document: Any, patch: Any) -> Any:
    """RFC 7396: null removes, objects merge, everything else replaces."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(document) if isinstance(document, dict) else {}
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        else:
            merged[name] = _merge(merged.get(name), value)
    return merged
