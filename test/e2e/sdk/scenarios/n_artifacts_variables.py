"""(n) artifacts of every kind, in and out of runs, their versions and filters; variables of every JSON type."""
from _lib import *
from uuid import UUID
from prefect import flow, task
from prefect.artifacts import (Artifact, create_image_artifact, create_link_artifact, create_markdown_artifact, create_progress_artifact,
                               create_table_artifact, update_progress_artifact)
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import VariableCreate
from prefect.client.schemas.filters import (ArtifactCollectionFilter, ArtifactCollectionFilterKey, ArtifactFilter, ArtifactFilterFlowRunId,
                                            ArtifactFilterKey, ArtifactFilterType)
from prefect.client.schemas.sorting import ArtifactSort
from prefect.variables import Variable

def key(kind): return f"n-{kind}-{UID}"

@task
def report():
    create_markdown_artifact("# Größe\n\n| a |\n|---|\n| 1 |", key=key("markdown"), description="first")
    create_markdown_artifact("# second", key=key("markdown"), description="second")
    create_table_artifact([{"customer": "a", "churn": 0.5}, {"customer": "b", "churn": None}], key=key("table"))
    create_link_artifact("https://example.com/x?y=1", link_text="look", key=key("link"))
    create_image_artifact("https://example.com/x.png", key=key("image"))
    p = create_progress_artifact(10.0, key=key("progress"), description="half way")
    update_progress_artifact(p, 55.5)
    create_markdown_artifact("without a key")

@flow(name=f"scn-n-{UID}")
def reporting():
    create_table_artifact({"a": [1, 2], "b": ["x", "y"]}, key=key("columns"))
    report()

def main():
    st = reporting(return_state=True)
    check(st.is_completed(), f"flow completed: {st}")
    frid = st.state_details.flow_run_id
    with get_client(sync_client=True) as c:
        mine = ArtifactFilter(flow_run_id=ArtifactFilterFlowRunId(any_=[frid]))
        all_ = c.read_artifacts(artifact_filter=mine, sort=ArtifactSort.CREATED_DESC)
        check(len(all_) == 8 and all_[0].created >= all_[-1].created, f"8 artifacts of the run, newest first ({len(all_)})")
        kinds = sorted(a.type for a in all_)
        check(kinds == ["image", "markdown", "markdown", "markdown", "markdown", "progress", "table", "table"], f"kinds {kinds}")
        tables = c.read_artifacts(artifact_filter=ArtifactFilter(flow_run_id=mine.flow_run_id, type=ArtifactFilterType(any_=["table"])))
        check({a.key for a in tables} == {key("table"), key("columns")}, "filtered by type")
        check([a for a in tables if a.key == key("columns")][0].task_run_id is None, "made by the flow itself: no task run")
        like = c.read_artifacts(artifact_filter=ArtifactFilter(key=ArtifactFilterKey(like_=UID.upper())))
        check(len(like) == 7, f"filtered by a part of the key ({len(like)})")
        latest = c.read_latest_artifacts(artifact_filter=ArtifactCollectionFilter(key=ArtifactCollectionFilterKey(like_=UID)))
        check(len(latest) == 6, f"the newest of each key ({len(latest)})")
        shown = [a for a in latest if a.key == key("markdown")][0]
        check(shown.data == "# second" and shown.description == "second", "the second of a key replaces the first")
    check(Artifact.get(key("link")).data == "[look](https://example.com/x?y=1)", "a link is markdown")
    check(float(Artifact.get(key("progress")).data) == 55.5, "progress was updated")
    check('"customer": "a"' in Artifact.get(key("table")).data, "table read back")
    check(Artifact.get(f"absent-{UID}") is None, "no artifact of that key")
    a, made = Artifact.get_or_create(key("once"), data="d", type="markdown")
    b, again = Artifact.get_or_create(key("once"), data="other", type="markdown")
    check(made and not again and b.id == a.id and b.data == a.data, "get or create")

    for name, value in {"text": "x", "number": 4.5, "whole": 7, "yes": True, "none": None, "list": [1, "a", None], "object": {"k": {"l": []}}, "empty": ""}.items():
        Variable.set(f"n_{name}_{UID}", value, tags=["n", name])
        got = Variable.get(f"n_{name}_{UID}", default="absent")
        check(got == value and type(got) is type(value), f"variable {name}: {got!r}")
    try:
        Variable.set(f"n_text_{UID}", "y"); check(False, "must not overwrite")
    except ValueError as e: check("already" in str(e), f"a taken name is refused: {e}")
    Variable.set(f"n_text_{UID}", "z", tags=["changed"], overwrite=True)
    with get_client(sync_client=True) as c:
        v = c.read_variable_by_name(f"n_text_{UID}")
        check(v.value == "z" and v.tags == ["changed"], f"overwritten with its tags: {v}")
        try:
            c.create_variable(VariableCreate(name=f"n_text_{UID}", value=1)); check(False, "must not create twice")
        except Exception as e: check("409" in str(e) or "AlreadyExists" in type(e).__name__, f"created twice: {type(e).__name__}")
    check(Variable.unset(f"n_text_{UID}") and not Variable.unset(f"n_text_{UID}"), "deleted once")

if __name__ == "__main__": run(main)
