import type { Loader } from './own-loader.ts';
import { type Json, isComposite } from '../../../schema/json.ts';

const isRecord = ({ lc, type, id }: Json): boolean =>
  lc === 1 && type === 'constructor' && Array.isArray(id);

/** Each id is a class's module and its name, as LangChain writes it. Messages are allowed anyway. */
export type AllowedClasses = { ids: readonly string[][]; load: Loader };

export const NO_CLASSES: AllowedClasses = { ids: [], load: () => Promise.resolve(undefined) };

/** The classes beyond messages that gx.json allows values of a state to be made of (`allowed_json_modules`). */
export class Allowed {
  readonly #ids: ReadonlySet<string>;
  readonly #isMessage: (record: Json) => boolean;
  readonly #load: Loader;

  constructor({ ids, load }: AllowedClasses, isMessage: (record: Json) => boolean) {
    this.#ids = new Set(ids.map((id) => JSON.stringify(id)));
    this.#load = load;
    this.#isMessage = isMessage;
  }

  isAllowed(record: Json): boolean {
    return this.#ids.size > 0 && isRecord(record) && this.#ids.has(JSON.stringify(record['id']));
  }

  /** Returns whether a record of an allowed class is anywhere in the value. */
  isIn(value: unknown): boolean {
    if (this.#ids.size === 0 || !isComposite(value)) return false;
    return this.isAllowed(value) || Object.values(value).some((part) => this.isIn(part));
  }

  /**
   * Returns the object that LangChain's loader makes of the record; undefined where it can't, so that the record stays
   * data.
   */
  async load(record: Json): Promise<unknown> {
    const { kwargs } = record;
    try {
      return await this.#load(JSON.stringify({ ...record, kwargs: this.#escapeForbidden(kwargs) }));
    } catch {
      return undefined;
    }
  }

  /** Returns the value with every record that is not allowed marked, so that the loader takes it as data. */
  #escapeForbidden(value: unknown): unknown {
    if (!isComposite(value)) return value;
    if (Array.isArray(value)) return value.map((part) => this.#escapeForbidden(part));
    if ('lc' in value && !this.isAllowed(value) && !this.#isMessage(value))
      return { __lc_escaped__: value };
    return Object.fromEntries(
      Object.entries(value).map(([name, part]) => [name, this.#escapeForbidden(part)]),
    );
  }
}
