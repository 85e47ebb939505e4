import { registerHooks } from 'node:module';
import process from 'node:process';
import { isMainThread } from 'node:worker_threads';

/*
 * A server that imports this file writes a line for each module that it loads: in which thread, and whether Node had
 * loaded its fetch by then.
 */

const FETCH = 'NativeModule internal/deps/undici/undici';
const loaded = (process as unknown as { moduleLoadList: string[] }).moduleLoadList;

registerHooks({
  load(url, context, next) {
    const module = {
      thread: isMainThread ? 'server' : 'graphs',
      url,
      hasFetch: loaded.includes(FETCH),
    };
    process.stderr.write(`loaded ${JSON.stringify(module)}\n`);
    return next(url, context);
  },
});
