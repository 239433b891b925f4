"""Lets the reference's evaluator of triggers run cases of the automations' vectors: one step after the other, with the case's clock.

The clock stands still during a step, and nothing runs between steps.
"""

import datetime
import functools
import sys
import types

clock = None


def now(tz="UTC"):
    return clock


def stop_clock():
    """Puts the case's clock in the place of the reference's, in each of its modules that has a name for it."""
    import prefect.types._datetime as dates

    original = dates.now
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("prefect.") and getattr(module, "now", None) is original:
            module.now = now

    # What was seen is forgotten by the same clock.
    from prefect.server.events.ordering import memory

    memory.TTLCache = functools.partial(memory.TTLCache, timer=lambda: clock.timestamp())


class Evaluator:
    """The reference's evaluation of one automation at a time."""

    async def open(self):
        from prefect.server.database import provide_database_interface
        from prefect.server.events import triggers
        from prefect.server.events.models import automations

        self.db, self.triggers, self.models = provide_database_interface(), triggers, automations
        await self.db.create_db()
        stop_clock()

        async def nothing(*_, **__):
            pass

        # Nothing but the steps runs here: changes are told below, and actions are not part of a case.
        automations._notify = automations.emit_automation_created_event = nothing
        automations.emit_automation_updated_event = automations.emit_automation_deleted_event = triggers.act = nothing
        triggers.evaluate_periodically = triggers.listen_for_automation_changes = nothing
        fire = triggers.fire

        async def recorded(session, firing):
            self.fired.append(firing)
            await fire(session, firing)

        triggers.fire = recorded

    async def firings(self, case):
        """Returns what a case must agree in: step, trigger, state, event and labels of every firing, in any order within a step."""
        from prefect.server.events.ordering.memory import CausalOrdering
        from prefect.server.events.schemas.automations import Automation, AutomationCreate

        global clock
        clock = instant(case["steps"][0]["at"])
        self.automation = Automation(**AutomationCreate(**case["automation"]).model_dump())
        async with self.db.session_context(begin_transaction=True) as session:
            await self.models.create_automation(session=session, automation=self.automation)
        self.paths, found, steps = {}, [], list(enumerate(case["steps"]))
        await self.changed("created")
        while steps:
            async with self.triggers.consumer() as handle:
                while steps:
                    n, step = steps.pop(0)
                    clock, self.fired = instant(step["at"]), []
                    if "restart" in step:
                        break
                    await self.take(step, handle)
                    found += [self.binding(n, firing) for firing in self.fired]
            await self.triggers.reset()
            CausalOrdering.clear_all_scopes()
        await self.remove()
        return sorted(found)

    async def take(self, step, handle):
        from prefect.server.events.schemas.automations import AutomationPartialUpdate, AutomationUpdate
        from prefect.server.events.schemas.events import ReceivedEvent

        if "event" in step:
            event = ReceivedEvent(**step["event"], received=instant(step.get("received", step["at"])))
            await handle(types.SimpleNamespace(data=event.model_dump_json(), attributes={"id": str(event.id), "event": event.event}))
        elif "tick" in step:
            await self.triggers.periodic_evaluation(clock)
            await self.triggers.evaluate_proactive_triggers()
        elif "enabled" in step:
            await self.update(AutomationPartialUpdate(enabled=step["enabled"]))
        elif "update" in step:
            update = AutomationUpdate(**step["update"])
            update.trigger.reset_ids()
            await self.update(update)
        elif "delete" in step:
            await self.remove()

    async def update(self, update):
        async with self.db.session_context(begin_transaction=True) as session:
            await self.models.update_automation(session=session, automation_update=update, automation_id=self.automation.id)
        await self.changed("updated")

    async def remove(self):
        async with self.db.session_context(begin_transaction=True) as session:
            await self.models.delete_automation(session=session, automation_id=self.automation.id)
        await self.changed("deleted")

    async def changed(self, how):
        await self.triggers.automation_changed(self.automation.id, f"automation__{how}")
        async with self.db.session_context() as session:
            automation = await self.models.read_automation(session, self.automation.id)
        if automation:
            self.paths.update(paths(automation.trigger, "root"))

    def binding(self, step, firing):
        event = str(firing.triggering_event.id) if firing.triggering_event else None
        states = " ".join(sorted(state.value for state in firing.trigger_states))
        return (step, self.paths[firing.trigger.id], states, str(event), str(sorted(firing.triggering_labels.items())))


def paths(trigger, path):
    yield trigger.id, path
    for n, child in enumerate(getattr(trigger, "triggers", [])):
        yield from paths(child, f"{path}.{n}")


def expected(case):
    return sorted(
        (f["at_step"], f["trigger"], f["state"], str(f["event"]), str(sorted(f.get("labels", {}).items()))) for f in case["expect"]
    )


def instant(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00"))


async def differences(cases):
    evaluator = Evaluator()
    await evaluator.open()
    for case in cases:
        try:
            found = await evaluator.firings(case)
        except Exception as error:
            raise RuntimeError(f"evaluate {case['name']}") from error
        if found != (wanted := expected(case)):
            yield f"sequence {case['name']}: {found} instead of {wanted}"
