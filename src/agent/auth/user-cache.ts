import type { IncomingHttpHeaders } from 'node:http';
import type { AuthSettings } from '../../schema/agent/gx-json.ts';
import type { AuthUser } from '../../schema/wire/wall/auth.ts';

const LIFE_SECONDS = 60;
const MOST = 1000;

/**
 * Remembers whom `authenticate` let in, by the values of the headers that `auth.cache` names. A refusal is not
 * remembered, nor a request with none of these headers.
 */
export class UserCache {
  readonly #names: string[];
  readonly #life: number;
  readonly #most: number;
  readonly #users = new Map<string, { user: AuthUser; until: number }>();

  constructor({
    cache_keys,
    ttl_seconds = LIFE_SECONDS,
    max_size = MOST,
  }: NonNullable<AuthSettings['cache']>) {
    this.#names = cache_keys.map((name) => name.toLowerCase());
    this.#life = ttl_seconds * 1000;
    this.#most = max_size;
  }

  /** Returns the key under which a request's user is remembered; undefined when the user can't be. */
  buildKey(headers: IncomingHttpHeaders): string | undefined {
    const values = this.#names.map((name) => headers[name] ?? null);
    return values.every((value) => value === null) ? undefined : JSON.stringify(values);
  }

  get(key: string): AuthUser | undefined {
    const found = this.#users.get(key);
    if (found !== undefined && found.until > performance.now()) return found.user;
    this.#users.delete(key);
    return undefined;
  }

  set(key: string, user: AuthUser): void {
    const [oldest] = this.#users.keys();
    if (this.#users.size >= this.#most && oldest !== undefined) this.#users.delete(oldest);
    this.#users.set(key, { user, until: performance.now() + this.#life });
  }
}
