-- Unit vectors of an item's texts, one after another; null keeps the item out of semantic search.
alter table gx.store_item add column embedding real[];
