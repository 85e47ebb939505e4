-- Its thread ended under it, with others in it: until it is known who was to blame, it runs in a thread of its own.
alter table gx.run add column alone boolean not null default false;
