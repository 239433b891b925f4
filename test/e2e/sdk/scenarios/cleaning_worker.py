"""A worker whose infrastructure is a stand-in: a file in the folder ENGINE for each run. Everything else is the stock worker's."""
import asyncio, os, sys
from prefect.exceptions import InfrastructureNotFound
from prefect.workers.process import ProcessWorker

class CleaningWorker(ProcessWorker):
    type = "cleaning"

    async def kill_infrastructure(self, infrastructure_pid, configuration, grace_seconds=30):
        await asyncio.sleep(0.05)
        try: os.remove(os.path.join(os.environ["ENGINE"], infrastructure_pid))
        except FileNotFoundError: raise InfrastructureNotFound(infrastructure_pid)
        with open(os.environ["ENGINE"] + ".removed", "a") as removed: removed.write(infrastructure_pid + "\n")

if __name__ == "__main__":
    asyncio.run(CleaningWorker(work_pool_name=sys.argv[1], name="cleaner").start())
