import { startServer } from '@langchain/langgraph-api/server';

/*
 * Starts the JavaScript peer as its own command does, with our graphs: node serve.mjs <port> <empty folder for its
 * files> <runs at a time>.
 */

const [port, cwd, slots] = process.argv.slice(2);
const file = new URL('graphs.mjs', import.meta.url).pathname;
const { host } = await startServer({
  port: Number(port),
  nWorkers: Number(slots),
  host: '127.0.0.1',
  cwd,
  graphs: { echo: `${file}:echo`, talk: `${file}:talk` },
});
process.stdout.write(`${host}\n`);
