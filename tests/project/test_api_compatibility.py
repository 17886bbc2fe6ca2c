"""The API keeps what clients rely on. What has to go is deprecated first: docs/reference/api-versions.md."""

from copy import deepcopy
from typing import Any

import pytest

from support.openapi_compatibility import breaks, current_contract, stored_contract

_ADVICE = "deprecate it instead, or say `make contract` if this is what you want"


def test_nothing_that_clients_rely_on_is_gone() -> None:
    assert breaks(stored_contract(), current_contract()) == [], _ADVICE


@pytest.fixture(scope="module")
def contract() -> dict[str, Any]:
    return current_contract()


@pytest.fixture
def changed(contract: dict[str, Any]) -> dict[str, Any]:
    return deepcopy(contract)


def _schemas(document: dict[str, Any]) -> dict[str, Any]:
    schemas: dict[str, Any] = document["components"]["schemas"]
    return schemas


def test_what_is_added_breaks_nothing(contract: dict[str, Any], changed: dict[str, Any]) -> None:
    changed["paths"]["/v1/more"] = changed["paths"]["/v1/jobs"]
    _schemas(changed)["JobView"]["properties"]["more"] = {"type": "string"}
    _schemas(changed)["JobView"]["required"].append("more")
    _schemas(changed)["JobRequest"]["properties"]["more"] = {"type": "string"}
    _schemas(changed)["ExecutionStatus"]["enum"].append("more")
    assert breaks(contract, changed) == []


def test_a_route_that_is_gone_is_found(contract: dict[str, Any], changed: dict[str, Any]) -> None:
    del changed["paths"]["/v1/jobs/{id}"]["patch"]
    assert breaks(contract, changed) == ["PATCH /v1/jobs/{id} is gone"]


def test_a_field_that_is_gone_is_found_in_answers_and_requests(
    contract: dict[str, Any], changed: dict[str, Any]
) -> None:
    del _schemas(changed)["JobRequest"]["properties"]["payload"]
    del _schemas(changed)["ExecutionView"]["properties"]["result"]
    found = breaks(contract, changed)
    assert any(each.endswith("the field payload is gone") for each in found)
    assert any(each.endswith("the field result is gone") for each in found)


def test_a_field_that_becomes_required_is_found(contract: dict[str, Any], changed: dict[str, Any]) -> None:
    _schemas(changed)["JobRequest"].setdefault("required", []).append("name")
    assert any(each.endswith("the field name is required now") for each in breaks(contract, changed))


def test_a_field_that_answers_may_lack_is_found(contract: dict[str, Any], changed: dict[str, Any]) -> None:
    _schemas(changed)["ExecutionView"]["required"].remove("attempt")
    assert any(each.endswith("the field attempt may be missing now") for each in breaks(contract, changed))


def test_a_value_that_is_gone_is_found(contract: dict[str, Any], changed: dict[str, Any]) -> None:
    _schemas(changed)["ExecutionStatus"]["enum"].remove("skipped")
    assert any(each.endswith("the value 'skipped' is gone") for each in breaks(contract, changed))


def test_a_parameter_that_is_gone_or_required_is_found(
    contract: dict[str, Any], changed: dict[str, Any]
) -> None:
    parameters = changed["paths"]["/v1/jobs"]["get"]["parameters"]
    parameters[:] = [each for each in parameters if each["name"] != "q"]
    parameters.append({"name": "why", "in": "query", "required": True, "schema": {"type": "string"}})
    assert breaks(contract, changed) == [
        "GET /v1/jobs: the parameter q is gone",
        "GET /v1/jobs: the parameter why is required now",
    ]


def test_a_type_that_requests_may_no_longer_have_is_found(
    contract: dict[str, Any], changed: dict[str, Any]
) -> None:
    limit = next(
        each for each in changed["paths"]["/v1/jobs"]["get"]["parameters"] if each["name"] == "limit"
    )
    limit["schema"] = {"type": "string"}
    assert breaks(contract, changed) == ["GET /v1/jobs?limit: integer is no longer possible"]
