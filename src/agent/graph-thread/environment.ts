import process from 'node:process';

/*
 * This file holds the environment of a graph thread, which graphs and their libraries read. LangChain reads some 160
 * variables in each run, and Node leaves JavaScript for each of them, which is a thirtieth of the cost of a short run.
 */

/** Adds the variables that the real environment does not have, and makes reading them cheap from now on. */
export function serveEnvironment(added: Record<string, string>): void {
  // Threads that a graph starts get Node's own copy, so that is written, too.
  const own = process.env;
  for (const [name, value] of Object.entries(added)) own[name] ??= value;
  process.env = new Proxy(
    { ...own },
    {
      set: (copy, name: string, value: unknown) =>
        Reflect.set(own, name, value) && Reflect.set(copy, name, own[name]),
      deleteProperty: (copy, name: string) =>
        Reflect.deleteProperty(own, name) && Reflect.deleteProperty(copy, name),
    },
  );
}
