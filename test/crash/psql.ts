import process from 'node:process';
import { Client } from 'pg';

/*
 * Stands in for psql, which the embedded Postgres lacks. It runs each `-c` as the superuser, over the socket in PGHOST.
 */
const commands = process.argv.filter((_, index, all) => all[index - 1] === '-c');
const client = new Client({ host: process.env['PGHOST'], user: 'postgres', database: 'postgres' });
await client.connect();
for (const command of commands) await client.query(command);
await client.end();
