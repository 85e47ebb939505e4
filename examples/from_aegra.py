"""Copies what Aegra keeps beside the checkpoints of its threads into an agent server.

    python from_aegra.py <Aegra's DATABASE_URL> <address of the agent server> [key of its deployment]

It needs the packages psycopg and langgraph-sdk, which Aegra's own environment has. Run it after `import-threads`, which
copies the checkpoints. It may run again: assistants and threads that are there stay, and get Aegra's metadata.
"""

import sys
from typing import Any

import psycopg
from langgraph_sdk import get_sync_client
from langgraph_sdk.client import SyncLangGraphClient
from psycopg.rows import dict_row

Rows = psycopg.Connection[dict[str, Any]]
# Fields of a cron that have no column of their own there.
RUN_FIELDS = (
    "input config context interrupt_before interrupt_after webhook multitask_strategy stream_mode stream_subgraphs "
    "timezone durability"
).split()


def owned(metadata: dict[str, Any] | None, user_id: str) -> dict[str, Any]:
    """Returns metadata with the owner that Aegra keeps in a column, for handlers that filter by it."""
    return {"owner": user_id, **(metadata or {})}


def copy_assistants(old: Rows, new: SyncLangGraphClient) -> int:
    """Copies assistants that people have made. Each graph has one of its own in both servers."""
    rows = old.execute("select * from assistant where user_id <> 'system'").fetchall()
    for row in rows:
        new.assistants.create(
            row["graph_id"],
            row["config"] or {},
            context=row["context"] or None,
            metadata=owned(row["metadata"], row["user_id"]),
            assistant_id=row["assistant_id"],
            if_exists="do_nothing",
            name=row["name"],
            description=row["description"],
        )
    return len(rows)


def copy_threads(old: Rows, new: SyncLangGraphClient) -> int:
    """Gives the imported threads their metadata, and makes those that have no checkpoint yet."""
    rows = old.execute("select thread_id, metadata_json, user_id from thread").fetchall()
    for row in rows:
        metadata = owned(row["metadata_json"], row["user_id"])
        new.threads.create(thread_id=row["thread_id"], metadata=metadata, if_exists="do_nothing")
        new.threads.update(row["thread_id"], metadata=metadata)
    return len(rows)


def copy_items(old: Rows, new: SyncLangGraphClient) -> int:
    """Copies the items of the store that have not expired. Their vectors are made again."""
    rows = old.execute(
        "select prefix, key, value, extract(epoch from expires_at - now()) / 60 as minutes from store "
        "where expires_at is null or expires_at > now()"
    ).fetchall()
    for row in rows:
        ttl = None if row["minutes"] is None else max(1, round(row["minutes"]))
        new.store.put_item(row["prefix"].split("."), row["key"], row["value"], ttl=ttl)
    return len(rows)


def copy_crons(old: Rows, new: SyncLangGraphClient) -> int:
    """Makes the crons that are not there yet. The graphs of all assistants have other ids here."""
    there = {cron["metadata"].get("aegra_cron_id") for cron in new.crons.search(limit=1000)}
    rows = old.execute("select c.*, a.graph_id, a.user_id = 'system' as plain from crons c join assistant a using (assistant_id)")
    made = 0
    for row in rows.fetchall():
        if row["cron_id"] in there:
            continue
        fields = {name: row["payload"][name] for name in RUN_FIELDS if name in row["payload"]}
        fields["metadata"] = {**owned(row["metadata"], row["user_id"]), "aegra_cron_id": row["cron_id"]}
        fields |= {"schedule": row["schedule"], "enabled": row["enabled"], "end_time": row["end_time"]}
        assistant = row["graph_id"] if row["plain"] else row["assistant_id"]
        if row["thread_id"] is None:
            new.crons.create(assistant, **fields, on_run_completed=row["on_run_completed"])
        else:
            new.crons.create_for_thread(row["thread_id"], assistant, **fields)
        made += 1
    return made


def main(source: str, url: str, key: str | None = None) -> None:
    """Copies everything, and prints how much."""
    new = get_sync_client(url=url, api_key=key)
    with psycopg.connect(source.replace("+asyncpg", ""), row_factory=dict_row) as old:
        print(f"{copy_assistants(old, new)} assistants")
        print(f"{copy_threads(old, new)} threads")
        print(f"{copy_items(old, new)} items of the store")
        print(f"{copy_crons(old, new)} crons")


if __name__ == "__main__":
    main(*sys.argv[1:])
