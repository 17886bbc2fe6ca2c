#!/bin/sh
# A complete Tickwork worker in POSIX sh and curl.
#
#     TICKWORK_URL=http://127.0.0.1:8080 TICKWORK_API_KEY=tw_... ./worker.sh [FOLDER]
#
# Every executable file in FOLDER (./tasks) is a task of that name. It gets the payload as JSON on its standard input,
# and TICKWORK_EXECUTION_ID, TICKWORK_ATTEMPT and TICKWORK_SCHEDULED_FOR in its environment. Exit status 0 completes the
# execution: what was printed is the result, as it is if it is a JSON object or list, else as text. Any other status
# fails the attempt, with the end of standard error as the message.
#
# SLOTS (1) says how many run at the same time, NAME what the worker is called, QUEUES which queues it serves (all),
# GRACE (10) how many seconds a command has to stop before it is killed.
# SIGTERM lets it finish what it runs, a second one breaks that off.
set -u

: "${TICKWORK_URL:?the address of a server is missing}" "${TICKWORK_API_KEY:?a key with the scope worker is missing}"
TASKS=${1:-./tasks}
SLOTS=${SLOTS:-1}
NAME=${NAME:-$(uname -n)-$$}
QUEUES=${QUEUES:-}
GRACE=${GRACE:-10}

WAIT=20     # seconds that a claim waits for work
MARGIN=3    # seconds before the end of the lease at which all work is stopped
TAB=$(printf '\t')

state=$(mktemp -d "${TMPDIR:-/tmp}/tickwork-worker.XXXXXX") || exit 1
mkdir "$state/run"
mkfifo "$state/ended"
exec 3<>"$state/ended"
own_group=$(command -v setsid || :)    # a command and its children are stopped together where this exists
draining=
keeper=

say() {
    printf '%s %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$*" >&2
}

# Requests ------------------------------------------------------------------------------------------------------------

prepare_curl() {    # not on the command line, where everybody could read the key
    (umask 077 && cat >"$state/curl") <<END
silent
header = "Authorization: Bearer $TICKWORK_API_KEY"
header = "Content-Type: application/json"
header = "Accept: text/tab-separated-values"
END
}

post() {    # ANSWER PATH SECONDS [BODY]: $status is that of the answer in the file ANSWER; 000 when there was none
    status=$(curl --config "$state/curl" --max-time "$3" --data-binary "@${4:-/dev/null}" --output "$1" \
        --write-out '%{http_code}' "$TICKWORK_URL/v1/$2") || status=000
}

insist() {    # the same, until a server has answered; repeating a request changes nothing
    while post "$@"; do
        case $status in
            000 | 429 | 5??) sleep 1 ;;
            *) return ;;
        esac
    done
}

json_text() {    # standard input as JSON text, without what JSON or UTF-8 cannot hold
    utf8 | LC_ALL=C tr -d '\000-\010\013-\037\177' |
        LC_ALL=C sed -e 's/[\\"]/\\&/g' -e "s/$TAB/\\\\t/g" |
        LC_ALL=C awk 'BEGIN { printf "\"" } { printf "%s%s", between, $0; between = "\\n" } END { printf "\"" }'
}

utf8() {
    if command -v iconv >/dev/null; then
        iconv -c -f UTF-8 -t UTF-8 2>/dev/null || :
    else
        LC_ALL=C tr -d '\200-\377'
    fi
}

json_list() {    # the lines of standard input as a JSON list of texts
    printf '['
    between=
    while IFS= read -r line; do
        printf '%s' "$between"
        printf '%s' "$line" | json_text
        between=,
    done
    printf ']'
}

# The worker ----------------------------------------------------------------------------------------------------------

