"""The files in deploy/: each parses, is what its program accepts, and names only settings and metrics that exist."""

import json
import re
import shutil
import subprocess
from configparser import ConfigParser
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from support.docs_page import ROOT
from support.render_chart import render_chart
from tickwork.cli import main
from tickwork.config import MEANINGS, load_settings, variable
from tickwork.store.pool import CONNECTIONS

DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm" / "tickwork"
FILES = [path for path in sorted(DEPLOY.rglob("*")) if path.is_file()]
UNITS = sorted([*(DEPLOY / "systemd").glob("*.service"), *(DEPLOY / "systemd").glob("*.timer")])
KNOWN = {variable(name) for name in MEANINGS}
_NOT_SETTINGS = {
    "TICKWORK_APP",  # of the unit of workers: what it runs
    "TICKWORK_WORKER_KEY",  # of .env: the TICKWORK_API_KEY of workers
}


def name(path: Path) -> str:
    return str(path.relative_to(DEPLOY))


@pytest.mark.parametrize("file", FILES, ids=name)
def test_every_setting_that_is_named_exists(file: Path) -> None:
    named = set(re.findall(r"\bTICKWORK_[A-Z_]+\b", file.read_text()))
    assert named - KNOWN - _NOT_SETTINGS == set()


@pytest.mark.parametrize("file", FILES, ids=name)
def test_no_file_has_a_secret_in_it(file: Path) -> None:
    for given in re.findall(r"(?:PASSWORD|ADMIN_KEY|API_KEY)=(.+)", file.read_text()):
        assert given.startswith(("change-me", "tw_…", "$(", "…")), given


@pytest.mark.parametrize("file", [path for path in FILES if path.suffix in (".yaml", ".yml")
                                  and "templates" not in path.parts], ids=name)  # fmt: skip
def test_yaml_parses(file: Path) -> None:
    assert list(yaml.safe_load_all(file.read_text()))


def test_the_values_of_the_unit_are_right() -> None:
    lines = (DEPLOY / "systemd" / "server.env").read_text().splitlines()
    env = dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))
    settings, _ = load_settings({}, env, None)
    assert settings.drain_delay.total_seconds() == 5


# systemd


