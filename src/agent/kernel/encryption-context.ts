import { AsyncLocalStorage } from 'node:async_hooks';
import type { Json } from '../../schema/json.ts';

/*
 * The context under which the module of `encryption.path` encrypts, `ctx.metadata` to its handlers: whose key a value
 * is for. A request has one, and so has each run that it makes. It stands beside each value that was encrypted under
 * it, so that only encrypting asks for it here; decrypting reads it there.
 */

export type EncryptionContext = Json;

// oxlint-disable-next-line house/module-state -- It holds nothing itself: each piece of work has its own context.
const contexts = new AsyncLocalStorage<EncryptionContext | undefined>();

/** Returns the context that the work under way has; undefined where it has none. */
export const getCurrentContext = (): EncryptionContext | undefined => contexts.getStore();

/** Does the work under the context, or under none. */
export const runUnderContext = <T>(context: EncryptionContext | undefined, work: () => T): T =>
  context === contexts.getStore() ? work() : contexts.run(context, work);
