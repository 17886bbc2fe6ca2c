"""The loops of a node about what users defined: the index of jobs, fan-outs, jobs of new and of retired tasks."""

from tickwork.define.cancel_jobs_of_retired_tasks import RetiredTaskJobs
from tickwork.define.check_jobs_of_new_tasks import NewTaskCheck
from tickwork.define.job_search_index_loops import JobIndexing
from tickwork.define.jobs import Jobs
from tickwork.define.run_fan_outs import FanOut
from tickwork.loop import Loops, Wake
from tickwork.store.fan_out_store import PostgresFanOutStore
from tickwork.store.job_index.write_index import PostgresJobIndex
from tickwork.store.job_search.search_jobs import PostgresJobSearch
from tickwork.store.pool import Database
from tickwork.store.task_store import PostgresTaskStore
from tickwork.store.unchecked_payload_store import PostgresUncheckedJobStore


def add_define_loops(
    loops: Loops, database: Database, search: PostgresJobSearch, jobs: Jobs, wake: Wake
) -> FanOut:
    """Returns the fan-outs, which are to hear of what happens."""
    JobIndexing(PostgresJobIndex(database)).add_loops(loops)
    fan_out = FanOut(PostgresFanOutStore(database), jobs, wake)
    fan_out.add_loops(loops)
    NewTaskCheck(PostgresUncheckedJobStore(database), jobs).add_loops(loops)
    RetiredTaskJobs(PostgresTaskStore(database), search, jobs).add_loops(loops)
    return fan_out
