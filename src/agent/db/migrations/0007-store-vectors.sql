-- One row for each text of an item that is searched by meaning. store_item.embedding of earlier steps is no longer read.
create table gx.store_vector (
  namespace text[] not null,
  key text not null,
  n integer not null,
  embedding real[] not null,
  primary key (namespace, key, n),
  foreign key (namespace, key) references gx.store_item on delete cascade
);
-- What the writer asked of the index (null: as gx.json says), and the length of the vectors made since: other items are taken up by a server that needs them.
alter table gx.store_item add column index jsonb, add column indexed_dims integer;
create index store_item_namespace on gx.store_item using gin (namespace);
create index store_vector_namespace on gx.store_vector using gin (namespace);
