import { StartError } from '../errors.ts';

export type Env = Readonly<Record<string, string | undefined>>;

/** Returns the environment of this process. Nothing else reads `process.env`. Empty values count as unset. */
export function readProcessEnv(): Env {
  // oxlint-disable-next-line node/no-process-env -- the one door to the environment
  return Object.fromEntries(Object.entries(process.env).filter(([, value]) => value !== ''));
}

/** Variables that the server alone reads: the keys of values that it encrypts. */
const SECRET = ['GX_AES_KEY', 'LANGGRAPH_AES_KEY'];

/** Returns the environment of the threads and processes that run code of others, or read it. */
export function readUserCodeEnv(): Env {
  // oxlint-disable-next-line node/no-process-env -- the one door to the environment
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !SECRET.includes(name)));
}

/**
 * Variables of a file, lent to this process. Its own environment wins. A variable that the file no longer names goes
 * again.
 */
export class LentEnvironment {
  #lent: string[] = [];

  setVariables(values: Env): void {
    // oxlint-disable-next-line node/no-process-env -- the one door to the environment
    const env = process.env;
    for (const name of this.#lent) delete env[name];
    this.#lent = Object.keys(values).filter(
      (name) => values[name] !== '' && (env[name] ?? '') === '',
    );
    for (const name of this.#lent) env[name] = values[name];
  }
}

/** Reads typed settings and collects every problem, so that a start fails once, with all of them. */
export class SettingsReader {
  readonly #env: Env;
  readonly #problems: string[] = [];

  constructor(env: Env) {
    this.#env = env;
  }

  /** Returns the first of `names` that is set, else the default. */
  readText(names: string[], fallback: string): string {
    return this.readOptional(names) ?? fallback;
  }

  readOptional(names: string[]): string | undefined {
    for (const name of names) if (this.#env[name] !== undefined) return this.#env[name];
    return undefined;
  }

  readRequired(names: string[], meaning: string): string {
    const value = this.readOptional(names);
    if (value === undefined) this.#problems.push(`${names[0]} is not set (${meaning})`);
    return value ?? '';
  }

  readInteger(names: string[], fallback: number, range: { min: number; max: number }): number {
    return this.#parse(names, fallback, (text) => {
      const value = Number(text);
      const fits = Number.isInteger(value) && value >= range.min && value <= range.max;
      return fits
        ? { ok: value }
        : { problem: `must be a whole number from ${range.min} to ${range.max}` };
    });
  }

  readFlag(names: string[], fallback: boolean): boolean {
    return this.#parse(names, fallback, (text) => {
      const word = text.toLowerCase();
      if (['true', '1', 'yes', 'on'].includes(word)) return { ok: true };
      return ['false', '0', 'no', 'off'].includes(word)
        ? { ok: false }
        : { problem: 'must be true or false' };
    });
  }

  readOneOf<const T extends string>(names: string[], fallback: T, words: readonly T[]): T {
    return this.#parse(names, fallback, (text) => {
      const word = words.find((candidate) => candidate === text.toLowerCase());
      return word === undefined ? { problem: `must be one of ${words.join(', ')}` } : { ok: word };
    });
  }

  /** Reads a comma-separated list, which is empty if unset. */
  readWords(names: string[]): string[] {
    return (this.readOptional(names) ?? '')
      .split(',')
      .map((word) => word.trim())
      .filter((word) => word !== '');
  }

  /** Reads a comma-separated list of known words, in upper or lower case. */
  readSomeOf<const T extends string>(names: string[], known: readonly T[]): T[] {
    return this.#parse<T[]>(names, [], (text) => {
      const given = text.split(',').map((word) => word.trim().toLowerCase());
      const found = known.filter((word) => given.includes(word.toLowerCase()));
      return found.length === new Set(given).size
        ? { ok: found }
        : { problem: `must be a list of ${known.join(', ')}` };
    });
  }

  /** Adds a problem that only the caller can see. */
  addProblem(text: string): void {
    if (!this.#problems.includes(text)) this.#problems.push(text);
  }

  readJson(names: string[]): unknown {
    return this.#parse<unknown>(names, undefined, (text) => {
      try {
        return { ok: JSON.parse(text) as unknown };
      } catch {
        return { problem: 'is not valid JSON' };
      }
    });
  }

  get problems(): string[] {
    return [...this.#problems];
  }

  /** Throws one `StartError` with every problem found. */
  finish(): void {
    if (this.#problems.length > 0)
      throw new StartError(`Configuration: ${this.#problems.join('; ')}.`);
  }

  #parse<T>(
    names: string[],
    fallback: T,
    parse: (text: string) => { ok: T } | { problem: string },
  ): T {
    const name = names.find((candidate) => this.#env[candidate] !== undefined);
    const value = name === undefined ? undefined : this.#env[name];
    if (value === undefined) return fallback;
    const parsed = parse(value);
    if ('ok' in parsed) return parsed.ok;
    this.#problems.push(`${name} ${parsed.problem}`);
    return fallback;
  }
}