task_names() {
    for file in "$TASKS"/*; do
        if [ -f "$file" ] && [ -x "$file" ]; then
            basename "$file"
        fi
    done
}

register() {
    {
        printf '{"name":'
        printf '%s' "$NAME" | json_text
        printf ',"slots":%s,"tasks":' "$SLOTS"
        task_names | json_list
        printf ',"queues":'
        for queue in $QUEUES; do printf '%s\n' "$queue"; done | json_list
        printf '}'
    } >"$state/register.json"
    insist "$state/registered" workers 10 "$state/register.json"
    if [ "$status" != 201 ]; then
        say "the server refuses this worker ($status): $(cat "$state/registered")"
        exit 1
    fi
    IFS=$TAB read -r _ worker lease beat <"$state/registered"
    rm -f "$state/gone"
    printf '%s\t%s\t%s\n' "$worker" "$lease" "$beat" >"$state/worker.new"
    mv "$state/worker.new" "$state/worker"
    say "registered as $worker for: $(task_names | tr '\n' ' ')"
}

running() {
    set -- "$state"/run/*
    if [ -e "$1" ]; then echo $#; else echo 0; fi
}

until_one_ends() {    # or there is room all the same
    : >"$state/full"
    if [ "$(running)" -ge "$1" ]; then
        read -r _ <&3
    fi
    rm -f "$state/full"
}

claim() {    # curl goes to the background, because a signal is heard only while the shell waits
    printf '{"max":%s,"wait":%s}' "$((SLOTS - $(running)))" "$WAIT" >"$state/claim.json"
    (
        post "$state/claimed" "workers/$worker/claim" "$((WAIT + 10))" "$state/claim.json"
        echo "$status" >"$state/claim.status"
    ) &
    claiming=$!
    while kill -0 "$claiming" 2>/dev/null; do wait "$claiming"; done
    status=$(cat "$state/claim.status")
    case $status in
        200) ;;
        404 | 410) : >"$state/gone" ;;
        401 | 403)
            say "the server refuses this worker ($status): $(cat "$state/claimed")"
            stop_all "the server refuses this worker"
            while [ "$(running)" -gt 0 ]; do until_one_ends 1; done
            exit 1
            ;;
        *) sleep 1 ;;
    esac
    if [ "$status" = 200 ]; then
        while IFS=$TAB read -r word id attempt task timeout scheduled_for _ payload; do
            case $word in
                drain) draining=1 ;;
                run) begin ;;
            esac
        done <"$state/claimed"
    fi
}

begin() {    # what is not said to have begun is handed out again, so this comes before the next claim
    work=$state/run/$id.$attempt
    printf '{"attempt":%s}' "$attempt" >"$state/start.json"
    insist "$state/started" "executions/$id/start" 10 "$state/start.json"
    if [ "$status" != 200 ]; then
        say "$id is not ours any more ($status)"
        return
    fi
    mkdir "$work"
    printf '%s' "$payload" >"$work/payload"
    echo "$(($(date +%s) + ${timeout%%.*} + 1))" >"$work/deadline"
    run </dev/null &
}

# One attempt, in a process of its own ----------------------------------------------------------------------------------

run() {
    trap : TERM    # not ignored: the command would inherit that
    TICKWORK_EXECUTION_ID=$id TICKWORK_ATTEMPT=$attempt TICKWORK_SCHEDULED_FOR=$scheduled_for \
        $own_group "$TASKS/$task" <"$work/payload" >"$work/out" 2>"$work/err" 3>&- &
    command=$!
    echo "$command" >"$work/pid"
    if [ -e "$work/stopped" ]; then signal TERM "$work"; fi
    code=0
    wait "$command" || code=$?
    while kill -0 "$command" 2>/dev/null; do    # a signal had ended the waiting
        code=0
        wait "$command" || code=$?
    done
    if [ -e "$work/orphan" ]; then
        :    # the worker is dead: its lease runs out, and others do this
    elif [ -e "$work/stopped" ]; then
        fail "$(cat "$work/stopped")" "$(cat "$work/reason")"
    elif [ "$code" -eq 0 ]; then
        complete
    else
        fail "ExitStatus$code" "$(tail -c 3000 "$work/err")"
    fi
    rm -rf "$work"
    if [ -e "$state/full" ]; then echo >&3; fi
}

complete() {
    case $(dd if="$work/out" bs=1 count=1 2>/dev/null) in
        '{' | '[')
            {
                printf '{"attempt":%s,"result":' "$attempt"
                cat "$work/out"
                printf '}'
            } >"$work/report"
            insist "$work/answer" "executions/$id/complete" 20 "$work/report"
            case $status in
                400 | 413 | 422) ;;    # no JSON after all, or too much of it
                *) told && return ;;
            esac
            ;;
    esac
    {
        printf '{"attempt":%s,"result":' "$attempt"
        tail -c 100000 "$work/out" | json_text
        printf '}'
    } >"$work/report"
    insist "$work/answer" "executions/$id/complete" 20 "$work/report"
    told
}

fail() {    # TYPE MESSAGE
    {
        printf '{"attempt":%s,"error":{"type":"%s","message":' "$attempt" "$1"
        printf '%s' "$2" | json_text
        printf '}}'
    } >"$work/report"
    insist "$work/answer" "executions/$id/fail" 20 "$work/report"
    told
}

told() {
    case $status in
        200) say "$id attempt $attempt of $task ended" ;;
        *) say "$id attempt $attempt of $task was not taken ($status)" ;;
    esac
}

# Beside it all: heartbeats, and what has to be stopped ------------------------------------------------------------------

keep() {
    trap '' INT TERM
    heard=$(date +%s)
    while kill -0 "$$" 2>/dev/null; do
        IFS=$TAB read -r worker lease beat <"$state/worker"
        if [ ! -e "$state/gone" ]; then heartbeat; fi
        stop_overdue
        sleep "${beat%%.*}"
    done
    for work in "$state"/run/*; do
        if [ -d "$work" ]; then
            : >"$work/orphan"
            stop "$work" Stopped "the worker died"
        fi
    done
    sleep "$GRACE"
    stop_overdue
    rm -rf "$state"
}

heartbeat() {
    sent=$(date +%s)
    post "$state/beat" "workers/$worker/heartbeat" 5
    case $status in
        200)
            heard=$sent
            while IFS=$TAB read -r word id attempt reason; do
                case $word in
                    drain) : >"$state/drain" ;;
                    stop) obey ;;
                esac
            done <"$state/beat"
            ;;
        404 | 410)
            : >"$state/gone"
            heard=$(date +%s)
            stop_all "the lease was lost"
            ;;
        *)
            if [ "$(($(date +%s) - heard))" -ge "$((${lease%%.*} - MARGIN))" ]; then
                stop_all "no server was heard of for as long as the lease"
            fi
            ;;
    esac
}

obey() {    # what is not here any more is reported all the same, so that the server need not tell it again
    work=$state/run/$id.$attempt
    if [ -d "$work" ]; then
        stop "$work" Stopped "$reason"
    else
        printf '{"attempt":%s,"error":{"type":"Stopped","message":"it did not run here"}}' "$attempt" >"$state/obeyed"
        post "$state/answer" "executions/$id/fail" 5 "$state/obeyed"
    fi
}

stop_all() {    # REASON
    for work in "$state"/run/*; do
        stop "$work" Stopped "$1"
    done
}

stop() {    # WORK TYPE REASON
    if [ -d "$1" ] && [ ! -e "$1/stopped" ]; then
        printf '%s' "$3" >"$1/reason"
        printf '%s' "$2" >"$1/stopped"
        echo "$(($(date +%s) + GRACE))" >"$1/deadline"
        signal TERM "$1"
    fi
}

stop_overdue() {
    for work in "$state"/run/*; do
        if [ -s "$work/deadline" ] && [ "$(date +%s)" -ge "$(cat "$work/deadline")" ]; then
            if [ -e "$work/stopped" ]; then
                signal KILL "$work"
            else
                stop "$work" Timeout "it took longer than its timeout"
            fi
        fi
    done
}

signal() {    # NAME WORK
    pid=$(cat "$2/pid" 2>/dev/null) || return 0
    kill -s "$1" -- "-$pid" 2>/dev/null || kill -s "$1" "$pid" 2>/dev/null || :
}

# From the beginning to the end ------------------------------------------------------------------------------------------

drain() {
    if [ -n "$draining" ]; then
        stop_all "the worker was told to stop at once"
    elif [ -n "${worker:-}" ]; then
        say "finishes what it runs; the same signal again breaks it off"
        post "$state/drained" "workers/$worker/drain" 5
    fi
    draining=1
}

leave() {
    if [ -n "$keeper" ]; then kill -s KILL "$keeper" 2>/dev/null; fi
    rm -rf "$state"
}

prepare_curl
trap drain INT TERM
trap leave EXIT
register
keep &
keeper=$!
while :; do
    if [ -e "$state/drain" ]; then draining=1; fi
    if [ -n "$draining" ]; then
        if [ "$(running)" -eq 0 ]; then exit 0; fi
        until_one_ends 1
    elif [ -e "$state/gone" ]; then
        stop_all "the lease was lost"
        if [ "$(running)" -eq 0 ]; then register; else until_one_ends 1; fi
    elif [ "$(running)" -ge "$SLOTS" ]; then
        until_one_ends "$SLOTS"
    else
        claim
    fi
done
