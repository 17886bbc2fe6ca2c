import cProfile, pstats, time
from support.scripted import ScriptedWorker
from tickwork.model.job import JobRequest
SCHEDULES = ("0 9 * * MON", "*/5 * * * *", "@hourly", "every 10m", "30 4 1 * *")
async def test_x(still_node):
    await ScriptedWorker.connect(still_node, ["work"])
    reqs=[JobRequest(task="work", schedule=SCHEDULES[n % 5], payload={"n": n}) for n in range(10000)]
    await still_node.jobs.create(1, reqs)
    pr=cProfile.Profile(); t=time.process_time(); w=time.perf_counter(); 
    await still_node.jobs.create(1, reqs)
    print("cpu", time.process_time()-t, "wall", time.perf_counter()-w)
    pr.enable(); await still_node.jobs.create(1, reqs); pr.disable()
    pstats.Stats(pr).sort_stats("tottime").print_stats(18)
