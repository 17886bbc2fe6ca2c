"""Commands that behave badly in all ways: each is contained, told, measured, and leaves its slot free."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.command_bench import MEGABYTE, CommandBench, Ended, Programs, is_gone, running_commands
from support.waiting import eventually
from support.worker_server import claim_of, working
from tickwork import App
from tickwork.execute.runners.contained import worker_cgroup
from tickwork.model.execution import AttemptOutcome
from tickwork.model.worker_protocol import Revoke

SOON = 30.0
ALLOWED = ["job-*", "sh", "true", "*.py"]


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Programs:
    return Programs(tmp_path / "programs", monkeypatch)


@pytest.fixture(params=["cgroup if allowed", "process groups"])
async def bench(
    request: pytest.FixtureRequest, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[CommandBench]:
    """One slot: what does not free it stops all that comes after it."""
    if request.param == "process groups":
        monkeypatch.setattr(worker_cgroup, "_own_folder", lambda: None)
    async with running_commands(ALLOWED, slots=1) as bench:
        yield bench


async def check_slot_is_free(bench: CommandBench) -> None:
    assert (await bench.run("true")).outcome.kind is AttemptOutcome.COMPLETED


def pids_of(file: Path) -> list[int]:
    return [int(word) for word in file.read_text().split()] if file.exists() else []


async def all_gone(pids: list[int]) -> None:
    await eventually(lambda: all(map(is_gone, pids)), within=SOON, what="the end of what it started")


# What it gets


async def test_arguments_reach_the_program_as_they_are_written(
    bench: CommandBench, programs: Programs
) -> None:
    programs.shell("job-arguments", 'for each in "$@"; do echo "[$each]"; done')
    ended = await bench.run("job-arguments", "two words", "$HOME", "*", "", ";ls")
    assert ended.texts == ["[two words]", "[$HOME]", "[*]", "[]", "[;ls]"]
    assert ended.outcome.result == b'{"exit_code":0}'


async def test_stdin_is_what_the_job_says_or_the_payload_or_nothing(
    bench: CommandBench, programs: Programs
) -> None:
    programs.shell("job-read", "cat; echo .")
    assert (await bench.run("job-read", stdin="given\n", payload={"a": 1})).texts == ["given", "."]
    assert (await bench.run("job-read", payload={"a": 1})).texts == ['{"a":1}.']
    assert (await bench.run("job-read")).texts == ["."]


async def test_a_large_input_that_nobody_reads_blocks_nothing(bench: CommandBench) -> None:
    ended = await bench.run("true", payload="x" * 500_000)
    assert ended.outcome.kind is AttemptOutcome.COMPLETED


async def test_the_environment_has_nothing_of_the_workers_own(
    bench: CommandBench, programs: Programs, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TICKWORK_API_KEY", "tw_secret-of-the-worker")
    monkeypatch.setenv("DATABASE_PASSWORD", "secret")
    monkeypatch.setenv("TZ", "Europe/Paris")
    programs.python("job-environment", "import os, json; print(json.dumps(dict(os.environ)))")
    ended = await bench.run("job-environment", env={"BUCKET": "backups", "TZ": "UTC"})
    found = json.loads(ended.texts[0])
    assert (found["BUCKET"], found["TZ"]) == ("backups", "UTC")
    assert found["TICKWORK_ATTEMPT"] == "1"
    assert found["TICKWORK_EXECUTION_ID"].startswith("e")
    assert found["TICKWORK_SCHEDULED_FOR"] == "2027-01-15T08:00:00.000000Z"
    known = {"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR", "BUCKET"}
    assert {name for name in found if not name.startswith("TICKWORK_")} <= known
    assert "TICKWORK_API_KEY" not in found


async def test_it_runs_in_its_folder(bench: CommandBench, programs: Programs, tmp_path: Path) -> None:
    programs.shell("job-where", "pwd")
    assert (await bench.run("job-where", cwd=str(tmp_path))).texts == [str(tmp_path)]
    ended = await bench.run("job-where", cwd="/no/such/folder")
    assert (ended.error, ended.lines) == ("CommandNotStarted", [])
    assert "/no/such/folder" in ended.message
    await check_slot_is_free(bench)


async def test_it_has_the_signals_and_files_of_a_new_process(bench: CommandBench, programs: Programs) -> None:
    programs.python(
        "job-signals",
        "import os, signal\n"
        "print([each.name for each in signal.Signals if signal.getsignal(each) is signal.SIG_IGN])\n"
        "print(sorted(int(each) for each in os.listdir('/proc/self/fd'))[:3], len(os.listdir('/proc/self/fd')))",
    )
    ignored, files = (await bench.run("job-signals")).texts
    assert "SIGTERM" not in ignored
    assert files.startswith("[0, 1, 2]")
    assert int(files.split()[-1]) <= 4  # with the folder that is listed


# What it prints


async def test_output_is_in_the_log_while_it_runs(
    bench: CommandBench, programs: Programs, tmp_path: Path
) -> None:
    programs.shell("job-wait", f"echo begun; echo worry >&2; until [ -e {tmp_path}/go ]; do sleep 0.05; done")
    await bench.start("job-wait")
    seen: list[tuple[str, str]] = []
    while len(seen) < 2:
        seen += [(line.level, line.text) for line in (await bench.conversation.next_note()).lines]
    assert sorted(seen) == [("stderr", "worry"), ("stdout", "begun")]
    (tmp_path / "go").touch()
    assert (await bench.ended()).outcome.kind is AttemptOutcome.COMPLETED


async def test_secrets_of_its_environment_are_masked_in_what_it_prints(
    bench: CommandBench, programs: Programs
) -> None:
    programs.shell("job-leak", 'printf "to"; printf "ken is $API_TOKEN, at $DATABASE_URL\\n"; exit 3')
    env = {"API_TOKEN": "s3cr3t-value", "DATABASE_URL": "postgres://me:passw0rd@db/x"}
    ended = await bench.run("job-leak", env=env)
    assert ended.texts == ["token is ***, at ***"]
    assert "s3cr3t" not in ended.message
    assert ended.message.endswith("token is ***, at ***")


@pytest.mark.parametrize("stream", [1, 2])
async def test_one_that_prints_without_end_is_ended_at_its_limit(
    bench: CommandBench, programs: Programs, stream: int
) -> None:
    programs.shell("job-flood", f"exec yes >&{stream}")
    ended = await bench.run("job-flood", process_limits={"output": "2Mi"})
    assert ended.error == "OutputLimit"
    assert "2Mi" in ended.message
    assert any("left out" in text for text in ended.texts)
    assert sum(map(len, ended.texts)) < MEGABYTE
    await check_slot_is_free(bench)


async def test_much_output_within_the_limit_is_no_failure_and_its_end_is_logged(
    bench: CommandBench, programs: Programs
) -> None:
    programs.shell("job-much", "yes | head -n 500000; echo the end")
    ended = await bench.run("job-much")
    assert ended.outcome.kind is AttemptOutcome.COMPLETED
    assert ended.texts[-1] == "the end"


async def test_output_that_is_no_text_is_shown(bench: CommandBench, programs: Programs) -> None:
    programs.shell("job-bytes", r"printf '\377\000\033[1m'")
    (text,) = (await bench.run("job-bytes")).texts
    assert text.startswith("\\xff\\x00")


async def test_one_that_closes_its_output_and_goes_on_is_waited_for(
    bench: CommandBench, programs: Programs, tmp_path: Path
) -> None:
    programs.shell(
        "job-quiet", f"echo last; exec >&- 2>&-; until [ -e {tmp_path}/go ]; do sleep 0.05; done; exit 4"
    )
    await bench.start("job-quiet")
    assert [line.text for line in (await bench.conversation.next_note()).lines] == ["last"]
    (tmp_path / "go").touch()
    ended = await bench.ended()
    assert (ended.error, ended.usage is not None) == ("Exit4", True)


# How it ends


async def test_exit_codes_mean_what_the_job_says(bench: CommandBench) -> None:
    codes = {"success": [0, 3], "final": [2]}
    found = {}
    for code in (0, 1, 2, 3):
        ended = await bench.run("sh", "-c", f"echo why >&2; exit {code}", exit_codes=codes)
        found[code] = ended.error, ended.outcome.failure.retry if ended.outcome.failure else None
    assert found == {0: (None, None), 1: ("Exit1", True), 2: ("Exit2", False), 3: (None, None)}


async def test_a_failure_says_what_the_command_said_last(bench: CommandBench) -> None:
    ended = await bench.run("sh", "-c", "echo fine; for n in 1 2 3; do echo line $n >&2; done; exit 9")
    assert ended.message == "exited with code 9; its last lines:\nline 1\nline 2\nline 3"


async def test_137_and_signals_are_told_in_words(bench: CommandBench) -> None:
    told = await bench.run("sh", "-c", "exit 137")
    assert told.error == "Exit137"
    assert told.message.startswith("exited with code 137, which tells of signal 9 (SIGKILL)")
    killed = await bench.run("sh", "-c", "kill -SEGV $$")
    assert killed.error == "SIGSEGV"
    assert killed.message == "was killed by signal 11 (SIGSEGV)"
    assert killed.usage is not None
    await check_slot_is_free(bench)


async def test_one_that_is_not_there_or_not_executable_is_told_so(
    bench: CommandBench, programs: Programs
) -> None:
    programs.add("job-data", "no program", mode=0o644)
    programs.add("job-broken", "#!/no/such/interpreter\n")
    programs.add("job-text", "just words\n")
    told = {
        name: (await bench.run(name)).error for name in ("job-none", "job-data", "job-broken", "job-text")
    }
    assert told == {
        "job-none": "CommandNotFound",
        "job-data": "CommandNotExecutable",
        "job-broken": "CommandNotFound",
        "job-text": "CommandNotExecutable",
    }
    await check_slot_is_free(bench)


# What it takes


async def test_usage_is_measured_with_that_of_what_it_starts(bench: CommandBench, programs: Programs) -> None:
    programs.python(
        "job-work",
        "import os, time\n"
        "if os.fork():\n"
        "    os.wait()\n"
        f"held = b'x' * (64 * {MEGABYTE})\n"
        "begin = time.process_time()\n"
        "while time.process_time() < begin + 0.3: pass",
    )
    usage = (await bench.run("job-work")).usage
    assert usage is not None
    assert 0.6 <= usage.cpu_seconds < 10
    assert 64 * MEGABYTE <= usage.peak_memory < 512 * MEGABYTE


async def test_one_that_fills_memory_is_ended(bench: CommandBench, programs: Programs) -> None:
    programs.python("job-memory", f"held = []\nwhile True: held.append(b'x' * {MEGABYTE})")
    ended = await bench.run("job-memory", process_limits={"memory": "100Mi"})
    assert ended.error == "MemoryLimit"
    assert "100Mi" in ended.message
    assert ended.usage
    assert ended.usage.peak_memory < 300 * MEGABYTE
    await check_slot_is_free(bench)


async def test_processes_that_fill_memory_together_are_ended(
    bench: CommandBench, programs: Programs, tmp_path: Path
) -> None:
    """Each alone is below the limit."""
    programs.python(
        "job-family",
        "import os, time\n"
        f"log = open('{tmp_path}/pids', 'a')\n"
        "for _ in range(3): os.fork()\n"
        "print(os.getpid(), file=log, flush=True)\n"
        f"held = b'x' * (40 * {MEGABYTE})\n"
        "time.sleep(600)",
    )
    ended = await bench.run("job-family", process_limits={"memory": "150Mi"})
    assert ended.error == "MemoryLimit"
    await all_gone(pids_of(tmp_path / "pids"))
    await check_slot_is_free(bench)


async def test_one_that_spins_is_ended_at_its_cpu_time(bench: CommandBench, programs: Programs) -> None:
    programs.shell("job-spin", "while :; do :; done & while :; do :; done")
    ended = await bench.run("job-spin", process_limits={"cpu_time": "1s"})
    assert ended.error == "CpuTimeLimit"
    assert ended.usage
    assert 1 <= ended.usage.cpu_seconds < 10
    await check_slot_is_free(bench)


async def test_one_that_multiplies_is_ended_with_all_that_it_has_become(
    bench: CommandBench, programs: Programs, tmp_path: Path
) -> None:
    """Deaf to SIGTERM, so that no time is lost with that."""
    programs.python(
        "job-multiply",
        "import os, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"log = open('{tmp_path}/pids', 'a')\n"
        "for _ in range(6): os.fork()\n"
        "print(os.getpid(), file=log, flush=True)\n"
        "time.sleep(600)",
    )
    ended = await bench.run("job-multiply", process_limits={"processes": 20})
    assert (ended.error, ended.message) == (
        "ProcessLimit",
        "ended at its limit of 20 processes and threads",
    )
    await all_gone(pids_of(tmp_path / "pids"))
    await check_slot_is_free(bench)


async def test_threads_count_as_processes_and_as_many_as_allowed_may_run(
    bench: CommandBench, programs: Programs
) -> None:
    programs.python(
        "job-threads",
        "import sys, threading, time\n"
        "seconds = float(sys.argv[2])\n"
        "for _ in range(int(sys.argv[1])): threading.Thread(target=time.sleep, args=[seconds]).start()",
    )
    ended = await bench.run("job-threads", "10", "600", process_limits={"processes": 10})
    assert ended.error == "ProcessLimit"
    ended = await bench.run("job-threads", "9", "0.3", process_limits={"processes": 10})
    assert ended.outcome.kind is AttemptOutcome.COMPLETED


async def test_it_may_open_only_so_many_files(bench: CommandBench, programs: Programs) -> None:
    programs.python("job-files", "files = [open('/dev/null') for _ in range(100)]")
    ended = await bench.run("job-files", process_limits={"files": 32})
    assert ended.error == "Exit1"
    assert "Too many open files" in ended.message


# What it leaves behind


async def test_one_that_daemonises_leaves_nothing_behind(
    bench: CommandBench, programs: Programs, tmp_path: Path
) -> None:
    """Twice forked, in a session of its own, with other files: nothing is left that leads to it but its parent."""
    programs.python(
        "job-daemon",
        "import os, signal, time\n"
        "if os.fork(): os._exit(0)\n"
        "os.setsid()\n"
        "if os.fork(): os._exit(0)\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"open('{tmp_path}/pid.new', 'w').write(str(os.getpid()))\n"
        f"os.rename('{tmp_path}/pid.new', '{tmp_path}/pid')\n"
        "for file in range(3): os.close(file)\n"
        "time.sleep(600)",
    )
    programs.shell(
        "job-launch", f"job-daemon; until [ -e {tmp_path}/pid ]; do sleep 0.05; done; echo launched"
    )
    ended = await bench.run("job-launch")
    assert ended.outcome.kind is AttemptOutcome.COMPLETED
    assert ended.lines == [
        ("stdout", "launched"),
        ("warning", "1 process was left behind by the command, and ended"),
    ]
    (pid,) = pids_of(tmp_path / "pid")
    assert is_gone(pid)
    await check_slot_is_free(bench)


async def test_one_that_ignores_sigterm_is_killed_at_its_timeout_with_its_children(
    bench: CommandBench, programs: Programs, tmp_path: Path
) -> None:
    programs.shell(
        "job-deaf",
        f"trap '' TERM; setsid sh -c 'echo $$ >>{tmp_path}/pids; sleep 600' & echo $$ >>{tmp_path}/pids; sleep 600",
    )
    ended = await bench.run("job-deaf", time=3.0)
    assert ended.error == "Timeout"
    assert ended.message == "did not end within 3 s"
    assert ended.usage is not None
    pids = pids_of(tmp_path / "pids")
    assert len(pids) == 2
    await all_gone(pids)
    await check_slot_is_free(bench)


async def test_sigterm_comes_first(bench: CommandBench, programs: Programs, tmp_path: Path) -> None:
    programs.shell(
        "job-polite", f"trap 'echo tidied up; exit 0' TERM; touch {tmp_path}/on; while :; do sleep 0.05; done"
    )
    run = await bench.start("job-polite")
    await eventually((tmp_path / "on").exists, within=SOON)
    await bench.conversation.send(Revoke([claim_of(run)], "cancelled by request"))
    ended = await bench.ended()
    assert (ended.outcome.kind, ended.outcome.reason) == (AttemptOutcome.CANCELLED, "cancelled by request")
    assert "tidied up" in ended.texts
    await check_slot_is_free(bench)


async def test_nothing_runs_on_when_the_worker_stops(programs: Programs, tmp_path: Path) -> None:
    programs.shell("job-long", f"trap '' TERM; echo $$ >{tmp_path}/pid; sleep 600")
    async with running_commands(ALLOWED) as bench:
        await bench.start("job-long")
        await eventually(lambda: pids_of(tmp_path / "pid"), within=SOON)
    await all_gone(pids_of(tmp_path / "pid"))


async def test_a_supervisor_that_is_killed_takes_its_command_along(
    bench: CommandBench, programs: Programs, tmp_path: Path
) -> None:
    programs.python(
        "job-patricide", "import os, signal, time\nos.kill(os.getppid(), signal.SIGKILL)\ntime.sleep(600)"
    )
    ended: Ended = await bench.run("job-patricide")
    assert ended.error == "CommandLost"
    await check_slot_is_free(bench)


async def test_many_at_once_do_not_mix_up(programs: Programs) -> None:
    programs.shell("job-echo", 'echo "$1"; exit "$1"')
    async with running_commands(ALLOWED, slots=10) as bench:
        for number in range(10):
            await bench.start("job-echo", str(number))
        outcomes = await bench.conversation.outcomes(10)
    codes = {each.job - 1: each.failure.type if each.failure else "Exit0" for each in outcomes}
    assert codes == {number: f"Exit{number}" for number in range(10)}


# What never runs


@pytest.mark.parametrize(
    "command",
    [
        ["other"],
        ["/bin/sh", "-c", "touch {}"],
        ["bash", "-c", "touch {}"],
        ["../programs/job-touch"],
        ["./job-touch"],
        ["/usr/../bin/sh", "-c", "touch {}"],
        ["job-/../sh", "-c", "touch {}"],
        ["job-touch\0x"],
        [""],
        [],
    ],
)
async def test_what_the_worker_does_not_allow_never_runs_whatever_the_server_sends(
    bench: CommandBench, programs: Programs, tmp_path: Path, command: list[str]
) -> None:
    mark = tmp_path / "ran"
    programs.shell("other", f"touch {mark}")
    programs.shell("job-touch", f"touch {mark}")
    ended = await bench.run(*(word.format(mark) for word in command))
    assert ended.error == "CommandNotAllowed"
    assert ended.outcome.failure
    assert not ended.outcome.failure.retry
    assert not mark.exists()
    await check_slot_is_free(bench)


@pytest.mark.parametrize("path", ["", ".", "::."])
async def test_a_path_without_absolute_folders_finds_nothing_where_the_job_wants_it(
    bench: CommandBench, programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    programs.shell("job-here", f"touch {tmp_path / 'ran'}")
    monkeypatch.setenv("PATH", path)
    monkeypatch.chdir(programs.folder)
    ended = await bench.run("job-here", cwd=str(programs.folder))
    assert ended.error == "CommandNotFound"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("env", [{"LD_PRELOAD": "/x.so"}, {"PATH": "/x"}, {"BASH_ENV": "/x"}, {"A=B": ""}])
async def test_a_server_cannot_send_dangerous_variables(bench: CommandBench, env: dict[str, str]) -> None:
    ended = await bench.run("true", env=env)
    assert ended.error == "CommandRefused"
    assert ended.outcome.failure
    assert not ended.outcome.failure.retry


async def test_a_worker_without_a_list_runs_no_command() -> None:
    async with running_commands([]) as bench:
        assert (await bench.run("true")).error == "UnknownTask"


async def test_the_worker_says_what_it_allows() -> None:
    async with working(App(), commands=["backup-*", "/opt/x"]) as bench:
        hello = await (await bench.conversation()).welcome()
        assert hello.commands == ["backup-*", "/opt/x"]
