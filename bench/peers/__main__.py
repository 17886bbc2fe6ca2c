"""python -m peers NAME about|prepare|enqueue|work [JOBS]"""

import json
import sys
from importlib import import_module, metadata
from time import perf_counter


def main(name: str, step: str, jobs: str = "0") -> None:
    peer = import_module(f"peers.{name}").PEER
    begun = perf_counter()
    if step == "about":
        version = metadata.version(peer.about.package)
        print(json.dumps({**peer.about._asdict(), "version": version, "processes": peer.processes}))
    elif step == "enqueue":
        peer.enqueue(int(jobs))
        print(json.dumps({"seconds": perf_counter() - begun}))
    else:
        {"prepare": peer.prepare, "work": peer.work}[step]()


main(*sys.argv[1:])
