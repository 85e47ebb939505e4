-- A list is stored as what it adds to another version of its channel, which this column names (docs/decisions/0009-lists-as-changes.md).
alter table gx.checkpoint_blobs add column base text;