@pytest.mark.parametrize("unit", UNITS, ids=name)
def test_systemd_accepts_the_unit(unit: Path, tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("systemd-analyze is not installed")
    file = tmp_path / unit.name.replace("@.", "@mail.")
    # It looks for the program and the folder, which are there on the machine that has the unit.
    text = unit.read_text().replace("/opt/tickwork/bin/tickwork", "/bin/true")
    file.write_text(text.replace("/srv/tickwork-worker", str(tmp_path)))
    (tmp_path / "tickwork-backup.service").write_text("[Service]\nExecStart=/bin/true\n")
    done = subprocess.run(
        [program, "verify", "--man=no", str(file)], capture_output=True, text=True, check=False, timeout=60
    )
    said = [line for line in done.stderr.splitlines() if file.name in line]
    assert (done.returncode, said) == (0, []), done.stderr


@pytest.mark.parametrize("unit", [path for path in UNITS if path.suffix == ".service"], ids=name)
def test_the_command_of_the_unit_exists(unit: Path) -> None:
    (command,) = re.findall(r"^ExecStart=(.*)$", unit.read_text(), re.MULTILINE)
    words = re.search(r"/opt/tickwork/bin/tickwork ([a-z -]+)", command)[1].split()
    _assert_command_exists([word for word in words if not word.startswith("-")])


def _assert_command_exists(words: list[str]) -> None:
    command: Any = main
    for word in words:
        assert word in command.list_commands(None), f"tickwork {' '.join(words)}"
        command = command.get_command(None, word)
        if not hasattr(command, "list_commands"):
            return


# Containers


def test_the_image_is_run_without_root_and_with_a_health_check() -> None:
    text = (DEPLOY / "docker" / "Dockerfile").read_text()
    final = text[text.rindex("\nFROM ") :]
    assert re.search(r"^USER 10001:10001$", final, re.MULTILINE)
    assert "HEALTHCHECK" in final
    assert re.search(r'^ENTRYPOINT \["tickwork"\]$', final, re.MULTILINE)
    copied = re.search(r"^COPY \. \.$", text, re.MULTILINE)
    assert copied
    ignored = (DEPLOY / "docker" / "Dockerfile.dockerignore").read_text()
    sources = re.search(r"\[tool\.hatch\.build\.targets\.sdist\]\ninclude = \[(.*?)\]",
                        (ROOT / "pyproject.toml").read_text(), re.DOTALL)[1]  # fmt: skip
    for source in re.findall(r'"([^"]+)"', sources):
        assert f"!{source}\n" in ignored, f"`make dist` needs {source}"


def test_the_servers_of_compose_can_be_read_only_and_wait_for_their_database() -> None:
    compose = yaml.safe_load((DEPLOY / "docker" / "compose.yaml").read_text())
    server = compose["services"]["server"]
    assert server["read_only"]
    assert server["cap_drop"] == ["ALL"]
    assert server["deploy"]["replicas"] == 2
    assert server["depends_on"]["upgrade"]["condition"] == "service_completed_successfully"
    for service in ("server", "upgrade", "worker"):
        _assert_command_exists(compose["services"][service].get("command", ["server"])[:2])


@pytest.mark.parametrize("file", [path for path in FILES if path.suffix == ".cfg"], ids=name)
def test_haproxy_accepts_its_configuration(file: Path, tmp_path: Path) -> None:
    program = shutil.which("haproxy") or shutil.which("haproxy", path="/usr/sbin")
    if program is None:
        pytest.skip("haproxy is not installed")
    (tmp_path / "tickwork.pem").write_bytes((ROOT / "tests" / "support" / "localhost.pem").read_bytes())
    text = file.read_text().replace("/etc/haproxy/tickwork.pem", str(tmp_path / "tickwork.pem"))
    (tmp_path / "haproxy.cfg").write_text(text)
    addresses = dict.fromkeys(("PRIMARY_BIND", "REPLICA_BIND", "DB1", "DB2", "DB3"), "127.0.0.1:5432")
    ports = {f"DB{number}_API_PORT": "8008" for number in (1, 2, 3)}
    done = subprocess.run(
        [program, "-c", "-f", str(tmp_path / "haproxy.cfg")], capture_output=True, text=True, check=False,
        timeout=30, env={**addresses, **ports},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "[ALERT]" not in done.stderr


def test_pgbouncer_pools_by_transaction_and_has_room_for_two_servers() -> None:
    parser = ConfigParser()
    parser.read(DEPLOY / "pgbouncer" / "pgbouncer.ini")
    assert parser["pgbouncer"]["pool_mode"] == "transaction"
    assert int(parser["pgbouncer"]["default_pool_size"]) >= 2 * CONNECTIONS


# Kubernetes


WORKER = {
    "image": "registry.example.com/tasks:1",
    "app": "tasks:app",
    "keySecret": "worker",
    "args": ["--queue", "mail"],
    "settings": {"TICKWORK_SLOTS": "50"},
    "resources": {"requests": {"cpu": "100m"}},
}
KEDA = {"enabled": True, "queue": "mail", "prometheus": "http://prometheus:9090"}
ALL = {
    "workers": {"mail": WORKER, "busy": {**WORKER, "keda": KEDA}},
    "ingress": {"enabled": True, "className": "nginx", "annotations": {"a": "b"}},
    "serviceMonitor": {"enabled": True, "labels": {"release": "prometheus"}},
    "networkPolicy": {"egressToAnywhere": False, "database": {"port": 5432, "cidr": "10.1.0.0/16"},
                      "from": [{"podSelector": {}}]},
    "imagePullSecrets": [{"name": "pull"}],
    "server": {"nodeSelector": {"disk": "ssd"}, "tolerations": [{"key": "a", "operator": "Exists"}]},
}  # fmt: skip


def rendered(values: dict[str, Any]) -> dict[tuple[str, str], Any]:
    files = render_chart(CHART, values)
    return {(each["kind"], each["metadata"]["name"]): each for objects in files.values() for each in objects}


@pytest.mark.parametrize("values", [{}, ALL], ids=["default", "everything"])
def test_the_chart_renders_objects_that_kubernetes_knows(values: dict[str, Any]) -> None:
    kubernetes = pytest.importorskip("kubernetes_validate", reason="kubernetes-validate is not installed")
    for (kind, _), each in rendered(values).items():
        if kind not in ("ServiceMonitor", "ScaledObject"):  # these are not of Kubernetes itself
            kubernetes.validate(each, "1.31", strict=True)


def test_the_chart_has_what_production_needs() -> None:
    objects = rendered({})
    assert sorted(kind for kind, _ in objects) == [
        "Deployment",
        "Job",
        "NetworkPolicy",
        "PodDisruptionBudget",
        "Service",
    ]
    job = objects["Job", "release-upgrade-1"]
    assert job["metadata"]["annotations"]["helm.sh/hook"] == "pre-install,pre-upgrade"
    _assert_command_exists(job["spec"]["template"]["spec"]["containers"][0]["args"])
    deployment = objects["Deployment", "release-server"]
    assert deployment["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": 0, "maxSurge": 1}
    pod = deployment["spec"]["template"]["spec"]
    (server,) = pod["containers"]
    assert server["securityContext"]["readOnlyRootFilesystem"]
    assert server["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert server["livenessProbe"]["httpGet"]["path"] == "/livez"
    before_stop = int(server["lifecycle"]["preStop"]["exec"]["command"][1])
    assert before_stop + 1 + 5 + 15 < pod["terminationGracePeriodSeconds"]
    env = {each["name"]: each.get("value") for each in server["env"]}
    assert "TICKWORK_PUBLIC_URL" not in env  # empty means not set
    assert env["TICKWORK_DATABASE_URL"] is None
    service = objects["Service", "release-server"]["spec"]["selector"].items()
    assert service <= deployment["spec"]["template"]["metadata"]["labels"].items()
    budget = objects["PodDisruptionBudget", "release-server"]["spec"]["selector"]["matchLabels"].items()
    assert budget <= deployment["spec"]["template"]["metadata"]["labels"].items()


def test_the_chart_can_have_all_the_rest() -> None:
    objects = rendered(ALL)
    assert {"Ingress", "ServiceMonitor", "ScaledObject"} <= {kind for kind, _ in objects}
    mail = objects["Deployment", "release-worker-mail"]["spec"]
    assert mail["replicas"] == 2
    (worker,) = mail["template"]["spec"]["containers"]
    assert worker["args"][:5] == ["worker", "run", "tasks:app", "--server", "http://release-server:8080"]
    assert worker["args"][-2:] == ["--queue", "mail"]
    assert "replicas" not in objects["Deployment", "release-worker-busy"]["spec"]
    scaled = objects["ScaledObject", "release-worker-busy"]["spec"]
    assert scaled["triggers"][0]["metadata"]["query"] == 'max(tickwork_queue_depth{queue="mail"})'
    policy = objects["NetworkPolicy", "release-server"]["spec"]
    assert policy["egress"][1]["to"] == [{"ipBlock": {"cidr": "10.1.0.0/16"}}]
    server = objects["Deployment", "release-server"]["spec"]["template"]["spec"]
    assert server["nodeSelector"] == {"disk": "ssd"}


def test_the_schema_of_the_chart_accepts_its_values_and_refuses_mistakes() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    jsonschema.validate(values, schema)
    jsonschema.validate({**values, "workers": ALL["workers"]}, schema)
    for wrong in ({"replicas": 0}, {"settings": {"OTHER": "x"}}, {"replica": 2}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**values, "server": wrong}, schema)
    for missing in ("image", "app", "keySecret"):
        worker = {key: value for key, value in WORKER.items() if key != missing}
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**values, "workers": {"mail": worker}}, schema)


def test_terraform_parses() -> None:
    hcl2 = pytest.importorskip("hcl2", reason="python-hcl2 is not installed")
    for file in sorted((DEPLOY / "terraform").glob("*.tf")):
        with file.open() as source:
            assert hcl2.load(source)
