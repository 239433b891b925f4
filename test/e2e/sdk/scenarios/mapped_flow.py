"""A flow of 50 mapped tasks that lasts long enough for a server to die and come back meanwhile. FLOW_NAME names it."""
from _lib import *
from prefect import flow, task
from prefect.task_runners import ThreadPoolTaskRunner

@task(retries=3, retry_delay_seconds=1)
def work(n):
    time.sleep(1)
    return n

@flow(name=os.environ["FLOW_NAME"], retries=2, retry_delay_seconds=1, task_runner=ThreadPoolTaskRunner(max_workers=3))
def mapped():
    return sum(f.result() for f in work.map(range(50)))

def main():
    st = mapped(return_state=True)
    check(st.is_completed() and st.result() == sum(range(50)), f"completed: {st}")

if __name__ == "__main__": run(main)
